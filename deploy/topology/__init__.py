"""A network written down once: its graph, checked, and everything that is configured from it.

`load` reads a file (`form`, or the older `inventory` and `node_link`), `shapes` makes one, `plan` numbers
listeners and connectors, `rules` tells what cannot work, `outputs` writes, `show` draws. What can be done to
a network, as in the stories of a file, is of the form `action`, by the table `action_kinds`.
"""
