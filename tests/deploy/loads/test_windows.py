"""How many messages may be out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deploy.loads.windows import AnswerWindow, OutcomeWindow

SECOND = 1_000_000_000


def test_no_more_are_out_than_the_window_has_room_for() -> None:
    """Three out of four have no outcome: one more may go; with five out, none."""
    unsettled = 3
    window = OutcomeWindow(4, lambda: unsettled)
    assert window.room(0) == 1
    unsettled = 5
    assert window.room(0) == 0


def test_an_answer_makes_room_for_the_next_question() -> None:
    asked = 0
    window = AnswerWindow(1, lambda: asked, SECOND)
    assert window.room(0) == 1
    asked = 1
    assert window.room(1) == 0
    assert window.closed([0], 2)
    assert window.room(3) == 1


def test_an_answer_counts_once() -> None:
    """A repeat of an answer makes no room for a second question."""
    asked = 2
    window = AnswerWindow(2, lambda: asked, SECOND)
    assert window.closed([0], 0)
    assert not window.closed([0], 0)
    assert window.room(0) == 1


def test_what_is_not_answered_in_time_is_not_waited_for() -> None:
    """Else one lost answer would end a ping-pong."""
    asked = 1
    window = AnswerWindow(1, lambda: asked, SECOND)
    assert window.room(0) == 0
    assert window.room(SECOND - 1) == 0
    assert window.room(SECOND) == 1
    assert window.unanswered == 1
    assert not window.closed([0], SECOND + 1)  # it came after all


@given(
    size=st.integers(1, 5),
    steps=st.lists(st.one_of(st.just("ask"), st.integers(0, 30)), max_size=60),
)
def test_any_order_of_answers_keeps_the_bound(size: int, steps: list[str | int]) -> None:
    """Against a set of open questions that is kept beside it; an integer answers that question."""
    asked = 0
    open_ones: set[int] = set()
    window = AnswerWindow(size, lambda: asked, 1 << 60)
    for now, step in enumerate(steps):
        if isinstance(step, int):
            window.closed([step], now)
            open_ones.discard(step)
        elif window.room(now):
            open_ones.add(asked)
            asked += 1
        assert len(open_ones) <= size
        assert window.room(now) == size - len(open_ones)
