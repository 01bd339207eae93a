"""The time at which the launches of a side ran, and what else ran on the machine then: what sides
that were not measured together differ in besides what is compared. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from plumbline.measure.conditions import FOREIGN_PROCESSORS, STOLEN_PROCESSORS, foreign
from plumbline_db.runs import Surroundings


class SideConditions(msgspec.Struct, frozen=True):
    """`first`: when the first launch began, `last`: when the last one ended (ISO 8601, to the
    second). Of the `launches_with_load` launches with a load record, medians: how many processors
    other programs, and the hypervisor, kept busy on the host where they had most; None: unknown."""

    first: str
    last: str
    launches_with_load: int
    other_processors: float | None
    stolen_processors: float | None


def of_side(launches: Sequence[Surroundings]) -> SideConditions:
    """`launches`: at least one."""
    begins = [datetime.fromisoformat(launch.started) for launch in launches]
    ends = [
        begin + timedelta(seconds=launch.seconds)
        for begin, launch in zip(begins, launches, strict=True)
    ]
    loads = [
        foreign(launch.load, launch.wall_seconds)
        for launch in launches
        if launch.load is not None and launch.wall_seconds > 0
    ]
    busy = [
        load.busy_seconds / load.wall_seconds for load in loads if load.busy_seconds is not None
    ]
    stolen = [
        load.stolen_seconds / load.wall_seconds for load in loads if load.stolen_seconds is not None
    ]
    return SideConditions(
        first=min(begins).isoformat(timespec="seconds"),
        last=max(ends).isoformat(timespec="seconds"),
        launches_with_load=len(loads),
        other_processors=statistics.median(busy) if busy else None,
        stolen_processors=statistics.median(stolen) if stolen else None,
    )


def load_differences(a: SideConditions, b: SideConditions) -> list[str]:
    """Return where the load of the sides lies apart by more than a single launch would be warned
    of."""
    apart = []
    for load, load_of_a, load_of_b, limit in (
        ("other work", a.other_processors, b.other_processors, FOREIGN_PROCESSORS),
        ("stolen time", a.stolen_processors, b.stolen_processors, STOLEN_PROCESSORS),
    ):
        if load_of_a is not None and load_of_b is not None and abs(load_of_a - load_of_b) > limit:
            apart.append(f"{load}: A {load_of_a:.2f}, B {load_of_b:.2f} processors")
    return apart
