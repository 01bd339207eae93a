"""Where a user stands: in which way of use a call is made, and of what its data are. A winner has
to hold in all of these, whatever the campaign itself is about. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline.core.plan import (
    FUNCTIONS_IN_PARTS,
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
    PlanCase,
)
from plumbline.settings import Settings
from plumbline.settings.way_of_use import SYNCHRONISED
from plumbline_db.records import Winner
from plumbline_exporters.bundle import conditions, is_profile

# Fewer elements than ranks are another algorithm in many libraries: types of several lengths are
# tried. Applications reduce doubles and floats, papers bytes.
_REDUCED = (("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM"), ("MPI_BYTE", "MPI_BOR"))
_MOVED = ("MPI_DOUBLE", "MPI_BYTE")
# The classes in a profile (docs/profile.md) of types that applications reduce. What holds for bytes
# alone is of no use to them.
_CLASSES = {
    "MPI_INT": "integer",
    "MPI_INT64_T": "integer",
    "MPI_FLOAT": "floating",
    "MPI_DOUBLE": "floating",
}


class Circumstance(msgspec.Struct, frozen=True):
    """A way of use ("": the campaign's own) and what is sent."""

    use: str
    data: Data

    def case(self, case: PlanCase) -> PlanCase:
        """The same call, made so."""
        return msgspec.structs.replace(case, use=self.use, data=self.data)

    def label(self, settings: Settings) -> str:
        """`loop, MPI_DOUBLE/MPI_SUM`"""
        return f"{self.use or settings.way.use or settings.start_scheme}, {self.data.type}" + (
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
    """Whether the volume has an element of the type for each part of the message."""
    blocks = case.function in MESSAGE_FUNCTIONS_IN_BLOCKS | FUNCTIONS_IN_PARTS
    return case.bytes >= TYPE_BYTES[type] * (nprocs if blocks else 1)


def condition(winner: Winner, settings: Settings) -> str:
    """What the rule of a winner can say so that it is for the campaign's class of datatypes alone:
    `type=floating`. Empty where it cannot: only reductions have the same type on all ranks, and
    only rules of a profile have conditions."""
    own = _CLASSES.get(settings.cases.data.of(winner.function).type, "")
    return f"type={own}" if own and winner.function in REDUCTIONS and is_profile(winner) else ""


def with_condition(winner: Winner, word: str) -> Winner:
    words = dict.fromkeys([*winner.restrictions, word])
    return msgspec.structs.replace(winner, restrictions=list(words))


def is_for(winner: Winner, type: str) -> bool:
    """Whether it answers calls with this datatype."""
    asked = {f"type={_CLASSES.get(type, '')}"}
    return asked.issuperset(conditions(winner))
