"""A broker on a database, as it is written for hosts and containers, and what is wrong with one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from collectors.config.load import ConfigError
from deploy.topology import load, outputs
from deploy.topology.mistakes import Source

_CORE = "{urn:activemq:core}"


def document(**brokers: Any) -> dict[str, Any]:
    links = [{"from": "A", "to": name} for name in brokers]
    return {"version": 1, "routers": {"A": {}}, "brokers": brokers, "links": links}


def files(value: dict[str, Any]) -> dict[str, str]:
    return outputs.files(load.made(value, Source("file")))


def mistakes(value: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as told:
        load.made(value, Source("file"))
    return told.value.mistakes


def store(text: str) -> dict[str, str]:
    """Return what broker.xml says of its store, by element."""
    found = ET.fromstring(text).find(f".//{_CORE}store/{_CORE}database-store")  # noqa: S314 -- our own file
    return {} if found is None else {one.tag.removeprefix(_CORE): one.text or "" for one in found}


def test_the_broker_names_its_database_without_a_password() -> None:
    """With the host's address, its port and user; a broker without one has its journal."""
    database = {"kind": "postgres", "host": "db", "port": 6543, "name": "orders", "user": "orders_rw"}
    value = document(kept={"database": database}, plain={})
    made = files({**value, "hosts": {"db": {"ansible_host": "10.0.0.12"}}})
    said = store(made["hosts/kept/broker.xml"])
    assert said["jdbc-driver-class-name"] == "org.postgresql.Driver"
    assert said["jdbc-connection-url"] == "jdbc:postgresql://10.0.0.12:6543/orders"
    assert said["jdbc-user"] == "orders_rw"
    assert "jdbc-password" not in said
    assert store(made["hosts/plain/broker.xml"]) == {}


def test_left_out_it_is_beside_its_broker() -> None:
    """On PostgreSQL's own port, and on the next one for a second broker of the same host."""
    made = files(document(one={"database": "postgres"}, two={"database": "postgres"}))
    urls = [store(made[f"hosts/{name}/broker.xml"])["jdbc-connection-url"] for name in ("one", "two")]
    assert urls == [f"jdbc:postgresql://127.0.0.1:{port}/inflight" for port in (5432, 5433)]


def test_a_container_gets_the_password_file() -> None:
    """Mounted where PGPASSFILE says."""
    database = {"kind": "postgres", "host": "10.0.0.12", "password_file": "/secrets/pgpass"}
    compose = files(document(kept={"database": database}))["compose.yaml"]
    assert "PGPASSFILE: /secrets/pgpass" in compose
    assert "source: /secrets/pgpass" in compose


@pytest.mark.parametrize(
    ("brokers", "told"),
    [
        ({"one": {"database": "oracle"}}, ["brokers.one.database.kind"]),
        ({"one": {"database": {"kind": "postgres", "name": "a b"}}}, ["brokers.one.database.name"]),
        ({"one": {"database": {"kind": "postgres", "password": "x"}}}, ["brokers.one.database.password"]),
        (
            {
                name: {"database": {"kind": "postgres", "host": "10.0.0.1", "port": 5432}}
                for name in ("one", "two")
            },
            ["brokers.two.database: is one's, too; give each broker one of its own by `name` or `port`"],
        ),
        (
            {"one": {"database": "postgres"}, "one.database": {}},
            ["brokers.one.database: is called one.database, as another part is"],
        ),
    ],
)
def test_what_cannot_be(brokers: dict[str, Any], told: list[str]) -> None:
    """Another product, names that need quotes, a password, a database of two, a name that is taken."""
    found = mistakes(document(**brokers))
    assert len(found) == len(told)
    assert all(text in one for text, one in zip(told, found, strict=True))


def test_actions_know_the_database() -> None:
    """By the name of its broker and `.database`; that of a broker without one is a mistake."""
    value = document(one={"database": "postgres"}, two={})
    load.made({**value, "stories": {"s": [{"do": "kill", "what": "one.database"}]}}, Source("file"))
    (found,) = mistakes({**value, "stories": {"s": [{"do": "kill", "what": "two.database"}]}})
    assert "two.database" in found
