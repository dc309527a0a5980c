"""What a stand-in is told to do wrong, for each address."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deploy.standin.links import InLink


class Faults:
    def __init__(self) -> None:
        self.active = False

    def stalls(self, link: InLink) -> bool:
        return False
