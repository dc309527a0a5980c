"""Commands against wrong options, full disks, and peers and texts that are not what they should be."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from config_file import write_config
from helpers import free_port
from peers import Peer
from standin_clients import StandIn

from deploy import logs
from deploy.cli import main

pytestmark = pytest.mark.slow


def run(*arguments: object) -> tuple[int, str]:
    """Exit status and what was said; never a traceback."""
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Of a path to nowhere."""
    kafka = f"127.0.0.1:{free_port()}"
    return write_config(tmp_path, free_port(), "{p: {from: a, to: a, address: inflight/p}}", kafka=kafka)


@pytest.mark.parametrize("command", ["run", "probe", "export", "stream"])
@pytest.mark.parametrize("listen", ["127.0.0.1", "127.0.0.1:abc", ":", "[::1]:x", "127.0.0.1:²", "h:70000"])
def test_an_address_to_listen_on_is_looked_at_first(config: Path, command: str, listen: str) -> None:
    """Before anything is started for it."""
    status, said = run(command, "-c", config, "--listen", listen)
    assert status == 2
    assert "is not an address to listen on" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ping", "amqp://x", "x" * 513), "an address has 1 to 512 characters"),
        (("ping", "amqp://x", ""), "an address has 1 to 512 characters"),
        (("ping", "amqp://x", "\udcff"), "an address is of UTF-8"),
        (("ping", "amqp://x", "a", "--ttl", "60d"), "AMQP's time to live goes up to 49d"),
        (("ping", "amqp://x", "a", "--credit", 1 << 31), "is not in the range"),
        (("ping", "amqp://x", "a", "--size", "5000MB"), "a message has 64B to 100MB"),
        (("ping", "amqp://x", "a", "--settle", "9999999999999999d"), "is longer than 36500d"),
        (("ping", "amqp://bob:hunter2@h:99999999", "x"), "must not hold a user or a password"),
        (
            ("ping", "amqp://x", "a", "--count", 1, "--hdr-log", "/nope/x"),
            "cannot write /nope/x: No such file",
        ),
        (("status", "http://[::1"), "is no URL"),
        (("status", "http://bob:hunter2@h:99999999/"), "must not hold a user or a password"),
        (("status", "amqp://h", "--timeout", "inf"), "is not in the range"),
        (("top", "http://bob:hunter2@127.0.0.1:1"), "must not hold a user or a password"),
        (("top", "http://[::1"), "is not a URL like https://host:port"),
        (("size", "--paths", 10, "--rate", "9" * 400 + "/s"), "is more than 1e9/s"),
        (("run", "--site", "a\x1b[2J"), "printable characters"),
    ],
)
def test_wrong_options_are_told_in_a_line(arguments: tuple[object, ...], said: str) -> None:
    """Without a secret that stands among them."""
    status, output = run(*arguments)
    assert status == 2
    assert said in output
    assert "hunter2" not in output


@pytest.mark.parametrize("command", ["probe", "collect", "export"])
def test_a_state_that_is_no_folder_is_told_with_what_to_do(config: Path, command: str) -> None:
    """What has to outlive a restart would be lost without a word."""
    text = config.read_text().replace(f"state: {config.parent / 'state'}", f"state: {config}/below")
    config.write_text(text + f"meshes: {{default: {{urls: 'amqp://127.0.0.1:{free_port()}'}}}}\n")
    status, said = run(command, "-c", config, "--listen", f"127.0.0.1:{free_port()}")
    assert status == 2
    assert f"the folder `state` of the config, {config}/below, cannot be used: Not a directory" in said


@pytest.mark.parametrize("command", ["probe", "collect", "export"])
def test_a_state_that_takes_no_file_is_told_with_what_to_do(config: Path, command: str) -> None:
    """Before anything is counted that would be lost; /sys lets nobody make files, whoever asks."""
    text = config.read_text().replace(f"state: {config.parent / 'state'}", "state: /sys/kernel")
    config.write_text(text + f"meshes: {{default: {{urls: 'amqp://127.0.0.1:{free_port()}'}}}}\n")
    status, said = run(command, "-c", config, "--listen", f"127.0.0.1:{free_port()}")
    assert status == 2
    assert "the folder `state` of the config, /sys/kernel, cannot be used: " in said


def test_a_probe_whose_port_is_taken_leaves_nothing_behind(config: Path) -> None:
    """The next start would say that it was killed, and publish ends that never ran."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, said = run("probe", "-c", config, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert status == 2
    assert "cannot listen on" in said
    assert not (config.parent / "state").exists()


@pytest.mark.parametrize("option", ["--hdr-log", "--rate-log", "--samples"])
def test_what_was_measured_is_told_where_a_file_cannot_hold_it(router: StandIn, option: str) -> None:
    """On a full disk; and the file is still there."""
    url = f"amqp://127.0.0.1:{router.port}"
    status, said = run(
        "ping", url, f"closest/full{option}", "--count", 5, "--rate", "50/s", option, "/dev/full"
    )
    assert "sent 5  received 5" in said
    assert "cannot write /dev/full: No space left on device" in said
    assert status == 2
    assert Path("/dev/full").is_char_device()


class _Says(Peer):
    """A server that answers whatever comes with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data
        self.start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.recv(4_096)
            client.sendall(self._data)


def answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    "data",
    [
        b"\x9b2J garbage\r\n\r\n",
        b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        answer(b'{"paths": []}'),
        answer(b'{"paths": 5}'),
        answer(json.dumps({"paths": [{}], "site": "s", "not_ready": ""}).encode()),
        answer(b"[" * 100_000),
        answer(b"7"),
    ],
    ids=range(8),
)
def test_top_of_something_else_is_told_in_a_line(data: bytes) -> None:
    """Whatever answers there."""
    status, said = run("top", "--once", f"http://127.0.0.1:{_Says(data).port}")
    assert status == 2
    assert said.startswith("inflight: no answer from http://127.0.0.1:")
    assert said.rstrip("\n").isprintable()


@pytest.mark.parametrize("as_json", [False, True])
def test_words_of_others_do_not_steer_a_terminal_through_the_log(*, as_json: bool) -> None:
    """Nor do they begin a line of their own."""
    formatter = logs._Json() if as_json else logs._Lines()  # noqa: SLF001 -- `setup` would change pytest's
    text = "evil \x1b[31m\n\r\x9b2J\u202e é"
    record = logging.LogRecord("inflight.probe", logging.INFO, "", 0, "connected (%s)", (text,), None)
    line = formatter.format(record)
    assert line.isprintable()
    assert ("é" in line) if not as_json else (json.loads(line)["event"] == f"connected ({text})")


@pytest.mark.parametrize("command", [("check",), ("size", "--paths", "10", "--rate", "1/s")])
def test_output_that_cannot_be_written_is_no_finding(config: Path, command: tuple[str, ...]) -> None:
    """Status 1 would say that something is wrong in what was looked at."""
    arguments = [*command, str(config)] if command == ("check",) else [*command]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "deploy", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "inflight: the output cannot be written: No space left on device\n"
