"""The JVM parts: fetched by the real Ivy, here from a small Maven repository on this machine."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from deploy.errors import Problem
from deploy.jvm import artifacts, fetch

pytestmark = pytest.mark.slow

# What the repository serves: path of Maven → content.
_ONE, _TWO, _AGENT = (
    "org/one/one/1.0/one-1.0.jar",
    "org/two/two/2.0/two-2.0.jar",
    "org/x/x/3/x-3-javaagent.jar",
)
_IVY = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="t" module="t"/>
  <configurations><conf name="spark"/><conf name="kafka"/><conf name="jolokia"/></configurations>
  <dependencies>
    <dependency org="org.one" name="one" rev="1.0" conf="spark->default;kafka->default" transitive="false"/>
    <dependency org="org.two" name="two" rev="2.0" conf="kafka->default" transitive="false"/>
    <dependency org="org.x" name="x" rev="3" conf="jolokia->default" transitive="false">
      <artifact name="x" type="jar" ext="jar" m:classifier="javaagent"/>
    </dependency>
  </dependencies>
</ivy-module>"""


class Maven(ThreadingHTTPServer):
    """Serves `files`, counts what is got, and never answers for paths that are held."""

    def __init__(self) -> None:
        self.files = {_ONE: b"one" * 1000, _TWO: b"two" * 1000, _AGENT: b"agent" * 1000}
        self.held: set[str] = set()
        self.release = threading.Event()
        self.got: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Maven

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self.server.got.append(self.path.lstrip("/"))
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.lstrip("/")
        if path in self.server.held:
            self.server.release.wait(60)
        body = self.server.files.get(path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if with_body and body:
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maven]:
    """A repository with three jars, a list and a lock that name them, and an empty cache."""
    with Maven() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        (tmp_path / "ivy.xml").write_text(_IVY)
        rows = ((hashlib.sha256(b).hexdigest(), len(b), Path(p).name) for p, b in server.files.items())
        (tmp_path / "jvm.lock").write_text("".join(f"{sha} {size} {file}\n" for sha, size, file in rows))
        monkeypatch.setattr(artifacts, "IVY_FILE", tmp_path / "ivy.xml")
        monkeypatch.setattr(artifacts, "LOCK_FILE", tmp_path / "jvm.lock")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("INFLIGHT_MAVEN_ROOT", server.root)
        yield server
        server.release.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "inflight" / "jvm"


def test_an_empty_cache_is_filled_and_stays(maven: Maven, cache: Path) -> None:
    """Each jar is fetched once, has its place by configuration, and a second call asks for nothing."""
    parts = artifacts.ensure()
    assert parts.jars("spark") == [cache / "one-1.0.jar"]
    assert parts.jars("kafka")[:2] == [cache / "one-1.0.jar", cache / "two-2.0.jar"]
    assert parts.classpath("jolokia") == str(cache / "x-3-javaagent.jar")
    assert (cache / "two-2.0.jar").read_bytes() == b"two" * 1000
    artifacts.ensure()
    assert sorted(maven.got) == sorted([_ONE, _TWO, _AGENT])
    assert sorted(file.name for file in cache.iterdir()) == [
        ".lock",
        "one-1.0.jar",
        "two-2.0.jar",
        "x-3-javaagent.jar",
    ]


def test_an_extra_is_fetched_when_it_is_asked_for(maven: Maven, cache: Path) -> None:
    """Plain set-up leaves it out, checks it no more afterwards, and it is locked as the others are."""
    text = artifacts.IVY_FILE.read_text()
    extra = '<dependency org="org.db" name="db" rev="1" conf="database->default" transitive="false"/>'
    text = text.replace('<conf name="jolokia"/>', '<conf name="jolokia"/><conf name="database"/>')
    text = text.replace('kafka->default" transitive', 'kafka->default;database->default" transitive', 1)
    artifacts.IVY_FILE.write_text(text.replace("</dependencies>", f"{extra}</dependencies>"))
    body = maven.files["org/db/db/1/db-1.jar"] = b"db" * 1000
    with artifacts.LOCK_FILE.open("a") as lock:
        lock.write(f"{hashlib.sha256(body).hexdigest()} {len(body)} db-1.jar\n")
    artifacts.ensure()
    assert not (cache / "db-1.jar").exists()
    parts = artifacts.ensure(extras=[artifacts.DATABASE])
    assert parts.jars("database") == [cache / "one-1.0.jar", cache / "db-1.jar"]
    assert parts.jars("kafka")[:2] == [cache / "one-1.0.jar", cache / "two-2.0.jar"]
    assert maven.got.count(_ONE) == 1
    (cache / "db-1.jar").write_bytes(b"altered")
    assert artifacts.ensure(extras=[artifacts.DATABASE]).jars("database")[1].read_bytes() == body


def test_what_pyspark_carries_is_taken_from_there(maven: Maven) -> None:
    """Kafka's Scala is PySpark's, not another one fetched."""
    names = [jar.name.rsplit("-", 1)[0] for jar in artifacts.ensure().jars("kafka")]
    assert "scala-library" in names
    assert maven.got.count(_ONE) == 1


@pytest.mark.parametrize("damage", [b"", b"one" * 999 + b"0ne", None])
def test_a_damaged_jar_is_fetched_anew(maven: Maven, cache: Path, damage: bytes | None) -> None:
    """An empty, an altered and a removed jar are noticed; only that one is fetched again."""
    artifacts.ensure()
    maven.got.clear()
    if damage is None:
        (cache / "one-1.0.jar").unlink()
    else:
        (cache / "one-1.0.jar").write_bytes(damage)
    artifacts.ensure()
    assert (cache / "one-1.0.jar").read_bytes() == b"one" * 1000
    assert maven.got == [_ONE]


