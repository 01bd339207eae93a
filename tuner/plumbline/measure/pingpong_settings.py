"""Settings of a measurement of ping-pongs."""

from __future__ import annotations

import msgspec

SIZES = (0, *(2**power for power in range(23)))


class PingPongSettings(msgspec.Struct, frozen=True):
    """`reps`: round trips a size up to 64 KiB, fewer beyond, at least ten."""

    nprocs: int
    sizes: tuple[int, ...] = SIZES
    reps: int = 100
    launches: int = 10
    seed: int = 1
    command: str = "pingpong"
