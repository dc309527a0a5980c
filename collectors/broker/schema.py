"""What brokers are asked for: the one table of facts about their MBeans. Only reads and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ProductName = Literal["artemis", "classic"]
# number: a whole one; ratio: 0..1; percent: 0..100, told as a ratio; flag; text; usage: of java.lang
Type = Literal["number", "ratio", "percent", "flag", "text", "usage", "load"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute by its name there, its name here, and its type."""

    wire: str
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Bean:
    """A kind of MBean by its object name's pattern; `{queue}` takes a pattern of names."""

    name: str
    pattern: str
    attributes: tuple[Attribute, ...]
    keys: tuple[tuple[str, str], ...] = ()  # key of the object name, and the name it has here

    @property
    def wanted(self) -> list[str]:
        return [attribute.wire for attribute in self.attributes]


@dataclass(frozen=True, slots=True)
class Product:
    """A broker's own MBeans: itself first."""

    name: ProductName
    title: str
    broker: Bean
    queue: Bean
    address: Bean | None


def _attributes(text: str) -> tuple[Attribute, ...]:
    """`Wire:name:type`, separated by white space."""
    found = []
    for item in text.split():
        wire, name, kind = item.split(":")
        found.append(Attribute(wire, name, kind))  # type: ignore[arg-type]  # checked by the table's tests
    return tuple(found)


ARTEMIS: Final = Product(
    "artemis",
    "ActiveMQ Artemis",
    # `Uptime` is a text; DiskStoreUsage is 0..1, the other one 0..100.
    Bean(
        "broker",
        "org.apache.activemq.artemis:broker=*",
        _attributes(
            """
            Version:version:text UptimeMillis:uptime_ms:number Active:active:flag Backup:backup:flag
            AddressMemoryUsagePercentage:address_memory_ratio:percent DiskStoreUsage:disk_ratio:ratio
            ConnectionCount:connections:number
            """
        ),
        (("broker", "name"),),
    ),
    Bean(
        "queue",
        "org.apache.activemq.artemis:address=*,broker=*,component=addresses,queue={queue},"
        "routing-type=*,subcomponent=queues",
        _attributes(
            """
            MessageCount:messages:number DeliveringCount:delivering:number ScheduledCount:scheduled:number
            ConsumerCount:consumers:number PersistentSize:persistent_bytes:number
            MessagesAdded:added:number MessagesAcknowledged:acknowledged:number
            MessagesExpired:expired:number MessagesKilled:killed:number
            """
        ),
        (("address", "address"), ("queue", "queue")),
    ),
    Bean(
        "address",
        "org.apache.activemq.artemis:address={queue},broker=*,component=addresses",
        _attributes(
            """
            Paging:paging:flag NumberOfPages:pages:number AddressSize:bytes:number
            AddressLimitPercent:limit_ratio:percent UnRoutedMessageCount:unrouted:number
            """
        ),
        (("address", "address"),),
    ),
)

CLASSIC: Final = Product(
    "classic",
    "ActiveMQ Classic",
    Bean(
        "broker",
        "org.apache.activemq:brokerName=*,type=Broker",
        _attributes(
            """
            BrokerVersion:version:text UptimeMillis:uptime_ms:number Slave:backup:flag
            MemoryPercentUsage:address_memory_ratio:percent StorePercentUsage:disk_ratio:percent
            CurrentConnectionsCount:connections:number
            """
        ),
        (("brokerName", "name"),),
    ),
    Bean(
        "queue",
        "org.apache.activemq:brokerName=*,destinationName={queue},destinationType=Queue,type=Broker",
        _attributes(
            """
            QueueSize:messages:number InFlightCount:delivering:number ConsumerCount:consumers:number
            StoreMessageSize:persistent_bytes:number EnqueueCount:added:number
            DequeueCount:acknowledged:number ExpiredCount:expired:number
            """
        ),
        (("destinationName", "queue"),),
    ),
    None,
)

PRODUCTS: Final = (ARTEMIS, CLASSIC)

JVM: Final = (
    Bean(
        "memory",
        "java.lang:type=Memory",
        _attributes("HeapMemoryUsage:heap:usage NonHeapMemoryUsage:non_heap:usage"),
    ),
    Bean("pool", "java.lang:name=*,type=MemoryPool", _attributes("Usage:usage:usage"), (("name", "pool"),)),
    Bean(
        "gc",
        "java.lang:name=*,type=GarbageCollector",
        _attributes("CollectionCount:collections:number CollectionTime:collection_ms:number"),
        (("name", "gc"),),
    ),
    Bean("threads", "java.lang:type=Threading", _attributes("ThreadCount:threads:number")),
    Bean("classes", "java.lang:type=ClassLoading", _attributes("LoadedClassCount:classes:number")),
    Bean("runtime", "java.lang:type=Runtime", _attributes("StartTime:start_ms:number")),
    Bean(
        "system",
        "java.lang:type=OperatingSystem",
        _attributes(
            """
            SystemLoadAverage:load1:load ProcessCpuTime:cpu_ns:number
            OpenFileDescriptorCount:open_fds:number MaxFileDescriptorCount:max_fds:number
            FreePhysicalMemorySize:free_memory_bytes:number FreeSwapSpaceSize:free_swap_bytes:number
            CommittedVirtualMemorySize:committed_virtual_bytes:number
            """
        ),
    ),
)

# Each garbage collector has names of its own for the same pools.
POOLS: Final = {
    **dict.fromkeys(
        (
            *("G1 Eden Space", "PS Eden Space", "Par Eden Space", "Eden Space"),
            *("ZGC Young Generation", "Shenandoah Young Gen"),
        ),
        "eden",
    ),
    **dict.fromkeys(
        ("G1 Survivor Space", "PS Survivor Space", "Par Survivor Space", "Survivor Space"), "survivor"
    ),
    **dict.fromkeys(
        (
            *("G1 Old Gen", "PS Old Gen", "CMS Old Gen", "Tenured Gen", "ZGC Old Generation"),
            *("ZHeap", "ZGC", "Shenandoah", "Shenandoah Old Gen"),  # without generations: the whole heap
        ),
        "old",
    ),
    **dict.fromkeys(("Metaspace", "Perm Gen", "PS Perm Gen", "CMS Perm Gen", "G1 Perm Gen"), "metaspace"),
}
USAGE: Final = ("init", "committed", "max", "used")
