"""Where a message goes: addresses, topology and selection (pure); routes, mesh, edges and auto-links."""
