"""A config file with one end point, `a`, for tests of commands: `from config_file import write_config`."""

from __future__ import annotations

from pathlib import Path


def write_config(
    directory: Path,
    port: int,
    paths: str,
    *,
    defaults: str = "",
    kafka: str | None = None,
    prefix: str = "inflight",
    mesh: str | None = None,
) -> Path:
    """Write inflight.yaml, with its state beside it, and return it.

    The end point is at `port` of this machine; with `mesh` it is a router of this mesh, polled each second.
    `paths` is the YAML behind `paths:`, which other sections may follow; `defaults` that between its braces.
    """
    url = f"amqp://127.0.0.1:{port}"
    of_mesh = f", mesh: {mesh}" if mesh else ""
    lines = ["version: 1", "site: here", f"state: {directory / 'state'}"]
    if kafka:
        lines.append(f'kafka: {{servers: ["{kafka}"], prefix: {prefix}}}')
    if mesh:
        lines.append(f'meshes: {{{mesh}: {{urls: ["{url}"], interval: 1s}}}}')
    lines += [
        f'endpoints: {{a: {{url: "{url}"{of_mesh}}}}}',
        f"defaults: {{{defaults}}}",
        f"paths: {paths}",
    ]
    file = directory / "inflight.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file
