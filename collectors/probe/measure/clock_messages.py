"""Questions about clocks, asked by receivers and answered by senders, along the path's own network.

A sender listens on an address that its peer makes up, and its probe messages carry it as `reply-to`. A
question also says up to which number the receiver has received: by it the sender's guard knows of it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from proton import Message

_QUESTION: Final = struct.Struct(">4sBxxxQqq")  # magic, version, stream, asked, highest number
_ANSWER: Final = struct.Struct(">4sBxxxQqqq")  # magic, version, stream, asked, heard, answered
_ASK: Final = b"InfQ"
_TELL: Final = b"InfA"
_VERSION: Final = 1
_LONGEST_NAME: Final = 512
TTL_SECONDS: Final = 10.0


class Question(NamedTuple):
    """What a receiver asks a sender."""

    stream: int
    asked_ns: int
    highest: int  # number received; -1 for none
    receiver: str


class Answer(NamedTuple):
    """What the sender says; the times are its own, but for `asked_ns`."""

    stream: int
    asked_ns: int
    heard_ns: int
    answered_ns: int


def encode_question(question: Question) -> bytes:
    head = _QUESTION.pack(_ASK, _VERSION, question.stream, question.asked_ns, question.highest)
    return head + question.receiver.encode()[:_LONGEST_NAME]


def decode_question(data: bytes) -> Question | None:
    """None where these bytes are none."""
    if not _QUESTION.size <= len(data) <= _QUESTION.size + _LONGEST_NAME:
        return None
    magic, version, stream, asked_ns, highest = _QUESTION.unpack_from(data)
    if magic != _ASK or version != _VERSION:
        return None
    return Question(stream, asked_ns, highest, data[_QUESTION.size :].decode(errors="replace"))


def encode_answer(answer: Answer) -> bytes:
    return _ANSWER.pack(_TELL, _VERSION, *answer)


def decode_answer(data: bytes) -> Answer | None:
    """None where these bytes are none."""
    if len(data) != _ANSWER.size:
        return None
    magic, version, *fields = _ANSWER.unpack(data)
    return Answer(*fields) if magic == _TELL and version == _VERSION else None


def question_message(to: str, reply_to: str, question: Question) -> Message:
    return Message(
        address=to, reply_to=reply_to, ttl=TTL_SECONDS, body=encode_question(question), inferred=True
    )


def answer(
    message: Message, now_ns: Callable[[], int], heard: Callable[[str, str, int], bool]
) -> Message | None:
    """The answer to a question; None where it is none, or asks of a stream that is not ours.

    `heard` is told of the stream, the receiver and its highest number, and says whether the stream is ours.
    """
    heard_ns = now_ns()
    body = _body(message)
    question = decode_question(body) if body is not None else None
    if question is None or not message.reply_to:
        return None
    if not heard(f"{question.stream:016x}", question.receiver, question.highest):
        return None
    data = encode_answer(Answer(question.stream, question.asked_ns, heard_ns, now_ns()))
    return Message(address=message.reply_to, ttl=TTL_SECONDS, body=data, inferred=True)


def answer_in(message: Message) -> Answer | None:
    body = _body(message)
    return decode_answer(body) if body is not None else None


def _body(message: Message) -> bytes | None:
    body = message.body
    return bytes(body) if isinstance(body, bytes | memoryview) else None


def echo(message: Message) -> Message | None:
    """The same body to whom it asks for, for round trips; None where it asks for nobody."""
    if not message.reply_to:
        return None
    return Message(
        address=message.reply_to,
        ttl=message.ttl,
        durable=message.durable,
        priority=message.priority,
        body=message.body,
        inferred=True,
    )
