"""How to connect to an AMQP 1.0 peer: TLS, login, heartbeat. Used by probes and by management."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from proton import SASL, SSL, SSLDomain, SSLException, Transport

from collectors.config.model import Sasl, Tls
from collectors.config.secrets import read_password

HEARTBEAT_SECONDS: Final = 10.0  # a peer that is silent for longer counts as dead
MAX_FRAME_BYTES: Final = 65_536
PORTS: Final = {"amqp": 5672, "amqps": 5671}


class AmqpOptionsError(Exception):
    """The options cannot be used; the text says which file or setting is wrong."""


@dataclass(frozen=True, slots=True)
class AmqpOptions:
    """Where one peer is, and how to connect to it. The password is not part of its repr."""

    url: str
    tls: bool
    host: str
    port: int
    mechanisms: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    domain: Any = field(default=None, repr=False)

    def container_kwargs(self) -> dict[str, Any]:
        """Returns the arguments of proton's `Container.connect`."""
        kwargs: dict[str, Any] = {
            "url": self.url,
            "heartbeat": HEARTBEAT_SECONDS,
            "allowed_mechs": self.mechanisms,
            "allow_insecure_mechs": True,  # the config names the mechanism
            "max_frame_size": MAX_FRAME_BYTES,
        }
        if self.domain is not None:
            kwargs |= {"ssl_domain": self.domain, "sni": self.host}
        if self.user is not None:
            kwargs |= {"user": self.user, "password": self.password}
        return kwargs

    def prepare(self, transport: Transport, connection: Any) -> None:
        """Sets up a transport and a connection that are used without a container, and binds the two."""
        connection.hostname = self.host
        sasl = transport.sasl()
        sasl.allow_insecure_mechs = True
        sasl.allowed_mechs(self.mechanisms)
        if self.user is not None:
            connection.user = self.user
            connection.password = self.password
        transport.bind(connection)
        transport.idle_timeout = HEARTBEAT_SECONDS
        transport.max_frame_size = MAX_FRAME_BYTES
        if self.domain is not None:
            SSL(transport, self.domain).peer_hostname = self.host


def read_options(url: str, tls: Tls | None = None, sasl: Sasl | None = None) -> AmqpOptions:
    """Returns the options, with what is in the files that `tls` and `sasl` name.

    Raises AmqpOptionsError or SecretError where a file or setting cannot be used.
    """
    parts = urlsplit(url)
    encrypted = parts.scheme == "amqps"
    if encrypted and not SSL.present():
        raise AmqpOptionsError(
            f"{url}: this qpid-proton was built without TLS; install OpenSSL's headers and build it anew"
        )
    if sasl is None:
        mechanisms = "EXTERNAL ANONYMOUS" if tls is not None and tls.cert is not None else "ANONYMOUS"
    else:
        mechanisms = sasl.mechanism
        if mechanisms not in {"ANONYMOUS", "EXTERNAL", "PLAIN"} and not SASL.extended():
            raise AmqpOptionsError(
                f"{url}: this qpid-proton was built without {mechanisms}; "
                "install Cyrus SASL's headers and build it anew"
            )
    return AmqpOptions(
        url=url,
        tls=encrypted,
        host=parts.hostname or "",
        port=parts.port or PORTS[parts.scheme],
        mechanisms=mechanisms,
        user=sasl.user if sasl else None,
        password=read_password(sasl.password_file) if sasl and sasl.password_file else None,
        domain=_domain(url, tls or Tls()) if encrypted else None,
    )


def _domain(url: str, tls: Tls) -> Any:
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    try:
        if tls.cert is not None and tls.key is not None:
            _readable(url, tls.cert, tls.key)
            domain.set_credentials(str(tls.cert), str(tls.key), None)
        if tls.ca is not None:
            _readable(url, tls.ca)
            domain.set_trusted_ca_db(str(tls.ca))
        elif tls.verify != "none":
            domain.set_trusted_ca_db(_system_ca())
        modes = {
            "name": SSLDomain.VERIFY_PEER_NAME,
            "chain": SSLDomain.VERIFY_PEER,
            "none": SSLDomain.ANONYMOUS_PEER,
        }
        domain.set_peer_authentication(modes[tls.verify])
    except SSLException:
        files = ", ".join(str(f) for f in (tls.ca, tls.cert, tls.key) if f is not None)
        raise AmqpOptionsError(
            f"{url}: TLS cannot be set up with {files or _system_ca()}; "
            "`ca`, `cert` and `key` are files of PEM, and `key` belongs to `cert` and has no pass phrase"
        ) from None
    return domain


def _system_ca() -> str:
    import ssl  # noqa: PLC0415 -- only to ask where this system keeps them

    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or "/etc/ssl/certs/ca-certificates.crt"


def _readable(url: str, *files: Any) -> None:
    for file in files:
        try:
            file.open("rb").close()
        except OSError as error:
            raise AmqpOptionsError(f"{url}: {file} cannot be read: {error.strerror}") from None
