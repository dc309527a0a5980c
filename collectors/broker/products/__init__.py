"""The broker products that are known, each a table of its own, in the order in which they are looked for."""

from __future__ import annotations

from typing import Final

from collectors.broker.products.artemis import ARTEMIS
from collectors.broker.products.classic import CLASSIC

PRODUCTS: Final = (ARTEMIS, CLASSIC)
UNKNOWN: Final = f"has no MBeans of a broker that is known here ({', '.join(p.title for p in PRODUCTS)})"
