"""Functions whose own call ends launches at some sizes: there is no time that a candidate could be
compared with, so that nothing races and nothing wins there. What of the library does not end
launches at these sizes is found out all the same: one candidate a launch, nothing beside it but a
variant of ours that checks its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from plumbline import libraries
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding
from plumbline.measure.launches import IN_A_ROW, LaunchStore
from plumbline.system.words import counted
from plumbline_db import runs
from plumbline_db.records import Search, Suite, Trial, Verdict, Winner

from . import outcome
from .outcome import label
from .races import Setup
from .space.candidates import DEFAULT, Candidate, CandidateSpace, Flaw, index

# Predictions of what winners break elsewhere, before it is measured: monotony of f at a size
# depends on f at the next larger one, split-robustness on f at a smaller one, a pattern on the
# functions that its right side is made of. `becomes` is what cells take with winners in force, over
# what they take in the table. Pure.


def as_promised(
    winners: Iterable[Winner], sizes: Mapping[str, Sequence[int]]
) -> dict[Target, float]:
    """Return what becomes of the cells of these winners, by what their searches say of them."""
    return {
        Target(winner.function, size): 1 / winner.search_speedup
        for winner in winners
        for size in sizes.get(winner.function, ())
        if winner.bytes_from <= size <= winner.bytes_to
    }


def as_tried(
    trials: Mapping[Target, Sequence[Trial]], winners: Sequence[Winner]
) -> dict[Target, float]:
    """Return what becomes of the cells that have a winner, by the trials of each."""
    ratio_by_cell: dict[Target, float] = {}
    for target, measured in trials.items():
        winner = deciding(winners, target)
        for trial in measured:
            if winner and outcome.is_of(trial, winner) and trial.ratio is not None:
                ratio_by_cell[target] = trial.ratio
    return ratio_by_cell


def broken(
    verdicts: Iterable[Verdict],
    becomes: Mapping[Target, float],
    made_of: Callable[[Verdict], Sequence[Target]],
    limit: float,
) -> list[Verdict]:
    """Return what will be violated, as it will be: cells whose right side is `made_of` cells that
    become faster. A right side of several cells becomes faster by what the least of them does."""
    will_be_violated = []
    for verdict in verdicts:
        if verdict.verdict == "violated" or verdict.ratio is None:
            continue
        if not verdict.replaceable or verdict.in_other_use:
            continue
        own_cell = Target(verdict.function, verdict.bytes)
        least = max((becomes.get(cell, 1.0) for cell in made_of(verdict)), default=1.0)
        ratio = verdict.ratio * becomes.get(own_cell, 1.0) / least
        if least < 1 and ratio > limit:
            will_be_violated.append(
                msgspec.structs.replace(verdict, verdict="violated", ratio=ratio)
            )
    return will_be_violated


class Neighbours:
    """Smaller sizes of a function whose monotony a winner at a larger one can break. `verdicts` are
    those of the table that opens the search: a cell's time over that of the next larger size."""

    def __init__(self, verdicts: Iterable[Verdict], tolerance: float) -> None:
        self._limit = 1 + tolerance
        self._next: dict[Target, tuple[Target, float, str]] = {}
        self._smaller: dict[Target, Target] = {}
        self._needed: dict[Target, float] = {}
        for verdict in verdicts:
            own_cell = Target(verdict.function, verdict.bytes)
            if verdict.ratio is None or not verdict.replaceable or verdict.in_other_use:
                continue
            if verdict.kind == "monotony":
                larger = Target(verdict.function, verdict.other_bytes)
                self._next[own_cell] = (
                    larger,
                    verdict.ratio,
                    f"{verdict.guideline}@{verdict.bytes}",
                )
                self._smaller[larger] = own_cell
            if verdict.verdict == "violated":
                self._needed[own_cell] = max(verdict.ratio, self._needed.get(own_cell, 1.0))

    def of(self, targets: Iterable[Target]) -> list[Target]:
        """Sizes below the targets that would be slower than a target which is as fast as its
        violated guidelines ask."""
        targets = set(targets)
        slower_neighbours: set[Target] = set()
        for target in targets:
            ratio, cell = self._needed.get(target, 1.0), target
            while (smaller := self._smaller.get(cell)) is not None:
                ratio *= self._next[smaller][1]
                if smaller in targets or ratio <= self._limit:
                    break
                slower_neighbours.add(smaller)
                cell = smaller
        return sorted(slower_neighbours)

    def broken(
        self, neighbours: Iterable[Target], becomes: Mapping[Target, float]
    ) -> dict[Target, str]:
        """The neighbours whose monotony does not hold when cells take `becomes` times as long as
        they do, with the name of what is violated there."""
        names_by_cell: dict[Target, str] = {}
        for neighbour in neighbours:
            larger, ratio, name = self._next[neighbour]
            if ratio * becomes.get(neighbour, 1.0) / becomes.get(larger, 1.0) > self._limit:
                names_by_cell[neighbour] = name
        return names_by_cell