def test_other_content_than_the_locked_is_refused(maven: Maven, cache: Path) -> None:
    """A jar whose content is not the locked one never gets its name, and the next call asks for it again."""
    right, maven.files[_TWO] = maven.files[_TWO], b"not what was locked"
    with pytest.raises(Problem) as refused:
        artifacts.ensure()
    assert str(refused.value) == (
        f"two-2.0.jar was fetched from {maven.root}, but its content is not what jvm.lock says: something on "
        "the way alters files; try again, or set INFLIGHT_MAVEN_ROOT to another mirror"
    )
    assert not (cache / "two-2.0.jar").exists()
    maven.files[_TWO] = right
    assert artifacts.ensure().jars("kafka")[1].read_bytes() == right


def test_an_interrupted_fetch_goes_on(maven: Maven, cache: Path) -> None:
    """What has come before the failure is not fetched a second time."""
    two = maven.files.pop(_TWO)
    with pytest.raises(Problem) as failed:
        artifacts.ensure()
    assert str(failed.value) == (
        f"could not fetch two-2.0.jar from {maven.root} (it has no such file): run again when the network is "
        f"back (what has come is kept); behind a mirror set INFLIGHT_MAVEN_ROOT; all that Ivy said is in "
        f"{cache / 'fetch.log'}"
    )
    maven.got.clear()
    maven.files[_TWO] = two
    artifacts.ensure()
    assert maven.got == [_TWO]


def test_a_server_that_is_not_there_is_told_in_one_line(
    maven: Maven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text names the first jar, how many more, the server and the reason."""
    monkeypatch.setenv("INFLIGHT_MAVEN_ROOT", "http://127.0.0.1:1")
    with pytest.raises(
        Problem, match=r"^could not fetch one-1.0.jar and 2 more jars from http://127.0.0.1:1/ \(Conn"
    ):
        artifacts.ensure()
    assert maven.got == []


def test_a_silent_server_is_given_up(maven: Maven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ivy would wait a minute for each jar; after a time with no sign it is ended."""
    monkeypatch.setattr(fetch, "SILENCE_SECONDS", 3.0)
    maven.held = {_ONE, _TWO, _AGENT}
    with pytest.raises(Problem, match=r"no answer for 3 s"):
        artifacts.ensure()


def test_two_at_a_time_fetch_once(maven: Maven) -> None:
    """A second process waits for the first and then finds everything there."""
    threads = [threading.Thread(target=artifacts.ensure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(maven.got) == sorted([_ONE, _TWO, _AGENT])


def test_a_jar_that_is_not_locked_is_refused(maven: Maven, tmp_path: Path) -> None:
    """Whoever adds a jar to the list is told to lock its checksum; nothing is fetched before."""
    (tmp_path / "jvm.lock").write_text("")
    with pytest.raises(Problem, match=r"one-1.0.jar.*in ivy.xml but not in jvm.lock; run `make lock-jvm`"):
        artifacts.ensure()
    assert maven.got == []


def test_progress_is_told_where_there_is_no_terminal(maven: Maven, tmp_path: Path) -> None:
    """A log gets plain lines, the last of which has all jars."""
    with (tmp_path / "log").open("w") as f:
        artifacts.ensure(Console(file=f))
    assert (tmp_path / "log").read_text().splitlines()[-1] == "JVM parts: 3 of 3 jars"
    assert len(maven.got) == 3


def test_the_list_and_its_lock_agree() -> None:
    """Each jar of ivy.xml has its checksum in jvm.lock, and no other stands there."""
    assert sorted(jar.file for jar in artifacts.ivy_jars()) == sorted(artifacts.locked_fingerprints())


def test_the_connector_brings_no_second_spark_hadoop_or_scala() -> None:
    """Spark gets the connector and what PySpark lacks, nothing that it has already."""
    files = [jar.file for jar in artifacts.ivy_jars() if "spark" in jar.confs]
    there = {jar.name.rsplit("-", 1)[0] for jar in fetch.pyspark_jars().glob("*.jar")}
    assert not {file.rsplit("-", 1)[0] for file in files} & there
    assert not [file for file in files if file.startswith(("hadoop", "scala-"))]


def test_a_proxy_of_the_environment_is_handed_to_java() -> None:
    """Java does not read https_proxy by itself."""
    options = list(fetch.proxy_options({"https_proxy": "http://user:secret@proxy.example:3128"}))
    assert options == ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"]


@pytest.mark.e2e
def test_what_the_connector_uses_of_the_older_token_provider() -> None:
    """These classes, the same in both versions; a connector that asks for more is to be looked at."""
    connector = next(
        jar for jar in artifacts.ensure().jars("spark") if jar.name.startswith("spark-sql-kafka")
    )
    with zipfile.ZipFile(connector) as jar:
        code = b"".join(jar.read(name) for name in jar.namelist() if name.endswith(".class"))
    used = {name.decode().strip("$") for name in re.findall(rb"org/apache/spark/kafka010/([A-Za-z$]+)", code)}
    assert used == {"KafkaConfigUpdater", "KafkaRedactionUtil", "KafkaTokenClusterConf", "KafkaTokenUtil"}
