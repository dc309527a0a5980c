"""`inflight demo`: the whole of Inflight over a network started on this machine."""
