"""What every executor offers."""

from __future__ import annotations

from typing import Protocol

from deploy.actions.steps import Steps
from deploy.topology.action import Action


class Executor(Protocol):
    """Knows how actions are done to one network."""

    def steps(self, action: Action) -> Steps:
        """Return how it is done; raises Problem where it cannot be, before anything is done."""

    def called(self, what: str) -> str:
        """Return a part or link as it is called in sentences: router B, link A--B."""
