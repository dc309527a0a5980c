"""Notes of what is going on."""

from __future__ import annotations

from pathlib import Path

from acting import action

from collectors.contract.events import Event
from deploy.actions.notes import Notes
from deploy.actions.program import Run


def test_why_it_could_not_be_undone_is_a_line(tmp_path: Path) -> None:
    """What a lab says may have the end of a log below it, which no list of notes needs."""
    notes = Notes(tmp_path)
    event = Event(1, None, "fault", (), "link A--B cut", "cut", "A--B")
    note = notes.write(action("cut", "A--B"), Run(argv=("true",)), event)
    note.failed("the relay ended. The end of its log, relay.log:\ntold this\ntold that")
    assert [found.content.failed for found in notes.read()] == [
        "the relay ended. The end of its log, relay.log:"
    ]
