"""What can go wrong on the way to a Grafana is told in one line, and never with the token."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from certificates import Authority
from click.testing import CliRunner, Result
from helpers import free_port
from peers import Dripping

from dashboards import grafana
from deploy.cli import main

TOKEN = "glsa_only-for-this-test"  # noqa: S105 -- opens nothing


@contextmanager
def _server(status: int, body: str, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Answers everything with the same; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`inflight dashboards diff`; what it says is one line without the token."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")

    def run(url: str, *more: str) -> Result:
        found = CliRunner().invoke(
            main, ["dashboards", "diff", "--url", url, "--token-file", str(token), *more]
        )
        assert found.exit_code == 2, found.output
        assert TOKEN not in found.output
        assert len(found.output.splitlines()) == 1, found.output
        return found

    return run


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, '{"message": "Unauthorized"}', "does not take the token"),
        (403, '{"message": "Access denied"}', "refused: Client Error 403: Access denied"),
        (400, '{"message": "bad request data"}', "refused: Bad Input"),
        (500, '{"message": "database is locked"}', "failed: Server Error 500: database is locked"),
        (502, "<html>Bad Gateway</html>", "failed: Server Error 502"),
        (500, "null", "looking for the folder"),
        (200, "<html>Log in</html>", "answers, but not as Grafana does"),
        (200, '{"message": "not a list"}', "answers, but not as Grafana does"),
        pytest.param(200, "[" * 100_000, "answers, but not as Grafana does", id="200-deep"),
        pytest.param(500, "[" * 100_000, "answers, but not as Grafana does", id="500-deep"),
    ],
)
def test_answers_that_are_no_good(status: int, body: str, told: str, diff: Callable[..., Result]) -> None:
    """Refusals, failures, and things that are no Grafana."""
    with _server(status, body) as port:
        assert told in diff(f"http://127.0.0.1:{port}").output


def test_nobody_listens(diff: Callable[..., Result]) -> None:
    """The address is told, with what to look at."""
    found = diff(f"http://127.0.0.1:{free_port()}")
    assert "cannot reach Grafana at http://127.0.0.1:" in found.output
    assert "is it running" in found.output


def test_a_certificate_is_checked(diff: Callable[..., Result], authority: Authority) -> None:
    """An unknown authority is refused, until --ca names it; then what answers is looked at."""
    server = authority.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.cert, server.key)
    with _server(200, json.dumps({"message": "not a list"}), context) as port:
        url = f"https://localhost:{port}"
        assert "is not trusted" in diff(url).output
        assert "answers, but not as Grafana does" in diff(url, "--ca", str(authority.ca)).output
        assert "no such file" in diff(url, "--ca", str(authority.ca) + ".not").output


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("grafana:3000", "is no address of a Grafana"),
        ("ftp://grafana", "is no address of a Grafana"),
        ("http://admin:secret@grafana", "a password does not belong into a URL"),
    ],
)
def test_addresses_that_are_none(url: str, told: str, diff: Callable[..., Result]) -> None:
    """Found before anything is sent, and a password in it is not repeated."""
    found = diff(url)
    assert told in found.output
    assert "secret" not in found.output


def test_a_server_that_drips_keeps_nobody(
    diff: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes in time, and the whole never does."""
    monkeypatch.setattr(grafana, "_TIMEOUT_SECONDS", 0.5)
    peer = Dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ")
    peer.start()
    assert "no answer from" in diff(f"http://127.0.0.1:{peer.port}").output
    peer.close()


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xfe"])
def test_token_files_that_hold_none(content: bytes | None, tmp_path: Path) -> None:
    """Missing, empty, more than one line, or no text: exit status 2, and the file's name."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    arguments = ["dashboards", "publish", "--url", "http://127.0.0.1:1", "--token-file", str(file)]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 2
    assert str(file) in found.output


def test_one_file_alone_uses_the_package() -> None:
    """grafana-api is no longer developed: whoever replaces it has one file to change."""
    root = Path(__file__).parents[2]
    sources = [
        file
        for part in ("collectors", "streaming", "dashboards", "deploy")
        for file in (root / part).rglob("*.py")
    ]
    assert [
        file.name
        for file in sources
        if "import grafana_api" in (text := file.read_text()) or "from grafana_api" in text
    ] == ["grafana.py"]
