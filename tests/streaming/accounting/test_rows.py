"""What stands in a row beside the classes."""

from __future__ import annotations

from hdrh.histogram import HdrHistogram
from writing import Path, finish, gap, ns, pair

from collectors.contract import window_rows as contract
from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import WindowRow

MS = 1_000_000


def one_window(latency: list[float], *, waited: float = 0.0, sent_step: float = 0.001) -> WindowRow:
    """The row of a window in which as many messages arrived, each after its latency."""
    path, sender, receiver = pair()
    count = len(latency)
    sender.ledger(0, [(0, count, "accepted")], 1.0)
    sent = [sent_step * place for place in range(count)]
    receiver.received(sender, 0, range(count), 1.0, sent=sent, latency=latency, waited=waited)
    finish(sender, receiver)
    return path.row(0)


def test_latencies_are_of_the_schedule_and_of_the_network() -> None:
    """Response counts the wait before sending, service does not; sums are exact."""
    row = one_window([0.001, 0.002, 0.006], waited=0.1)
    service, response = row["service"], row["response"]
    assert service is not None
    assert response is not None
    assert (service["min_ns"], service["max_ns"], service["mean_ns"]) == (1 * MS, 6 * MS, 3 * MS)
    assert service["std_ns"] == 2_160_246  # √(14/3) ms, rounded down
    assert (response["min_ns"], response["max_ns"]) == (101 * MS, 106 * MS)
    assert row["slowest"] == {"stream": row["members"][1]["run"], "seq": 2, "response_ns": 106 * MS}


def test_squares_of_days_do_not_overflow() -> None:
    """Sums stay integers of any size."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    receiver.received(sender, 0, [0, 1], 1.0, sent=[0.5, 0.5], latency=[0.0, 400.0], waited=100_000.0)
    finish(sender, receiver)
    response = path.row(0)["response"]
    assert response is not None
    assert response["std_ns"] == 200 * SECOND_NS
    assert response["mean_ns"] == 100_200 * SECOND_NS


def test_a_percentile_is_given_where_something_can_be_above_it() -> None:
    """Of 99 messages there is no 99th percentile."""
    few, enough = one_window([0.001] * 99)["service"], one_window([0.001] * 100)["service"]
    assert few is not None
    assert enough is not None
    assert set(few["percentiles"]) == {"50", "90", "95"}
    assert set(enough["percentiles"]) == {"50", "90", "95", "99"}


def test_percentiles_are_of_the_exact_rank() -> None:
    """Of 1 to 100 ms the 99th percentile is 99 ms, not 100, within a bucket of at most 0.1 %."""
    service = one_window([place / 1_000 for place in range(1, 101)])["service"]
    assert service is not None
    for name, value in {"50": 50, "90": 90, "95": 95, "99": 99}.items():
        assert value * MS <= service["percentiles"][name] <= value * MS * 1.001
    constant = one_window([0.1] * 10)["service"]
    assert constant is not None
    assert constant["percentiles"]["90"] == 100 * MS  # never above the maximum


def test_the_rows_histograms_are_those_of_the_hdrhistogram_package() -> None:
    """Whoever has its tools can read them."""
    service = one_window([0.001, 0.002, 0.5])["service"]
    assert service is not None
    found = HdrHistogram.decode(service["hdr"])
    assert found.get_total_count() == 3
    for value in (1 * MS, 2 * MS, 500 * MS):
        assert found.get_count_at_value(value) == 1


def test_negative_latencies_are_counted_and_kept() -> None:
    """A clock that is wrong is to be seen."""
    row = one_window([-0.002, 0.001, 0.003])
    assert row["negative"] == 1
    assert row["service"] is not None
    assert (row["service"]["min_ns"], row["service"]["count"]) == (-2 * MS, 3)


def test_jitter_is_of_its_size_with_signed_extremes() -> None:
    """Rows without a predecessor have none; the estimate is the largest of the records'."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 4, "accepted")], 1.0)
    receiver.received(sender, 0, [0, 1], 0.5, ipdv=[None, -7 * MS], rfc3550_ns=5)
    receiver.received(sender, 0, [2, 3], 1.0, ipdv=[2 * MS, 1 * MS], rfc3550_ns=3)
    finish(sender, receiver)
    jitter = path.row(0)["jitter"]
    assert jitter is not None
    assert (jitter["count"], jitter["min_ns"], jitter["max_ns"], jitter["rfc3550_ns"]) == (
        3,
        -7 * MS,
        2 * MS,
        5,
    )
    assert 2 * MS <= jitter["percentiles"]["50"] <= 2 * MS * 1.001


