"""Races: candidates of many cells measured side by side in the same launches, look by look; cold
ones, which need launches of their own, in turn with these.

A look is one launch. After each one every cell is judged by all launches so far: what is surely
behind the best is dropped, and the race of a cell ends when its bound holds and going on is
expected to gain nothing worth while. A race has three parts: who enters (entering.py), what is
launched (launching.py), and what the launches say (judging.py)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import PlanCase
from plumbline.measure.comparison import Arm, logs_inside
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, Flaw
from plumbline.system.words import counted
from plumbline.verify.decision import FEW, much_slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Trial
from plumbline_db.runs import LaunchSamples

from .effort import Effort
from .entering import Entering, Lineup
from .evidence import Evidence
from .judging import Decision, Judge
from .launching import RaceLaunches
from .neighbours import Past

_FRONT = 2  # candidates of a decision that are looked at in other ways of use


class Race:
    """One round of search over many targets. `run` returns the trials of each; afterwards `reasons`
    says why the race of each ended, and `bound_ratio` how far its bound lies from the default."""

    def __init__(
        self,
        store: LaunchStore,
        candidate_space: CandidateSpace,
        arm: Arm,
        effort: Effort,
        past: Past | None = None,
    ) -> None:
        """`arm`: what is in force, and the plan of a launch without its cases."""
        past = past or Past(Evidence(exact=effort.repeats))
        self.suite = arm.suite
        self.candidate_space = candidate_space
        self.in_force = past.in_force
        # Whether later races can use the measurements of this race.
        self.knows_more = effort.repeats and not arm.environment
        self._blocks = arm.plan.blocks
        self._effort = effort
        self._evidence = past.evidence
        self._launches = RaceLaunches(store, candidate_space, arm, effort, past)
        self._other_uses = _OtherUses(effort.uses)
        self._judge = Judge(self._evidence, effort)
        self._entering = Entering(candidate_space, self._judge, past, arm.plan.seed)

    def first_look(
        self, entries: Mapping[Target, Sequence[Candidate]]
    ) -> dict[Target, list[Trial]]:
        """Do what `measure` does, up to the first look at which anything is claimed: where it is
        not clear by then, nothing is claimed."""
        return self.measure(entries, most=self._effort.claims.launches[0])

    @property
    def suites(self) -> list[str]:
        return self._launches.suites + self._launches.cold_suites

    @property
    def passed_over(self) -> Mapping[tuple[str, Candidate], str]:
        """Candidates of functions that were not worth a launch of their own, with the reason."""
        return self._launches.passed_over

    @property
    def reasons(self) -> dict[Target, str]:
        """Return the reason of each cell; of a cell with two decisions that of the faster one; of
        equals, what had no time."""
        reason_by_cell: dict[Target, tuple[float, bool, str]] = {}
        for decision in self._entering.decisions:
            leader = self._judge.leader(decision)
            for cell in decision.cells:
                lead = self._evidence.lead(cell, leader)
                log = 0.0 if lead is None else lead.log
                reason_so_far = reason_by_cell.get(cell, (math.inf, False, ""))
                reason_by_cell[cell] = min(
                    reason_so_far, (log, not decision.untried, decision.stopped)
                )
        return {cell: reason for cell, (*_, reason) in reason_by_cell.items()}

    def bound_ratio(self, target: Target) -> float | None:
        bound = self._entering.bounds.get(target)
        return None if bound is None else self._judge.bound_ratio(target, bound)

    def run(self, lineup: Lineup, *, refine: bool) -> dict[Target, list[Trial]]:
        """Return the trials of the targets and of the favourites; `refine` says whether parameters
        are searched."""
        self._judge.named = lineup.named
        self._entering.open(lineup, refine=refine)
        self._go(refine=refine)
        return {cell: self.trials(cell) for cell in [*lineup.targets, *lineup.favourites]}

    def trials(self, target: Target) -> list[Trial]:
        """Return what is known of a cell, also of one that only raced along."""
        return self._entering.trials(target)

    def measure(
        self, entries: Mapping[Target, Sequence[Candidate]], most: int = 0
    ) -> dict[Target, list[Trial]]:
        """Measure these candidates alone, beside the default, until it is clear what they are
        worth, in `most` looks at most (0: as in any race). The library's own that hold for all
        sizes are judged over all cells of their function."""
        self._entering.add_alone(entries, most)
        self._go(refine=False)
        return {target: self.trials(target) for target in entries}

    def _go(self, *, refine: bool) -> None:
        """Look by look, until every decision has come to its end."""
        racing = self._entering
        while not racing.is_over:
            entries = racing.entries()
            first = not any(decision.looks for decision in racing.under_way)
            blocks = self._effort.blocks(self._blocks, first=first)
            other_uses = self._other_uses.cases(self._front())
            self._launches.look(entries, [*racing.beside(), *other_uses], blocks=blocks)
            for decision in racing.under_way:
                decision.looks += 1
            if other_uses:
                self._leave_out()
            racing.exploring.learn()
            for decision in racing.under_way:
                self._judge.drop(decision, self._launches.is_out)
            going_on = refine and self._effort.has_time()
            if not going_on:
                racing.exploring.end()
            self._advance(refine=going_on)

    def _front(self) -> dict[Target, list[Candidate]]:
        """Return what may win, as far as known, of what shares launches."""
        front_by_cell: dict[Target, list[Candidate]] = {}
        for decision in self._entering.under_way:
            faster = [
                candidate
                for candidate in self._judge.ranked(decision, decision.racing)
                if (lead := self._judge.lead(decision, candidate)) is not None and lead.log < 0
            ]
            for cell in decision.all_cells:
                front_by_cell.setdefault(cell, []).extend(
                    candidate
                    for candidate in faster[:_FRONT]
                    if self._launches.is_hot(cell, candidate)
                )
        return front_by_cell

    def _leave_out(self) -> None:
        """Leave out what is much slower in another way of use."""
        last = self._launches.last_samples()
        self._other_uses.learn(last, disturbed=not self._launches.is_quiet)
        for (cell, candidate), why in self._other_uses.slower().items():
            self._launches.fail(cell, candidate, Flaw("slower", why))

    def duplicate(self) -> Comparison | None:
        """The default on a duplicate over the default on MPI_COMM_WORLD, in all launches so far.
        Hot knobs are measured on duplicates; a library that treats these apart must be known."""
        logs = self._launches.duplicates()
        return self._effort.compare(logs) if logs else None

    def _advance(self, *, refine: bool) -> None:
        """New proposals, cells whose neighbours are done with theirs, and ends."""
        racing = self._entering
        racing.exploring.advance()
        if refine:
            racing.borrow()
        for decision in racing.under_way:
            ranges = racing.by_range(decision) if refine else []
            decision.racing += ranges
            looked = decision.looks > 1 or not decision.guards or not decision.racing
            if looked and not ranges and not racing.exploring.explores(decision):
                decision.untried = self._untried(decision)
                decision.stopped = decision.untried or self._judge.stop(decision)
        racing.admit()

    def _untried(self, decision: Decision) -> str:
        """Says so where there was no time for candidates; '' where there was."""
        waiting = [
            candidate
            for candidate in decision.racing
            if self._judge.lead(decision, candidate) is None
            and not any(self._launches.is_out(cell, candidate) for cell in decision.all_cells)
        ]
        if not waiting or self._effort.may_launch():
            return ""
        return f"the budget was used up before {counted(len(waiting), 'candidate')} could be tried"


_Key = tuple[Target, Candidate]


class _OtherUses:
    """Candidates of a race that are much slower in other ways of use, seen in its launches. A
    winner has to hold wherever a user stands, and is tried there before it is exported
    (campaign/acceptance.py), in launches of its own. What would surely fail there loses its place
    here, while its rivals are still measured."""

    def __init__(self, uses: Sequence[str]) -> None:
        self._uses = uses
        self._logs: dict[_Key, dict[str, dict[int, float]]] = {}  # by use and launch
        self._disturbed: set[int] = set()  # launches beside other work: two count for one

    def cases(self, front: Mapping[Target, Collection[Candidate]]) -> list[PlanCase]:
        """Return the cases of candidates that have not been seen often enough, each beside the
        default."""
        return [
            msgspec.structs.replace(candidate.case(target.function, target.bytes), use=use)
            for target, candidates in front.items()
            for use in self._uses
            for candidate in self._with_default(target, candidates, use)
        ]

    def _with_default(
        self, target: Target, candidates: Collection[Candidate], use: str
    ) -> list[Candidate]:
        not_enough = [
            candidate
            for candidate in candidates
            if not self._enough(self._logs.get((target, candidate), {}).get(use, {}))
        ]
        return [DEFAULT, *not_enough] if not_enough else []

    def _enough(self, logs: Mapping[int, float]) -> bool:
        """Return whether so many launches suffice to give up what is slower in all of them."""
        return sum(0.5 if run in self._disturbed else 1.0 for run in logs) >= FEW

    def learn(self, found: Iterable[LaunchSamples], *, disturbed: bool = False) -> None:
        """`found`: samples of launches, of all ways of use; `disturbed`: beside other work."""
        times: dict[tuple[Target, str], dict[Candidate, LaunchSamples]] = {}
        for samples in found:
            case = samples.case
            if case.use in self._uses and case.config != "plain":
                cell = Target(case.function, case.bytes), case.use
                candidate = Candidate(case.variant, Configuration.of(case.knobs))
                times.setdefault(cell, {})[candidate] = samples
                self._disturbed |= set(samples.runs) if disturbed else set()
        for (target, use), by_candidate in times.items():
            default = by_candidate.pop(DEFAULT, None)
            default_samples = (
                {} if default is None else dict(zip(default.runs, default.ns, strict=True))
            )
            for candidate, samples in by_candidate.items():
                logs = self._logs.setdefault((target, candidate), {}).setdefault(use, {})
                logs |= logs_inside(
                    dict(zip(samples.runs, samples.ns, strict=True)), default_samples
                )

    def slower(self) -> dict[_Key, str]:
        """Return what is much slower than the default in some way of use, with the reason."""
        return {
            key: f"{use}: {math.exp(min(logs.values())):.2f} of the default at least, in "
            f"{counted(len(logs), 'launch')}"
            for key, by_use in self._logs.items()
            for use, logs in by_use.items()
            if self._enough(logs) and much_slower(logs.values())
        }
