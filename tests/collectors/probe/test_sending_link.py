"""A link of AMQP: which presettled messages are out on the socket, and what is known when it is lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from collectors.config.paths import Path
from collectors.probe.engine import sending_link
from collectors.probe.engine.receiving_link import AmqpReceivingLink
from collectors.probe.engine.sending_link import AmqpSendingLink


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages of the link proton has not made bytes of yet, as its only item."""
    found = [0]
    fake = SimpleNamespace(pn_link_queued=lambda _: found[0])
    monkeypatch.setattr(sending_link, "lib", fake)
    return found


def _link(path: Path) -> AmqpSendingLink:
    link = AmqpSendingLink(mock.Mock(), mock.Mock(presettled=True, address=path.address), "s", mock.Mock())
    link._link = object()  # noqa: SLF001 -- attached
    return link


def test_out_when_all_bytes_are(probe_path: Path, queued: list[int]) -> None:
    """A number is out when everything is written and nothing of its link is left, and not before."""
    link = _link(probe_path)
    link.flush(0, 10)
    assert (link.first_unwritten, link.unsettled) == (0, 10)
    queued[0] = 1
    assert not link.on_all_written()
    assert (link.first_unwritten, link.unsettled) == (0, 10)
    queued[0] = 0
    link.flush(10, 25)
    assert link.on_all_written()
    assert (link.first_unwritten, link.unsettled) == (None, 0)


def test_a_lost_connection(probe_path: Path, queued: list[int]) -> None:
    """What may not have left is named once; what is sent afterwards begins anew."""
    link = _link(probe_path)
    link.flush(0, 10)
    assert link.on_all_written()
    link.flush(10, 20)
    link.flush(20, 30)
    link.flush(55, 57)  # of a marked path: the numbers between went by its other link
    queued[0] = 20
    link.on_lost("cut")
    link.on_lost("refused")
    told = [list(call.args[1]) for call in link._events.on_lost.call_args_list]  # type: ignore[attr-defined]  # noqa: SLF001
    assert told == [[*range(10, 30), 55, 56], []]
    assert link.unsettled == 0
    link._link, queued[0] = object(), 0  # noqa: SLF001 -- attached again
    link.flush(57, 60)
    assert link.first_unwritten == 57
    assert link.on_all_written()
    assert link.first_unwritten is None


@pytest.mark.parametrize("kind", [AmqpSendingLink, AmqpReceivingLink])
def test_who_sees_that_a_link_is_gone_can_see_why(kind: Any) -> None:
    """Another thread asks for the state of an end: the reason is told before the link counts as gone."""
    events, seen = mock.Mock(), []
    link = kind(mock.Mock(), mock.Mock(presettled=True, credit=10), "l", events)
    link._link = object()  # noqa: SLF001 -- attached
    events.on_lost.side_effect = lambda *_: seen.append(link.attached)
    link.on_lost("cut")
    assert (seen, link.attached) == ([True], False)
