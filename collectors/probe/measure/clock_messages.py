"""Questions about clocks, which receivers ask and senders answer over the path's own network.

A sender listens at an address that its peer assigns, and its probe messages carry it as `reply-to`. A
question also says up to which number the receiver has received, which the sender's guard needs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from collectors.probe.transport import Note

_QUESTION: Final = struct.Struct(">4sBxxxQqq")  # magic, version, stream, asked, highest number
_ANSWER: Final = struct.Struct(">4sBxxxQqqq")  # magic, version, stream, asked, heard, answered
_ASK: Final = b"InfQ"
_TELL: Final = b"InfA"
_VERSION: Final = 1
_LONGEST_NAME: Final = 512
TTL_SECONDS: Final = 10.0


class Question(NamedTuple):
    """What a receiver asks a sender, at a time by its own clock."""

    stream: int
    asked_ns: int
    highest: int  # number received; -1 for none
    receiver: str


class Answer(NamedTuple):
    """What the sender answers; all times but `asked_ns` are by its own clock."""

    stream: int
    asked_ns: int
    heard_ns: int
    answered_ns: int


def encode_question(question: Question) -> bytes:
    head = _QUESTION.pack(_ASK, _VERSION, question.stream, question.asked_ns, question.highest)
    return head + question.receiver.encode()[:_LONGEST_NAME]


def decode_question(data: bytes) -> Question | None:
    """Returns None for bytes that are not a question."""
    if not _QUESTION.size <= len(data) <= _QUESTION.size + _LONGEST_NAME:
        return None
    magic, version, stream, asked_ns, highest = _QUESTION.unpack_from(data)
    if magic != _ASK or version != _VERSION:
        return None
    return Question(stream, asked_ns, highest, data[_QUESTION.size :].decode(errors="replace"))


def encode_answer(answer: Answer) -> bytes:
    return _ANSWER.pack(_TELL, _VERSION, *answer)


def decode_answer(data: bytes) -> Answer | None:
    """Returns None for bytes that are not an answer."""
    if len(data) != _ANSWER.size:
        return None
    magic, version, *fields = _ANSWER.unpack(data)
    return Answer(*fields) if magic == _TELL and version == _VERSION else None


def write_question(to: str, reply_to: str, question: Question) -> Note:
    return Note(to=to, body=encode_question(question), reply_to=reply_to, ttl_seconds=TTL_SECONDS)


def answer_to(note: Note, now_ns: Callable[[], int], is_ours: Callable[[str, str, int], bool]) -> Note | None:
    """Returns the answer to a question; None for other notes, and for streams that are not ours.

    `is_ours` is called with the stream, the receiver and the highest number that it has received.
    """
    heard_ns = now_ns()
    body = _bytes_of(note)
    question = decode_question(body) if body is not None else None
    if question is None or not note.reply_to:
        return None
    if not is_ours(f"{question.stream:016x}", question.receiver, question.highest):
        return None
    data = encode_answer(Answer(question.stream, question.asked_ns, heard_ns, now_ns()))
    return Note(to=note.reply_to, body=data, ttl_seconds=TTL_SECONDS)


def read_answer(note: Note) -> Answer | None:
    body = _bytes_of(note)
    return decode_answer(body) if body is not None else None


def _bytes_of(note: Note) -> bytes | None:
    return bytes(note.body) if isinstance(note.body, bytes | memoryview) else None