def test_bytes_due_unsent_foreign_and_routes_add_up() -> None:
    """From the highest ledgers, and from all records received."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0, due=5, unsent={"guard": 3}, body_bytes=10)
    sender.ledger(0, [(0, 2, "accepted")], 1.5, due=5, unsent={"guard": 2}, body_bytes=20, revision=1)
    sender.ledger(1, [(2, 1, "accepted")], 2.0, due=2, unsent={"no_credit": 1}, body_bytes=10)
    receiver.received(sender, 0, [0], 1.0, body_bytes=10, routes={"a>b": 1}, foreign=2)
    receiver.received(sender, 0, [1, 1], 2.0, body_bytes=20, routes={"a>b": 1, "a>c": 1}, foreign=1)
    receiver.alive(6.0, foreign=4)
    finish(sender, receiver, until=21.0)
    row = path.row(0)
    assert (row["sent_bytes"], row["received_bytes"]) == (30, 30)
    assert (row["due"], row["unsent"]) == (7, {"no_credit": 1, "no_connection": 0, "guard": 2, "stalled": 0})
    assert row["routes"] == {"a>b": 2, "a>c": 1}
    assert (row["foreign"], path.row(5)["foreign"]) == (3, 4)


def test_an_outage_is_the_time_between_the_deliveries_around_a_loss() -> None:
    """Not the time in which nothing was sent."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 5, "accepted")], 1.0)
    sender.ledger(4, [(5, 1, "accepted")], 5.0)
    receiver.received(sender, 0, [0, 1, 4], 1.0, sent=[0.1, 0.2, 0.9])
    receiver.received(sender, 4, [5], 5.0, sent=[4.5])
    finish(sender, receiver)
    assert path.row(0)["outage_ns"] == 700 * MS
    assert path.row(0)["outage_since_ns"] is None


def test_a_running_outage_is_clipped_to_windows_and_carried_on() -> None:
    """Since the last delivery, until the next one."""
    path, sender, receiver = pair()
    for second in range(12):
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
    receiver.received(sender, 2, [2], 3.0, sent=[2.5])
    receiver.received(sender, 11, [11], 12.0, sent=[11.5])
    finish(sender, receiver, until=35.0)
    assert [path.row(start)["outage_ns"] for start in (0, 5, 10)] == [
        2_500 * MS,
        5_000 * MS,
        1_500 * MS,
    ]
    assert [path.row(start)["outage_since_ns"] for start in (0, 5, 10)] == [ns(2.5), ns(2.5), None]


def test_an_outage_ends_with_its_sender() -> None:
    """Of a sender that is there no more nothing is missing any longer."""
    path, sender, receiver = pair()
    for second in range(5):
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
    sender.bye(5.0)
    receiver.alive(20.0)
    assert [path.row(start)["outage_since_ns"] for start in (0, 5)] == [ns(0), None]


def test_an_outage_of_one_of_two_senders_shows() -> None:
    """The other one's deliveries do not hide it."""
    path = Path(senders=2)
    fine, broken, receiver = path.end("sender", "a"), path.end("sender", "b"), path.end("receiver")
    receiver.alive(0.0)
    for second in range(5):
        fine.ledger(second, [(second, 1, "accepted")], second + 1.0)
        receiver.received(fine, second, [second], second + 1.0)
        broken.ledger(second, [(second, 1, "accepted")], second + 1.0)
    finish(fine, broken, receiver)
    assert path.row(0)["outage_ns"] == 5_000 * MS
    assert path.row(0)["outage_since_ns"] == ns(0)


def test_unobserved_messages_make_no_outage() -> None:
    """Nobody knows whether they arrived."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 3, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 1.0)
    receiver.skip()
    receiver.alive(14.0, gaps=(gap(2, 2, 1.0, 14.0),))
    finish(sender, receiver)
    assert path.row(0)["classes"]["unobserved"] == 2
    assert (path.row(0)["outage_ns"], path.row(0)["outage_since_ns"]) == (0, None)


def test_a_sender_that_has_messages_due_and_sends_none_is_stalled() -> None:
    """That is its own doing, and no outage of the path."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    sender.ledger(1, [], 2.0, due=10, backlog=10)
    sender.ledger(2, [], 3.0, due=10, backlog=10)
    sender.ledger(3, [], 4.0)
    receiver.received(sender, 0, [0], 1.0)
    finish(sender, receiver)
    assert path.row(0)["stalled_ns"] == 2 * SECOND_NS
    assert path.row(0)["outage_ns"] == 0


def test_a_senders_gap_makes_the_ledger_doubtful_and_nothing_else() -> None:
    """What its ledgers say stands."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    sender.skip()
    sender.alive(3.0, gaps=(gap(2, 2, 1.0, 2.0),))
    receiver.received(sender, 0, [0], 1.0)
    finish(sender, receiver)
    assert path.row(0)["flags"] == ["ledger_incomplete"]
    assert path.row(0)["classes"]["lost"] == 1
    finish(sender, receiver, until=21.0)
    assert path.row(5)["flags"] == []


def test_a_row_is_canonical_and_complete() -> None:
    """It reads back as it was written, and nothing doubtful is in a quiet, whole window."""
    row = one_window([0.001])
    assert row["complete"]
    assert row["flags"] == []
    assert contract.decode_window(contract.encode(row)) == row
    assert b" " not in contract.encode(row)


def test_foreign_messages_count_where_the_record_brings_its_end() -> None:
    """Beyond a hole that it makes to be given up."""
    path, sender, receiver = pair()
    receiver.alive(1.0)
    receiver.skip()
    for second in range(1, 70):
        sender.alive(float(second))
    receiver.alive(71.0, foreign=3)
    finish(sender, receiver, until=100.0)
    assert path.row(70)["foreign"] == 3
    assert path.row(0)["foreign"] == 0
