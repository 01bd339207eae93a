"""The way from a suite to the cases that are measured at a place of its axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from plumbline.core.configuration import variant_name
from plumbline.core.guidelines import MESSAGE_PATTERNS
from plumbline.core.plan import WITHOUT_SIZE, PlanCase, least_bytes, part_bytes
from plumbline.measure.refine import Refinement, grid
from plumbline.settings.toolchain import Catalogue
from plumbline.suites.description import AskedSuite
from plumbline_db.errors import UsageError, command_name


class NamedOperation(NamedTuple):
    """An operation as plans name it: `function` is one of MPI, or a pattern. `data`: it sends
    some."""

    name: str
    function: str
    variant: str
    data: bool = True


class RanksThere(NamedTuple):
    """The ranks of the launches: how many, on so many nodes."""

    nprocs: int
    nodes: int


def operations(suite: AskedSuite, catalogue: Catalogue) -> list[NamedOperation]:
    """Raises UsageError for a pattern or an operation that the probe does not know."""
    where = f"suite {suite.name!r}"
    pattern = catalogue.pattern(suite.pattern)
    if pattern is not None:
        operation_by_name = {operation.name: operation for operation in pattern.operations}
        unknown = [name for name in suite.operations if name not in operation_by_name]
        if unknown:
            raise UsageError(
                f"{where}: {suite.pattern} has no operation {', '.join(unknown)}; it has "
                f"{', '.join(operation_by_name)}"
            )
        return [
            NamedOperation(name, pattern.name, name, operation_by_name[name].data)
            for name in suite.operations
        ]
    if suite.pattern != "collective":
        names = ["collective", *(pattern_known.name for pattern_known in catalogue.patterns)]
        raise UsageError(f"{where}: pattern must be one of {', '.join(names)}")
    functions = set(catalogue.names)
    variants = {variant.name: variant.function for variant in catalogue.variants}
    named_operations = []
    for name in suite.operations:
        if name in functions:
            named_operations.append(NamedOperation(name, name, "default", name not in WITHOUT_SIZE))
        elif variant_name(name) in variants:
            named_operations.append(NamedOperation(name, variants[variant_name(name)], name))
        else:
            raise UsageError(
                f"{where}: {name} is neither an MPI function that the probe knows nor one of our "
                f"variants (`{command_name()} variants` lists both)"
            )
    return named_operations


def refinement(suite: AskedSuite, of: Sequence[NamedOperation], ranks: RanksThere) -> Refinement:
    """Places between which nothing else can be told apart are no places of their own."""
    unit = 1
    if suite.vary == "bytes":
        on = _ranks(suite, of[0], suite.first, ranks) or ranks.nprocs
        unit = max(least_bytes(operation.function, on, suite.data) for operation in of) or 1
    return Refinement(error=suite.error, most=suite.all_points, unit=unit)


def places(suite: AskedSuite, of: Sequence[NamedOperation], ranks: RanksThere) -> list[int]:
    """Return what is asked for, before anything is added. Raises UsageError where ranks are
    missing."""
    if suite.vary == "ranks":
        first = min(suite.at, default=suite.first)
        last = max(suite.at, default=suite.to or ranks.nprocs)
        if last > ranks.nprocs or suite.root >= first:
            raise UsageError(
                f"suite {suite.name!r}: from {first} to {last} ranks with root {suite.root}, "
                f"and {ranks.nprocs} are started: the root must be among the first, and --nprocs "
                "the largest number"
            )
        return sorted(set(suite.at)) or grid(first, last, suite.points, scale=suite.scale)
    if suite.ranks > ranks.nprocs:
        raise UsageError(
            f"suite {suite.name!r}: {suite.ranks} ranks, and {ranks.nprocs} are started; "
            "raise --nprocs"
        )
    if not any(operation.data for operation in of):
        return [0]
    if suite.at:
        return sorted(set(suite.at))
    unit = refinement(suite, of, ranks).unit
    return grid(suite.first, suite.to, suite.points, scale=suite.scale, unit=unit)


def cases(
    suite: AskedSuite, of: Sequence[NamedOperation], at: Sequence[int], ranks: RanksThere
) -> tuple[PlanCase, ...]:
    suite_cases = []
    for place in at:
        for operation in of:
            on = _ranks(suite, operation, place, ranks)
            size = place
            if suite.vary == "ranks":
                size = part_bytes(
                    operation.function, suite.bytes, ranks.nprocs, on or ranks.nprocs, suite.data
                )
            suite_cases.append(
                PlanCase(
                    operation.function,
                    size if operation.data else 0,
                    operation.variant,
                    ranks=on,
                    by_rank=suite.by_rank,
                )
            )
    return tuple(suite_cases)


def _ranks(suite: AskedSuite, of: NamedOperation, place: int, ranks: RanksThere) -> int:
    """Return those of a case; 0: all. Where all ranks share a node, those that a message does not
    concern would wait for it on its cores."""
    on = place if suite.vary == "ranks" else suite.ranks
    if not on and of.function in MESSAGE_PATTERNS and ranks.nodes == 1:
        on = max(2, suite.root + 1)
    return 0 if on >= ranks.nprocs else on
