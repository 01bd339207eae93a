"""A reproducibility experiment as one document (the fields of `plumbline reproducibility --json`,
docs/measurement.md)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.measure import conditions
from plumbline.reproducibility import effects, spread
from plumbline.reproducibility.experiment import ExperimentOutcome, RanksUnderTest, Seconds
from plumbline.reproducibility.settings import ReproducibilitySettings
from plumbline.settings.toolchain import Toolchain
from plumbline_db import runs
from plumbline_db.records import Library, Machine


class SpreadTable(msgspec.Struct, frozen=True):
    """`smaller`: cells in which ours spreads less than every plain scheme, `smaller_than`: than
    that one, of `cells`. `trials` may be fewer than asked for, where a budget ended them."""

    trials: int
    launches: int
    cells: int
    smaller: int
    smaller_than: dict[str, int]
    rows: list[spread.CellSpread]


class EffectTable(msgspec.Struct, frozen=True):
    """The table that an estimator makes of the launches with cells twice, and with planted
    delays."""

    false_alarms: effects.FalseAlarms
    power: list[effects.Power]
    smallest: list[effects.Smallest]
    lines: list[effects.EffectLine]


class Report(msgspec.Struct, frozen=True):
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
) -> Report:
    """`warnings`: what weakens the result, of `conditions_of`."""
    return Report(
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


def spread_table(rows: list[spread.CellSpread], trials: int, launches: int) -> SpreadTable:
    than = {
        name: sum(row.ours.percent < row.plain[name].percent for row in rows)
        for name in spread.PLAIN
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
