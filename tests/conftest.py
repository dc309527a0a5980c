"""The real Kafka, Artemis and routers that tests share, started when the first test asks for them."""

from __future__ import annotations

import logging
import os
import signal
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from certificates import Authority
from helpers import OPTIONAL, optional
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis
    from deploy.embedded.programs.kafka import Kafka
    from deploy.embedded.programs.security import Security
    from deploy.lab.lab import Lab

# A shell starts what runs in the background deaf to Ctrl-C, and nohup what it runs to the end of a terminal:
# so would be all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# How long an example takes is the machine's, not the code's.
settings.register_profile("inflight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("inflight")

_REQUIRE_ALL = os.environ.get("INFLIGHT_REQUIRE_ALL") == "1"
_NEWS_SECONDS = 30.0


class _Progress:
    """Says every half minute how far the run is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = self._told = time.monotonic()
        self._done = self._total = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = self._total or len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._total = len(ids)  # each process has found all of them

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._done += 1
        now = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or now - self._told < _NEWS_SECONDS:
            return
        self._told = now
        minutes, seconds = divmod(round(now - self._began), 60)
        failed = sum(len(reporter.stats.get(kind, ())) for kind in ("failed", "error"))
        reporter.write_line(
            f"-- {minutes} min {seconds:02} s: {self._done} of {self._total} tests, {failed} failed; "
            f"the last was in {nodeid.partition('::')[0]}"
        )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Progress(config))


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    """Restore signal handlers and logging, which commands called in this process change."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    root = logging.getLogger()
    listeners = [*root.handlers]
    levels = {logger: logger.level for logger in (root, *map(logging.getLogger, ("inflight", "kafka")))}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for listener in [*root.handlers]:
        if listener not in listeners:
            root.removeHandler(listener)
    for logger, level in levels.items():
        logger.setLevel(level)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka without topics. A test makes topics under a prefix of its own, and must not end it."""
    from deploy.embedded.programs.kafka import Kafka  # noqa: PLC0415 -- most test runs do without it

    with Kafka.alone(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def artemis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artemis]:
    """An Artemis that makes queues when they are first used. A test must not end it."""
    from deploy.embedded.programs.artemis import Artemis  # noqa: PLC0415 -- the same

    with Artemis.alone(tmp_path_factory.mktemp("artemis")) as running:
        yield running


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Issues the certificates of this test run."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def security(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Security:
    """Server certificate, user and password of `secure_kafka` and `secure_artemis`."""
    from deploy.embedded.programs.security import Security  # noqa: PLC0415 -- the same
    from deploy.embedded.supervise import password_files  # noqa: PLC0415 -- the same

    server = authority.issue("server")
    password_file = tmp_path_factory.mktemp("security") / "password"
    password_files.password(password_file)
    return Security(ca=authority.ca, cert=server.cert, key=server.key, password_file=password_file)


@pytest.fixture(scope="session")
def secure_kafka(security: Security, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka that can also be reached by TLS and SCRAM-SHA-512 or PLAIN, at `secure_bootstrap`."""
    from deploy.embedded.programs.kafka import Kafka  # noqa: PLC0415 -- the same

    with Kafka.alone(tmp_path_factory.mktemp("secure-kafka"), security=security) as running:
        yield running


@pytest.fixture(scope="session")
def secure_artemis(security: Security, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artemis]:
    """An Artemis that can also be reached by TLS and PLAIN, at `plain_url`."""
    from deploy.embedded.programs.artemis import Artemis  # noqa: PLC0415 -- the same

    with Artemis.alone(tmp_path_factory.mktemp("secure-artemis"), security=security) as running:
        yield running


@pytest.fixture(scope="session")
def router_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Stand-ins A - B - C, a broker at C. A test that kills one starts it again and waits for it."""
    from real_routers import line, running  # noqa: PLC0415 -- the same

    with running(line(brokers=("store",)), tmp_path_factory.mktemp("line"), stand_ins=True) as lab:
        yield lab


@pytest.fixture(scope="session")
def grafana_home() -> Iterator[None]:
    """Lets programs.grafana find a Grafana, if need be the developers' one beside the project."""
    from deploy.embedded.programs import grafana  # noqa: PLC0415 -- the same

    with pytest.MonkeyPatch.context() as patch:
        if grafana.installation() is None:
            packed = Path(__file__).parents[2] / "shared" / "tools" / "grafana.tar.xz"
            if not packed.exists():
                optional("Grafana")
            patch.setenv(grafana.PROGRAM, str(_unpacked(packed)))
        yield


def _unpacked(archive: Path) -> Path:
    """Unpack it once, into the folder that the developers' tool uses, and return that."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inflight-tools"
    home = cache / "grafana"
    if not os.access(home / "bin" / "grafana", os.X_OK):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as half, tarfile.open(archive) as packed:
            packed.extractall(half, filter="data")
            (Path(half) / "grafana").rename(home)
    return home


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001 -- pytest's signature
    call: pytest.CallInfo[None],  # noqa: ARG001 -- the same
) -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,  # noqa: ARG001 -- pytest's signature
) -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With INFLIGHT_REQUIRE_ALL=1 let a skipped test fail; an expected failure stays one."""
    if _REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if OPTIONAL in reason:
            return
        report.outcome = "failed"
        report.longrepr = f"INFLIGHT_REQUIRE_ALL=1, but skipped: {reason}"
