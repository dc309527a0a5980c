"""ActiveMQ Artemis' MBeans."""

from __future__ import annotations

from typing import Final

from collectors.broker.schema import Bean, Product
from collectors.polling.attributes import attributes

ARTEMIS: Final = Product(
    "artemis",
    "ActiveMQ Artemis",
    # `Uptime` is a text; DiskStoreUsage is 0..1, the other one 0..100.
    Bean(
        "broker",
        "org.apache.activemq.artemis:broker=*",
        attributes(
            """
            Version                       version               text
            UptimeMillis                  uptime_ms             number
            Active                        active                flag
            Backup                        backup                flag
            AddressMemoryUsagePercentage  address_memory_ratio  percent  broker_address_memory_ratio
            DiskStoreUsage                disk_ratio            ratio    broker_disk_ratio
            ConnectionCount               connections           number   broker_connections
            """
        ),
        (("broker", "name"),),
    ),
    Bean(
        "queue",
        "org.apache.activemq.artemis:address=*,broker=*,component=addresses,queue={queue},"
        "routing-type=*,subcomponent=queues",
        attributes(
            """
            MessageCount          messages          number  broker_queue_messages
            DeliveringCount       delivering        number  broker_queue_delivering_messages
            ScheduledCount        scheduled         number  broker_queue_scheduled_messages
            ConsumerCount         consumers         number  broker_queue_consumers
            PersistentSize        persistent_bytes  number  broker_queue_persistent_bytes
            MessagesAdded         added             count   broker_queue_added_messages_total
            MessagesAcknowledged  acknowledged      count   broker_queue_acknowledged_messages_total
            MessagesExpired       expired           count   broker_queue_expired_messages_total
            MessagesKilled        killed            count   broker_queue_killed_messages_total
            """
        ),
        (("address", "address"), ("queue", "queue")),
        ("address", "queue"),
    ),
    Bean(
        "address",
        "org.apache.activemq.artemis:address={queue},broker=*,component=addresses",
        attributes(
            """
            Paging                paging       flag     broker_address_paging
            NumberOfPages         pages        number   broker_address_pages
            AddressSize           bytes        number   broker_address_bytes
            AddressLimitPercent   limit_ratio  percent  broker_address_limit_ratio
            UnRoutedMessageCount  unrouted     count    broker_address_unrouted_messages_total
            """
        ),
        (("address", "address"),),
        ("address",),
    ),
    moves_to=("ExpiryAddress", "DeadLetterAddress"),
)
