"""The protocol of AMQP management: properties and body of a request in, those of the reply out. Pure."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from deploy.standin.flavours import FLAVOURS
from deploy.standin.management import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Rows = Callable[[str], Iterable[Mapping[str, Any]]]


class RefusedError(Exception):
    """A request that cannot be answered; has the statusCode of the reply."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Agent:
    def __init__(self, flavour: str, rows: Rows, nodes: Callable[[], list[str]]) -> None:
        """`rows` returns the entities of a type by its short name, `nodes` the addresses of all routers."""
        self._flavour = flavour
        self._types = schema.entity_types(flavour)
        self._rows = rows
        self._nodes = nodes
        self._operations: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
            "QUERY": self._query,
            "READ": self._read,
            "GET-TYPES": self._get_types,
            "GET-ATTRIBUTES": self._get_attributes,
            "GET-OPERATIONS": self._get_operations,
            "GET-MGMT-NODES": lambda _properties, _body: self._nodes(),
        }

    def answer(self, properties: Mapping[str, Any] | None, body: Any) -> tuple[int, str, Any]:
        """Return (statusCode, statusDescription, body) of the reply."""
        properties = properties or {}
        operation = properties.get("operation")
        try:
            if not isinstance(operation, str):
                raise RefusedError(HTTPStatus.BAD_REQUEST, "No operation given")
            if operation in ("CREATE", "UPDATE", "DELETE"):
                raise RefusedError(HTTPStatus.FORBIDDEN, f"{operation}: a stand-in's configuration is fixed")
            if operation not in self._operations:
                raise RefusedError(HTTPStatus.NOT_IMPLEMENTED, f"Not Implemented: {operation}")
            return HTTPStatus.OK.value, "OK", self._operations[operation](properties, body)
        except RefusedError as error:
            return int(error.status), str(error), {}

    def _type(self, name: Any) -> str:
        if not isinstance(name, str):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "No entity type given")
        full = name if name in self._types else FLAVOURS[self._flavour].entity_prefix + name
        if full not in self._types:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"No such entity type '{name}'")
        return full

    def _query(self, properties: Mapping[str, Any], body: Any) -> dict[str, Any]:
        full = self._type(properties.get("entityType"))
        entity = schema.ENTITIES[self._types[full]]
        of_agent = self._flavour in entity.agent
        names = _columns(full, entity.attributes(self._flavour), body, refuse=of_agent)
        rows = list(self._entities(full))
        if not of_agent:
            offset, count = _number(properties, "offset"), _number(properties, "count")
            rows = rows[offset or 0 :]
            rows = rows if count is None else rows[:count]
        return {"attributeNames": names, "results": [[row.get(name) for name in names] for row in rows]}

    def _entities(self, full: str) -> Iterable[Mapping[str, Any]]:
        for row in self._rows(self._types[full]):
            yield {"type": full, **row}

    def _read(self, properties: Mapping[str, Any], _body: Any) -> dict[str, Any]:
        full = self._type(properties.get("type") or properties.get("entityType"))
        wanted = {key: properties[key] for key in ("name", "identity") if key in properties}
        if not wanted:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "READ: No name or identity provided")
        for row in self._entities(full):
            if all(row.get(key) == value for key, value in wanted.items()):
                names = schema.ENTITIES[self._types[full]].attributes(self._flavour)
                return {name: row.get(name) for name in names}
        raise RefusedError(HTTPStatus.NOT_FOUND, f"No entity of type '{full}' with {wanted}")

    def _get_types(self, _properties: Mapping[str, Any], _body: Any) -> dict[str, Any]:
        return {full: [] for full in self._types}

    def _get_attributes(self, _properties: Mapping[str, Any], _body: Any) -> dict[str, Any]:
        return {
            full: list(schema.ENTITIES[name].attributes(self._flavour)) for full, name in self._types.items()
        }

    def _get_operations(self, _properties: Mapping[str, Any], _body: Any) -> dict[str, Any]:
        return {full: ["QUERY", "READ"] for full in self._types}


def _columns(full: str, known: tuple[str, ...], body: Any, *, refuse: bool) -> list[str]:
    """Return the columns asked for. As in real routers an unknown one is refused, or becomes the first."""
    asked = body.get("attributeNames") if isinstance(body, dict) else None
    if asked is None or asked == []:
        return list(known)
    if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "attributeNames is not a list of names")
    unknown = [str(name) for name in asked if name not in known]
    if unknown and refuse:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"Unknown attributes {unknown} for type {full}.")
    return [str(name) if name in known else known[0] for name in asked]


def _number(properties: Mapping[str, Any], name: str) -> int | None:
    value = properties.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"{name} is not a number from 0: {value!r}")
    return value
