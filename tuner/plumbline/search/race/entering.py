"""Who races: the decisions of a race, and which candidates enter them, at once and as looks teach
more. Algorithms come first, each with the library's own parameters; then parameters of those near
the front (exploring.py). Sizes between others start from what these have found (neighbours.py).
Where the library takes one value for all sizes that names an algorithm for each range, what the
algorithms have shown alone is put together and races too. Measures nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, pairwise

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration, variant_name
from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.search.space.select import fewest_rules, tie
from plumbline_db.records import Trial
from plumbline_exporters import by_size, families
from plumbline_exporters.by_size import Range

from . import neighbours
from .exploring import Exploring
from .judging import Decision, Judge, ViolationBound
from .neighbours import Past

_FEW = 16  # values of an algorithm's parameters
_FEW_RANGES = 3  # values with ranges of sizes, as looks teach more


class Lineup(msgspec.Struct, frozen=True):
    """The cells of a race. `without` names variants that do not race in a cell; `beside` are the
    targets that are there because one choice of the library holds for all sizes of a function.
    `along` are cells of other functions that race along for a later race with the same past, where
    that costs hardly a launch. `named`: the targets where a violation would be removed (None: all).
    `favourites` are all that races in further cells."""

    targets: Sequence[Target]
    without: Mapping[Target, Collection[str]] = {}
    bounds: Mapping[Target, ViolationBound] = {}
    beside: Collection[Target] = ()
    along: Collection[Target] = ()
    named: AbstractSet[Target] | None = None
    favourites: Mapping[Target, Sequence[Candidate]] = {}


class Entering:
    """The decisions of one race, and its studies."""

    def __init__(
        self, candidate_space: CandidateSpace, judge: Judge, past: Past, seed: int
    ) -> None:
        self.decisions: list[Decision] = []
        self.bounds: Mapping[Target, ViolationBound] = {}
        self.exploring = Exploring(candidate_space, judge, seed, self.decisions, self._measured_at)
        self._candidate_space = candidate_space
        self._evidence = judge.evidence
        self._judge = judge
        self._effort = judge.effort
        self._failed = past.failed
        self._earlier = past.earlier
        self._waiting: list[Target] = []
        self._ever: dict[Target, set[Candidate]] = {}
        self._idle: Mapping[Target, Collection[str]] = {}
        self._refine = False

    def open(self, lineup: Lineup, *, refine: bool) -> None:
        """Enter all that races for these cells."""
        self._idle, self.bounds, self._refine = lineup.without, lineup.bounds, refine
        self._enter(lineup.targets, set(lineup.beside))
        for cell in lineup.along:
            mockups = self._candidate_space.mockups(cell.function)
            self._add(
                cell,
                [candidate for candidate in self._first(cell) if candidate.variant not in mockups],
            )
        self.add_alone(lineup.favourites)

    def add_alone(self, entries: Mapping[Target, Sequence[Candidate]], most: int = 0) -> None:
        """Enter these candidates alone in these cells (Race.measure)."""
        together: dict[str, list[Target]] = {}
        knobs: dict[str, dict[Candidate, None]] = {}
        for target, candidates in entries.items():
            whole = self._candidate_space.one_for_all_sizes(target.function)
            alone = [candidate for candidate in candidates if not (whole and candidate.is_knobs)]
            if alone:
                self.decisions.append(Decision([target], alone, {}, most=most, alone=True))
            if len(alone) < len(candidates):
                together.setdefault(target.function, []).append(target)
                shared = knobs.setdefault(target.function, {})
                shared |= {candidate: None for candidate in candidates if candidate not in alone}
        for function, cells in together.items():
            decision = Decision(cells, list(knobs[function]), {}, most=most, alone=True)
            self.decisions.append(decision)

    @property
    def under_way(self) -> list[Decision]:
        return [decision for decision in self.decisions if not decision.stopped]

    @property
    def is_over(self) -> bool:
        return not self._waiting and not any(self._wanted().values())

    def entries(self) -> dict[Target, list[Candidate]]:
        """Return what the next look measures; from now on it has entered."""
        entries = self._wanted()
        for target, candidates in entries.items():
            self._ever.setdefault(target, set()).update(candidates)
        return entries

    def beside(self) -> list[PlanCase]:
        """Bounds that are measured in the same look."""
        cases = [bound.case for decision in self.under_way for bound in decision.bounds.values()]
        return list(dict.fromkeys(cases))

    def trials(self, target: Target) -> list[Trial]:
        """Return what is known of a cell, also of one that only raced along."""
        measured = [self._judge.trial(target, candidate) for candidate in self._measured_at(target)]
        failed = [trial for (cell, _), trial in sorted(self._failed.items()) if cell == target]
        return measured + failed

    def _wanted(self) -> dict[Target, list[Candidate]]:
        entries: dict[Target, list[Candidate]] = {}
        for decision in self.under_way:
            for cell in decision.all_cells:
                entries.setdefault(cell, []).extend(decision.racing)
        for cell, proposals in self.exploring.proposals():
            entries.setdefault(cell, []).extend(proposals)
        return entries

    def _measured_at(self, target: Target) -> list[Candidate]:
        """Return what was measured, without what stands beside a cell only as its bound or to check
        its result."""
        entered = self._ever.get(target, set())
        return [
            candidate
            for candidate in self._evidence.candidates(target)
            if candidate in entered and (target, candidate) not in self._failed
        ]

    # --- as looks teach more ------------------------------------------------------------------

    def by_range(self, of: Decision) -> list[Candidate]:
        """Return what the algorithms of a choice for all sizes come to, each where it is best."""
        knob = self._candidate_space.ranged(of.cells[0].function)
        if not knob or len(of.all_cells) < 2:
            return []
        entered = {candidate for cell in of.all_cells for candidate in self._ever.get(cell, ())}
        tried = [
            candidate
            for candidate in entered
            if by_size.has_sizes(candidate.configuration.get(knob))
        ]
        if len(tried) >= _FEW_RANGES:
            return []
        ranged = candidate_by_ranges(knob, {cell.bytes: self.trials(cell) for cell in of.all_cells})
        return [ranged] if ranged and ranged not in entered else []

    def borrow(self) -> None:
        """Let what leads at a neighbouring size race here too."""
        for decision in self.under_way:
            (cell, *others) = decision.cells
            if others or not decision.looks or not decision.racing or decision.alone:
                continue
            entered = self._ever.get(cell, set())
            decision.racing += [
                hint
                for hint in self.exploring.leaders_near(cell)
                if hint not in entered
                and variant_name(hint.variant) not in self._idle.get(cell, ())
                and self._candidate_space.offers(cell.function, hint, cell.bytes)
            ]

    def admit(self) -> None:
        """Sizes between two grid sizes enter when both are done with their parameters."""
        waiting, self._waiting = self._waiting, []
        entered_decisions = {
            decision.cells[0]: decision
            for decision in self.decisions
            if decision.cells[0] not in waiting and not decision.alone
        }
        for cell in waiting:
            sizes = sorted(
                near.bytes for near in entered_decisions if near.function == cell.function
            )
            ends = [Target(cell.function, end) for end in neighbours.around(cell.bytes, sizes)]
            low, high = (entered_decisions[end] for end in ends)
            if not all(
                decision.looks and not self.exploring.explores(decision) for decision in (low, high)
            ):
                self._waiting.append(cell)
                continue
            candidate_space = [
                candidate
                for candidate in self._candidate_space.first(cell.function)
                if not self._is_bad(candidate, ends)
            ]
            deviations = self._effort.deviations(len(candidate_space))
            racing = neighbours.unbeaten(self._evidence, ends, candidate_space, deviations)
            racing += [
                candidate
                for end in (low, high)
                for candidate in self._judge.ranked(end, self._measured_at(end.cells[0]))[:2]
                if self._candidate_space.offers(cell.function, candidate, cell.bytes)
            ]
            idle = self._idle.get(cell, ())
            self._add(
                cell,
                [candidate for candidate in racing if variant_name(candidate.variant) not in idle],
            )

    def _is_bad(self, candidate: Candidate, ends: Iterable[Target]) -> bool:
        """Return what crashed or was wrong at a neighbouring size, or has no result at both."""
        failed_trials = [self._failed.get((end, candidate)) for end in ends]
        bad = [trial for trial in failed_trials if trial is not None]
        return len(bad) == len(failed_trials) or any(
            trial.state in ("wrong", "failed") for trial in bad
        )

    # --- who enters first ---------------------------------------------------------------------

    def _enter(self, targets: Sequence[Target], beside: set[Target]) -> None:
        for function in dict.fromkeys(target.function for target in targets):
            cells = sorted(target for target in targets if target.function == function)
            searched_cells = [cell for cell in cells if cell not in beside] or cells
            if self._candidate_space.one_for_all_sizes(function):
                self._enter_whole(
                    searched_cells, [cell for cell in cells if cell not in searched_cells]
                )
                continue
            # Later launches are expensive if candidates are cold.
            dear = self._is_cold_at_all(function)
            sizes = [cell.bytes for cell in searched_cells]
            chosen = sizes if dear else neighbours.grid_sizes(sizes)
            for cell in searched_cells:
                if cell.bytes in chosen:
                    self._add(cell, self._first(cell))
                else:
                    self._waiting.append(cell)

    def _enter_whole(self, cells: list[Target], guards: list[Target]) -> None:
        """Our variants cell by cell; the library's own choice for all cells at once."""
        for cell in cells:
            own_variants = [candidate for candidate in self._first(cell) if not candidate.is_knobs]
            if own_variants:
                self._add(cell, own_variants)
        knobs = list(dict.fromkeys(candidate for cell in cells for candidate in self._first(cell)))
        knobs = [knob for knob in knobs if knob.is_knobs]
        if knobs:
            (cell, *_) = cells
            dear = self._is_cold_at_all(cell.function)
            decision = Decision(cells, knobs, self._bounds_of(cells), guards, dear)
            self.decisions.append(decision)

    def _is_cold_at_all(self, function: str) -> bool:
        return any(
            self._candidate_space.is_cold(function, candidate)
            for candidate in self._candidate_space.first(function)
        )

    def _add(self, cell: Target, candidates: Sequence[Candidate]) -> None:
        decision = Decision([cell], list(dict.fromkeys(candidates)), self._bounds_of([cell]))
        self.decisions.append(decision)
        self.exploring.add(decision)

    def _bounds_of(self, cells: Iterable[Target]) -> dict[Target, ViolationBound]:
        return {cell: self.bounds[cell] for cell in cells if cell in self.bounds}

    def _first(self, cell: Target) -> list[Candidate]:
        """Return what was found for the cell elsewhere, then the candidate_space, with each
        algorithm that shares launches in the middle of its parameters too (where cases are cheap
        with all of them, if they are few)."""
        candidate_space = self._candidate_space.first(cell.function)
        hot = [
            candidate
            for candidate in candidate_space
            if not self._candidate_space.is_cold(cell.function, candidate)
        ]
        if self._refine:
            most = _FEW if self._effort.at_once else 1
            for candidate in hot:
                candidate_space = candidate_space + self._candidate_space.every(
                    cell.function, candidate, cell.bytes, most
                )
        earlier_candidates = [
            candidate
            for candidate in self._earlier(cell)
            if self._candidate_space.offers(cell.function, candidate, cell.bytes)
        ]
        idle = self._idle.get(cell, ())
        return [
            candidate
            for candidate in dict.fromkeys([*earlier_candidates, *candidate_space])
            if variant_name(candidate.variant) not in idle
        ]


