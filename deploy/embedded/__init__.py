"""A whole network on one machine, for demonstrations and tests, made of real programs.

supervise  starts and ends processes; when its own process is killed, `orphans` ends them
programs   Kafka, Artemis, routers (real ones, or stand-ins), Prometheus and Grafana as services
network    Kafka, Artemis and a line of three routers together
"""