Tried = float | Flaw  # the seconds of a call, or why there are none


def rescue(
    setup: Setup, cells: Sequence[Target], number: int, has_time: Callable[[], bool]
) -> list[Search]:
    """Try the library's candidates in `cells`, all of one function, in round `number`, as long as
    there is time."""
    store, function = setup.store, cells[0].function
    first = setup.candidate_space.first(function)
    candidates = [candidate for candidate in first if candidate.is_knobs]
    name = function.removeprefix("MPI_").lower()
    tried: dict[Candidate, dict[Target, Tried]] = {}
    suites: list[Suite] = []
    for place, candidate in enumerate(candidates, 1):
        if not has_time():
            break
        suites.append(Suite("search", number, f"aside-{name}", arm=f"{place:02d}"))
        tried[candidate] = _tried(setup, cells, candidate, suites[-1])
    return [
        Search(
            round=number,
            function=function,
            nprocs=store.starter.placement.nprocs,
            ppn=setup.settings.ranks.ppn,
            bytes=cell.bytes,
            opened_by=[],
            outcome="nothing better",
            reason=_said(
                store.aside.how(function, cell.bytes),
                {candidate: results[cell] for candidate, results in tried.items()},
                len(candidates),
            ),
            trials=[_trial(candidate, results[cell]) for candidate, results in tried.items()],
            suites=[suite.name for suite in suites],
        )
        for cell in cells
    ]


def _said(how: str, tried: dict[Candidate, Tried], candidates: int) -> str:
    text = f"the library's own call ends launches ({how}); {len(tried)} of "
    text += f"{counted(candidates, 'candidate')} tried, each in launches of its own: "
    times = {
        candidate: seconds for candidate, seconds in tried.items() if isinstance(seconds, float)
    }
    if not times:
        return text + ("none works there" if tried else "there was no time")
    best = min(times, key=lambda candidate: times[candidate])
    least = f"{label(best.variant, best.configuration.as_dict())} takes the least time"
    return text + f"{len(times)} work, {least}, {1e6 * times[best]:.1f} µs"


def _tried(
    setup: Setup, cells: Sequence[Target], candidate: Candidate, suite: Suite
) -> dict[Target, Tried]:
    """Return results by cell. What ends a launch is left out of the next one."""
    store = setup.store
    extra = libraries.beside(store.starter.family, {}, candidate.configuration.as_dict())
    enough = 1 if store.starter.family.simulates else IN_A_ROW
    failures: Counter[Target] = Counter()
    result_by_cell: dict[Target, Tried] = {}
    remaining, sequence = list(cells), 0
    while remaining:
        cases = [(cell, case) for cell in remaining for case in _cases(setup.candidate_space, cell)]
        all_cases = tuple(case for _, case in cases)
        full = msgspec.structs.replace(setup.plan, name=suite.launch(sequence), cases=all_cases)
        run = store.launch(suite, sequence, full, extra).run
        failure = run.failure
        if failure is None:
            return result_by_cell | _results(store, suite.name, sequence, remaining)
        blamed = remaining if failure.case is None else [cases[failure.case][0]]
        failures.update(blamed)
        result_by_cell |= {
            cell: Flaw("failed", failure.text) for cell in blamed if failures[cell] >= enough
        }
        remaining = [cell for cell in remaining if cell not in result_by_cell]
        sequence += 1
    return result_by_cell


def _cases(candidate_space: CandidateSpace, cell: Target) -> list[PlanCase]:
    reference_variants = candidate_space.reference_variants(cell.function)[:1]
    own_cases = [PlanCase(cell.function, cell.bytes, name) for name in reference_variants]
    return [DEFAULT.case(cell.function, cell.bytes), *own_cases]


def _results(
    store: LaunchStore, suite: str, sequence: int, cells: Sequence[Target]
) -> dict[Target, Tried]:
    wrong = {
        Target(case.function, case.bytes): Flaw.of(check)
        for case, check in runs.checks(store.db, store.campaign, suite, sequence)
        if check.outcome != "ok"
    }
    medians = index(runs.medians(store.db, store.campaign, [suite]))
    result_by_cell: dict[Target, Tried] = {}
    for cell in cells:
        times = medians.get((cell, DEFAULT))
        result_by_cell[cell] = wrong.get(cell) or (
            min(times.values()) if times else Flaw("failed", "")
        )
    return result_by_cell


def _trial(candidate: Candidate, tried: Tried) -> Trial:
    trial = Trial(
        variant=candidate.variant,
        knobs=candidate.configuration.as_dict(),
        state="measured",
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        launches=1,
        detail="",
    )
    if isinstance(tried, float):
        return msgspec.structs.replace(trial, detail=f"{1e6 * tried:.1f} µs")
    return msgspec.structs.replace(trial, state=tried.state, detail=tried.detail, launches=0)
