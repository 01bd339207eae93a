"""Races: candidates of many cells measured side by side in the same launches, look by look; cold
ones, which need launches of their own, in turn with these.

A look is one launch. After each one every cell is judged by all launches so far: what is surely
behind the best is dropped, and the race of a cell ends when its bound holds and going on is
expected to gain nothing worth while. A race has three parts: who enters (entering.py), what is
launched (launching.py), and what the launches say (judging.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.search.space.cells import Flaw, Target
from plumbline.system.words import counted
from plumbline.verify.statistics import Comparison
from plumbline_db.records import Suite, Trial

from . import neighbours
from .bound import Bound
from .company import Company
from .effort import Effort
from .elsewhere import Elsewhere
from .entering import Entering
from .equivalent import EntryRule
from .evidence import Evidence
from .judging import Decision, Judge
from .launching import Past, RaceLaunches

_FRONT = 2  # candidates of a decision that are looked at in other ways of use


class Race:
    """One round of search over many targets. `run` returns the trials of each; afterwards `reasons`
    says why the race of each ended, and `bound_ratio` how far its bound lies from the default."""

    def __init__(
        self,
        store: LaunchStore,
        candidate_space: CandidateSpace,
        plan: Plan,
        environment: Mapping[str, str],
        effort: Effort,
        suite: Suite,
        *,
        past: Past | None = None,
        before: Evidence | None = None,
        changed: Collection[str] = (),
        earlier: neighbours.Earlier = neighbours.nothing,
        company: Company | None = None,
        uses: Sequence[str] = (),
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        """`past`: what is known of a machine that repeats itself, and need not be measured again;
        `before`: with winners in force, what is known without them; `changed`: the functions that
        they are about. `earlier`: what was found for a cell elsewhere. `company`: who shares cold
        launches, with what was learnt of that before. `uses`: other ways of use, in which what may
        win must not be much slower. `has_time`: whether parameters are still
        proposed, and cold launches begun where launches repeat each other."""
        self.suite = suite
        self._blocks = plan.blocks
        self._effort = effort
        self._time_is_left = has_time
        self._lasting = past is not None and not environment
        past = past or Past(
            Evidence(exact=effort.repeats, spread=effort.spread, usual=effort.usual)
        )
        self._evidence = past.evidence
        self._launches = RaceLaunches(
            store,
            candidate_space,
            plan,
            environment,
            suite,
            past,
            self._has_time,
            rule=EntryRule(
                alike=effort.alike,
                tolerance=effort.tolerance,
                before=before,
                changed=frozenset(changed),
            ),
            company=company,
        )
        self._elsewhere = Elsewhere(uses)
        self._judge = Judge(self._evidence, effort)
        self._entering = Entering(
            candidate_space, self._evidence, self._judge, effort, plan.seed, past.failed, earlier
        )

    def _has_time(self) -> bool:
        """Where one launch decides, a candidate that has none is not missed by others; elsewhere
        those that race together come to their end together."""
        return not self._effort.repeats or self._time_is_left()

    def first_look(
        self, entries: Mapping[Target, Sequence[Candidate]]
    ) -> dict[Target, list[Trial]]:
        """As `measure`, up to the first look at which anything is claimed: where it is not clear by
        then, nothing is claimed."""
        return self.measure(entries, most=self._effort.claims.launches[0])

    @property
    def knows_more(self) -> bool:
        """Whether what this race measures is of use to later ones."""
        return self._lasting

    @property
    def suites(self) -> list[str]:
        return self._launches.suites + self._launches.cold_suites

    @property
    def passed_over(self) -> Mapping[tuple[str, Candidate], str]:
        """Candidates of functions that were not worth a launch of their own, with the reason."""
        return self._launches.passed_over

    @property
    def reasons(self) -> dict[Target, str]:
        """Of a cell with two decisions that of the faster one; of equals, what had no time."""
        found: dict[Target, tuple[float, bool, str]] = {}
        for decision in self._entering.decisions:
            leader = self._judge.leader(decision)
            for cell in decision.cells:
                lead = self._evidence.lead(cell, leader)
                log = 0.0 if lead is None else lead.log
                known = found.get(cell, (math.inf, False, ""))
                found[cell] = min(known, (log, not decision.untried, decision.stopped))
        return {cell: said for cell, (*_, said) in found.items()}

    def bound_ratio(self, target: Target) -> float | None:
        bound = self._entering.bounds.get(target)
        return None if bound is None else self._judge.bound_ratio(target, bound)

    def run(
        self,
        targets: Sequence[Target],
        *,
        refine: bool,
        without: Mapping[Target, Collection[str]] | None = None,
        bounds: Mapping[Target, Bound] | None = None,
        beside: Collection[Target] = (),
        along: Collection[Target] = (),
        named: AbstractSet[Target] | None = None,
        favourites: Mapping[Target, Sequence[Candidate]] | None = None,
    ) -> dict[Target, list[Trial]]:
        """`refine` says whether parameters are searched; `without` names variants that do not race
        in a cell; `beside` are the targets that are there because one choice of the library holds
        for all sizes of a function. `along` are cells of other functions that race along for a
        later race with the same past, where that costs hardly a launch. `named`: the targets where
        a violation would be removed (None: all). `favourites` are all that races in further
        cells."""
        self._judge.named = named
        self._entering.open(
            targets,
            refine=refine,
            idle=without or {},
            bounds=bounds or {},
            beside=beside,
            along=along,
        )
        further = favourites or {}
        self._entering.add_alone(further)
        self._go(refine=refine)
        return {target: self.trials(target) for target in [*targets, *further]}

    def trials(self, target: Target) -> list[Trial]:
        """What is known of a cell, also of one that only raced along."""
        return self._entering.trials(target)

    def measure(
        self, entries: Mapping[Target, Sequence[Candidate]], most: int = 0
    ) -> dict[Target, list[Trial]]:
        """These candidates alone, beside the default, until it is clear what they are worth, in
        `most` looks at most (0: as in any race). The library's own that hold for all sizes are
        judged over all cells of their function."""
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
            elsewhere = self._elsewhere.cases(self._front())
            self._launches.look(entries, [*racing.beside(), *elsewhere], blocks=blocks)
            for decision in racing.under_way:
                decision.looks += 1
            if elsewhere:
                self._leave_out()
            racing.exploring.learn()
            for decision in racing.under_way:
                self._judge.drop(decision, self._launches.is_out)
            going_on = refine and self._time_is_left()
            if not going_on:
                racing.exploring.end()
            self._advance(refine=going_on)

    def _front(self) -> dict[Target, list[Candidate]]:
        """What may win, as far as known, of what shares launches."""
        found: dict[Target, list[Candidate]] = {}
        for decision in self._entering.under_way:
            faster = [
                candidate
                for candidate in self._judge.ranked(decision, decision.racing)
                if (lead := self._judge.lead(decision, candidate)) is not None and lead.log < 0
            ]
            for cell in decision.all_cells:
                found.setdefault(cell, []).extend(
                    candidate
                    for candidate in faster[:_FRONT]
                    if self._launches.is_hot(cell, candidate)
                )
        return found

    def _leave_out(self) -> None:
        """What is much slower in another way of use."""
        last = self._launches.last_samples()
        self._elsewhere.learn(last, disturbed=not self._launches.is_quiet)
        for (cell, candidate), why in self._elsewhere.slower().items():
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

    def _untried(self, one: Decision) -> str:
        """Says so where there was no time for candidates; '' where there was."""
        waiting = [
            each
            for each in one.racing
            if self._judge.lead(one, each) is None
            and not any(self._launches.is_out(cell, each) for cell in one.all_cells)
        ]
        if not waiting or self._has_time():
            return ""
        return f"the budget was used up before {counted(len(waiting), 'candidate')} could be tried"
