"""The command line of the stand-in, for a network that runs on this machine with no real router."""

from __future__ import annotations

from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS


def arguments(plan: Plan, name: str) -> list[str]:
    """What follows `python -m deploy.standin`. TLS and logins are left out."""
    router = plan.routers[name]
    told = [
        "--name",
        name,
        "--flavour",
        PROGRAMS[plan.topology.program].stand_in,
        "--mode",
        router.router.mode,
    ]
    for listener in router.listeners:
        strip = ",strip=no" if listener.role == "normal" else ""
        told += ["--listen", f"{router.address}:{listener.port},role={listener.role}{strip}"]
    brokers = {}
    for connector in router.connectors:
        if connector.role == "route-container":
            brokers[connector.name] = connector
            continue
        place = f"{connector.host}:{connector.port}"
        told += ["--connect", f"{place},role={connector.role},cost={connector.cost},name={connector.name}"]
    led_to = {route.connection for route in (*router.auto_links, *router.link_routes)}
    for each, connector in brokers.items():
        if each not in led_to:  # what has routes makes its connection by itself
            told += ["--connect", f"{connector.host}:{connector.port},role={connector.role},name={each}"]
    for route in router.auto_links:
        at = brokers[route.connection]
        told += ["--auto-link", f"{route.address}={at.host}:{at.port},name={route.connection}"]
    for route in router.link_routes:
        at = brokers[route.connection]
        told += ["--link-route", f"{route.address}={at.host}:{at.port},name={route.connection}"]
    return told
