"""Non-blocking: to begin a message and to wait for it at once ⪯ the blocking call; a cell is a
benchmark of overlap at a size.
"""

from __future__ import annotations

import msgspec

from plumbline.core.guidelines import Guidelines
from plumbline.verify.index import Index
from plumbline.verify.kinds import Candidate, Cell, kind

NONBLOCKING, BLOCKING = "nonblocking", "blocking"


@kind("nonblocking", letter="n", row="function", benchmarks=True)
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if guidelines.nonblocking is None:
        return []
    return [
        Cell(
            guidelines.nonblocking.id,
            "nonblocking",
            side.function,
            BLOCKING,
            side.bytes,
            (Candidate(side, msgspec.structs.replace(side, variant=BLOCKING)),),
        )
        for side in index.of_variant(NONBLOCKING)
    ]
