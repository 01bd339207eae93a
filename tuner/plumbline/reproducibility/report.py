"""A reproducibility experiment as one document (the fields of `plumbline reproducibility --json`,
docs/measurement.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from plumbline.measure import conditions
from plumbline.reproducibility import effects
from plumbline.reproducibility.effects import normalised
from plumbline.reproducibility.experiment import ExperimentOutcome, RanksUnderTest, Seconds
from plumbline.reproducibility.settings import ReproducibilitySettings
from plumbline.settings.toolchain import Toolchain
from plumbline_db import runs
from plumbline_db.records import Library, Machine

# Figure 12 of Hunold and Carpen-Amarie, TPDS 2016, for what was measured here: normalised run times
# of every trial, by size, ours beside the plain schemes. Pure: a report in, a Vega-Lite
# specification out.

_NAMES = {
    "ours": "ours",
    "each": "plain, each call timed (OMB, IMB)",
    "series": "plain, one series (IMB 4)",
    "skampi": "SKaMPI's rules",
}
# The series can be distinguished without colour too: by shape, and by position within a size.
_COLOURS = ["#1b6ca8", "#d1761f", "#8a8a8a", "#7a4a8c"]
_SHAPES = ["circle", "square", "triangle-up", "diamond"]


def _points(table: SpreadTable) -> list[dict[str, Any]]:
    return [
        {
            "function": row.function.removeprefix("MPI_"),
            "ranks": f"{row.nprocs} ranks",
            "bytes": row.bytes,
            "scheme": _NAMES[scheme],
            "ratio": round(float(ratio), 5),
        }
        for row in table.rows
        for scheme, spread in (("ours", row.ours), *row.plain.items())
        for ratio in normalised(spread.seconds)
    ]


def specification(table: SpreadTable) -> dict[str, Any]:
    values = _points(table)
    names = list(_NAMES.values())
    scheme = {"field": "scheme", "type": "nominal", "sort": names}
    # All panels share one axis, which ends at the largest value.
    top = max((value["ratio"] for value in values), default=1.0)
    y = {
        "field": "ratio",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1, max(1.05, top)], "nice": False},
        "title": "run time / least of the trials",
        "axis": {"values": [1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50], "format": "~g"},
    }
    place = {
        "x": {
            "field": "bytes",
            "type": "ordinal",
            "title": "bytes",
            "axis": {"labelAngle": 0},
        },
        "xOffset": scheme,
        "y": y,
        "color": scheme
        | {
            "scale": {"domain": names, "range": _COLOURS},
            "legend": {"title": None, "orient": "top", "labelLimit": 400},
        },
    }
    rule = {
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": place
        | {
            "y": y | {"aggregate": "min"},
            "y2": {"field": "ratio", "aggregate": "max"},
        },
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.75},
        "encoding": place | {"shape": scheme | {"scale": {"domain": names, "range": _SHAPES}}},
    }
    return {
        "title": {
            "text": f"{table.trials} trials, each divided by the least",
            "subtitle": f"ours: median of {table.launches} launches; plain: one launch",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {
            "row": {"field": "ranks", "type": "nominal", "title": None},
            "column": {"field": "function", "type": "nominal", "title": None},
        },
        "spec": {"width": 330, "height": 200, "layer": [rule, points]},
        "config": {"background": "white", "font": "sans-serif"},
    }


class SpreadTable(msgspec.Struct, frozen=True):
    """`smaller`: cells in which ours spreads less than every plain scheme, `smaller_than`: than
    that one, of `cells`. `trials` may be fewer than asked for, where a budget ended them."""

    trials: int
    launches: int
    cells: int
    smaller: int
    smaller_than: dict[str, int]
    rows: list[effects.CellSpread]


class EffectTable(msgspec.Struct, frozen=True):
    """The table that an estimator makes of the launches with cells twice, and with planted
    delays."""

    false_alarms: effects.FalseAlarms
    power: list[effects.Power]
    smallest: list[effects.Smallest]
    lines: list[effects.EffectLine]


class ReproducibilityReport(msgspec.Struct, frozen=True):
    machine: Machine
    library: Library
    campaigns: list[str]
    settings: ReproducibilitySettings
    warnings: list[str]
    spread: SpreadTable
    effects: dict[str, EffectTable]
    missing: list[str]
    seconds: Seconds


def report(
    toolchain: Toolchain,
    ranks: Sequence[RanksUnderTest],
    settings: ReproducibilitySettings,
    outcome: ExperimentOutcome,
    warnings: Sequence[str] = (),
) -> ReproducibilityReport:
    """`warnings`: what weakens the result, of `conditions_of`."""
    return ReproducibilityReport(
        machine=toolchain.machine,
        library=toolchain.installation.library,
        campaigns=[rank.campaign.id for rank in ranks],
        settings=settings,
        warnings=list(warnings),
        spread=spread_table(outcome.spreads, outcome.trials, settings.launches),
        effects={
            name: effect_table(comparisons)
            for name, comparisons in outcome.comparisons.items()
            if comparisons
        },
        missing=outcome.missing,
        seconds=outcome.seconds,
    )


def conditions_of(ranks: Sequence[RanksUnderTest]) -> list[str]:
    """Return what weakens the launches, by number of ranks (plumbline.conditions)."""
    return [
        f"{rank.nprocs} ranks: {launch.text}"
        for rank in ranks
        for launch in conditions.of_launches(runs.surroundings(rank.store.db, rank.campaign.id))
    ]


def spread_table(rows: list[effects.CellSpread], trials: int, launches: int) -> SpreadTable:
    than = {
        name: sum(row.ours.percent < row.plain[name].percent for row in rows)
        for name in effects.PLAIN
    }
    return SpreadTable(trials, launches, len(rows), sum(row.smaller for row in rows), than, rows)


def effect_table(comparisons: Sequence[effects.EffectComparison]) -> EffectTable:
    judged = effects.judge(comparisons)
    table = effects.powers(judged)
    return EffectTable(
        false_alarms=effects.false_alarms(judged),
        power=table,
        smallest=effects.smallest(table),
        lines=[effect.line for effect in judged],
    )
