"""Makes final windows that add up from what probes measured. The contract is streaming/accounting.md.

`PathState` is one path; `Accountant` is many, fed with the bytes of records as they come from Kafka or from
a probe in the same process. Nothing here knows of Spark, Kafka or the clock.
"""

from streaming.accounting.accountant import Accountant, DeadLetter, Fed
from streaming.accounting.admission import Rejected
from streaming.accounting.path import PathState
from streaming.accounting.state_codec import BadState

__all__ = ["Accountant", "BadState", "DeadLetter", "Fed", "PathState", "Rejected"]
