"""Faults between the parts of a lab, without root: one process passes on the bytes of all its links.

`python -m deploy.lab.relay FILE` listens for each link, and dials where the link leads. It knows no protocol:
what it does is done to bytes and connections, never to packets.

faults     what a link's faults are to bytes: pure
pace       when bytes go on: pure
flow       one direction of a connection
link       a link: its listener, connections, faults
listeners  whether a part listens
control    how the process is told
passages   a plan whose connectors lead through it: pure
wiring     the wiring of a lab, and the process under its supervisor
"""
