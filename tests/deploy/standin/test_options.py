from __future__ import annotations

from typing import Any

import pytest

from deploy.errors import Problem
from deploy.standin import options
from deploy.standin.settings import Connector, Listener


def _read(**given: Any) -> Any:
    return options.read({"name": "A", "listen": ("127.0.0.1:5672",), **given})


def test_texts_become_settings() -> None:
    """Listeners, connectors and auto-links with their options."""
    settings = _read(
        listen=("127.0.0.1:0,strip=no", "[::1]:5673,role=inter-router"),
        connect=("b:1,cost=3,name=to-b",),
        auto_link=("orders=127.0.0.1:61616,name=artemis", "q=127.0.0.1:61616:out"),
        link_route=("lr=127.0.0.1:61616,name=artemis", "s=127.0.0.1:61616:in"),
        waypoint=("other",),
    )
    assert settings.router_id == "A.stand-in"
    assert settings.listeners == (
        Listener("127.0.0.1", 0, strip_annotations="no"),
        Listener("::1", 5673, role="inter-router"),
    )
    assert settings.connectors == (Connector("b", 1, cost=3, name="to-b"),)
    links = [(link.address, link.direction, link.connector.name) for link in settings.auto_links]
    assert links == [("orders", "in", "artemis"), ("orders", "out", "artemis"), ("q", "out", "broker")]
    assert [route.key for route in settings.link_routes] == ["Clr", "Dlr", "Cs"]
    assert settings.link_routes[0].connector == links_to(settings, "orders")
    assert settings.waypoints == ("orders", "other", "q")


def links_to(settings: Any, address: str) -> Connector:
    """The connector of an auto-link: one connection serves it and a link route of the same broker."""
    return next(link.connector for link in settings.auto_links if link.address == address)


def test_skupper_has_no_link_routes() -> None:
    """As skrouterd 3 does not start with one: it knows no such entity."""
    with pytest.raises(Problem, match="skupper have none"):
        _read(link_route=("lr=127.0.0.1:61616",), flavour="skupper")


def test_a_name_that_says_stand_in_is_kept() -> None:
    """The id always tells what it is, but not twice."""
    assert options.read({"name": "my-stand-in", "listen": ()}).router_id == "my-stand-in"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"listen": ("5672",)}, "--listen 5672: '5672' is not HOST:PORT"),
        ({"listen": ("h:x",)}, "--listen h:x: 'h:x' is not HOST:PORT"),
        (
            {"listen": ("h:1,colour=red",)},
            "--listen h:1,colour=red: 'colour=red' is none of role=…, strip=…, cert=…, key=…, users=…",
        ),
        ({"connect": ("h:1,cost=0",)}, "--connect h:1,cost=0: cost is a whole number from 1, not '0'"),
        (
            {"auto_link": ("orders",)},
            "--auto-link orders: write ADDRESS=HOST:PORT, for example orders=127.0.0.1:61616",
        ),
        (
            {"listen": ("h:1,strip=yes",)},
            "--listen h:1,strip=yes: strip is one of both, no, in, out, not 'yes'",
        ),
        ({"listen": ("h:1,cert=x",)}, "--listen h:1,cert=x: cert and key go together"),
    ],
)
def test_mistakes_are_told_in_one_line(given: dict[str, Any], text: str) -> None:
    """What is wrong, where, and what to write."""
    with pytest.raises(Problem) as caught:
        _read(**given)
    assert caught.value.message == text
