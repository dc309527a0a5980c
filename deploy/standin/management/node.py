"""The management node: decodes requests, has the agent answer them, sends the replies."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import proton

from deploy.standin.management.agent import Agent
from deploy.standin.management.rows_connections import ConnectionRows
from deploy.standin.management.rows_links import LinkRows
from deploy.standin.management.rows_router import RouterRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deploy.standin.engine.connections import Connections
    from deploy.standin.routing.router import Router

_log = logging.getLogger("inflight.standin")


class ManagementNode:
    def __init__(self, router: Router, connections: Connections) -> None:
        self._router = router
        links = LinkRows(router)
        whole = RouterRows(router, links)
        configured = ConnectionRows(router, connections)
        tables: dict[str, Callable[[], Iterable[Mapping[str, Any]]]] = {
            "router": whole.routers,
            "routerMetrics": whole.metrics,
            "router.node": whole.nodes,
            "allocator": whole.allocator,
            "router.link": links.links,
            "router.address": links.addresses,
            "connection": configured.connections,
            "connector": configured.connectors,
            "listener": configured.listeners,
            "router.config.address": configured.config_addresses,
            "router.config.autoLink": configured.auto_links,
            "router.config.linkRoute": configured.link_routes,
        }
        self._agent = Agent(router.settings.flavour, lambda name: tables[name](), self._nodes)
        for key in ("M0$management", "L$management"):
            router.serve_in_process(key, self.receive)

    def _nodes(self) -> list[str]:
        if self._router.settings.mode == "edge":
            return [f"amqp:/_edge/{self._router.id}/$management"]
        return [f"amqp:/_topo/0/{name}/$management" for name in self._router.topology.routers()]

    def receive(self, data: bytes) -> None:
        request = proton.Message()
        try:
            request.decode(data)
        except proton.ProtonException as error:
            _log.warning("a management request cannot be decoded and was left out: %s", error)
            return
        if not request.reply_to:
            return
        status, text, body = self._agent.answer(request.properties, request.body)
        reply = proton.Message(
            address=request.reply_to,
            correlation_id=request.correlation_id,
            properties={"statusCode": proton.int32(status), "statusDescription": text},
            body=body,
        )
        self._router.send(request.reply_to, bytes(reply.encode()))
