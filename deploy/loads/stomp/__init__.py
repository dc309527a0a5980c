"""STOMP to a broker behind the probe's seam, by stomp.py: each link has a connection and threads of its own.

stomp.py blocks, so its calls are made in a link's thread, and the loop is told of what happened. What STOMP
has not is not made up: there is no credit. A receipt says that a message is accepted, and who receives
acknowledges each; of a presettled path there is neither.
"""
