"""A Chromium without a window, driven over its debugging pipe."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from helpers import missing

_ANSWER_SECONDS = 30.0
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ),
)


def program() -> str:
    """Return the path of Chromium; skip the test if there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        missing("chromium")
        raise AssertionError
    return found


class Browser:
    """One process of Chromium; each page is a tab."""

    def __init__(self, profile: Path) -> None:
        arguments = [program(), *_ARGUMENTS, f"--user-data-dir={profile}", "about:blank"]
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        # The pipe's ends have to be descriptors 3 and 4 of the child; sh takes only one digit on the right.
        shell = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *arguments],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.send("Browser.close")
            self._process.wait(10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(10)
        os.close(self._write)
        os.close(self._read)

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _ANSWER_SECONDS
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            ready = left > 0 and select.select([self._read], [], [], left)[0]
            assert ready, f"Chromium did not answer within {_ANSWER_SECONDS:g} s"
            data = os.read(self._read, 1 << 20)
            assert data, "Chromium has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def page(self, url: str, *, width: int = 1400, height: int = 900, dark: bool = False) -> Page:
        return Page(self, url, width, height, dark=dark)


class Page:
    """A tab that has loaded `url`; `events` has what happened in it."""

    def __init__(self, browser: Browser, url: str, width: int, height: int, *, dark: bool) -> None:
        self._browser = browser
        self._target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.send("Page.navigate", url=url)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, expression: str, what: str, seconds: float = 15.0) -> None:
        """Wait until a JavaScript expression is true."""
        until = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < until, f"waited {seconds:g} s in vain for {what}: {self.text()[:2000]}"
            time.sleep(0.05)

    def text(self) -> str:
        return str(self.evaluate("document.body.innerText"))

    def happened(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of this page's events of a kind."""
        return self._events(lambda event: event.get("method") == method)

    def mistakes(self) -> list[Any]:
        """Return exceptions, refused scripts and failed requests."""
        thrown = self.happened("Runtime.exceptionThrown")
        return thrown + [e for e in self.happened("Log.entryAdded") if e["entry"]["level"] == "error"]

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)

    def _events(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        found = [e for e in self._browser.events if e.get("sessionId") == self._session and wanted(e)]
        return [event["params"] for event in found]
