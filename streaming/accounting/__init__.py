"""What probes measured, made into windows that are final and add up. The contract is streaming/accounting.md.

`PathState` is one path; `Accountant` is many, fed with the bytes of records as they come from Kafka or from
a probe in the same process. Nothing here knows of Spark, Kafka or the clock.
"""

from streaming.accounting.accountant import Accountant, DeadLetter, Fed
from streaming.accounting.checks import Rejected
from streaming.accounting.codec import BadState
from streaming.accounting.path import PathState

__all__ = ["Accountant", "BadState", "DeadLetter", "Fed", "PathState", "Rejected"]
