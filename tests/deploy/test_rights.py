"""The rights that deploy/rights gives are enough, and are no more than that."""

from __future__ import annotations

import base64
import json
import re
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from proton import Message
from proton.utils import BlockingConnection, LinkDetached

from collectors.broker import poll, products
from collectors.broker.client import JolokiaClient
from collectors.config.model import Broker
from deploy.live_check.fixes import management_policy, path_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from certificates import Authority

    from deploy.embedded.programs.artemis import Artemis
    from deploy.embedded.programs.security import Security

RIGHTS = Path(__file__).parents[2] / "deploy" / "rights"
FILES = {"security-settings": "artemis-security.xml", "address-settings": "artemis-address-settings.xml"}


@pytest.fixture(scope="module")
def fenced(security: Security, authority: Authority, tmp_path_factory: Any) -> Iterator[Artemis]:  # noqa: ARG001 -- security's files
    """An Artemis with our files in place of its own."""
    from deploy.embedded.programs.artemis import Artemis  # noqa: PLC0415 -- most tests do without it
    from deploy.embedded.supervise.supervisor import Supervisor  # noqa: PLC0415 -- the same

    with Supervisor(tmp_path_factory.mktemp("fenced")) as supervisor:
        broker = Artemis(supervisor, queues=("inflight.orders", "orders"), security=security)
        directory = broker.password_file.parent
        (directory / "jolokia-access.xml").write_text((RIGHTS / "jolokia-access.xml").read_text())
        xml = (directory / "etc" / "broker.xml").read_text()
        for name, file in FILES.items():
            ours = (RIGHTS / file).read_text()
            ours = re.sub(r"<!--.*?-->\n", "", ours).replace('roles="inflight"', 'roles="amq"')
            xml, count = re.subn(rf"<{name}>.*?</{name}>", lambda _, text=ours: text, xml, flags=re.DOTALL)
            assert count == 1
        (directory / "etc" / "broker.xml").write_text(xml)
        yield broker.start()


def config(broker: Artemis) -> Broker:
    auth = {"user": broker.user, "password_file": str(broker.password_file)}
    return Broker.model_validate({"jolokia": broker.jolokia_url, "origin": "http://localhost", "auth": auth})


def post(broker: Artemis, request: dict[str, Any]) -> int:
    """The status that Jolokia answers a request with."""
    login = f"{broker.user}:{broker.password_file.read_text().strip()}".encode()
    headers = {
        "Authorization": f"Basic {base64.b64encode(login).decode()}",
        "Origin": "http://localhost",
        "Content-Type": "application/json",
    }
    asked = urllib.request.Request(broker.jolokia_url + "/", json.dumps(request).encode(), headers)  # noqa: S310 -- http
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 -- the same
        status: int = json.load(answer)["status"]
    return status


@pytest.mark.e2e
def test_the_collector_may_read_all_it_wants(fenced: Artemis) -> None:
    """Every MBean it asks for, and the names of all queues."""
    client, until = JolokiaClient(config(fenced)), time.monotonic() + 20
    product = poll.detect_product(client.ask(poll.product_searches(), until))
    assert product is products.ARTEMIS
    asked = poll.requests(product, config(fenced).queues, poll.QueueSelection())
    requests = [*poll.name_searches(product), *(item.request for item in asked)]
    replies = client.ask(requests, until)
    client.close()
    # This broker has no links: what may not be read would be 403.
    links = {id(item.request) for item in asked if item.bean in product.links.beans}
    statuses = {
        (reply["status"], id(request) in links) for request, reply in zip(requests, replies, strict=True)
    }
    assert statuses == {(200, False), (404, True)}


@pytest.mark.e2e
def test_nobody_may_change_anything_there(fenced: Artemis) -> None:
    """Not by calling operations, not by setting attributes."""
    broker = 'org.apache.activemq.artemis:broker="artemis"'
    call = {"type": "exec", "mbean": broker, "operation": "listConnections()"}
    assert post(fenced, call) == 403
    change = {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True}
    assert post(fenced, change) == 403
    assert post(fenced, {"type": "read", "mbean": broker, "attribute": "Version"}) == 200


@pytest.mark.e2e
def test_probes_reach_their_own_queues_only(fenced: Artemis) -> None:
    """They send to and consume from `inflight.…`; any other queue is refused."""
    connection = BlockingConnection(fenced.amqp_url, timeout=10)
    receiver = connection.create_receiver("inflight.orders", credit=1)
    connection.create_sender("inflight.orders").send(Message(body="x"))
    assert receiver.receive(timeout=10).body == "x"
    receiver.accept()
    with pytest.raises(LinkDetached, match="unauthorized"):
        connection.create_sender("orders").send(Message(body="x"))
    with pytest.raises(LinkDetached, match="unauthorized"):
        connection.create_receiver("orders", credit=1)
    connection.close()


def test_what_the_check_prints_for_routers_is_what_is_tested() -> None:
    """Its lines for the collector stand in the policy, which runs under real routers in test_real.py."""
    policy = (RIGHTS / "router-policy.conf").read_text()
    for value in re.findall(r'"(?:targetPattern|allow\w+)": (?:"[^"]*"|true)', management_policy()):
        assert value in policy.partition("inflight-probe")[0], value
    for sends in (True, False):
        (key,) = re.findall(r'"(\w+Pattern)":', path_policy("inflight/x", sends=sends))
        assert key in policy
