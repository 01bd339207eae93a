"""Launches that say whether alarms are true: of the cells concerned, beside reference cases,
against what was learnt. The detector knows none of them, so that they are evidence of their
own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.daemon import canary
from plumbline.daemon.cells import CanaryCell, cell_of, state_of, with_state
from plumbline.daemon.work import CellTimes, Work
from plumbline.measure.comparison import REFERENCE_CELLS, of_round, without_shared_factor
from plumbline.settings.identity import chosen
from plumbline.verify.decision import CellDecision, Claim, alone, decide, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import watching
from plumbline_db.errors import PlumblineError
from plumbline_db.records import RECHECK, Suite
from plumbline_db.watching import AlarmState, Canary, CellAlarm, WatchedCell

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
