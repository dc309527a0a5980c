"""Checks Kafka's login, the topics and their settings, and for which parts this user's rights suffice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from collectors.config import model as config_of
from collectors.config.model import Config
from collectors.config.secrets import SecretError
from collectors.contract import topics
from collectors.contract.topics import Topic
from collectors.kafka import topic_settings
from collectors.kafka.causes import explain
from collectors.kafka.client import KafkaSetupError, client_kwargs
from deploy.live_check import fixes
from deploy.live_check.result import Checked, failed, passed

_MS: Final = 8_000

Operation = Literal["Write", "Read"]


@dataclass(frozen=True, slots=True)
class PartRights:
    """The rights that a part of Inflight needs in Kafka: those of deploy/rights/kafka-acls.sh."""

    name: str
    does: Mapping[Operation, tuple[Topic, ...]]


# What the job joins or archives, the exporter shows.
_READ: Final = (
    topics.WINDOWS,
    topics.LIVE,
    topics.ATTRIBUTION,
    topics.EVENTS,
    topics.ROUTER,
    topics.BROKER,
)
PARTS: Final = (
    PartRights("probe", {"Write": (topics.SAMPLES,)}),
    PartRights("collect", {"Write": (topics.ROUTER, topics.BROKER)}),
    PartRights(
        "stream",
        {
            "Read": (topics.SAMPLES, *_READ),
            "Write": (topics.WINDOWS, topics.LIVE, topics.ATTRIBUTION, topics.DEAD_LETTERS),
        },
    ),
    PartRights(
        "export",
        {"Read": _READ},
    ),
    PartRights("event", {"Write": (topics.EVENTS,)}),
)

Right = tuple[Operation, str]


@dataclass(frozen=True, slots=True)
class _Found:
    """What Kafka says of the topics to this user."""

    missing: list[str]
    rights: set[Right]
    loose: dict[str, str]  # by topic: what it is set to


def check_kafka(config: Config) -> Iterator[Checked]:
    """Check the login, each topic, the size and time of its batches, and the user's rights."""
    if config.kafka is None:
        return
    what = f"kafka at {', '.join(config.kafka.servers)}"
    began = time.monotonic()
    try:
        found = _look(config.kafka)
    except (KafkaError, KafkaSetupError, SecretError) as error:
        fix = f"see that it runs, and `kafka.tls` and `kafka.sasl` in the config; {fixes.RIGHTS}"
        yield failed(what, explain(error, began), fix)
        return
    if found.missing:
        yield failed(what, f"topics are missing: {', '.join(found.missing)}", fixes.TOPICS)
        return
    yield _judge(what, config.kafka, found.rights)
    if found.loose:
        text = "; ".join(f"{name} has {told}" for name, told in found.loose.items())
        yield failed(what, f"{topic_settings.WHY}: {text}", topic_settings.commands(found.loose))


def _look(kafka: config_of.Kafka) -> _Found:
    names = [topic.name(kafka.prefix) for topic in topics.ALL]
    admin = KafkaAdminClient(**client_kwargs(kafka), request_timeout_ms=_MS, bootstrap_timeout_ms=_MS)
    try:
        found = admin.describe_topics(names)
        there = [topic["name"] for topic in found if not topic["error_code"]]
        loose = topic_settings.differing(admin, there)
    finally:
        admin.close()
    missing: list[str] = []
    rights: set[Right] = set()
    for topic in found:
        code, name = topic["error_code"], topic["name"]
        if code == UnknownTopicOrPartitionError.errno:
            missing.append(name)
        elif code != TopicAuthorizationFailedError.errno:  # nor may it be told whether that one is there
            allowed = {*(topic.get("authorized_operations") or ())}
            rights |= {(right, name) for right in ("Write", "Read") if right.upper() in allowed}
    return _Found(missing, rights, loose)


def _begun(needed: Mapping[str, set[Right]], rights: set[Right]) -> dict[str, set[Right]]:
    """Returns what is missing of each part that the user seems to be meant for.

    A user for each part is the way to have it: of a part that it has nothing of, nothing is missed; nor of
    one all of whose rights that it has are of another part, too, of which it has more.
    """
    missing = {name: wanted - rights for name, wanted in needed.items()}

    def rank(name: str) -> tuple[bool, int, int]:
        return bool(missing[name]), -len(needed[name] & rights), len(missing[name])

    found, unexplained = {}, set(rights)
    for name in sorted(needed, key=rank):
        if missing[name] and needed[name] & unexplained:
            found[name] = missing[name]
        unexplained -= needed[name]
    return found


def _judge(what: str, kafka: config_of.Kafka, rights: set[Right]) -> Checked:
    needed = {
        part.name: {
            (operation, topic.name(kafka.prefix)) for operation, used in part.does.items() for topic in used
        }
        for part in PARTS
    }
    enough = [name for name, wanted in needed.items() if wanted <= rights]
    begun = _begun(needed, rights)
    if enough and not begun:
        return passed(what, f"the topics are there, this user's rights are enough for {', '.join(enough)}")
    user = kafka.sasl.user if kafka.sasl and kafka.sasl.user else "ANONYMOUS"
    lacking = begun or needed
    text = "; ".join(
        f"`inflight {name}` also needs {', '.join(f'{right} on {topic}' for right, topic in sorted(wanted))}"
        for name, wanted in lacking.items()
    )
    fix = fixes.kafka_rights(user, sorted({right for wanted in lacking.values() for right in wanted}))
    return failed(what, f"{user} has not all rights of any part: {text}" if not begun else text, fix)
