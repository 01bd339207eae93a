"""The circumstances of a user: in which way of use a call is made, of what its data are, and how
they are shared among the ranks. A winner has to hold in all of these, whatever the campaign itself
is about. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import (
    COUNT_SHAPES,
    EQUAL_COUNTS,
    FUNCTIONS_IN_PARTS,
    IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
    PlanCase,
)
from plumbline.settings import Settings
from plumbline.settings.cases import SYNCHRONISED
from plumbline_db.records import Case

# Fewer elements than ranks are another algorithm in many libraries: types of several lengths are
# tried. Applications reduce doubles and floats, papers bytes.
_REDUCED = (("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM"), ("MPI_BYTE", "MPI_BOR"))
_MOVED = ("MPI_DOUBLE", "MPI_BYTE")


class Circumstance(msgspec.Struct, frozen=True):
    """A way of use ("": the campaign's own) and what is sent."""

    use: str
    data: Data

    def case(self, case: PlanCase) -> PlanCase:
        """The same call, made so."""
        return msgspec.structs.replace(case, use=self.use, data=self.data)

    def label(self, settings: Settings) -> str:
        """`loop, MPI_DOUBLE/MPI_SUM`"""
        data = f"{self.data.type}/{self.data.op}" if self.data.op else self.data.type
        counts = "" if self.data.counts == EQUAL_COUNTS else f", counts={self.data.counts}"
        return f"{self.use or settings.way.use or settings.start_scheme}, {data}{counts}"


def planned(case: Case, root: int) -> PlanCase:
    """Return what a plan asked for where this was measured."""
    knobs = Configuration.of(case.knobs)
    data = Data(case.type, case.op, root, case.counts)
    return PlanCase(case.function, case.bytes, case.variant, knobs, use=case.use, data=data)


def everywhere(settings: Settings, case: PlanCase, *, crowded: bool) -> list[Circumstance]:
    """All circumstances of a call, the campaign's own first. `crowded`: more ranks than cores,
    where ranks cannot start at the same time."""
    own, *others = _data(settings, case)
    shapes = [msgspec.structs.replace(own, counts=counts) for counts in other_counts(case.function)]
    return [
        *(Circumstance(use, own) for use in ("", *other_uses(settings, crowded=crowded))),
        *(Circumstance("", data) for data in (*others, *shapes)),
    ]


def other_counts(function: str) -> list[str]:
    """Return the count shapes of a function beside the equal one."""
    return [shape for shape in COUNT_SHAPES[1:] if function in FUNCTIONS_IN_PARTS]


def other_uses(settings: Settings, *, crowded: bool) -> list[str]:
    """The ways of use that the campaign is not about."""
    uses = [*([] if crowded else [SYNCHRONISED]), "loop", "stream"]
    return [use for use in uses if use != settings.way.use]


def _data(settings: Settings, case: PlanCase) -> Iterator[Data]:
    own, *others = kinds(case.function, settings.cases.data)
    yield own
    for data in others:
        if _elements(case, settings.ranks.nprocs, data.type):
            yield data


def kinds(function: str, own: Data) -> list[Data]:
    """Return the data that calls of a function are tried with, those of a campaign first."""
    first = own.of(function)
    reduces = function in REDUCTIONS
    others = _REDUCED if reduces else [(type, first.op) for type in _MOVED]
    return list(dict.fromkeys([first, *(Data(type, op, own.root) for type, op in others)]))


def _elements(case: PlanCase, nprocs: int, type: str) -> bool:
    """Return whether the volume has an element of the type for each part of the message."""
    blocks = case.function in IN_BLOCKS
    return case.bytes >= TYPE_BYTES[type] * (nprocs if blocks else 1)
