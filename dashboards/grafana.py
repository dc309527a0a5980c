"""Grafana's HTTP API, as far as publishing needs it: the one place that uses grafana-api.

That package is no longer developed, and knows nothing of alerting: what it lacks is asked for through its
session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import requests
from grafana_api.grafana_api import (
    GrafanaClientError,
    GrafanaException,
    GrafanaServerError,
    GrafanaUnauthorizedError,
)
from grafana_api.grafana_face import GrafanaFace

Json = dict[str, Any]
_TIMEOUT_SECONDS: Final = 30.0
_NOT_FOUND: Final = 404
# Otherwise nobody could silence or try a rule on Grafana's own pages.
_EDITABLE: Final = {"X-Disable-Provenance": "true"}


class GrafanaError(Exception):
    """What went wrong, with what, and what to do, in one line."""


class Grafana:
    """One Grafana; every method raises GrafanaError."""

    def __init__(self, url: str, token: str, *, ca: Path | None = None, where: str = "the one given") -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise GrafanaError(f"{url!r} is no address of a Grafana: it begins with http:// or https://")
        if parts.username or parts.password:
            raise GrafanaError("a password does not belong into a URL: put a token into a file")
        self.url: Final = url.rstrip("/")
        self._where: Final = where
        prefix = parts.path.strip("/")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._face: Final = GrafanaFace(
            auth=token,
            host=host,
            port=parts.port,
            url_path_prefix=f"{prefix}/" if prefix else "",
            protocol=parts.scheme,
            verify=str(ca) if ca else True,
            timeout=_TIMEOUT_SECONDS,
        )

    def _ask(self, what: str, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Call the API; `what` is being done, for the error's text."""
        try:
            call = getattr(self._face.api, method)
            return _in_time(lambda: call(path, json=body, headers=headers or None))
        except GrafanaUnauthorizedError:
            raise GrafanaError(
                f"{what}: Grafana at {self.url} does not take the token ({self._where}); make"
                " a service account with the role Admin there, and a token for it"
            ) from None
        except GrafanaServerError as error:
            raise GrafanaError(f"{what}: Grafana at {self.url} failed: {_one_line(error)}") from None
        except GrafanaClientError as error:
            raise GrafanaError(f"{what}: Grafana at {self.url} refused: {_one_line(error)}") from error
        except requests.exceptions.SSLError as error:
            raise GrafanaError(
                f"{what}: the certificate of {self.url} is not trusted ({_one_line(error)});"
                " name the file of its authority with --ca"
            ) from None
        except (requests.exceptions.Timeout, TimeoutError):
            raise GrafanaError(f"{what}: no answer from {self.url} within {_TIMEOUT_SECONDS:g} s") from None
        except (requests.exceptions.JSONDecodeError, RecursionError):
            if method == "DELETE":
                return None  # it answers nothing at all
            raise GrafanaError(
                f"{what}: {self.url} answers, but not as Grafana does;"
                " is this its address, with the path before /api?"
            ) from None
        except requests.exceptions.RequestException as error:
            raise GrafanaError(
                f"{what}: cannot reach Grafana at {self.url} ({_one_line(error)}); is it running, and is the"
                " address right?"
            ) from None
        except (
            TypeError,
            KeyError,
            OSError,
        ) as error:  # an error body that is no object; a CA file that is none
            raise GrafanaError(f"{what}: {self.url}: {_one_line(error)}") from None

    def _find(self, what: str, path: str) -> Json | None:
        """Return what is there, or None."""
        try:
            found: Json = self._ask(what, "GET", path)
        except GrafanaError as error:
            cause = error.__cause__
            if isinstance(cause, GrafanaException) and cause.status_code == _NOT_FOUND:
                return None
            raise
        return found

    def folder(self, uid: str) -> Json | None:
        return self._find("looking for the folder", f"/folders/{quote(uid)}")

    def make_folder(self, uid: str, title: str) -> None:
        self._ask(f"making the folder {title}", "POST", "/folders", {"uid": uid, "title": title})

    def sources(self) -> list[Json]:
        found: list[Json] = self._ask("listing data sources", "GET", "/datasources")
        if not isinstance(found, list):
            raise GrafanaError(f"listing data sources: {self.url} answers, but not as Grafana does")
        return found

    def put_source(self, source: Json, number: int | None) -> None:
        what = f"writing the data source {source['name']}"
        if number is None:
            self._ask(what, "POST", "/datasources", source)
        else:
            self._ask(what, "PUT", f"/datasources/{number}", source)

    def dashboard(self, uid: str) -> Json | None:
        return self._find(f"reading the dashboard {uid}", f"/dashboards/uid/{quote(uid)}")

    def put_dashboard(self, board: Json, folder_uid: str) -> None:
        body = {"dashboard": board, "folderUid": folder_uid, "overwrite": True, "message": "inflight"}
        self._ask(f"writing the dashboard {board['uid']}", "POST", "/dashboards/db", body)

    def rules(self) -> list[Json]:
        found: list[Json] = self._ask("listing alert rules", "GET", "/v1/provisioning/alert-rules")
        return found or []

    def put_rule(self, rule: Json, *, new: bool) -> None:
        path = "/v1/provisioning/alert-rules" + ("" if new else f"/{quote(rule['uid'])}")
        self._ask(f"writing the rule {rule['title']}", "POST" if new else "PUT", path, rule, **_EDITABLE)

    def delete_rule(self, uid: str) -> None:
        self._ask(
            f"deleting the rule {uid}", "DELETE", f"/v1/provisioning/alert-rules/{quote(uid)}", **_EDITABLE
        )

    def group(self, folder_uid: str, name: str) -> Json | None:
        path = f"/v1/provisioning/folder/{quote(folder_uid)}/rule-groups/{quote(name)}"
        return self._find(f"reading the rule group {name}", path)

    def put_group(self, folder_uid: str, group: Json) -> None:
        path = f"/v1/provisioning/folder/{quote(folder_uid)}/rule-groups/{quote(group['title'])}"
        self._ask(f"writing the rule group {group['title']}", "PUT", path, group, **_EDITABLE)

    def query(self, body: Json) -> Json:
        """Run a panel's query and return its result, with `error` if the data source refused it."""
        try:
            answer: Json = self._ask("running a panel's query", "POST", "/ds/query", body)
        except GrafanaError as error:
            results = _results(error.__cause__)
            if not results:
                raise
            answer = {"results": results}
        result: Json = next(iter(answer["results"].values()), {})
        return result

    def evaluated_rules(self) -> list[Json]:
        """Return every rule with its health and the time of its last evaluation."""
        answer = self._ask("reading the rules' health", "GET", "/prometheus/grafana/api/v1/rules")
        return [
            {**rule, "folder": group["file"], "group": group["name"]}
            for group in answer["data"]["groups"]
            for rule in group["rules"]
        ]


def _in_time(call: Callable[[], Any]) -> Any:
    """Return what the call returns, or raise TimeoutError: the package's own restarts with each byte."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            found.set_exception(error)

    threading.Thread(target=run, name="grafana", daemon=True).start()
    return found.result(_TIMEOUT_SECONDS)


def _results(error: BaseException | None) -> Json | None:
    """Grafana answers 400 for a query that the data source refuses, with its reason in the body."""
    if isinstance(error, GrafanaException) and isinstance(error.response, dict):
        return error.response.get("results")
    return None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
