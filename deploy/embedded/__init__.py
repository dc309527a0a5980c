"""Real programs on one machine, for labs, the demonstration and tests.

supervise  starts and ends processes; when its own process is killed, `orphans` ends them
programs   Kafka, Artemis, Prometheus and Grafana as services
"""
