"""Which way a message goes: addresses, routes, the mesh."""