def candidate_by_ranges(knob: str, trials: Mapping[int, Sequence[Trial]]) -> Candidate | None:
    """Return a candidate that has, at each size of which `trials` tell, one of the best, with as
    few changes as there can be; a range ends in the geometric middle. None where a size has none,
    where one algorithm is among the best everywhere, or where there is nothing to be gained."""
    options: dict[int, list[Trial]] = {}
    for size, tried in trials.items():
        ratios_and_trials = [
            (trial.ratio, trial) for trial in tried if trial.ratio and _is_number(knob, trial)
        ]
        limit = min((ratio * tie(trial) for ratio, trial in ratios_and_trials), default=math.inf)
        options[size] = [trial for ratio, trial in ratios_and_trials if ratio <= limit]
    sizes = sorted(options)
    if not all(options.values()):
        return None
    chosen = fewest_rules(options, sizes, dict.fromkeys(sizes, 1.0))
    runs = [list(alike) for _, alike in groupby(sizes, key=lambda size: chosen[size].knobs[knob])]
    if len(runs) < 2 or sum(math.log(trial.ratio or 1.0) for trial in chosen.values()) >= 0:
        return None
    starts = [
        0,
        *(math.isqrt(run_below[-1] * run_above[0]) + 1 for run_below, run_above in pairwise(runs)),
    ]
    lasts = [*(start - 1 for start in starts[1:]), None]
    ranges = [
        Range(int(chosen[run[0]].knobs[knob]), first, last)
        for run, first, last in zip(runs, starts, lasts, strict=True)
    ]
    return Candidate(configuration=Configuration.of({knob: by_size.write(ranges)}))


def _is_number(knob: str, trial: Trial) -> bool:
    """Return whether it is an algorithm of the library, and nothing else, that may stand in a
    range."""
    plain = trial.variant == DEFAULT.variant and trial.state == "measured"
    if not plain or trial.knobs.keys() != {knob}:
        return False
    value = trial.knobs[knob]
    return value.isdecimal() and int(value) in families.in_ranges(knob)
