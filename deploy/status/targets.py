"""The config that `inflight status` makes of URLs and logins."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from collectors.config.model import Config
from deploy.errors import Problem
from deploy.options import check_login

Login = tuple[str, Path] | None


def logins_of(
    urls: tuple[str, ...], logins: tuple[tuple[str, str, Path], ...], options: dict[str, Any]
) -> dict[str, Login]:
    """Returns the URLs, each with the login that is sent there; raises Problem where that is not clear."""
    user, file = options["user"], options["password_file"]
    check_login(user, file)
    if user and (len(urls) != 1 or logins):
        raise Problem(
            "--user and --password-file are for one URL; with several, give each that wants a login as "
            "--login URL USER FILE: a password goes to no other host than its own"
        )
    found: dict[str, Login] = dict.fromkeys(urls, (user, file) if user else None)
    return found | {url: (user, file) for url, user, file in logins}


def config_of(logins: dict[str, Login], options: dict[str, Any]) -> Config:
    """Returns a config of these targets; all routers are taken for one mesh until their answers differ."""
    tls = {name: options[name] for name in ("ca", "cert", "key") if options[name]} or None
    meshes: dict[str, Any] = {}
    brokers = {}
    for url, login in logins.items():
        try:
            parts = urlsplit(url)
        except ValueError:
            raise Problem(f"{url.rpartition('@')[2]!r} is no URL") from None
        name = parts.netloc.rpartition("@")[2]
        auth = dict(zip(("user", "password_file"), login, strict=True)) if login else None
        if parts.scheme in {"http", "https"}:
            origin = options["origin"] or f"{parts.scheme}://{parts.hostname}"
            brokers[name] = {"jolokia": url, "origin": origin, "auth": auth, "tls": tls}
        else:
            (mesh,) = meshes.values() or [meshes.setdefault(name, {"urls": [], "logins": {}, "tls": tls})]
            mesh["urls"].append(url)
            if auth:
                mesh["logins"][url] = {"mechanism": options["mechanism"], **auth}
    try:
        return Config.model_validate({"version": 1, "site": "status", "meshes": meshes, "brokers": brokers})
    except ValidationError as error:
        raise Problem(
            "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        ) from None
