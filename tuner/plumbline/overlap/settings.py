"""Settings of what `overlap` is asked to measure."""

from __future__ import annotations

import itertools

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.overlap import benches
from plumbline.overlap.benches import Aid

LAUNCHES = 5
_SMALL, _LARGE = 64, 4 << 20  # bytes
_SHORT, _LONG = 2_000, 4_096_000  # nanoseconds of work


class OverlapSettings(msgspec.Struct, frozen=True):
    """`launches` of each benchmark (names of benches.py), `triples` of each cell in them; `knobs`:
    of the library, in force in all of them; `adaptive`: cells where nothing changes are not
    measured; `loads`: numbers of threads of the benchmark `load`."""

    nprocs: int
    benches: tuple[str, ...] = benches.QUICK
    sizes: tuple[int, ...] = ()
    work_ns: tuple[int, ...] = ()
    kernel: str = "registers"
    aid: Aid = "none"
    test_ns: int = 0
    knobs: Configuration = Configuration()
    triples: int = 50
    launches: int = LAUNCHES
    seed: int = 1
    command: str = "overlap"
    adaptive: bool = False
    loads: tuple[int, ...] = ()


def axes(*, quick: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and amounts of work: in steps of a factor of 2, or of its square root."""
    return _steps(_SMALL, _LARGE, 1 if quick else 2), _steps(_SHORT, _LONG, 1 if quick else 2)


def _steps(low: int, high: int, parts: int) -> tuple[int, ...]:
    sizes = (round(low * 2 ** (step / parts)) for step in itertools.count())
    return tuple(itertools.takewhile(lambda size: size <= high, sizes))
