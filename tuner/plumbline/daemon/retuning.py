"""Alarms confirmed or refuted, and the search that a confirmed change opens. Launches of the cells
concerned, beside reference cases, say whether an alarm is true: the detector knows none of them, so
that they are evidence of their own. The search is a campaign of these cells and no others; its
winners go together with those that were in force."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import exported, loop
from plumbline.core.cell import Target
from plumbline.core.guidelines import LEFT_OUT
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding, of_measured_sizes, without_sizes
from plumbline.daemon import canary
from plumbline.daemon.cells import CanaryCell, cell_of, state_of, with_state
from plumbline.daemon.step import CellTimes, Work
from plumbline.libraries import gate
from plumbline.libraries.space import Space
from plumbline.measure.comparison import REFERENCE_CELLS, of_round, without_shared_factor
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings, identity
from plumbline.settings.identity import chosen, settings_of, text_of
from plumbline.settings.toolchain import OUT, Toolchain, set_by_site
from plumbline.verify.decision import CellDecision, Claim, alone, decide, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import campaigns, findings, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, RECHECK, UNBOUNDED_BYTES, Campaign, Suite, Winner
from plumbline_db.watching import AlarmState, Canary, CellAlarm, Retuning, WatchedCell
from plumbline_exporters import registry
from plumbline_exporters.bundle import load_bundle

# Half of the smallest change that the detector can find (watch/chart.py).
LEAST_CHANGE = 0.025
ALPHA = 0.05


class Rechecked(msgspec.Struct, frozen=True):
    """`decisions`: on times of cells now over those that were learnt. `broken`: by cell, which
    guidelines are violated now, in words."""

    decisions: dict[CanaryCell, CellDecision[CanaryCell]]
    broken: dict[CanaryCell, list[str]]


def of_alarm(alarm: CellAlarm) -> CanaryCell:
    return CanaryCell(alarm.function, alarm.variant, alarm.bytes)


def take(work: Work) -> list[CellAlarm]:
    """Store what has become of the alarms that were raised. What slows one size of a function
    mostly slows others, which would raise theirs later: they are looked at too, so that all are
    searched at once. Raises PlumblineError where launches fail."""
    db, id = work.db, work.campaign.id
    raised = [(n, alarm) for n, alarm in watching.still_open(db, id) if alarm.state == "raised"]
    watched_cells = {cell_of(stored): stored for stored in watching.cells(db, id)}
    cells = list(dict.fromkeys(of_alarm(alarm) for _, alarm in raised))
    beside = _of_their_functions(watched_cells, [alarm for _, alarm in raised])
    about = "alarms: " + ", ".join(cell.named for cell in cells)
    rechecked = measure(work, [*cells, *beside], about)
    judged = [(number, _judged(work, alarm, rechecked)) for number, alarm in raised]
    more = [
        alarm
        for cell in beside
        if (alarm := _slower_too(work, cell, [alarm for _, alarm in judged], rechecked)) is not None
    ]
    anew = [of_alarm(alarm) for _, alarm in judged if alarm.state == "stays"]
    rest = [of_alarm(alarm) for _, alarm in judged if alarm.state == "refuted"]
    with db.transaction():
        for number, alarm in judged:
            watching.renew_alarms(db, number, alarm)
        forget(work, watched_cells, anew)
        rested = [watched_cells[cell] for cell in rest if cell in watched_cells]
        watching.put_cells(db, [with_state(cell, state_of(cell).rested()) for cell in rested])
        for alarm in more:
            watching.raised(db, alarm)
    return [*(alarm for _, alarm in judged), *more]


def _of_their_functions(
    watched_cells: Mapping[CanaryCell, WatchedCell], raised: Sequence[CellAlarm]
) -> list[CanaryCell]:
    """Learnt cells of the functions that have become slower, which raise no alarm themselves."""
    slower = [of_alarm(alarm) for alarm in raised if alarm.direction == "slower"]
    functions = {cell.function for cell in slower if cell.variant == "default"}
    return [
        cell
        for cell, stored in watched_cells.items()
        if cell.function in functions and stored.role != "reference"
        if cell not in slower and state_of(stored).baseline is not None
    ]


def _slower_too(
    work: Work, cell: CanaryCell, judged: Sequence[CellAlarm], rechecked: Rechecked
) -> CellAlarm | None:
    """A confirmed alarm of a cell that the recheck has found beside one of its function."""
    decision = rechecked.decisions.get(cell)
    because = [
        alarm for alarm in judged if alarm.function == cell.function and alarm.state == "confirmed"
    ]
    if not because or decision is None or decision.word != "slower":
        return None
    comparison = decision.told
    now = work.now()
    return CellAlarm(
        campaign=work.campaign.id,
        function=cell.function,
        variant=cell.variant,
        bytes=cell.bytes,
        direction="slower",
        found=now,
        canary=because[0].canary,
        canaries=0,
        ratio=comparison.ratio,
        largest=comparison.ratio,
        seen=now,
        state="confirmed",
        detail=f"in {comparison.n} launches {interval(comparison)} of what was learnt, "
        "beside an alarm at "
        f"{because[0].bytes} B",
    )


def forget(
    work: Work, watched_cells: Mapping[CanaryCell, WatchedCell], cells: Iterable[CanaryCell]
) -> None:
    """They are learnt anew, as others; inside a transaction."""
    relearnt = [watched_cells[cell] for cell in cells if cell in watched_cells]
    watching.forget_cells(work.db, work.campaign.id, relearnt)


def measure(work: Work, cells: Sequence[CanaryCell], about: str) -> Rechecked:
    """Launches of `cells`, which are watched; their row says what they are `about`."""
    db, id = work.db, work.campaign.id
    watched_cells = {cell_of(stored): stored for stored in watching.cells(db, id)}
    references = [cell for cell, stored in watched_cells.items() if stored.role == "reference"]
    beside = {case: name for cell in cells for case, name in _right_sides(work, cell)}
    cases = [*(cell.case() for cell in cells), *(cell.case() for cell in references), *beside]
    measured = _launched(work, cases, about)
    decisions = decided(watched_cells, measured, cells, references)
    broken = {cell: _broken(work, measured, cell, beside) for cell in cells}
    return Rechecked(decisions, broken)


def _launched(work: Work, cases: list[PlanCase], about: str) -> CellTimes:
    """Go on with its row where one was begun about the same."""
    db, id = work.db, work.campaign.id
    rows = [
        (number, canary_row)
        for number, canary_row in watching.canaries(db, id)
        if canary_row.stage == RECHECK
    ]
    begun = [
        (number, canary_row)
        for number, canary_row in rows
        if canary_row.outcome == "under way" and canary_row.detail == about
    ]
    if begun:
        number, row = begun[-1]
    else:
        round = 1 + max((canary_row.round for _, canary_row in rows), default=0)
        row = Canary(id, round, RECHECK, work.now(), work.now(), detail=about)
        with db.transaction():
            for row_number, unfinished in rows:
                if unfinished.outcome == "under way":
                    given_up = msgspec.structs.replace(unfinished, outcome="given up")
                    watching.renew(db, row_number, given_up)
            number = watching.begin(db, row)
    plan = of_round(work.plan(cases), row.round)
    suite = Suite(RECHECK, row.round)
    try:
        measured = work.measure(suite, plan, work.configuration.canary.recheck_launches)
    except PlumblineError as error:
        detail = f"{about}: {error}"
        spent = work.measured(suite)
        failed = canary.ended(work, row, spent, outcome="failed", detail=detail)
        watching.renew(db, number, failed)
        raise
    watching.renew(db, number, canary.ended(work, row, measured, outcome="judged"))
    return measured


def decided(
    watched_cells: Mapping[CanaryCell, WatchedCell],
    measured: CellTimes,
    cells: Sequence[CanaryCell],
    references: Sequence[CanaryCell],
) -> dict[CanaryCell, CellDecision[CanaryCell]]:
    """Decide the cells that are known and were measured. Intervals hold for all of them together,
    as far as so few launches can. With too few references nothing can be said."""

    def offs(cell: CanaryCell) -> list[float]:
        middle = canary.middle_of(state_of(watched_cells[cell]))
        return [
            math.log(seconds / watched_cells[cell].seconds) - middle
            for seconds in measured.times[cell]
        ]

    steady = [cell for cell in references if cell in measured.times]
    measured_cells = [cell for cell in cells if cell in measured.times and cell in watched_cells]
    if len(steady) < REFERENCE_CELLS or not measured_cells:
        return {}
    # A reference that is itself rechecked is not used as a reference.
    by = [offs(cell) for cell in steady if cell not in cells]
    own = without_shared_factor({cell: offs(cell) for cell in measured_cells}, by)
    # The widest interval of the signed-rank test of n launches reaches from the smallest to the
    # largest value; all values are on one side with probability 2^(1-n).
    least = len(measured_cells) * (2.0 ** (1 - measured.launches) + 1e-9)
    alpha = max(ALPHA, least)
    claim = Claim(tolerance=LEAST_CHANGE, alpha=alpha, judge=alone, correction="all")
    return decide(own, claim)


def _judged(work: Work, alarm: CellAlarm, rechecked: Rechecked) -> CellAlarm:
    cell = of_alarm(alarm)
    decision = rechecked.decisions.get(cell)
    if decision is None:
        return _ended(work, alarm, "refuted", "it could not be measured again")
    comparison = decision.told
    result = f"in {comparison.n} launches more {interval(comparison)} of what was learnt"
    if decision.word != alarm.direction:
        return _ended(work, alarm, "refuted", result)
    detail = "; ".join([result, *rechecked.broken.get(cell, [])])
    largest = max(alarm.largest, comparison.ratio, key=lambda ratio: abs(math.log(ratio)))
    alarm = msgspec.structs.replace(alarm, ratio=comparison.ratio, largest=largest, seen=work.now())
    if alarm.direction == "faster":
        return _ended(work, alarm, "stays", f"{detail}; nothing has to be searched")
    if cell.variant != "default":
        return _ended(work, alarm, "stays", f"{detail}; it is a reference case")
    return msgspec.structs.replace(alarm, state="confirmed", detail=detail)


def _ended(work: Work, alarm: CellAlarm, state: AlarmState, detail: str) -> CellAlarm:
    return msgspec.structs.replace(alarm, state=state, ended=work.now(), detail=detail)


def interval(comparison: Comparison) -> str:
    """`1.84 times (1.79-1.90)`."""
    if comparison.low is None or comparison.high is None:
        return f"{comparison.ratio:.2f} times"
    return f"{comparison.ratio:.2f} times ({comparison.low:.2f}-{comparison.high:.2f})"


def _right_sides(work: Work, cell: CanaryCell) -> list[tuple[PlanCase, str]]:
    """Return what guidelines compare a call of the library with, and their names."""
    if cell.variant != "default":
        return []
    rules = chosen(work.here.toolchain, work.settings)
    return [
        (PlanCase(cell.function, cell.bytes, pattern.variant), f"{pattern.id} ({pattern.name})")
        for pattern in rules.patterns
        if pattern.lhs == cell.function and pattern.lhs_variant == "default"
    ]


def _broken(
    work: Work, measured: CellTimes, cell: CanaryCell, beside: Mapping[PlanCase, str]
) -> list[str]:
    """Return the guidelines that are broken in the same launches, so that nothing has to be taken
    off."""
    logs: dict[str, list[float]] = {}
    for case, name in beside.items():
        right = CanaryCell(case.function, case.variant, case.bytes)
        if (right.function, right.bytes) != (cell.function, cell.bytes):
            continue
        if right not in measured.times or cell not in measured.times:
            continue
        pairs = zip(measured.times[cell], measured.times[right], strict=True)
        logs[name] = [math.log(own_seconds / right_seconds) for own_seconds, right_seconds in pairs]
    claim = Claim(tolerance=work.settings.claims.tolerance, alpha=ALPHA / 2, judge=alone)
    return [
        f"{name} is violated, {interval(comparison)}"
        for name, comparison in slower(logs, claim).items()
    ]


_Range = tuple[int, int]  # of sizes, both ends included
_Sizes = Mapping[str, Sequence[int]]


class HopelessError(PlumblineError):
    """Whoever searches again comes to the same end."""


def under_way(work: Work) -> tuple[int, Retuning] | None:
    """The search that was opened and has not ended, or what it has applied and nobody confirmed."""
    every = watching.retunings(work.db, work.campaign.id)
    return next(((number, retuning) for number, retuning in every if not retuning.ended), None)


def open_search(work: Work) -> tuple[int, Retuning]:
    """Open a search for all alarms that are confirmed, together. Where files of ours are not what
    was written, they are the reason, and nothing is to be searched: `settings` are empty then."""
    db, id = work.db, work.campaign.id
    confirmed = [
        (n, alarm) for n, alarm in watching.still_open(db, id) if alarm.state == "confirmed"
    ]
    because, settings = said(confirmed), ""
    if work.in_force.changed:
        because += f"; changed since they were written: {', '.join(work.in_force.changed)}"
    else:
        cells = [of_alarm(alarm) for _, alarm in confirmed]
        sizes, budget = work.here.sizes(work.settings), work.configuration.search.budget_seconds
        settings = text_of(limited(work.settings, cells, sizes, work.here.toolchain, budget))
    row = Retuning(
        campaign=id,
        opened=work.now(),
        because=because,
        settings=settings,
        previous=work.in_force.generation,
    )
    with db.transaction():
        number = watching.opened(db, row)
        for at, alarm in confirmed:
            searching = msgspec.structs.replace(alarm, state="searching", retuning=number)
            watching.renew_alarms(db, at, searching)
    return number, row


def said(confirmed: Sequence[tuple[int, CellAlarm]]) -> str:
    """`MPI_Allreduce at 16384 B takes 1.84 times as long as it did; …`"""
    return "; ".join(
        f"{of_alarm(alarm).named} takes {alarm.ratio:.2f} times as long as was learnt"
        for _, alarm in confirmed
    )


def limited(
    settings: Settings,
    cells: Sequence[CanaryCell],
    sizes: dict[str, list[int]],
    toolchain: Toolchain,
    budget_seconds: float,
) -> Settings:
    """Return the settings of a campaign that searches these cells, whether or not a guideline is
    violated there. A function whose algorithm must be one for all sizes is searched at all of them;
    a campaign has two sizes at least."""
    functions = sorted({cell.function for cell in cells})
    sizes_wanted = {cell.bytes for cell in cells}
    every = sorted(
        {size for function in functions for size in sizes.get(function, [])} | sizes_wanted
    )
    if any(_is_one_for_all(toolchain.space, function) for function in functions):
        sizes_wanted |= set(every)
    nearest = sorted(
        every, key=lambda size: min(abs(size - size_wanted) for size_wanted in sizes_wanted)
    )
    for size in nearest:
        if len(sizes_wanted) < 2:
            sizes_wanted.add(size)
    if len(sizes_wanted) < 2:
        sizes_wanted.add(2 * max(sizes_wanted))
    rules = identity.chosen(toolchain, settings)
    ids = [pattern.id for pattern in rules.patterns if pattern.lhs in functions]
    return settings.but(
        functions=functions,
        sizes=sorted(sizes_wanted),
        guidelines=[rules.monotony.id, *ids, *(f"{LEFT_OUT}{id}" for id in rules.left_out)],
        profile=None,
        rounds=settings.search.rounds or None,  # 0: it was only verified
        all=True,
        settings=False,
        budget_seconds=budget_seconds,
    )


def _is_one_for_all(space: Space, function: str) -> bool:
    entry = space.of(function)
    return entry is not None and entry.sizes != "each"


def run_campaign(work: Work, campaign: Campaign, settings: Settings) -> Campaign:
    """To its end, or on from where it stood. Raises PlumblineError."""
    toolchain = work.here.toolchain
    if site := set_by_site(toolchain):
        raise HopelessError(f"{'; '.join(site)}: {OUT}")
    starter = work.here.starter
    where = exported.claim_folder(work.db, work.db.path, campaign)
    store = LaunchStore(work.db, campaign.id, starter, work.progress)
    done = loop.CampaignLoop(store, toolchain, campaign, settings, where).run()
    exported.release_folder(where)
    return done


class Found(msgspec.Struct, frozen=True):
    """`winners`: all that are to be in force then; `better` than what is."""

    winners: list[Winner]
    better: bool


def finish(work: Work, number: int, row: Retuning) -> tuple[Retuning, Found]:
    """The search to its end."""
    db = work.db
    settings = settings_of(row.settings)
    if row.search is None:
        begun = identity.begin(db, work.here.toolchain, settings, new=True)
        row = msgspec.structs.replace(row, search=begun.id)
        watching.renew_retuning(db, number, row)
    else:
        begun = campaigns.get(db, row.search)
    if begun.state != "finished":
        begun = run_campaign(work, begun, settings)
    opened_by = [of_alarm(alarm) for _, alarm in watching.of_retuning(db, number)]
    there = {
        (one_search.function, one_search.bytes)
        for one_search in findings.all_searches(db, begun.id)
    }
    if there.isdisjoint((cell.function, cell.bytes) for cell in opened_by):
        raise HopelessError(
            f"{begun.id}: search.budget_seconds ({settings.budget:g}) was used up before these "
            "cells were searched: raise it"
        )
    return row, _together(work, begun, settings, opened_by)


def _together(
    work: Work, search: Campaign, settings: Settings, opened_by: Sequence[CanaryCell]
) -> Found:
    """The winners of the search with those that were in force, which its exported files then hold:
    whoever exports or applies them loses nothing. What else was searched decides nothing. Where
    the library as it is has won against a winner of ours, that one goes."""
    db = work.db
    new = findings.get_winners(db, search.id)
    source = work.in_force.source(work.campaign)
    standing = findings.get_winners(db, work.campaign.id) if source is None else source.winners
    all_sizes, every = work.here.sizes(work.settings), work.here.sizes(settings)
    space = work.here.toolchain.space
    searched = {
        function: every[function]
        if _is_one_for_all(space, function)
        else sorted({cell.bytes for cell in opened_by if cell.function == function})
        for function in settings.cases.functions
    }
    beneath = search.site_rules is not None
    together = merged_winners(standing, new, searched, all_sizes, beneath=beneath)
    if together != new:
        findings.put_winners(db, search.id, together)
        _export(db, search, work.here.toolchain)
    return Found(together, not are_same(standing, together, searched))


def _export(db: Database, search: Campaign, toolchain: Toolchain) -> None:
    """Export into the folder of the search's own files; where it has none, in one that is made."""
    written = campaigns.exports(db, search.id)
    folder = Path(written[0].path).parent if written else exported.claim_folder(db, db.path, search)
    bundle = load_bundle(
        db,
        search.id,
        folder,
        lambda _: gate.of_space(toolchain.space),
        created=search.finished,
        preload_library=toolchain.preload,
    )
    for export in registry.write(bundle, list(registry.exporters(bundle.library.family))):
        campaigns.put_export(db, search.id, export)


