"""Races: candidates of many cells measured side by side in the same launches, look by look; cold
ones, which need launches of their own, in turn with these (cold.py).

A look is one launch. After each one every cell is judged by all launches so far: what is surely
behind the best is dropped, and the race of a cell ends when its bound holds and going on is
expected to gain nothing worth while (decision.py). Algorithms come first, each with the library's
own parameters; then parameters of those near the front (exploring.py). Sizes between others start
from what these have found (neighbours.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from plumbline.core.plan import Plan, PlanCase
from plumbline.core.variant_spec import variant_name
from plumbline.measure.launches import Laboratory
from plumbline.system.words import counted
from plumbline.verify.statistics import Comparison
from plumbline_db.records import Suite, Trial
from plumbline_exporters import by_size

from . import neighbours, ranged
from .bound import Bound
from .candidates import Candidate, Menu
from .cells import Target, index
from .company import Company
from .decision import Decision, Judge
from .effort import ONE_LAUNCH, Effort
from .evidence import Evidence
from .exploring import Exploring
from .heat import Heats, Past
from .twins import EntryRule

__all__ = ["ONE_LAUNCH", "Effort", "Race", "Target", "index"]


_FEW = 16  # values of an algorithm's parameters
_FEW_RANGES = 3  # values with ranges of sizes, as looks teach more


class Race:
    """One round of search over many targets. `run` returns the trials of each; afterwards `reasons`
    says why the race of each ended, and `bound_ratio` how far its bound lies from the default."""

    def __init__(
        self,
        lab: Laboratory,
        menu: Menu,
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
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        """`past`: what is known of a machine that repeats itself, and need not be measured again;
        `before`: with winners in force, what is known without them; `changed`: the functions that
        they are about. `earlier`: what was found for a cell elsewhere. `company`: who shares cold
        launches, with what was learnt of that before. `has_time`: whether parameters are still
        proposed, and cold launches begun where launches repeat each other."""
        self.suite = suite
        self._lab = lab
        self._menu = menu
        self._plan = plan
        self._effort = effort
        self._earlier = earlier
        self._time_is_left = has_time
        self._lasting = past is not None and not environment
        past = past or Past(Evidence(exact=effort.repeats, spread=effort.spread))
        self._evidence = past.evidence
        self._heats = Heats(
            lab,
            menu,
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
        self._judge = Judge(self._evidence, effort)
        self._decisions: list[Decision] = []
        self._waiting: list[Target] = []
        self._exploring = Exploring(
            menu, self._evidence, self._judge, effort, plan.seed, self._decisions, self._measured_at
        )
        self._idle: Mapping[Target, Collection[str]] = {}
        self._bounds: Mapping[Target, Bound] = {}
        self._ever: dict[Target, set[Candidate]] = {}
        self._refine = False

    def _has_time(self) -> bool:
        """Where one launch decides, a candidate that has none is not missed by others; elsewhere
        those that race together come to their end together."""
        return not self._effort.repeats or self._time_is_left()

    def glance(self, entries: Mapping[Target, Sequence[Candidate]]) -> dict[Target, list[Trial]]:
        """The same, up to the first look at which anything is claimed: where it is not clear by
        then, nothing is claimed."""
        return self.measure(entries, most=self._effort.claims.launches[0])

    @property
    def knows_more(self) -> bool:
        """Whether what this race measures is of use to later ones."""
        return self._lasting

    @property
    def suites(self) -> list[str]:
        return self._heats.suites + self._heats.cold_suites

    @property
    def passed_over(self) -> Mapping[tuple[str, Candidate], str]:
        """Candidates of functions that were not worth a launch of their own, with the reason."""
        return self._heats.passed_over

    @property
    def reasons(self) -> dict[Target, str]:
        """Of a cell with two decisions that of the faster one; of equals, what had no time."""
        found: dict[Target, tuple[float, bool, str]] = {}
        for decision in self._decisions:
            leader = self._judge.leader(decision)
            for cell in decision.cells:
                lead = self._evidence.lead(cell, leader)
                log = 0.0 if lead is None else lead.log
                known = found.get(cell, (math.inf, False, ""))
                found[cell] = min(known, (log, not decision.untried, decision.stopped))
        return {cell: said for cell, (*_, said) in found.items()}

    def bound_ratio(self, target: Target) -> float | None:
        bound = self._bounds.get(target)
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
    ) -> dict[Target, list[Trial]]:
        """`refine` says whether parameters are searched; `without` names variants that do not race
        in a cell; `beside` are the targets that are there because one choice of the library holds
        for all sizes of a function. `along` are cells of other functions that race along for a
        later race with the same past, where that costs hardly a launch."""
        self._idle, self._bounds = without or {}, bounds or {}
        self._refine = refine
        self._enter(targets, set(beside))
        for cell in along:
            mockups = self._menu.mockups(cell.function)
            self._add(
                cell,
                [candidate for candidate in self._first(cell) if candidate.variant not in mockups],
            )
        self._go(refine=refine)
        return {target: self._trials(target) for target in targets}

    def trials(self, target: Target) -> list[Trial]:
        """What is known of a cell, also of one that only raced along."""
        return self._trials(target)

    def measure(
        self, entries: Mapping[Target, Sequence[Candidate]], most: int = 0
    ) -> dict[Target, list[Trial]]:
        """These candidates alone, beside the default, until it is clear what they are worth, in
        `most` looks at most (0: as in any race). The library's own that hold for all sizes are
        judged over all cells of their function."""
        self._refine = False
        together: dict[str, list[Target]] = {}
        knobs: dict[str, dict[Candidate, None]] = {}
        for target, candidates in entries.items():
            whole = self._menu.one_for_all_sizes(target.function)
            alone = [candidate for candidate in candidates if not (whole and candidate.is_knobs)]
            if alone:
                self._decisions.append(Decision([target], alone, {}, most=most))
            if len(alone) < len(candidates):
                together.setdefault(target.function, []).append(target)
                shared = knobs.setdefault(target.function, {})
                shared |= {candidate: None for candidate in candidates if candidate not in alone}
        for function, cells in together.items():
            self._decisions.append(Decision(cells, list(knobs[function]), {}, most=most))
        self._go(refine=False)
        return {target: self._trials(target) for target in entries}

    def _go(self, *, refine: bool) -> None:
        """Look by look, until every decision has come to its end."""
        while True:
            entries = self._entries()
            if not any(entries.values()) and not self._waiting:
                break
            for target, candidates in entries.items():
                self._ever.setdefault(target, set()).update(candidates)
            first = not any(decision.looks for decision in self._open())
            blocks = self._effort.blocks(self._plan.blocks, first=first)
            self._heats.look(entries, self._beside(), blocks=blocks)
            for decision in self._open():
                decision.looks += 1
            self._learn()
            going_on = refine and self._time_is_left()
            if not going_on:
                self._exploring.end()
            self._advance(refine=going_on)

    def duplicate(self) -> Comparison | None:
        """The default on a duplicate over the default on MPI_COMM_WORLD, in all launches so far.
        Hot knobs are measured on duplicates; a library that treats these apart must be known."""
        logs = self._heats.duplicates()
        return self._effort.compare(logs) if logs else None

    def comparison(self, target: Target, candidate: Candidate) -> Comparison | None:
        logs = self._evidence.logs(target, candidate)
        return self._effort.compare(list(logs.values())) if logs else None

    # --- who enters ---------------------------------------------------------------------------

    def _enter(self, targets: Sequence[Target], beside: set[Target]) -> None:
        for function in dict.fromkeys(target.function for target in targets):
            cells = sorted(target for target in targets if target.function == function)
            wanted = [cell for cell in cells if cell not in beside] or cells
            if self._menu.one_for_all_sizes(function):
                self._enter_whole(wanted, [cell for cell in cells if cell not in wanted])
                continue
            # Launches for what comes later are dear where candidates are cold.
            dear = self._is_cold_at_all(function)
            sizes = [cell.bytes for cell in wanted]
            chosen = sizes if dear else neighbours.pillars(sizes)
            for cell in wanted:
                if cell.bytes in chosen:
                    self._add(cell, self._first(cell))
                else:
                    self._waiting.append(cell)

    def _enter_whole(self, cells: list[Target], guards: list[Target]) -> None:
        """Our variants cell by cell; the library's own choice for all cells at once."""
        for cell in cells:
            ours = [candidate for candidate in self._first(cell) if not candidate.is_knobs]
            if ours:
                self._add(cell, ours)
        knobs = list(dict.fromkeys(candidate for cell in cells for candidate in self._first(cell)))
        knobs = [knob for knob in knobs if knob.is_knobs]
        if knobs:
            (cell, *_) = cells
            dear = self._is_cold_at_all(cell.function)
            decision = Decision(cells, knobs, self._bounds_of(cells), guards, dear)
            self._decisions.append(decision)

    def _is_cold_at_all(self, function: str) -> bool:
        return any(
            self._menu.is_cold(function, candidate) for candidate in self._menu.first(function)
        )

    def _add(self, cell: Target, candidates: Sequence[Candidate]) -> None:
        decision = Decision([cell], list(dict.fromkeys(candidates)), self._bounds_of([cell]))
        self._decisions.append(decision)
        self._exploring.add(decision)

    def _bounds_of(self, cells: Iterable[Target]) -> dict[Target, Bound]:
        return {cell: self._bounds[cell] for cell in cells if cell in self._bounds}

    def _first(self, cell: Target) -> list[Candidate]:
        """The menu, each algorithm that shares launches in the middle of its parameters too (where
        cases are cheap with all of them, if they are few), and what was found for the cell
        elsewhere."""
        menu = self._menu.first(cell.function)
        hot = [candidate for candidate in menu if not self._menu.is_cold(cell.function, candidate)]
        if self._refine:
            most = _FEW if self._effort.at_once else 1
            for candidate in hot:
                menu = menu + self._menu.every(cell.function, candidate, cell.bytes, most)
        found = [
            candidate
            for candidate in self._earlier(cell)
            if self._menu.offers(cell.function, candidate, cell.bytes)
        ]
        idle = self._idle.get(cell, ())
        return [
            candidate
            for candidate in dict.fromkeys([*menu, *found])
            if variant_name(candidate.variant) not in idle
        ]

    def _open(self) -> list[Decision]:
        return [decision for decision in self._decisions if not decision.stopped]

    def _entries(self) -> dict[Target, list[Candidate]]:
        """What the next look measures."""
        found: dict[Target, list[Candidate]] = {}
        for decision in self._open():
            for cell in decision.all_cells:
                found.setdefault(cell, []).extend(decision.racing)
        for cell, proposals in self._exploring.proposals():
            found.setdefault(cell, []).extend(proposals)
        return found

    def _beside(self) -> list[PlanCase]:
        found = [bound.case for decision in self._open() for bound in decision.bounds.values()]
        return list(dict.fromkeys(found))

    # --- what a look says ---------------------------------------------------------------------

    def _learn(self) -> None:
        """Proposals join the race of their cells, and their study is told; then all are judged."""
        self._exploring.learn()
        for decision in self._open():
            self._judge.drop(decision, self._heats.is_out)

    def _advance(self, *, refine: bool) -> None:
        """New proposals, cells whose neighbours are done with theirs, and ends."""
        self._exploring.advance()
        if refine:
            self._borrow()
        for decision in self._open():
            ranges = self._by_range(decision) if refine else []
            decision.racing += ranges
            looked = decision.looks > 1 or not decision.guards or not decision.racing
            if looked and not ranges and not self._exploring.explores(decision):
                decision.untried = self._untried(decision)
                decision.stopped = decision.untried or self._judge.stop(decision)
        self._admit()

    def _by_range(self, of: Decision) -> list[Candidate]:
        """What the algorithms of a choice for all sizes come to, each where it is best."""
        knob = self._menu.ranged(of.cells[0].function)
        if not knob or len(of.all_cells) < 2:
            return []
        known = {candidate for cell in of.all_cells for candidate in self._ever.get(cell, ())}
        tried = [
            candidate for candidate in known if by_size.has_sizes(candidate.configuration.get(knob))
        ]
        if len(tried) >= _FEW_RANGES:
            return []
        found = ranged.candidate(knob, {cell.bytes: self._trials(cell) for cell in of.all_cells})
        return [found] if found and found not in known else []

    def _untried(self, one: Decision) -> str:
        """Says so where there was no time for candidates; '' where there was."""
        waiting = [
            each
            for each in one.racing
            if self._judge.lead(one, each) is None
            and not any(self._heats.is_out(cell, each) for cell in one.all_cells)
        ]
        if not waiting or self._has_time():
            return ""
        return f"the budget was used up before {counted(len(waiting), 'candidate')} could be tried"

    def _borrow(self) -> None:
        """What leads at a neighbouring size races here too."""
        for decision in self._open():
            (cell, *others) = decision.cells
            if others or not decision.looks or not decision.racing:
                continue
            known = self._ever.get(cell, set())
            decision.racing += [
                hint
                for hint in self._exploring.leaders_near(cell)
                if hint not in known
                and variant_name(hint.variant) not in self._idle.get(cell, ())
                and self._menu.offers(cell.function, hint, cell.bytes)
            ]

    def _admit(self) -> None:
        """Sizes between two pillars enter when both are done with their parameters."""
        waiting, self._waiting = self._waiting, []
        known = {
            decision.cells[0]: decision
            for decision in self._decisions
            if decision.cells[0] not in waiting
        }
        for cell in waiting:
            sizes = sorted(near.bytes for near in known if near.function == cell.function)
            ends = [Target(cell.function, end) for end in neighbours.around(cell.bytes, sizes)]
            low, high = (known[end] for end in ends)
            if not all(
                decision.looks and not self._exploring.explores(decision)
                for decision in (low, high)
            ):
                self._waiting.append(cell)
                continue
            menu = [
                candidate
                for candidate in self._menu.first(cell.function)
                if not self._is_bad(candidate, ends)
            ]
            deviations = self._effort.deviations(len(menu))
            racing = neighbours.unbeaten(self._evidence, ends, menu, deviations)
            racing += [
                candidate
                for end in (low, high)
                for candidate in self._judge.ranked(end, self._measured_at(end.cells[0]))[:2]
                if self._menu.offers(cell.function, candidate, cell.bytes)
            ]
            idle = self._idle.get(cell, ())
            self._add(
                cell,
                [candidate for candidate in racing if variant_name(candidate.variant) not in idle],
            )

    def _is_bad(self, candidate: Candidate, ends: Iterable[Target]) -> bool:
        """What crashed or was wrong at a neighbouring size, or has no result at both."""
        found = [self._heats.failed.get((end, candidate)) for end in ends]
        bad = [trial for trial in found if trial is not None]
        return len(bad) == len(found) or any(trial.state in ("wrong", "failed") for trial in bad)

    # --- figures ------------------------------------------------------------------------------

    def _measured_at(self, target: Target) -> list[Candidate]:
        """Without what stands beside a cell only as its bound or as a witness."""
        entered = self._ever.get(target, set())
        return [
            candidate
            for candidate in self._evidence.candidates(target)
            if candidate in entered and (target, candidate) not in self._heats.failed
        ]

    def _trials(self, target: Target) -> list[Trial]:
        measured = [self._judge.trial(target, candidate) for candidate in self._measured_at(target)]
        failed = [
            trial for (cell, _), trial in sorted(self._heats.failed.items()) if cell == target
        ]
        return measured + failed
