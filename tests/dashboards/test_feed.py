"""Server-sent events of the live page, and the JSON behind it."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import urllib.error
import urllib.request
from typing import Any

import made_exporter
import pytest
from helpers import wait_until
from hypothesis import given
from hypothesis import strategies as st
from made_exporter import Served, recent
from made_rows import window
from prometheus_client import CollectorRegistry

from collectors.http.part_server import PartServer
from collectors.http.server import Response
from dashboards.page.feed import MAX_READERS, Feed, changes, event
from deploy.commands.top import fetch

pytestmark = pytest.mark.slow

FIELDS = st.dictionaries(st.sampled_from(["state", "lost", "spark"]), st.integers(0, 2) | st.none())
STATES = st.fixed_dictionaries(
    {
        "now_seconds": st.integers(0, 5),
        "not_ready": st.none() | st.just("why"),
        "queues": st.lists(st.integers(0, 1), max_size=2),
        "paths": st.dictionaries(st.sampled_from("abc"), FIELDS).map(
            lambda paths: [{"state": 0, "lost": 0, "spark": 0, **f, "name": n} for n, f in paths.items()]
        ),
    }
)


@given(before=STATES, now=STATES)
def test_changes_lead_from_one_state_to_the_next(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Taken as the page takes them, they give the new state; where nothing changed they are empty."""
    change = changes(before, now)
    paths = {path["name"]: dict(path) for path in before["paths"]}
    for path in change["paths"]:
        paths.setdefault(path["name"], {}).update(path)
    for name in change["gone"]:
        del paths[name]
    assert paths == {path["name"]: path for path in now["paths"]}
    rest = {name: value for name, value in change.items() if name not in {"paths", "gone"}}
    assert {**before, **rest, "paths": now["paths"]} == now
    assert changes(now, now) == {"paths": [], "gone": []}


def test_an_event_is_one_line_of_data() -> None:
    """Line ends in names are JSON's, not the stream's."""
    assert event("state", {"name": "a\nb\r\ndata: x"}).count(b"\n") == 3


def read_event(stream: http.client.HTTPResponse) -> tuple[str, dict[str, Any]]:
    name = ""
    while line := stream.readline().decode().rstrip("\n"):
        kind, _, text = line.partition(": ")
        if kind == "event":
            name = text
        elif kind == "data":
            return name, json.loads(text)
    return read_event(stream)


def test_everything_first_then_changes(served: Served) -> None:
    """A reader gets the whole state, and from then on what differs."""
    with urllib.request.urlopen(f"{served.url}/events", timeout=10) as stream:  # noqa: S310 -- of this test
        name, state = read_event(stream)
        assert name == "state"
        assert [path["name"] for path in state["paths"]] == ["east-west"]
        served.exporter.apply_window(window("other", recent(), lost=2))
        while not (found := read_event(stream))[1]["paths"]:
            pass
        assert found[0] == "change"
        (path,) = found[1]["paths"]
        assert (path["name"], path["classes"]["lost"]) == ("other", 2)
        assert "site" not in found[1]


def test_readers_are_bounded_and_their_places_come_back(served: Served) -> None:
    """More pages than there is room for are refused; closed ones, and mere HEADs, make room."""
    for _ in range(MAX_READERS + 1):
        request = urllib.request.Request(f"{served.url}/events", method="HEAD")  # noqa: S310 -- of this test
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 -- the same
    open_ = [urllib.request.urlopen(f"{served.url}/events", timeout=10) for _ in range(MAX_READERS)]  # noqa: S310 -- the same
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"{served.url}/events", timeout=10)  # noqa: S310 -- the same
    for stream in open_:
        stream.close()

    def admitted() -> bool:
        with urllib.request.urlopen(f"{served.url}/events", timeout=10) as stream:  # noqa: S310 -- the same
            return read_event(stream)[0] == "state"

    wait_until(admitted, 10, "a place to come back")


def test_a_closed_reader_is_closed() -> None:
    """It reads no more, and gives its place back once."""
    feed = Feed(lambda: {"paths": []}, every_seconds=0.0)
    reader = feed.reader()
    assert reader is not None
    assert next(reader).startswith(b"event: state")
    reader.close()
    reader.close()
    assert list(reader) == []


def test_state_as_json_is_packed_on_request(served: Served) -> None:
    """For `inflight top` over slow lines."""
    plain = json.loads(served.get("/api/state"))
    request = urllib.request.Request(f"{served.url}/api/state", headers={"Accept-Encoding": "gzip"})  # noqa: S310 -- of this test
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 -- the same
        packed = json.loads(gzip.decompress(answer.read()))
    assert packed["paths"] == plain["paths"]


def test_pages_are_for_who_asks_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign name that leads here gets no data, and the reason; what everybody may read anyway it gets."""
    monkeypatch.setattr(made_exporter, "TEXT", made_exporter.TEXT + "export: {hosts: [monitor.example]}\n")
    served = Served()

    def status(path: str, host: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status

    for path in ("/", "/api/state", "/api/why?path=east-west", "/events"):
        assert status(path, "evil.example") == 403
        assert status(path, "monitor.example:9750") == 200
        assert status(path, f"localhost:{served.port}") == 200
    for path in ("/runbook", "/page.js", "/page.css", "/-/ready"):
        assert status(path, "evil.example") == 200
    served.close()


def test_top_asks_under_any_name(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal is no browser that a foreign page makes ask: what name leads here does not matter."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *args, **kw: resolve("127.0.0.1", *args, **kw))
    assert fetch(f"http://inflight-export.monitoring.svc:{served.port}")["site"] == "here"


def test_top_says_why_it_is_not_answered() -> None:
    """The server's reason is the one that helps, in one line that steers no terminal."""
    server = PartServer(
        "127.0.0.1:0",
        CollectorRegistry(),
        routes={"/api/state": lambda _: Response(b"ask for\x1b[2J localhost\n", status=403)},
    )
    with pytest.raises(ValueError, match=r"HTTP status 403: ask for\ufffd\[2J localhost$"):
        fetch(server.url)
    server.close()
