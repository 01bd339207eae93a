"""What `overlap` is asked to measure."""

from __future__ import annotations

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.overlap import benches
from plumbline.overlap.benches import Aid

LAUNCHES = 5


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
