"""Undoes what an earlier process began and did not live to undo."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Final

from collectors.config.load import ConfigError, load
from deploy.actions.marking import Marks
from deploy.actions.notes import Note, Notes
from deploy.actions.performance import Tell
from deploy.actions.steps import FailedError, GoneError, Within
from deploy.embedded.supervise import orphans

_SECOND_NS: Final = 1_000_000_000
_EMPTY_LOOKS: Final = 5  # a program that was just being started has its mark only a moment later


def undo_left(notes: Notes, marks: Marks, tell: Tell) -> bool:
    """Undo what has no living owner, the last begun first, and say so; return whether nothing is left."""
    if not notes.read():
        return True
    with notes.locked():
        left = [note for note in notes.read() if note.content.owner.state() == "gone"]
        for note in left:
            tell(_found(note))
            note.taken_over()
    undone = [_undo(note, marks, tell) for note in left]
    return all(undone)


def _undo(note: Note, marks: Marks, tell: Tell) -> bool:
    content = note.content
    event = content.of()
    orphans.end_marked(note.mark, grace_seconds=0, empty_looks=_EMPTY_LOOKS)
    try:
        content.undo.carry_out(Within(content.deadline_ns / _SECOND_NS, threading.Event(), note.mark))
        tell(f"{event.what}: {event.do} is undone")
    except GoneError as error:
        tell(f"{event.what}: nothing is left to undo: {error}")
    except FailedError as error:
        note.failed(str(error))
        tell(
            f"{event.what} IS NOT AS IT WAS: {event.do} could not be undone: {error}."
            f" The next start tries again; remove {note.file} if there is nothing to undo any more"
        )
        return False
    note.remove()
    if content.config is not None:
        try:
            mark = marks.to(load(content.config))
        except ConfigError as error:
            tell(f"its end is not marked: {error.mistakes[0]}")
        else:
            mark(replace(event, until_ns=max(time.time_ns(), event.at_ns)))
    return True


def _found(note: Note) -> str:
    content = note.content
    why = f"could not be undone ({content.failed})" if content.failed else "did not live to undo it"
    return f"{content.of().text}, at {content.began} by pid {content.owner.pid}, which {why}: undoing it now"
