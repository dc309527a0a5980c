"""ActiveMQ Artemis' MBeans."""

from __future__ import annotations

from typing import Final

from collectors.broker.schema import Bean, Links, Product
from collectors.polling.attributes import attributes

_MIRROR: Final = "$ACTIVEMQ_ARTEMIS_MIRROR_"

# What links say, as seen with 2.44. Their peer is killed, so that its port refuses: Connected is false at
# once, and true within a retry interval when it comes back. Their peer hangs (SIGSTOP): a bridge says so
# after up to two minutes (its connection-ttl and check-period). An AMQP connection lets go after a minute
# (the acceptor's idle time-out), and at once connects anew, as the peer's kernel still takes it:
# Connected is true all but a moment in each minute for as long as the peer hangs, but nothing takes
# messages from the queue that feeds it, ConsumerCount 0. A bridge whose forwarding address the peer has
# not is never connected, either (AMQ222097 in its log).
# MessagesPendingAcknowledgement of a bridge is all that it has sent, and never falls; what is pending is
# the DeliveringCount of its queue. Uri has all options of the connection, so passwords.
# Which queues an AMQP connection sends, no MBean says. A mirror is known by its own queue, in which
# messages, acknowledgements and changes of queues and addresses wait, and are counted, each as a message.
# After a hang of more than a minute the mirror's copy had some messages twice.
_LINKS: Final = Links(
    kinds=(
        Bean(
            "bridge",
            "org.apache.activemq.artemis:broker=*,component=bridges,name=*",
            attributes(
                """
                Started                         started       flag
                Connected                       connected     flag
                QueueName                       queue         text
                StaticConnectors                to            texts
                MessagesPendingAcknowledgement  sent          number
                MessagesAcknowledged            acknowledged  number
                """
            ),
            (("name", "link"),),
        ),
        Bean(
            "amqp",
            "org.apache.activemq.artemis:broker=*,component=broker-connections,name=*",
            attributes(
                """
                Started    started    flag
                Connected  connected  flag
                Uri        uri        text
                """
            ),
            (("name", "link"),),
        ),
    ),
    queues=Bean(
        "link_queue",
        "org.apache.activemq.artemis:address=*,broker=*,component=addresses,queue={queue},"
        "routing-type=*,subcomponent=queues",
        attributes(
            """
            MessageCount          messages      number
            DeliveringCount       delivering    number
            ConsumerCount         consumers     number
            MessagesAcknowledged  acknowledged  number
            """
        ),
        (("queue", "queue"),),
    ),
    mirror=_MIRROR,
)

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
    links=_LINKS,
    internal=(_MIRROR, "$ACTIVEMQ_ARTEMIS_FEDERATION", "$.artemis.internal.", "$sys.mqtt."),
    moves_to=("ExpiryAddress", "DeadLetterAddress"),
)
