"""Where a user stands: in which way of use a call is made, and of what its data are. A winner has
to hold in all of these, whatever the campaign itself is about. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline.plan import (
    FUNCTIONS_IN_PARTS,
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
    PlanCase,
)
from plumbline.settings import SYNCHRONISED, Settings

# As applications call: an element is more than a byte, and fewer elements than ranks are another
# algorithm in many libraries.
_REDUCED = (("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM"))
_MOVED = "MPI_DOUBLE"

# A stream gives one sample a block, of so many calls; of large messages fewer say as much.
_CALLS = 16
_LARGE_BYTES = 8192


class Circumstance(msgspec.Struct, frozen=True):
    """A way of use ("": the campaign's own) and what is sent."""

    use: str
    data: Data

    def case(self, case: PlanCase) -> PlanCase:
        """The same call, made so."""
        reps = 0
        if self.use == "stream":
            reps = _CALLS if case.bytes <= _LARGE_BYTES else _CALLS // 2
        return msgspec.structs.replace(case, use=self.use, data=self.data, reps=reps)

    def label(self, settings: Settings) -> str:
        """`loop, MPI_DOUBLE/MPI_SUM`"""
        return f"{self.use or settings.way_of_use or settings.start_scheme}, {self.data.type}" + (
            f"/{self.data.op}" if self.data.op else ""
        )


def everywhere(settings: Settings, case: PlanCase, *, crowded: bool) -> list[Circumstance]:
    """All circumstances of a call, the campaign's own first. `crowded`: more ranks than cores,
    where ranks cannot start at the same time."""
    return [
        Circumstance(use, data)
        for data in _data(settings, case)
        for use in ("", *other_uses(settings, crowded=crowded))
    ]


def other_uses(settings: Settings, *, crowded: bool) -> list[str]:
    """The ways of use that the campaign is not about."""
    uses = [*([] if crowded else [SYNCHRONISED]), "loop", "stream"]
    return [use for use in uses if use != settings.way_of_use]


def _data(settings: Settings, case: PlanCase) -> Iterator[Data]:
    own = Data(settings.type, settings.op, settings.root)
    yield own
    reduces = case.function in REDUCTIONS
    others = _REDUCED if reduces else ((_MOVED, settings.op),)
    for type, op in (*others, ("MPI_BYTE", "MPI_BOR" if reduces else settings.op)):
        data = Data(type, op, settings.root)
        if data != own and _elements(case, settings.nprocs, type):
            yield data


def _elements(case: PlanCase, nprocs: int, type: str) -> bool:
    """Whether the volume has an element of the type for each part of the message."""
    blocks = case.function in MESSAGE_FUNCTIONS_IN_BLOCKS | FUNCTIONS_IN_PARTS
    return case.bytes >= TYPE_BYTES[type] * (nprocs if blocks else 1)
