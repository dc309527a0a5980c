"""A topology with something of all kinds: `from written_network import TOPOLOGY`."""

TOPOLOGY = """
version: 1
name: prod
tls: {inside: {ca: /pki/ca.pem, cert: /pki/node.pem, key: /pki/node.key, password_file: /pki/node.pass}}
sasl:
  people: {mechanism: SCRAM-SHA-256, user: inflight, password_file: /secrets/people}
  peers: {mechanism: EXTERNAL}
hosts: {east: {ansible_host: 10.0.0.1, ansible_user: ops}, west: {ansible_host: 10.0.0.2}}
routers:
  hub-east: {host: east, tls: inside, sasl: people, workers: 8}
  hub-west: {host: west}
  Leaf.1: {host: east, mode: edge}
  leaf-1: {host: west, mode: edge, entities: {listener: [{name: own, port: 5999, host: 10.0.0.2}]}}
brokers:
  store: {host: 10.0.0.9, queues: [orders], tls: inside, sasl: people, jolokia: "https://store:8443/console/jolokia"}
  archive: {host: 10.0.0.10}
links:
  - {from: hub-west, to: hub-east, cost: 4, redundancy: 2, tls: inside, sasl: peers}
  - {from: hub-east, to: Leaf.1}
  - {from: leaf-1, to: hub-west}
  - {from: store, to: hub-west, queues: [orders]}
  - {from: store, to: archive, by: mirror}
addresses:
  - {prefix: news, distribution: multicast}
  - {pattern: orders, distribution: closest}
paths:
  orders: {from: Leaf.1, to: leaf-1, address: orders, via: store, rate: 5/s, ttl: 30s}
"""
