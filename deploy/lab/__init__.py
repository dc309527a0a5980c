"""A topology run on this machine: its routers and brokers as processes, and what can be done to them.

wiring   how parts reach each other, and what can be done to links; with root also in `namespaces`
routers  real ones where the program is on the PATH, else stand-ins
brokers  Artemis
lab      all of them together
keeper   the process that a lab lives in when its command has returned; `record` is what it writes down,
         `control` how it is told, `client` how others find and ask it
"""
