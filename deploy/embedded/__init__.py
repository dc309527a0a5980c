"""A whole network on one machine, for demonstrations and tests: real programs, started, watched and ended.

`supervisor` and `process` start parts and leave nothing behind, with `guardian` as their executor.
`service` is a part that can be ended and started again: `kafka`, `artemis`, `routers` (real ones, or
`stand_in`), `prometheus`, `grafana`. `network` puts Kafka, Artemis and three routers together.
"""
