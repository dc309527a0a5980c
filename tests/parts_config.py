"""The config of parts against one stand-in, to be filled with state, kafka and router."""

from __future__ import annotations

CONFIG = """
version: 1
site: here
state: {state}
kafka: {{servers: ["127.0.0.1:{kafka}"]}}
meshes: {{m: {{urls: ["amqp://127.0.0.1:{router}"], interval: 1s}}}}
endpoints: {{a: {{url: "amqp://127.0.0.1:{router}", mesh: m}}}}
defaults: {{window: 1s, settle: 1s, rate: 50/s}}
paths:
  one: {{from: a, to: a, address: closest/one}}
  two: {{from: a, to: a, address: closest/two, presettled: true}}
"""
