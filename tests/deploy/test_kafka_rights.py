"""Kafka's rights as deploy/rights gives them: enough for each part, and one less is told by the check."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from administrator import set_topic
from helpers import wait_until
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    UserScramCredentialUpsertion,
)

from collectors.config.model import Config
from collectors.contract.topics import (
    ATTRIBUTION,
    BROKER,
    DEAD_LETTERS,
    EVENTS,
    LIVE,
    ROUTER,
    SAMPLES,
    SETTINGS,
    WINDOWS,
)
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from deploy.live_check.kafka import check_kafka
from deploy.live_check.result import Checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.embedded.programs.kafka import Kafka
    from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e

SCRIPT = Path(__file__).parents[2] / "deploy" / "rights" / "kafka-acls.sh"
PREFIX = "inflight"
USERS = {part: f"inflight-{part}" for part in ("probe", "collect", "stream", "export", "event")}
OPERATIONS = {
    "Write": ACLOperation.WRITE,
    "Read": ACLOperation.READ,
    "Describe": ACLOperation.DESCRIBE,
    "DescribeConfigs": ACLOperation.DESCRIBE_CONFIGS,
}
# In place of Kafka's own tool, which is not among the jars that are fetched: it writes down what it is told.
TOOL = """#!{python}
import sys
with open({told!r}, "a") as file:
    file.write("\\t".join(sys.argv[1:]) + "\\n")
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What the script tells Kafka's tool, a list of arguments for each call."""
    directory = tmp_path_factory.mktemp("acls")
    tool, said = directory / "tool", directory / "told"
    tool.write_text(TOOL.format(python=sys.executable, told=str(said)))
    tool.chmod(0o700)
    environment = {
        "BOOTSTRAP": "kafka-1:9093",
        "CONFIG": "admin.properties",
        "PREFIX": PREFIX,
        "KAFKA_ACLS": str(tool),
    }
    subprocess.run(["/bin/sh", str(SCRIPT)], check=True, env={**os.environ, **environment}, timeout=60)
    return [line.split("\t") for line in said.read_text().splitlines()]


@pytest.fixture(scope="module")
def fenced(
    security: Security, told: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kafka]:
    """A Kafka in which nobody may do anything but what the script allows, save who comes by the open port."""
    from deploy.embedded.programs.kafka import Kafka  # noqa: PLC0415 -- most tests do without it
    from deploy.embedded.supervise.supervisor import Supervisor  # noqa: PLC0415 -- the same

    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "false",
    }
    with Supervisor(tmp_path_factory.mktemp("fenced")) as supervisor:
        kafka = Kafka(supervisor, security=security, settings=settings).start()
        kafka.make_topics(PREFIX)
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.alter_user_scram_credentials(
            [
                UserScramCredentialUpsertion(user, "SCRAM-SHA-512", security.password)
                for user in [*USERS.values(), "nobody"]
            ]
        )
        admin.create_acls([acl for arguments in told for acl in acls(arguments)])
        admin.close()
        yield kafka


def acls(arguments: list[str]) -> Iterator[ACL]:
    """As the tool understands them; an option that it is not to be given is a failure."""
    values: dict[str, list[str]] = {}
    flags = [argument for argument in arguments if argument == "--add"]
    assert flags == ["--add"]
    rest = [argument for argument in arguments if argument != "--add"]
    for option, value in zip(rest[::2], rest[1::2], strict=True):
        values.setdefault(option, []).append(value)
    known = {"--bootstrap-server", "--command-config", "--allow-principal", "--operation", "--topic"}
    assert {*values} <= known
    for principal in values["--allow-principal"]:
        for topic in values["--topic"]:
            for operation in values["--operation"]:
                yield allow(principal, OPERATIONS[operation], topic)


def allow(principal: str, operation: ACLOperation, topic: str) -> ACL:
    pattern = ResourcePattern(ResourceType.TOPIC, topic)
    return ACL(principal, "*", operation, ACLPermissionType.ALLOW, pattern)


def take(kafka: Kafka, user: str, operation: ACLOperation, topic: str, *, back: bool = False) -> None:
    """Take a right away, or give it back."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    if back:
        admin.create_acls([allow(f"User:{user}", operation, topic)])
    else:
        pattern = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.LITERAL)
        gone = admin.delete_acls(
            [ACLFilter(f"User:{user}", "*", operation, ACLPermissionType.ALLOW, pattern)]
        )
        assert len(gone[0][1]) == 1
    admin.close()


def config(kafka: Kafka, security: Security, user: str) -> Config:
    """A site's config with the user of a part."""
    sasl = {"mechanism": "SCRAM-SHA-512", "user": user, "password_file": str(security.password_file)}
    return Config.model_validate(
        {
            "version": 1,
            "site": "here",
            "kafka": {
                "servers": [kafka.secure_bootstrap],
                "prefix": PREFIX,
                "tls": {"ca": str(security.ca)},
                "sasl": sasl,
            },
        }
    )


