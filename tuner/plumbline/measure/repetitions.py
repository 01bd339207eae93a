"""The number of repetitions that a case needs (step NREP of PGMPI, Euro-Par 2016, section 4.2).
Some launches have a stopping rule, and for each case the most repetitions of any of them count.

A campaign counts them once, before its first table, and takes as many in each launch of its
tables. Launches are stored, so that the numbers and the curves behind them can be read later."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase, lines
from plumbline_db import launch_records, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Check, Criterion, Nrep, ProbeRecord, Samples
from plumbline_db.records import Suite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plumbline.measure.launches import LaunchStore

SUITE = Suite("nrep")
LAUNCHES = 3  # whose largest number counts, as in the paper


class CriteriaPoint(msgspec.Struct, frozen=True):
    """The criteria after some repetitions, by name; None: not known from so few."""

    repetitions: int
    values: dict[str, float | None]


class StoppedAt(msgspec.Struct, frozen=True):
    """One launch of a case. `criteria` as they were at its end; a value of None could not be
    computed from so few samples. `curve`: the criteria each time that the rule was looked at."""

    nrep: int
    by: str
    criteria: list[Criterion]
    curve: list[CriteriaPoint] = []


class RepetitionsCell(msgspec.Struct, frozen=True):
    """`nrep`: the most of all launches, None where no launch could measure it (`outcome` says why).
    `met`: the criteria ended every launch, so that `nrep` is enough and not only where it stopped.
    """

    function: str
    variant: str
    bytes: int
    outcome: str
    nrep: int | None
    met: bool
    launches: list[StoppedAt]
    ranks: int = 0


def predict(
    store: LaunchStore, plan: Plan, launches: int = LAUNCHES, *, curves: bool = False
) -> list[RepetitionsCell]:
    """`launches` launches of `plan`, which has a stopping rule, in the order of its cases, with
    the `curves` of the criteria if asked. A cell under which launches fail is an outcome; raises
    PlumblineError when none is to blame."""
    from plumbline.measure.comparison import Arm, take_turns

    arm = Arm(SUITE, plan)
    turns = take_turns(store, [arm], launches)
    failed = {case: f"failed: {store.aside.why(case)}" for case in turns.dropped(arm)}
    return _cells(plan.cases, _records(store.db, store.campaign), failed, curves=curves)


def stored(db: Database, campaign: str) -> list[RepetitionsCell]:
    """Return what the stored launches of a campaign say of each case, without curves; empty: it
    counted none."""
    return _cells([], _records(db, campaign), {}, curves=False)


def stored_of(db: Database, campaign: str, function: str, bytes_: int) -> list[RepetitionsCell]:
    """Return the same of one function at one size, with curves where samples were kept."""

    def is_about(case: PlanCase) -> bool:
        return (case.function, case.bytes) == (function, bytes_)

    return _cells([], _records(db, campaign), {}, curves=True, is_about=is_about)


def counts(cells: Iterable[RepetitionsCell]) -> dict[PlanCase, int]:
    """Return the repetitions by case, of those that could be measured."""
    return {
        PlanCase(cell.function, cell.bytes, cell.variant, ranks=cell.ranks): cell.nrep
        for cell in cells
        if cell.nrep is not None
    }


def applied(plan: Plan, needed: Mapping[PlanCase, int]) -> Plan:
    """Return the plan in which each case takes the repetitions that it needs, rounded up to whole
    blocks; the library's own call inside a variant of ours takes those of the default."""

    def with_repetitions(case: PlanCase) -> PlanCase:
        variant = "default" if case.variant == "library" else case.variant
        own = PlanCase(case.function, case.bytes, variant, ranks=case.ranks)
        if case.configuration != Configuration() or own not in needed:
            return case
        return msgspec.structs.replace(case, reps=math.ceil(needed[own] / plan.blocks))

    return msgspec.structs.replace(
        plan, cases=tuple(map(with_repetitions, plan.cases)), precision=0.0
    )


def _records(db: Database, campaign: str) -> list[tuple[str, list[ProbeRecord]]]:
    """Return the plan and the records of each finished launch."""
    return [
        (run.plan, launch_records.of_run(db, run.id))
        for run in runs.listing(db, campaign, [SUITE.name])
        if run.finished
    ]


