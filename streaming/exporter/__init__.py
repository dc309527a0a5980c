"""From window and live rows to `/metrics` and to what the live page shows.

`core` is the whole as others use it; `book` counts one path, exactly; `checks` are the books that balance;
`slo` knows the objectives; `text` renders; `view` is the JSON of page and terminal; `saved` and `consumer`
are the shell: a file, and Kafka.
"""

from __future__ import annotations

from streaming.exporter.core import Exporter

__all__ = ["Exporter"]