def merged_winners(
    standing: Sequence[Winner],
    new: Sequence[Winner],
    searched: _Sizes,
    sizes: _Sizes,
    *,
    beneath: bool,
) -> list[Winner]:
    """`searched` sizes of functions are decided by `new`, all else by `standing`. `sizes`: those
    that were measured for the latter. `beneath`: the rules in force were part of the library that
    was searched, so that they stay where nothing better was found."""
    kept: list[Winner] = []
    for winner in standing:
        better = [new_winner for new_winner in new if new_winner.function == winner.function]
        stays = beneath and winner.variant == "default"
        decided = [
            size_range
            for size_range in _ranges(winner.function, searched, sizes)
            if not stays or any(_meets(better_winner, size_range) for better_winner in better)
        ]
        kept += _without(winner, decided)
    for winner in new:
        if winner.function == EVERY_FUNCTION:
            kept.append(winner)
        kept += [
            _within(winner, size_range)
            for size_range in _joined(_ranges(winner.function, searched, sizes))
            if _meets(winner, size_range)
        ]
    return of_measured_sizes(kept, _both(searched, sizes))


def are_same(standing: Sequence[Winner], new: Sequence[Winner], searched: _Sizes) -> bool:
    """Return whether the searched cells get the same from both."""
    cells = [Target(function, size) for function, sizes in searched.items() for size in sizes]
    return all(_choice(standing, cell) == _choice(new, cell) for cell in cells)


