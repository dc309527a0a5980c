"""A small AMQP 1.0 router for demonstrations and tests, where no real one is installed.

engine      sockets, proton, links and their counters; imports no other room
routing     where messages go: addresses, the mesh, routes; imports engine
faults      what it is told to do wrong; imports engine and routing
management  what it tells over AMQP management; imports engine and routing

`process` puts the rooms together. What engine calls in routing and faults it gets as objects; it imports
their classes for type checks only. addresses, selection, topology, credit, counters, kinds, rules, agent and
schema are pure: no proton, no socket, no clock. tests/deploy/standin/test_rooms.py checks this.
"""
