"""Finds topics with other settings than Inflight gives them, and the commands that correct these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka.admin import ConfigResource

from collectors.contract.topics import SETTINGS

WHY: Final = "a small batch can fill the memory of broker and readers, or tell a time of its own"


def differing(admin: Any, names: Iterable[str]) -> dict[str, str]:
    """Returns the settings that differ, by topic, of those topics whose settings this user may see.

    `admin` is kafka-python's admin client. Raises KafkaError when Kafka does not answer.
    """
    told = admin.describe_configs([ConfigResource("topic", name) for name in names], config_filter="all")
    found = {name: _difference(settings) for name, settings in told.get("topic", {}).items()}
    return {name: text for name, text in found.items() if text}


def commands(names: Iterable[str]) -> str:
    """Returns commands of Kafka's own tool that give topics the settings they are made with."""
    values = ",".join(f"{key}={value}" for key, value in SETTINGS.items())
    return "\n".join(
        "kafka-configs.sh --bootstrap-server SERVER --command-config ADMIN --alter --entity-type topics "
        f"--entity-name {name} --add-config {values}"
        for name in names
    )


def _difference(settings: Mapping[str, Mapping[str, str | None]]) -> str:
    found = []
    for key, wanted in SETTINGS.items():
        value = settings.get(key, {}).get("value")
        smaller = key == "max.message.bytes" and value is not None and int(value) < int(wanted)
        if value not in {None, wanted} and not smaller:
            found.append(f"{key}={value}")
    return " ".join(found)
