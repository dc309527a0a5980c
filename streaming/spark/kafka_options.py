"""Options for Spark's Kafka client; secrets are read from their files on the driver, and shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from collectors.config.secrets import SecretError, read_password
from streaming.spark.settings import KafkaAccess

# Spark prints options in plans; what matches is shown as redacted.
REDACTION: Final = "(?i)jaas|keystore|truststore|password|secret|token|access[.]?key"
_PKCS8: Final = "-----BEGIN PRIVATE KEY-----"


class AccessError(Exception):
    """A file that the login to Kafka needs cannot be used."""


def kafka_options(access: KafkaAccess) -> dict[str, str]:
    """Returns options for source and sink. Raises AccessError where Java cannot use a file."""
    options = {"kafka.bootstrap.servers": ",".join(access.servers)}
    security = ("SASL_" if access.mechanism else "") + ("SSL" if access.tls else "PLAINTEXT")
    if security != "PLAINTEXT":
        options["kafka.security.protocol"] = security
    if access.tls:
        options |= _tls(access)
    if access.mechanism:
        options["kafka.sasl.mechanism"] = access.mechanism
        options["kafka.sasl.jaas.config"] = _jaas(access)
    return options


def client_settings(access: KafkaAccess) -> dict[str, Any]:
    """Returns the same for kafka-python, which reads batches as they are. Raises AccessError likewise."""
    tls, sasl = access.tls, access.mechanism
    settings: dict[str, Any] = {
        "bootstrap_servers": list(access.servers),
        "security_protocol": ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT"),
    }
    if tls:
        files = {"cafile": access.ca_file, "certfile": access.cert_file, "keyfile": access.key_file}
        settings |= {f"ssl_{name}": file for name, file in files.items() if file}
        settings["ssl_check_hostname"] = access.verify_name
    if sasl:
        settings["sasl_mechanism"] = sasl
        settings["sasl_plain_username"] = access.user
        settings["sasl_plain_password"] = _password(access)
    return settings


def _tls(access: KafkaAccess) -> dict[str, str]:
    options = {}
    if not access.verify_name:
        options["kafka.ssl.endpoint.identification.algorithm"] = ""
    if access.ca_file:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.certificates"] = _read(access.ca_file)
    if access.cert_file and access.key_file:
        key = _read(access.key_file)
        if _PKCS8 not in key:
            raise AccessError(
                f"{access.key_file}: Java reads keys of PKCS #8 only; convert it by "
                f"`openssl pkcs8 -topk8 -nocrypt -in {access.key_file} -out key.pem` and name that file"
            )
        options["kafka.ssl.keystore.type"] = "PEM"
        options["kafka.ssl.keystore.key"] = key
        options["kafka.ssl.keystore.certificate.chain"] = _read(access.cert_file)
    return options


def _jaas(access: KafkaAccess) -> str:
    if access.user is None or access.password_file is None:
        raise AccessError(f"Kafka's login by {access.mechanism} needs `user` and `password_file`")
    module = "plain.Plain" if access.mechanism == "PLAIN" else "scram.Scram"
    return (
        f"org.apache.kafka.common.security.{module}LoginModule required "
        f"username={_quoted(access.user)} password={_quoted(_password(access))};"
    )


def _password(access: KafkaAccess) -> str:
    try:
        return read_password(Path(access.password_file or ""))
    except SecretError as error:
        raise AccessError(str(error)) from None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise AccessError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AccessError(f"{file}: is not UTF-8 text") from None
