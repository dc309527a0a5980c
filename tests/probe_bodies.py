"""Bodies of probes' messages: `from probe_bodies import BODIES`."""

from __future__ import annotations

from hypothesis import strategies as st

from collectors.probe.message import Body

U64 = st.integers(0, 2**64 - 1)
TIMES = st.integers(0, 2**62 - 1)
BODIES = st.builds(Body, st.booleans(), U64, U64, TIMES, TIMES, TIMES, U64, st.integers(-(2**62), 2**62))

GOLDEN = bytes.fromhex(
    "496e666c01010000"  # magic, version, warm-up, reserved
    "0102030405060708"  # flow
    "1112131415161718"  # run
    "0000000000000007"  # sequence
    "000000e8d4a51001"  # intended
    "000000e8d4a51002"  # sent
    "2122232425262728"  # boot
    "16345785d8a00000"  # epoch
    "00000000"  # padding
)
