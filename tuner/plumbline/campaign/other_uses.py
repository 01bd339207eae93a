"""The cells of a violation table in other ways of use: what is violated there too, what only there.

They are measured in launches of their own, all ways of use in the same launches: a call and then a
barrier (`loop`, as benchmark programs call) for the whole table where it is asked for, every other
way for the cells that are violated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from plumbline.campaign.circumstances import Circumstance, other_uses
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import Data
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline.verify.design import Design
from plumbline.verify.index import LIBRARY
from plumbline.verify.verify import Look, Verification, VerifySettings
from plumbline_db import runs
from plumbline_db.records import OtherUse, Suite, Verdict

LOOP = "loop"
_BLOCKS = 6
_SEEDS = 500_000  # after those of the table itself


class Elsewhere(msgspec.Struct, frozen=True):
    """`table` with what its cells are in other uses; `only` are cells that are violated in a loop
    of calls and not in the table, under a name that says so (`GL12 (loop)`)."""

    table: list[Verdict]
    only: list[Verdict]


def look(
    store: LaunchStore,
    stage: str,
    guidelines: Guidelines,
    settings: Settings,
    environment: Mapping[str, str],
    table: Sequence[Verdict],
    only: Sequence[Verdict] = (),
    *,
    crowded: bool,
    whole: bool,
) -> Elsewhere:
    """Measures what is needed beside the table of `stage`, with `environment` in force. `whole`:
    all of its cells in a loop of calls, not only those that are violated; `only` were violated in
    loops before."""
    uses = other_uses(settings, crowded=crowded)
    violated = _cases_of([*only, *(verdict for verdict in table if verdict.verdict == "violated")])
    every = tables.cases(guidelines, settings)
    wanted = {
        use: every
        if whole and use == LOOP
        else [case for case in every if (case.function, case.variant, case.bytes) in violated]
        for use in uses
    }
    data = Data(settings.cases.type, settings.cases.op, settings.cases.root)
    cases = [Circumstance(use, data).case(case) for use, those in wanted.items() for case in those]
    if not cases:
        return Elsewhere(list(table), [])
    suite = Suite(stage, step="uses")
    store.progress.step(
        f"{stage}: {counted(len(wanted[uses[0]]), 'case')} in other ways of use: {', '.join(uses)}"
    )
    plan = msgspec.structs.replace(
        tables.plan(settings, [msgspec.structs.replace(case, data=None) for case in cases]),
        blocks=min(_BLOCKS, settings.sampling.blocks),
        seed=settings.sampling.seed + _SEEDS,
    )
    Series(store, suite, plan, environment).advance(settings.sampling.launches)
    found = {use: _verdicts(store, stage, suite.name, use, guidelines, settings) for use in uses}
    return _joined(table, found)


def _cases_of(verdicts: Iterable[Verdict]) -> set[tuple[str, str, int]]:
    """Both sides of each: function, variant, bytes."""
    found: set[tuple[str, str, int]] = set()
    for verdict in verdicts:
        right = LIBRARY if verdict.rhs == verdict.function else verdict.rhs
        found.add((verdict.function, verdict.lhs, verdict.bytes))
        found.add((verdict.function, right, verdict.other_bytes or verdict.bytes))
    return found


def _verdicts(
    store: LaunchStore,
    stage: str,
    suite: str,
    use: str,
    guidelines: Guidelines,
    settings: Settings,
) -> list[Verdict]:
    samples = runs.launch_samples(store.db, store.campaign, [suite], use=use)
    table = Verification(
        guidelines,
        stage=stage,
        nprocs=settings.ranks.nprocs,
        ppn=settings.ranks.ppn,
        settings=VerifySettings(
            alpha=settings.claims.alpha,
            tolerance=settings.claims.tolerance,
            design=Design((settings.sampling.launches,), (1.0,)),
        ),
    )
    medians = [runs.medians_of(sample) for sample in samples]
    table.look(Look(medians, [suite], samples=samples))
    return [verdict for verdict in table.verdicts() if verdict.ratio is not None]


_Cell = tuple[str, str, str, int]


def _cell(verdict: Verdict) -> _Cell:
    return (verdict.guideline, verdict.kind, verdict.function, verdict.bytes)


def _joined(table: Sequence[Verdict], found: Mapping[str, Sequence[Verdict]]) -> Elsewhere:
    by_use = {
        use: {_cell(verdict): verdict for verdict in verdicts} for use, verdicts in found.items()
    }
    joined = [
        msgspec.structs.replace(
            verdict,
            uses=[
                OtherUse(use, other.verdict, other.ratio, other.ratio_low, other.ratio_high)
                for use, those in by_use.items()
                if (other := those.get(_cell(verdict))) is not None
            ],
        )
        for verdict in table
    ]
    violated = {_cell(verdict) for verdict in table if verdict.verdict == "violated"}
    only = [
        msgspec.structs.replace(verdict, guideline=f"{verdict.guideline} ({LOOP})")
        for cell, verdict in by_use.get(LOOP, {}).items()
        if verdict.verdict == "violated" and cell not in violated
    ]
    return Elsewhere(joined, only)