def _choice(winners: Sequence[Winner], cell: Target) -> tuple[str, dict[str, str]]:
    winner = deciding(winners, cell)
    return ("default", {}) if winner is None else (winner.variant, winner.configuration)


def _ranges(function: str, searched: _Sizes, sizes: _Sizes) -> list[_Range]:
    """Return what each searched size decides: from it to below the next one, the smallest from
    0."""
    every = sorted({*sizes.get(function, ()), *searched.get(function, ())})
    if not every:
        return []
    ends = [0, *every[1:], UNBOUNDED_BYTES + 1]
    by_size = {
        size: (low, high - 1) for size, (low, high) in zip(every, pairwise(ends), strict=True)
    }
    return [by_size[size] for size in sorted(searched.get(function, ()))]


def _joined(ranges: Iterable[_Range]) -> list[_Range]:
    joined: list[_Range] = []
    for low, high in ranges:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def _meets(winner: Winner, where: _Range) -> bool:
    return winner.bytes_from <= where[1] and where[0] <= winner.bytes_to


def _within(winner: Winner, where: _Range) -> Winner:
    return msgspec.structs.replace(
        winner, bytes_from=max(winner.bytes_from, where[0]), bytes_to=min(winner.bytes_to, where[1])
    )


def _without(winner: Winner, taken: Iterable[_Range]) -> list[Winner]:
    pieces = [winner]
    for low, high in taken:
        pieces = [part for piece in pieces for part in without_sizes(piece, low, high)]
    return pieces


def _both(searched: _Sizes, sizes: _Sizes) -> dict[str, list[int]]:
    return {
        function: sorted({*sizes.get(function, ()), *searched.get(function, ())})
        for function in {**sizes, **searched}
    }
