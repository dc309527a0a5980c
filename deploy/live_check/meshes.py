"""Checks that every router of every mesh can be asked, through each URL."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from collectors.amqp.options import AmqpOptionsError, read_options
from collectors.config.model import Config, Mesh
from collectors.config.secrets import SecretError
from collectors.polling.errors import PollError
from collectors.router.client import ManagementClient
from collectors.router.exchange import poll_once
from collectors.router.poll import Poll
from collectors.router.snapshot import take_snapshot
from collectors.router.topology import Topology
from deploy.live_check import fixes
from deploy.live_check.result import Checked, failed, passed

_SECONDS = 5.0


def check_meshes(config: Config) -> Iterator[Checked]:
    """Check each URL by itself: a spare one that does not work is of no use."""
    for name, mesh in config.meshes.items():
        for url in mesh.urls:
            yield from _check(f"mesh {name} through {url}", mesh, url)


def _check(what: str, mesh: Mesh, url: str) -> Iterator[Checked]:
    try:
        client = ManagementClient(read_options(url, mesh.tls, mesh.login(url)), _SECONDS)
        try:
            polled = poll_once(client, Poll(client.guess, {}, itertools.count()), time.monotonic() + _SECONDS)
        finally:
            client.close()
    except PollError as error:
        yield failed(what, str(error), fixes.of_mesh(error.failure))
        return
    except (AmqpOptionsError, SecretError) as error:
        yield failed(what, str(error), "put the file right, or the config that names it")
        return
    if polled.local.failure:
        result, text = polled.local.failure
        yield failed(what, f"management does not answer: {text}", fixes.of_mesh(result))
        return
    answered = {router: asked for router, asked in polled.asked.items() if asked.failure is None}
    yield passed(what, f"{len(answered)} routers answer: {', '.join(sorted(answered))}"[:200])
    for router, asked in polled.asked.items():
        if asked.failure:
            result, text = asked.failure
            yield failed(f"router {router}", text, fixes.of_mesh(result))
    if mesh.expect:
        snapshots = {router: take_snapshot(asked, 0, 0) for router, asked in answered.items()}
        found = Topology(mesh.expect).feed(snapshots, [], 0).differences
        wrong = [f"{link} is missing" for link in found.missing_link]
        wrong += [f"{link} is not expected" for link in found.unexpected_link]
        if wrong:
            fix = "mend the link, or the config's `expect` if this is as it should be"
            yield failed(f"{what}: links", ", ".join(wrong), fix)
        else:
            yield passed(f"{what}: links", "as expected")
