"""Suite files: what a run is to measure, suite by suite, as SKaMPI's were (Reussner and Hunzelmann,
ICCS 2001, section 4).

A suite is one pattern, some operations that are measured side by side, and one parameter that is
varied. Files that ship are in `standard`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import TYPE_BYTES, Data, StoppingRule
from plumbline.measure import tables
from plumbline.settings import Settings
from plumbline.system import toml
from plumbline_db.errors import UsageError
from plumbline_db.points import Axis

# The suites that a violation table is refined by: of each function the library's own call beside
# what guidelines compare it with. Where these cross, a guideline begins to be violated.

_LAUNCHES = 6


def suites_of_guidelines(guidelines: Guidelines, settings: Settings) -> tuple[AskedSuite, ...]:
    """Over the sizes that the settings ask for; `settings` say the way of use."""
    asked_suites = []
    sizes = tables.sizes_of(guidelines, settings)
    for function in dict.fromkeys([*guidelines.lhs_functions(), *settings.cases.functions]):
        beside = [
            pattern.variant
            for pattern in guidelines.patterns
            if (pattern.lhs, pattern.lhs_variant) == (function, "default")
        ]
        asked_suites.append(
            AskedSuite(
                name=function.removeprefix("MPI_").lower().replace("_", "-"),
                operations=(function, *dict.fromkeys(beside)),
                at=tuple(sizes[function]),
                refine=True,
                launches=_LAUNCHES,
                use=settings.way.use,
                type=settings.cases.type,
                op=settings.cases.op,
                root=settings.cases.root,
            )
        )
    return tuple(asked_suites)


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
_MOST = 2**31 - 1
_MOST_POINTS = 200


class AskedSuite(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"first": "from"}
):
    """A suite as it is asked for, in this order in docs/suites.md."""

    name: str
    """Of the suite: small letters, digits and hyphens."""
    operations: tuple[str, ...]
    """Functions of MPI (the library's own), our variants, or operations of the pattern."""
    pattern: str = "collective"
    """collective, point_to_point, master_worker, neighbourhood or simple."""
    vary: Axis = "bytes"
    """What the axis is: bytes, or ranks."""
    first: int = 0
    """Where it begins."""
    to: int = 0
    """Where it ends; 0 for ranks: all of them."""
    points: int = 8
    """How many there are at first."""
    at: tuple[int, ...] = ()
    """Where, in place of from, to, points and scale."""
    scale: Literal["logarithmic", "linear"] = "logarithmic"
    """In equal factors, or in equal steps."""
    bytes: int = 1024
    """Where ranks are varied: what is sent on all of them; on fewer each sends as much as there."""
    ranks: int = 0
    """Where bytes are varied: on the first so many; 0: all, of point_to_point on one node two."""
    refine: bool = False
    """Points are added where they tell most."""
    error: float = 0.05
    """Relative error of a straight line between two points that needs no further one."""
    most_points: int = 0
    """With those that are added; 0: twice as many as at first."""
    launches: int = 10
    """Of each point; fewer than six have no interval, and with ten `compare` shows by ranks what is
    slower in one of 25 cells."""
    standard_error: float = 0.0
    """Relative standard error at which a launch has enough of a point; 0: as many as usual."""
    least: int = 8
    """With standard_error: repetitions at least."""
    most: int = 33
    """With standard_error: repetitions at most."""
    use: str = ""
    """Way of use: after_barrier, at_root, synchronised, loop, stream or late; "": after_barrier."""
    by_rank: bool = False
    """Each rank's own times are kept too."""
    type: str = ""
    """Datatype; "": MPI_FLOAT where data are reduced, else MPI_BYTE."""
    op: str = ""
    """Operator of reductions; "": MPI_SUM, of MPI_BYTE MPI_BOR."""
    root: int = 0
    """Rank of the root."""

    @property
    def data(self) -> Data:
        return Data(self.type, self.op, self.root)

    @property
    def all_points(self) -> int:
        return self.most_points or 2 * (len(self.at) or self.points)

    @property
    def rule(self) -> StoppingRule | None:
        if not self.standard_error:
            return None
        criteria = f"rse:{self.standard_error}"
        return StoppingRule(criteria, self.least, max(1, self.least // 2), self.most)

    def problems(self) -> Iterator[str]:
        if not _NAME.match(self.name):
            yield "name must be at most 40 small letters, digits and hyphens"
        if not self.operations or len(set(self.operations)) < len(self.operations):
            yield "operations must be different ones, and one at least"
        if not 0 <= self.first <= _MOST or not 0 <= self.to <= _MOST:
            yield f"from and to must be numbers from 0 to {_MOST}"
        if self.to and self.to < self.first:
            yield "to must not be below from"
        if self.vary == "bytes" and not self.to and self.first:
            yield "to must say where the axis ends"
        if self.at and (
            len(self.at) > _MOST_POINTS or not 0 <= min(self.at) <= max(self.at) <= _MOST
        ):
            yield f"at must be at most {_MOST_POINTS} numbers from 0 to {_MOST}"
        if self.vary == "ranks" and min(self.at or (self.first,)) < 1:
            yield "from must be 1 or more ranks"
        if not 1 <= self.points <= _MOST_POINTS or not 0 <= self.most_points <= _MOST_POINTS:
            yield f"points must be 1 to {_MOST_POINTS}, most_points at most {_MOST_POINTS}"
        if self.most_points and self.most_points < (len(self.at) or self.points):
            yield "most_points must not be below points"
        if not 0.001 <= self.error <= 10:
            yield "error must be from 0.001 to 10"
        if not 1 <= self.launches <= 1000:
            yield "launches must be 1 to 1000"
        if self.standard_error and not 0.0001 <= self.standard_error < 1:
            yield "standard_error must be from 0.0001 to below 1"
        if not 2 <= self.least <= self.most <= 100_000:
            yield "least must be 2 or more, and most at least that"
        if not 0 <= self.bytes <= _MOST or not 0 <= self.ranks <= _MOST or self.root < 0:
            yield f"bytes, ranks and root must be numbers from 0 to {_MOST}"
        if self.type and self.type not in TYPE_BYTES:
            yield f"type must be one of {', '.join(TYPE_BYTES)}"


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str = ""
    """What it is about, for people."""
    suite: tuple[AskedSuite, ...]
    """The suites, each a table [[suite]]."""


def read(path: Path) -> Description:
    """Raises UsageError that names file, suite and key."""
    document = toml.read(path, f"suite file {path}")
    description = document.convert(Description)
    names = [suite.name for suite in description.suite]
    if not names or len(set(names)) < len(names):
        raise document.refused("the file needs tables [[suite]] with different names")
    for place, suite in enumerate(description.suite):
        for problem in suite.problems():
            raise document.refused(f"suite {suite.name!r}: {problem}", ("suite", place))
    return description


def standard() -> dict[str, Description]:
    """Return those that ship, by name."""
    folder = resources.files("plumbline.suites").joinpath("standard")
    descriptions = {}
    for file in sorted(folder.iterdir(), key=lambda file_listed: file_listed.name):
        if file.name.endswith(".toml"):
            with resources.as_file(file) as path:
                descriptions[file.name.removesuffix(".toml")] = read(path)
    return descriptions


def named(word: str) -> Description:
    """One that ships, or the file of this name. Raises UsageError."""
    descriptions = standard()
    if word in descriptions:
        return descriptions[word]
    path = Path(word)
    if path.suffix != ".toml" and not path.exists():
        raise UsageError(
            f"the suite file {word} does not exist, and no suite of this name ships; "
            f"suites that ship: {', '.join(descriptions)}"
        )
    return read(path)
