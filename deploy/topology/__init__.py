"""A network written down once: its graph, checked, and everything that is configured from it.

`load` reads a file (`form`, or the older `inventory` and `node_link`), `shapes` makes one, `plan` numbers
listeners and connectors, `rules` tells what cannot work, `outputs` writes, `show` draws.
"""
