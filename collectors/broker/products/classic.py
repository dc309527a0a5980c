"""ActiveMQ Classic's MBeans."""

from __future__ import annotations

from typing import Final

from collectors.broker.schema import Bean, Links, Product
from collectors.polling.attributes import attributes

CLASSIC: Final = Product(
    "classic",
    "ActiveMQ Classic",
    Bean(
        "broker",
        "org.apache.activemq:brokerName=*,type=Broker",
        attributes(
            """
            BrokerVersion            version               text
            UptimeMillis             uptime_ms             number
            Slave                    backup                flag
            MemoryPercentUsage       address_memory_ratio  percent  broker_address_memory_ratio
            StorePercentUsage        disk_ratio            percent  broker_disk_ratio
            CurrentConnectionsCount  connections           number   broker_connections
            """
        ),
        (("brokerName", "name"),),
    ),
    Bean(
        "queue",
        "org.apache.activemq:brokerName=*,destinationName={queue},destinationType=Queue,type=Broker",
        attributes(
            """
            QueueSize         messages          number  broker_queue_messages
            InFlightCount     delivering        number  broker_queue_delivering_messages
            ConsumerCount     consumers         number  broker_queue_consumers
            StoreMessageSize  persistent_bytes  number  broker_queue_persistent_bytes
            EnqueueCount      added             count   broker_queue_added_messages_total
            DequeueCount      acknowledged      count   broker_queue_acknowledged_messages_total
            ExpiredCount      expired           count   broker_queue_expired_messages_total
            """
        ),
        (("destinationName", "queue"),),
        ("queue", "queue"),  # a queue is its own address
        quotes_names=False,  # only names that need it stand in quotes
    ),
    None,
    # A connector says nothing of its state, neither started nor connected: of each peer that it has reached
    # there is an MBean for as long as it has it. Its other attributes are settings, among them passwords.
    links=Links(
        kinds=(
            Bean(
                "network",
                "org.apache.activemq:brokerName=*,connector=networkConnectors,networkConnectorName=*,type=Broker",
                attributes("Name name text"),
                (("networkConnectorName", "link"),),
            ),
        ),
        attached=Bean(
            "network_bridge",
            "org.apache.activemq:brokerName=*,connector=networkConnectors,networkBridge=*,"
            "networkConnectorName=*,type=Broker",
            attributes("RemoteBrokerName peer text"),
            (("networkConnectorName", "link"), ("networkBridge", "bridge")),
        ),
    ),
)
