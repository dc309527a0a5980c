"""All texts that say how to fix what failed, ready to paste."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from collectors.polling.poll_metrics import PollResult

RIGHTS: Final = "deploy/rights/README.md has the whole of it"

_BY_RESULT: Final[dict[str, str]] = {
    "refused": "start it, or put its right host and port into the config's URL",
    "timeout": "look for a firewall between here and there, and for the right port in the config's URL",
    "auth": "in the config:\n  sasl: {mechanism: PLAIN, user: NAME, password_file: FILE}",
    "tls": "in the config:\n  tls: {ca: AUTHORITY.pem}\nand a URL with a name that is in the certificate",
    "lost": "look into its log: it ended the connection",
    "bad_reply": "see whether the URL is that of the thing itself and not of something before it",
    "unreachable": "see `inflight status` with the mesh's URL for which link is down",
}


def of_mesh(result: PollResult) -> str:
    """Return the fix for a router that cannot be asked."""
    if result == "denied":
        return f"in the vhost policy, for the group of this user:\n{management_policy()}\n{RIGHTS}"
    return _BY_RESULT.get(result, "")


def of_broker(result: PollResult, name: str, origin: str) -> str:
    """Return the fix for a broker whose Jolokia cannot be asked."""
    if result == "denied":
        return (
            f"in the config, under brokers.{name}:\n  origin: {origin}\n"
            "and in the broker's etc/jolokia-access.xml:\n"
            f"  <cors><allow-origin>{origin}</allow-origin><strict-checking/></cors>\n{RIGHTS}"
        )
    if result == "auth":
        return (
            f"in the config, under brokers.{name}:\n"
            "  auth: {user: NAME, password_file: FILE}\n"
            f"and the user's role must be allowed to read MBeans; {RIGHTS}"
        )
    return _BY_RESULT.get(result, "")


def management_policy() -> str:
    """Return the routers' vhost policy for the collector."""
    return (
        '  "allowAnonymousSender": true, "allowDynamicSource": true,\n'
        '  "targetPattern": "$management, amqp:/_topo/0/*/$management, amqp:/_edge/*/$management"'
    )


def path_policy(address: str, *, sends: bool) -> str:
    """Return the routers' vhost policy for a probe, and the right of its role on a broker."""
    kind = "targetPattern" if sends else "sourcePattern"
    right = "send" if sends else "consume"
    return (
        f'on a router, in the vhost policy of this user\'s group:\n  "{kind}": "{address}"\n'
        "on an Artemis, in broker.xml, under <security-settings>:\n"
        f'  <security-setting match="{address}">'
        f'<permission type="{right}" roles="inflight"/></security-setting>\n{RIGHTS}'
    )


def waypoint(address: str, broker: str) -> str:
    """Return the router's config for a path through a broker."""
    return (
        f"on the router that is connected to the broker (its connector named {broker} here):\n"
        f"  address {{ prefix: {address}; waypoint: yes }}\n"
        f"  autoLink {{ address: {address}; connection: {broker}; direction: out }}\n"
        f"  autoLink {{ address: {address}; connection: {broker}; direction: in }}"
    )


def address_setting(match: str) -> str:
    """Return Artemis' address-setting that leaves the probes' messages alone."""
    return (
        "in broker.xml, under <address-settings>:\n"
        f'  <address-setting match="{match}">\n'
        "    <max-delivery-attempts>-1</max-delivery-attempts>\n"
        "    <default-address-routing-type>ANYCAST</default-address-routing-type>\n"
        "    <default-queue-routing-type>ANYCAST</default-queue-routing-type>\n"
        "  </address-setting>\n"
        "with no dead-letter-address and no expiry-address in it"
    )


def fan_out(address: str) -> str:
    """Return the fix for an address whose messages go to one of its receivers instead of all."""
    return (
        "on the routers, where the address is theirs:\n"
        f"  address {{ prefix: {address}; distribution: multicast }}\n"
        "on an Artemis, in broker.xml, under <addresses>, with no queue of its own:\n"
        f'  <address name="{address}"><multicast/></address>\n'
        "or give the path one target in the config"
    )


def kafka_rights(user: str, rights: Iterable[tuple[str, str]]) -> str:
    """Return the commands that grant the rights, a line for each topic."""
    lines = [
        f"kafka-acls.sh --bootstrap-server SERVER --command-config ADMIN --add --allow-principal User:{user} "
        f"--operation {operation} --operation Describe --topic {topic}"
        for operation, topic in rights
    ]
    return "\n".join([*lines, RIGHTS])


CLOCK: Final = "have a time service on both, for example: apt-get install chrony"
TOPICS: Final = "inflight collect --create-topics, or have the owner of the cluster make them"
