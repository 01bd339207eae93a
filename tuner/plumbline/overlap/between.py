"""Two stored overlap campaigns side by side: the difference of their cells, what else differs
between them, and when each was measured, beside which load."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from plumbline.measure import factors
from plumbline.overlap import difference
from plumbline.overlap.difference import Difference
from plumbline.overlap.stored import Measured, Stored, how
from plumbline.results import compare, side_conditions
from plumbline.results.side_conditions import SideConditions
from plumbline_db.errors import UsageError


class Between(msgspec.Struct, frozen=True):
    """`differences`: factors and settings that the sides do not share. `launches`: of each side, of
    the benchmark that has the fewest."""

    a: Measured
    b: Measured
    found: Difference
    differences: list[factors.Difference]
    conditions: tuple[SideConditions, SideConditions]
    launches: tuple[int, int]


def between(a: Measured, b: Measured, benches: Collection[str] = ()) -> Between:
    """`benches`: only these. Raises UsageError when both are the same campaign, or share no
    cell."""
    same = a.stored.campaign == b.stored.campaign and a.side.database == b.side.database
    if same:
        raise UsageError(f"{a.stored.campaign.id} is on both sides: nothing to compare")
    cells_of_a, cells_of_b = (
        [cell for cell in measured.cells if not benches or cell.bench in benches]
        for measured in (a, b)
    )
    return Between(
        a=a,
        b=b,
        found=difference.find(cells_of_a, cells_of_b),
        differences=_settings(a.stored, b.stored) + compare.differences(a.side, b.side),
        conditions=(
            side_conditions.of_side(a.side.launches),
            side_conditions.of_side(b.side.launches),
        ),
        launches=(_fewest(a), _fewest(b)),
    )


def _settings(a: Stored, b: Stored) -> list[factors.Difference]:
    settings_of_a, settings_of_b = how(a.settings), how(b.settings)
    noted = factors.FactorRule("noted")
    return [
        factors.Difference(f"setting {name}", noted, [(value_of_a, ["A"]), (right, ["B"])])
        for name in dict.fromkeys([*settings_of_a, *settings_of_b])
        if (value_of_a := settings_of_a.get(name, factors.NOT_SET))
        != (right := settings_of_b.get(name, factors.NOT_SET))
    ]


def _fewest(side: Measured) -> int:
    return min((cell.launches for cell in side.cells if cell.launches), default=0)


def document(one: Between) -> dict[str, Any]:
    """All of it, for JSON."""
    sides = {
        letter: about(side.stored)
        | {"database": str(side.side.database), "conditions": msgspec.to_builtins(conditions)}
        for letter, side, conditions in zip("ab", (one.a, one.b), one.conditions, strict=True)
    }
    differences = [
        {"factor": difference.factor, "a": difference.values[0][0], "b": difference.values[1][0]}
        for difference in one.differences
    ]
    lines: dict[str, Any] = msgspec.to_builtins(one.found)
    return {**sides, "together": False, "differences": differences, **lines}


def about(stored: Stored) -> dict[str, Any]:
    """A campaign in a few facts, for JSON."""
    campaign = stored.campaign
    return {
        "id": campaign.id,
        "library": stored.library.version_string,
        "machine": stored.machine.host,
        "nprocs": campaign.nprocs,
        "oversubscribed": campaign.oversubscribed,
        "state": campaign.state,
        "started": campaign.started,
        "settings": msgspec.to_builtins(stored.settings),
    }
