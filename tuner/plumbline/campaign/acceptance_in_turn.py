"""Acceptance of winners that hold for whole launches only (cold knobs, settings of the process):
launches with the exported files in force take turns with launches of the library as it is, and the
cells of these winners are called in all circumstances in both.

Two launches differ by more than two calls of one launch, so that this finds harm where it is clear;
what is called beside the default in one launch (acceptance.py) has to be shown harmless."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign.circumstances import everywhere
from plumbline.campaign.pairs import untouched
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.experiment import (
    Arm,
    log_ratios,
    take_turns,
    without_shared_factor,
)
from plumbline.measure.launches import LaunchStore
from plumbline.search.outcome import deciding
from plumbline.search.space.cells import Target
from plumbline.settings import Settings
from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline.verify.statistics import paired_ratio, slower
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

FIRST = 4  # pairs of launches after which what does not even seem slower is measured no more


# Log ratios by case, pair by pair, and the cases that only one side has in full.
_Ratios = tuple[dict[PlanCase, list[float]], list[PlanCase]]


def harm(
    store: LaunchStore,
    suite: Suite,
    plan: Plan,
    settings: Settings,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
    cold: Sequence[Winner],
    sizes: Mapping[str, Sequence[int]],
    *,
    placement: Placement | None,
    crowded: bool,
) -> list[tuple[Winner, str]]:
    """Those of `cold` that are slower than the default somewhere, with the reason. `environment`
    puts all `winners` in force."""
    asked: dict[PlanCase, tuple[Winner, str]] = {}
    cells = [PlanCase(function, size) for function, measured in sizes.items() for size in measured]
    for case in cells:
        winner = deciding(winners, Target(case.function, case.bytes))
        if winner is None or winner not in cold:
            continue
        whole = winner.function == EVERY_FUNCTION
        name = f"{case.function} at" if whole else "at"
        for where in everywhere(settings, case, crowded=crowded):
            # The cells of a setting were confirmed in the campaign's own use.
            if where.use or not whole:
                asked[where.case(case)] = winner, f"{name} {case.bytes} B ({where.label(settings)})"
    if not asked:
        return []
    pairs = settings.sampling.of_few_cells
    store.progress.step(
        f"trying winners as users call them, in turn with the library as it is: "
        f"{counted(len(asked), 'case')}, {counted(pairs, 'pair')} of launches"
    )
    others = untouched(cells, winners)
    limit = 1 + settings.claims.tolerance
    ratios = partial(
        _log_ratios, store, environment=environment, others=others, placement=placement
    )
    logs, lost = _in_two_looks(ratios, suite, plan, pairs, list(asked), math.log(limit) / 2)
    found: dict[str, tuple[Winner, str]] = {}
    for case in lost:
        winner, name = asked[case]
        text = f"no right result {name} with it in force"
        found.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
    sure = slower(logs, limit, settings.claims.alpha)
    for case, values in logs.items():
        winner, name = asked[case]
        told = paired_ratio(values)
        # Of the hundreds of cells of a setting some seem slower by chance.
        seems = winner.function != EVERY_FUNCTION and told.low is not None and told.low > 1
        if case in sure or (seems and told.ratio > limit):
            text = f"slower {name}: {told.ratio:.2f} [{told.low or 0:.2f}, {told.high or 0:.2f}]"
            found.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
    return list(found.values())


def _in_two_looks(
    ratios: Callable[[Suite, Plan, int, list[PlanCase]], _Ratios],
    suite: Suite,
    plan: Plan,
    pairs: int,
    cases: list[PlanCase],
    suspicious: float,
) -> _Ratios:
    """Return what `ratios` does for all `pairs`; after FIRST of them only the cases go on whose
    median log ratio is above `suspicious`."""
    first = min(FIRST, pairs)
    logs, lost = ratios(suite, plan, first, cases)
    seem = [case for case, own in logs.items() if statistics.median(own) > suspicious]
    if not seem or first == pairs:
        return logs, lost
    plan = msgspec.structs.replace(plan, seed=plan.seed + first)
    more, also_lost = ratios(suite.at(2), plan, pairs - first, seem)
    return logs | {case: logs[case] + later for case, later in more.items()}, lost + also_lost


def _log_ratios(
    store: LaunchStore,
    suite: Suite,
    plan: Plan,
    pairs: int,
    cases: Sequence[PlanCase],
    *,
    environment: Mapping[str, str],
    others: Sequence[PlanCase],
    placement: Placement | None,
) -> _Ratios:
    """Per pair of launches, log(tuned / as it is) of each case that all launches have, without what
    the launches of a pair differ by in `others`; and the cases that only those of the library as
    it is have in full."""
    full = msgspec.structs.replace(plan, cases=tuple(dict.fromkeys([*cases, *others])))
    arm = Arm(suite, full, environment, placement)
    take_turns(store, [arm, arm.beside()], pairs)
    tuned, plain = (_seconds(store, side.name, full) for side in (suite, suite.beside()))
    found, lost = log_ratios(tuned, plain, full.cases, pairs)
    known = [found[case] for case in others if case in found]
    asked = {case: found[case] for case in cases if case in found}
    return without_shared_factor(asked, known), [case for case in cases if case in lost]


def _seconds(store: LaunchStore, suite: str, plan: Plan) -> dict[PlanCase, list[float]]:
    """The medians of each case, in the order of the launches."""
    own = {
        (case.function, case.bytes, case.use, (case.data or plan.data).of(case.function)): case
        for case in plan.cases
    }
    found: dict[PlanCase, list[float]] = {}
    for median in runs.medians(store.db, store.campaign, [suite], use=None):
        data = msgspec.structs.replace(
            plan.data, type=median.case.type, op=median.case.op, counts=median.case.counts
        )
        case = own[median.case.function, median.case.bytes, median.case.use, data]
        found[case] = median.seconds
    return found