def check(kafka: Kafka, security: Security, user: str) -> Checked:
    (checked,) = check_kafka(config(kafka, security, user))
    return checked


@pytest.mark.parametrize("part", USERS)
def test_the_check_knows_for_which_part_rights_are_enough(
    fenced: Kafka, security: Security, part: str
) -> None:
    """Each part's user has what that part needs, and no more: the job reads all that the exporter reads."""
    checked = check(fenced, security, USERS[part])
    assert checked.ok, checked.text
    enough = "stream, export" if part == "stream" else part
    assert checked.text.endswith(f"rights are enough for {enough}")


LESS = [
    ("probe", ACLOperation.WRITE, SAMPLES.suffix),
    ("collect", ACLOperation.WRITE, BROKER.suffix),
    ("stream", ACLOperation.READ, SAMPLES.suffix),
    ("stream", ACLOperation.READ, ROUTER.suffix),
    ("stream", ACLOperation.WRITE, ATTRIBUTION.suffix),
    ("stream", ACLOperation.WRITE, "dead-letters"),
    ("export", ACLOperation.READ, EVENTS.suffix),
    ("export", ACLOperation.READ, ATTRIBUTION.suffix),
]


@pytest.mark.parametrize(("part", "operation", "suffix"), LESS)
def test_one_right_less_is_told_with_the_command_that_gives_it(
    fenced: Kafka, security: Security, part: str, operation: ACLOperation, suffix: str
) -> None:
    """The check names the part, the right and the topic; a paste of its line is the fix."""
    user, topic = USERS[part], f"{PREFIX}.{suffix}"
    take(fenced, user, operation, topic)
    try:
        wait_until(lambda: not check(fenced, security, user).ok, 10, "the right to be gone")
        checked = check(fenced, security, user)
    finally:
        take(fenced, user, operation, topic, back=True)
    right = operation.name.capitalize()
    assert f"`inflight {part}` also needs " in checked.text
    assert f"{right} on {topic}" in checked.text
    sharing = {"stream": "export", "export": "stream"}  # what both have is no begin of the other
    assert f"`inflight {sharing.get(part)}` also needs " not in checked.text
    line = f"--add --allow-principal User:{user} --operation {right} --operation Describe --topic {topic}"
    assert line in checked.fix
    wait_until(lambda: check(fenced, security, user).ok, 10, "the right to be back")


LOOSE = {
    "cleanup.policy": "compact",
    "compression.type": "lz4",
    "max.message.bytes": "2000000",
    "message.timestamp.type": "CreateTime",
}


def test_topics_that_let_too_much_in_are_told_with_the_command_that_mends_it(
    fenced: Kafka, security: Security
) -> None:
    """A broker that packs anew unpacks in its memory, and a writer's own time may be of any year.

    Who may not see settings is told nothing of them.
    """
    settings, topic = config(fenced, security, USERS["stream"]), SAMPLES.name(PREFIX)
    set_topic(fenced, topic, LOOSE)
    try:
        wait_until(lambda: len(list(check_kafka(settings))) == 2, 10, "the finding")
        _, found = check_kafka(settings)
        assert not found.ok
        assert found.text.endswith(
            f"{topic} has cleanup.policy=compact compression.type=lz4 max.message.bytes=2000000 "
            "message.timestamp.type=CreateTime"
        )
        mended = "cleanup.policy=delete,compression.type=producer,max.message.bytes=1048588"
        mended += ",message.timestamp.type=LogAppendTime"
        assert f"--alter --entity-type topics --entity-name {topic} --add-config {mended}" in found.fix
        take(fenced, USERS["stream"], ACLOperation.DESCRIBE_CONFIGS, topic)
        wait_until(lambda: len(list(check_kafka(settings))) == 1, 10, "the check without the right")
        assert check(fenced, security, USERS["stream"]).ok
    finally:
        set_topic(fenced, topic, SETTINGS)
        take(fenced, USERS["stream"], ACLOperation.DESCRIBE_CONFIGS, topic, back=True)
    wait_until(lambda: [found.ok for found in check_kafka(settings)] == [True], 10, "what was mended")


def test_a_user_with_no_right_is_told_all_that_could_be_needed(fenced: Kafka, security: Security) -> None:
    """It may not even know whether the topics are there."""
    checked = check(fenced, security, "nobody")
    assert not checked.ok
    assert "nobody has not all rights of any part" in checked.text
    for part in USERS:
        assert f"`inflight {part}` also needs" in checked.text


def sink(kafka: Kafka, security: Security, part: str, folder: Path, topic: Any) -> KafkaSink:
    """As `inflight probe` and `inflight collect` have it."""
    settings = config(kafka, security, USERS[part]).kafka
    assert settings is not None
    made = KafkaSink(settings, Spool(folder / "spool", 1 << 20), lambda _key: topic)
    made.start()
    return made


