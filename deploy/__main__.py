"""`python -m deploy` is `inflight`: for children that must run under the same interpreter."""

from __future__ import annotations

from deploy.cli import main

main(prog_name="inflight")