def _cells(
    cases: Sequence[PlanCase],
    raw: Sequence[tuple[str, Sequence[ProbeRecord]]],
    failed: Mapping[PlanCase, str],
    *,
    curves: bool,
    is_about: Callable[[PlanCase], bool] = lambda _: True,
) -> list[RepetitionsCell]:
    """Return what the records of some launches say of each case: of `cases` first."""
    from plumbline.measure.side_by_side import outcome, planned

    ends: dict[PlanCase, list[StoppedAt]] = {case: [] for case in cases}
    outcomes = dict.fromkeys(cases, "not measured")
    for plan, records in raw:
        numbered, windows = planned(records), _windows(plan)
        taken = {record.case: record for record in records if isinstance(record, Samples)}
        for record in records:
            if isinstance(record, Check):
                outcomes[numbered[record.case]] = outcome(record)
            elif isinstance(record, Nrep) and is_about(numbered[record.case]):
                samples = taken.get(record.case) if curves else None
                curve = curve_of(samples, record.criteria, windows) if samples else []
                at = StoppedAt(record.nrep, record.ended_by, record.criteria, curve)
                ends.setdefault(numbered[record.case], []).append(at)
    return [
        RepetitionsCell(
            function=case.function,
            variant=case.variant,
            bytes=case.bytes,
            outcome=failed.get(case, outcomes.get(case, "not measured")),
            nrep=max((at.nrep for at in ended), default=None),
            met=bool(ended) and case not in failed and all(at.by == "criteria" for at in ended),
            launches=ended,
            ranks=case.ranks,
        )
        for case, ended in ends.items()
    ]


# --- the criteria while repetitions were added ----------------------------------------------------


_WINDOW = 20  # of the criteria that have one, where the rule does not say it


def _windows(plan: str) -> dict[str, int]:
    """Return the windows of the criteria of a stored plan, by name."""
    rule = next((keys["nrep"] for word, keys in lines(plan) if word == "set"), "")
    pairs = [condition.partition("/")[::2] for condition in rule.split(",")]
    return {name.partition(":")[0]: int(window) for name, window in pairs if window}


def curve_of(
    samples: Samples, criteria: Sequence[Criterion], windows: Mapping[str, int]
) -> list[CriteriaPoint]:
    """Return the criteria of a launch after each of its blocks, as the probe computes them.
    `median_ci` is known at the end alone."""
    import numpy as np

    ns = np.asarray(samples.ns, dtype=np.float64)
    ends = {criterion.name: criterion.value for criterion in criteria}
    points = []
    for count in np.cumsum(samples.samples).tolist():
        values = {
            name: _value(name, ns[:count], windows.get(name, _WINDOW))
            if name in _OF_SERIES
            else at_end
            if count == len(ns)
            else None
            for name, at_end in ends.items()
        }
        points.append(CriteriaPoint(count, values))
    return points


def _value(name: str, ns: NDArray[np.float64], window: int) -> float | None:
    value = _OF_SERIES[name](ns, window)
    return value if math.isfinite(value) else None


def _filtered(ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what Tukey's filter leaves."""
    import numpy as np

    low, high = np.percentile(ns, [25, 75])
    reach = 1.5 * (high - low)
    return np.asarray(ns[(ns >= low - reach) & (ns <= high + reach)])


def _variation(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Return standard deviation (n - 1) over mean; nan for less than two or a mean of 0."""
    import numpy as np

    if len(values) < 2 or not np.mean(values) > 0:
        return math.nan
    return float(np.std(values, ddof=1) / np.mean(values))


def _error(ns: NDArray[np.float64], window: int) -> float:
    del window
    return _variation(ns) / math.sqrt(len(ns)) if len(ns) else math.nan


def _running(
    statistic: Callable[[NDArray[np.float64]], float],
) -> Callable[[NDArray[np.float64], int], float]:
    def value(ns: NDArray[np.float64], window: int) -> float:
        if len(ns) < window:
            return math.nan
        return _variation([statistic(ns[: len(ns) - back]) for back in range(window)])

    return value


def _mean(ns: NDArray[np.float64]) -> float:
    return float(ns.mean())


def _median(ns: NDArray[np.float64]) -> float:
    import numpy as np

    return float(np.median(ns))


# By name: the number of a series of nanoseconds and a window.
_OF_SERIES: dict[str, Callable[[NDArray[np.float64], int], float]] = {
    "rse": lambda ns, window: _error(_filtered(ns), window),
    "rse_plain": _error,
    "cov_mean": _running(lambda ns: _mean(_filtered(ns))),
    "cov_mean_plain": _running(_mean),
    "cov_median": _running(_median),
}
