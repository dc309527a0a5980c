"""What brokers are asked for: the form of a product's table, and the tables of the JVM that all run in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectors.polling.attributes import Attribute, attributes


@dataclass(frozen=True, slots=True, eq=False)
class Bean:
    """A kind of MBean by its object name's pattern; `{queue}` takes a pattern of names."""

    name: str
    pattern: str
    attributes: tuple[Attribute, ...]
    keys: tuple[tuple[str, str], ...] = ()  # key of the object name, and the name it has here
    labels: tuple[str, ...] = ()  # of these, the metrics' labels; none: there is one such MBean
    quotes_names: bool = True  # whether names stand in quotes, as the config's patterns are asked for

    @property
    def wanted(self) -> list[str]:
        return [attribute.remote_name for attribute in self.attributes]

    @property
    def counts(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.type == "count")

    @property
    def gauges(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.type != "count" and a.metric)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What a product says of its links to other brokers.

    Where they say it, `kinds` have `started`, `connected`, `queue`, the one that feeds the link, `sent` and
    `acknowledged`; `to` and `uri` become the peer's name.
    """

    kinds: tuple[Bean, ...]  # a kind of link each, of which it has the name
    queues: Bean | None = (
        None  # those that feed links: the config's choice of queues does not matter for them
    )
    mirror: str = ""  # how the name of a mirror's own queue begins; the rest is that of its connection
    attached: Bean | None = None  # an MBean that is there only while the link is

    @property
    def beans(self) -> tuple[Bean, ...]:
        return (*self.kinds, *(bean for bean in (self.queues, self.attached) if bean))


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A broker's own MBeans. The broker's attributes `active` and `backup` say which of a pair it is."""

    name: str
    title: str
    broker: Bean
    queue: Bean
    address: Bean | None
    links: Links = Links(())
    internal: tuple[
        str, ...
    ] = ()  # how the names begin of queues and addresses that the broker made for itself
    moves_to: tuple[str, ...] = ()  # attributes of a queue: where messages go that expire or fail

    @property
    def beans(self) -> tuple[Bean, ...]:
        return (self.broker, *self.destinations)

    @property
    def destinations(self) -> tuple[Bean, ...]:
        """Those of which there may be many: the config chooses by their names."""
        return (self.queue, self.address) if self.address else (self.queue,)


# A link as it is told of every product; see `links`.
LINK: Final = Bean(
    "link",
    "",
    attributes(
        """
        up            up            flag    broker_link_up
        started       started       flag    broker_link_started
        connected     connected     flag    broker_link_connected
        messages      messages      number  broker_link_messages
        delivering    delivering    number  broker_link_delivering_messages
        sent          sent          count   broker_link_sent_messages_total
        acknowledged  acknowledged  count   broker_link_acknowledged_messages_total
        """
    ),
    (("kind", "kind"), ("link", "link"), ("to", "to")),
    ("kind", "link", "to"),
)

JVM: Final = (
    Bean(
        "memory",
        "java.lang:type=Memory",
        attributes(
            """
            HeapMemoryUsage     heap      usage
            NonHeapMemoryUsage  non_heap  usage
            """
        ),
    ),
    Bean("pool", "java.lang:name=*,type=MemoryPool", attributes("Usage usage usage"), (("name", "pool"),)),
    Bean(
        "gc",
        "java.lang:name=*,type=GarbageCollector",
        attributes(
            """
            CollectionCount  collections    count  broker_jvm_gc_collections_total
            CollectionTime   collection_ms  count  broker_jvm_gc_seconds_total  /1000
            """
        ),
        (("name", "gc"),),
        ("gc",),
    ),
    Bean("threads", "java.lang:type=Threading", attributes("ThreadCount threads number broker_jvm_threads")),
    Bean(
        "classes",
        "java.lang:type=ClassLoading",
        attributes("LoadedClassCount classes number broker_jvm_classes"),
    ),
    Bean(
        "runtime",
        "java.lang:type=Runtime",
        attributes("StartTime start_ms number broker_start_time_seconds /1000"),
    ),
    Bean(
        "system",
        "java.lang:type=OperatingSystem",
        attributes(
            """
            SystemLoadAverage           load1                    load    broker_load1
            ProcessCpuTime              cpu_ns                   count   broker_cpu_seconds_total  /1000000000
            OpenFileDescriptorCount     open_fds                 number  broker_open_fds
            MaxFileDescriptorCount      max_fds                  number  broker_max_fds
            FreePhysicalMemorySize      free_memory_bytes        number  broker_free_memory_bytes
            FreeSwapSpaceSize           free_swap_bytes          number  broker_free_swap_bytes
            CommittedVirtualMemorySize  committed_virtual_bytes  number  broker_committed_virtual_bytes
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
