"""broker.xml of an Artemis, with what it sends to the next broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from string import Template
from xml.sax.saxutils import escape, quoteattr

from collectors.config.model import Sasl
from deploy.topology.form import TlsProfile, Topology, is_loopback
from deploy.topology.plan import BrokerLink, BrokerPlan, DatabasePlan, Plan

FILE = "broker.xml"
_BROKER = Template("""\
<configuration xmlns="urn:activemq">
  <core xmlns="urn:activemq:core">
$settings
$store    <acceptors>
$acceptors
    </acceptors>
$links    <security-settings>
      <security-setting match="#">
$permissions
      </security-setting>
    </security-settings>
    <address-settings>
      <!-- For probes: nothing that would take a message out of the queue but its receiver and its TTL. -->
      <address-setting match="inflight.#">
$of_probes
      </address-setting>
    </address-settings>
    <addresses>
$addresses
    </addresses>
  </core>
</configuration>
""")
_PERMISSIONS = (
    "createAddress",
    "createNonDurableQueue",
    "createDurableQueue",
    "deleteNonDurableQueue",
    "deleteDurableQueue",
    "send",
    "consume",
    "browse",
)
_OF_PROBES: Mapping[str, object] = {
    "max-delivery-attempts": -1,
    "default-address-routing-type": "ANYCAST",
    "default-queue-routing-type": "ANYCAST",
    "auto-delete-queues": False,
    "auto-delete-addresses": False,
}
# Of a database store; the schema of broker.xml wants them named.
TABLES: Mapping[str, str] = {
    "message": "MESSAGES",
    "bindings": "BINDINGS",
    "large-message": "LARGE_MESSAGES",
    "page-store": "PAGE_STORE",
    "node-manager-store": "NODE_MANAGER_STORE",
}
ROLE = "amq"  # as `artemis create` names it
_AMQP = "amqpCredits=1000;amqpLowCredits=300"
_RETRY_MS = 1000


def configuration(plan: Plan, name: str) -> str:
    """Returns the whole file, for the instance's `etc`. Users, roles and passwords are the instance's own."""
    broker = plan.brokers[name]
    return document(
        name,
        {"security-enabled": _needs_login(plan.topology, broker), **broker.broker.settings},
        {"amqp": _acceptor(plan, broker)},
        queues(plan, name),
        address_settings=broker.broker.address_settings,
        links=_links(plan, broker),
        store=_store(broker.database),
    )


def document(
    name: str,
    settings: Mapping[str, object],
    acceptors: Mapping[str, str],
    queues: Iterable[str],
    *,
    address_settings: Mapping[str, object] | None = None,
    links: str = "",
    store: str = "",
) -> str:
    """Returns the file of a broker by itself; `settings` are elements of `core` and go before those here.

    So do `address_settings` of the addresses of probes.
    """
    ways_in = [f"<acceptor name={quoteattr(way)}>{escape(url)}</acceptor>" for way, url in acceptors.items()]
    names = [quoteattr(queue) for queue in queues]
    return _BROKER.substitute(
        settings=_indented(_settings(name, settings), 4),
        of_probes=_indented(_elements({**_OF_PROBES, **(address_settings or {})}), 8),
        acceptors=_indented(ways_in, 6),
        links=links,
        store=store,
        permissions=_indented([f'<permission type="{p}" roles="{ROLE}"/>' for p in _PERMISSIONS], 8),
        addresses=_indented(
            [f"<address name={q}><anycast><queue name={q}/></anycast></address>" for q in names], 6
        ),
    )


def _settings(name: str, given: Mapping[str, object]) -> list[str]:
    settings: dict[str, object] = {
        "name": name,
        "persistence-enabled": True,
        "journal-type": "NIO",
        **{
            f"{kind}-directory": f"data/{kind}"
            for kind in ("journal", "bindings", "large-messages", "paging")
        },
        **given,
    }
    return _elements(settings)


def _elements(values: Mapping[str, object]) -> list[str]:
    texts = {key: str(x).lower() if isinstance(x, bool) else str(x) for key, x in values.items()}
    return [f"<{key}>{escape(text)}</{key}>" for key, text in texts.items()]


def _store(database: DatabasePlan | None) -> str:
    if database is None:
        return ""
    url = f"jdbc:postgresql://{database.host}:{database.port}/{database.database.name}"
    lines = [
        "<!-- Artemis needs artemis-jdbc-store, commons-dbcp2, commons-pool2 and postgresql in its lib/.",
        "     The driver takes the password from the file that PGPASSFILE names in the broker's environment,",
        "     a line host:port:database:user:password -->",
        "<store>",
        "  <database-store>",
        "    <jdbc-driver-class-name>org.postgresql.Driver</jdbc-driver-class-name>",
        f"    <jdbc-connection-url>{escape(url)}</jdbc-connection-url>",
        f"    <jdbc-user>{escape(database.database.user)}</jdbc-user>",
        *(f"    <{table}-table-name>{name}</{table}-table-name>" for table, name in TABLES.items()),
        "  </database-store>",
        "</store>",
    ]
    return _indented(lines, 4) + "\n"


def queues(plan: Plan, name: str) -> list[str]:
    """Returns the queues that the file names, and those that routers fetch from and other brokers send to."""
    fetched = (
        route.address
        for router in plan.routers.values()
        for route in router.auto_links
        if route.broker == name
    )
    own = (queue for link in plan.brokers[name].links for queue in link.queues)
    sent = (
        q for other in plan.brokers.values() for link in other.links if link.to == name for q in link.queues
    )
    return list(dict.fromkeys([*plan.brokers[name].broker.queues, *fetched, *own, *sent]))


def pem_files(plan: Plan, name: str) -> str | None:
    """Returns the file that broker.xml names for certificate and key; None without TLS."""
    profile = _tls(plan.topology, plan.brokers[name])
    if profile is None or profile.cert is None:
        return None
    return f"source.key={profile.key}\nsource.cert={profile.cert}\n"


def _acceptor(plan: Plan, broker: BrokerPlan) -> str:
    host = broker.address if is_loopback(broker.address) else "0.0.0.0"
    options = [f"protocols=AMQP,CORE{',STOMP' if broker.broker.stomp else ''}", _AMQP]
    profile = _tls(plan.topology, broker)
    if profile is not None:
        options += [
            "sslEnabled=true",
            "keyStoreType=PEMCFG",
            f"keyStorePath={pem_name(broker.name)}",
            "trustStoreType=PEM",
            f"trustStorePath={profile.ca}",
        ]
    login = _sasl(plan.topology, broker)
    if login is not None:
        options.append(f"saslMechanisms={login.mechanism}")
        if login.mechanism == "EXTERNAL":
            options.append("needClientAuth=true")
    return f"tcp://{host}:{broker.port}?{';'.join(options)}"


def pem_name(name: str) -> str:
    return f"{name}.pemcfg"


def _tls(topology: Topology, broker: BrokerPlan) -> TlsProfile | None:
    return topology.tls[broker.broker.tls] if broker.broker.tls is not None else None


def _sasl(topology: Topology, broker: BrokerPlan) -> Sasl | None:
    return topology.sasl[broker.broker.sasl] if broker.broker.sasl is not None else None


def _needs_login(topology: Topology, broker: BrokerPlan) -> bool:
    login = _sasl(topology, broker)
    return login is not None and login.mechanism != "ANONYMOUS"


def _links(plan: Plan, broker: BrokerPlan) -> str:
    bridges = [link for link in broker.links if link.by == "bridge"]
    connections = [link for link in broker.links if link.by != "bridge"]
    lines: list[str] = []
    if bridges:
        lines += ["<connectors>"]
        lines += [f"  <connector name={quoteattr(x.to)}>{escape(_uri(plan, x))}</connector>" for x in bridges]
        lines += [
            "</connectors>",
            "<bridges>",
            *(line for x in bridges for line in _bridges(plan, x)),
            "</bridges>",
        ]
    if connections:
        lines += ["<broker-connections>"]
        lines += [line for link in connections for line in _connection(plan, link)]
        lines += ["</broker-connections>"]
    return _indented(lines, 4) + "\n" if lines else ""


def _bridges(plan: Plan, link: BrokerLink) -> Iterator[str]:
    login = _sasl(plan.topology, plan.brokers[link.to])
    for queue in link.queues:
        yield f"  <bridge name={quoteattr(f'{queue}-to-{link.to}')}>"
        yield f"    <queue-name>{escape(queue)}</queue-name>"
        yield f"    <forwarding-address>{escape(queue)}</forwarding-address>"
        yield f"    <retry-interval>{_RETRY_MS}</retry-interval>"
        if login is not None and login.user is not None:
            yield f"    <user>{escape(login.user)}</user>"
            yield f"    <password>{_password(link)}</password>"
        yield f"    <static-connectors><connector-ref>{escape(link.to)}</connector-ref></static-connectors>"
        yield "  </bridge>"


def _connection(plan: Plan, link: BrokerLink) -> Iterator[str]:
    login = _sasl(plan.topology, plan.brokers[link.to])
    user = (
        f' user={quoteattr(login.user)} password="{_password(link)}"'
        if login is not None and login.user
        else ""
    )
    uri, name = quoteattr(_uri(plan, link)), quoteattr(link.to)
    yield f'  <amqp-connection uri={uri} name={name} retry-interval="{_RETRY_MS}"{user}>'
    if link.by == "mirror":
        yield "    <mirror/>"
    yield from (f"    <sender queue-name={quoteattr(queue)}/>" for queue in link.queues if link.by == "amqp")
    yield "  </amqp-connection>"


def _password(link: BrokerLink) -> str:
    """Returns a reference to a Java property: Artemis reads no password from a file of its own."""
    return f"${{inflight.{link.to}.password}}"


def _uri(plan: Plan, link: BrokerLink) -> str:
    profile = _tls(plan.topology, plan.brokers[link.to])
    if profile is None:
        return f"tcp://{link.host}:{link.port}"
    verify = str(profile.verify == "name").lower()
    options = f"sslEnabled=true;trustStoreType=PEM;trustStorePath={profile.ca};verifyHost={verify}"
    return f"tcp://{link.host}:{link.port}?{options}"


def _indented(lines: Iterable[str], blanks: int) -> str:
    return "\n".join(" " * blanks + line for line in lines)