@pytest.mark.parametrize(("part", "topic"), [("probe", SAMPLES), ("collect", ROUTER), ("collect", BROKER)])
def test_records_get_through(
    fenced: Kafka, security: Security, tmp_path: Path, part: str, topic: Any
) -> None:
    """By the idempotent producer, over TLS, with the rights of the part."""
    sending = sink(fenced, security, part, tmp_path, topic)
    sending.put(b"a record", "key")
    wait_until(lambda: sending.delivered == 1, 20, "a delivery")
    sending.close()


def test_a_part_without_its_right_says_so_and_keeps_its_records(
    fenced: Kafka, security: Security, tmp_path: Path
) -> None:
    """They wait on disk until the right is there, and are delivered with no restart."""
    topic = BROKER.name(PREFIX)
    take(fenced, USERS["collect"], ACLOperation.WRITE, topic)
    sending = sink(fenced, security, "collect", tmp_path, BROKER)
    try:
        sending.put(b"a record", "key")
        wait_until(lambda: "Authorization" in (sending.problem or ""), 20, "the refusal")
        assert sending.delivered == 0
    finally:
        take(fenced, USERS["collect"], ACLOperation.WRITE, topic, back=True)
    wait_until(lambda: sending.delivered == 1, 20, "the record")
    sending.close()


def test_the_exporter_reads_all_its_topics(fenced: Kafka, security: Security, tmp_path: Path) -> None:
    """Without a consumer group; it is ready once it has read up to the end of each."""
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 -- of this test alone

    from streaming.exporter import Exporter  # noqa: PLC0415 -- the same
    from streaming.exporter.consumer import Consumer  # noqa: PLC0415 -- the same
    from streaming.exporter.state_file import StateFile  # noqa: PLC0415 -- the same

    producer = KafkaProducer(bootstrap_servers=fenced.bootstrap)
    for topic in (WINDOWS, LIVE, ATTRIBUTION, EVENTS, ROUTER, BROKER):
        producer.send(topic.name(PREFIX), key=b"k", value=b"nonsense")
    producer.close()
    settings = config(fenced, security, USERS["export"])
    assert settings.kafka is not None
    consumer = Consumer(
        Exporter(settings, CollectorRegistry()), settings.kafka, StateFile(tmp_path / "exporter.json", PREFIX)
    )
    consumer.load()
    stop = threading.Event()
    thread = threading.Thread(target=consumer.run, args=(stop,), daemon=True)
    thread.start()
    try:
        wait_until(lambda: consumer.not_ready() is None, 30, "the exporter to be ready")
    finally:
        stop.set()
        thread.join(20)


def test_the_job_reads_samples_and_writes_rows(fenced: Kafka, security: Security, tmp_path: Path) -> None:
    """Spark's driver and its workers, with the rights of the part and no other; all queries work."""
    from spark_job import RULES, metric, produce, quick_session  # noqa: PLC0415 -- of this test alone
    from synthetic import Flow  # noqa: PLC0415 -- the same

    from streaming.spark import service  # noqa: PLC0415 -- the same
    from streaming.spark.settings import JobSettings, KafkaAccess  # noqa: PLC0415 -- the same

    access = KafkaAccess(
        servers=(fenced.secure_bootstrap,),
        tls=True,
        ca_file=str(security.ca),
        mechanism="SCRAM-SHA-512",
        user=USERS["stream"],
        password_file=str(security.password_file),
    )
    settings = JobSettings(
        kafka=access,
        prefix=PREFIX,
        checkpoint=str(tmp_path / "checkpoint"),
        default_rules=RULES,
        trigger_ms=200,
        attribution_trigger_ms=200,
        listen="127.0.0.1:0",
    )
    flow = Flow("path-1", 20)
    produce(
        fenced.bootstrap,
        settings.samples_topic,
        [
            *((flow.path, value) for at in range(20) for value in flow.second(at)),
            ("path-1", b"a dead letter"),
        ],
    )
    stop, urls = threading.Event(), list[str]()
    windows = f"{PREFIX}.{WINDOWS.suffix}"
    rows_before = offsets(fenced, windows)
    letters = f"{PREFIX}.{DEAD_LETTERS.suffix}"
    with quick_session() as spark:
        thread = threading.Thread(
            target=service.serve, args=(spark, settings, stop, urls.append), daemon=True
        )
        thread.start()
        try:
            wait_until(lambda: offsets(fenced, windows) >= rows_before + 2, 120, "final rows")
            wait_until(lambda: offsets(fenced, letters) >= 1, 30, "the dead letter")
            wait_until(lambda: offsets(fenced, f"{PREFIX}.{LIVE.suffix}") >= 1, 30, "live rows")
            produce(fenced.bootstrap, ROUTER.name(PREFIX), [("m/A", b"another dead letter")])
            put_aside = 'inflight_stream_dead_letters_total{query="attribution",reason="router"}'
            wait_until(lambda: metric(urls[0], put_aside) == 1, 120, "a batch of the attribution")
        finally:
            stop.set()
            thread.join(30)


def offsets(kafka: Kafka, topic: str) -> int:
    """How many records a topic has had."""
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap)
    places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    total = sum(consumer.end_offsets(places).values())
    consumer.close()
    return total
