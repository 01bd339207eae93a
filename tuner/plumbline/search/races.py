"""The beginnings of the races of a campaign, with what is known before, and what is said of them
besides who wins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import variant_name
from plumbline.core.plan import Plan
from plumbline.core.winner import deciding
from plumbline.launch.simulated import MANY
from plumbline.measure.comparison import Arm
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

from . import outcome
from .budget import Budget
from .race import neighbours
from .race.cold_launches import Company
from .race.effort import Effort
from .race.evidence import Evidence, spread_of, usual_of
from .race.neighbours import Past
from .race.race import Race
from .space.candidates import DEFAULT, Candidate, CandidateSpace
from .space.select import Selection, Weights


class Setup(msgspec.Struct, frozen=True):
    """`plan`: of a launch without its cases; `sizes`: the measured sizes by function."""

    store: LaunchStore
    settings: Settings
    candidate_space: CandidateSpace
    plan: Plan
    sizes: Mapping[str, Sequence[int]]

    @property
    def weights(self) -> Weights | None:
        return self.settings.weights(self.sizes)

    @property
    def at_once(self) -> bool:
        """Return whether one launch may hold all that is asked: a case of a large simulated machine
        takes as long as a launch of a small one."""
        ranks = self.settings.ranks
        return ranks.simulate is not None and ranks.nprocs < MANY

    def selection(self, candidate_space: CandidateSpace) -> Selection:
        """Return what chooses winners among these candidates."""
        return Selection(
            candidate_space,
            self.sizes,
            nprocs=self.settings.ranks.nprocs,
            ppn=self.settings.ranks.ppn,
            tolerance=self.settings.claims.tolerance,
            weights=self.weights,
        )


# Races beyond the cells that a table asks for: at every size of a function what has won at one of
# them, and what wins at most sizes of a node, the variants that share memory. It is one case or two
# a cell, in launches that are made anyway. Pure.

# The candidates of each cell.
Favourites = Mapping[Target, Sequence[Candidate]]


class Spread:
    """The favourites of one campaign. `usual`: whether what shares memory is tried too."""

    def __init__(self, candidate_space: CandidateSpace, *, usual: bool) -> None:
        self._space = candidate_space
        self._usual = usual
        self._tried: dict[Target, set[Candidate]] = {}

    def favourites(
        self,
        cells: Iterable[Target],
        winners: Sequence[Winner],
        *,
        refused: Mapping[Target, Collection[str]],
    ) -> Favourites:
        """Return what has not been tried so in each of these `cells`, where no winner holds, and
        is not `refused` there. Hot ones alone, and of the library only what may be chosen size by
        size."""
        won: dict[str, set[Candidate]] = {}
        for winner in winners:
            won.setdefault(winner.function, set()).add(Candidate.of_winner(winner))
        entries = {}
        for cell in cells:
            if _held(winners, cell):
                continue
            candidates = won.get(cell.function, set()) | self._of_a_node(cell.function)
            new = candidates - self._tried.get(cell, set())
            offered = sorted(
                candidate
                for candidate in new
                if variant_name(candidate.variant) not in refused.get(cell, ())
                and self._is_fit(cell, candidate)
            )
            if offered:
                entries[cell] = offered
        return entries

    def enter(self, entries: Favourites) -> None:
        """Note that these race now."""
        for cell, candidates in entries.items():
            self._tried.setdefault(cell, set()).update(candidates)

    def _of_a_node(self, function: str) -> set[Candidate]:
        return set(self._space.of_a_node(function)) if self._usual else set()

    def _is_fit(self, cell: Target, candidate: Candidate) -> bool:
        """The table has measured mock-ups."""
        if candidate == DEFAULT or self._space.is_cold(cell.function, candidate):
            return False
        if variant_name(candidate.variant) in self._space.mockups(cell.function):
            return False
        if candidate.is_knobs and self._space.one_for_all_sizes(cell.function):
            return False
        return self._space.offers(cell.function, candidate, cell.bytes)


def _held(winners: Sequence[Winner], cell: Target) -> bool:
    holding = deciding(winners, cell)
    return holding is not None and holding.function != EVERY_FUNCTION


class Races:
    """The races of one campaign; `uses`: the other ways of use, in which winners have to hold."""

    def __init__(self, setup: Setup, budget: Budget, uses: Sequence[str]) -> None:
        self._store = setup.store
        self._plan = setup.plan
        self._settings = setup.settings
        self._effort = Effort(
            at_once=setup.at_once,
            alpha=setup.settings.claims.alpha,
            tolerance=setup.settings.claims.tolerance,
            weights=setup.weights,
            uses=uses,
            has_time=budget.left,
        )
        self._past: Past | None = None
        self._measured: list[tuple[Winner, str]] = []
        self._company = Company(setup.candidate_space, setup.plan.harness)
        self._told: set[str] = set()

    def stands_on(self, winner: Winner, suite: str) -> None:
        """The table was measured in a suite with a setting of the process in force."""
        self._measured.append((winner, suite))

    def _as_it_is(self, in_force: Sequence[Winner]) -> str:
        """The suite that has measured the library with the settings that are in force."""
        settings = [
            winner.configuration for winner in in_force if winner.function == EVERY_FUNCTION
        ]
        if not settings:
            return "before"
        suites = [suite for setting, suite in self._measured if [setting.configuration] == settings]
        return suites[-1] if suites else ""

    def begin(
        self,
        candidate_space: CandidateSpace,
        suite: Suite,
        environment: Mapping[str, str],
        in_force: Sequence[Winner],
    ) -> Race:
        """Return a race in launches with this `environment`, which puts the winners `in_force`."""
        store, effort = self._store, self._effort
        if self._settings.ranks.simulate is None:
            # The table shows the spread between launches on this machine.
            medians = runs.medians(store.db, store.campaign, ["before"])
            own = self._as_it_is(in_force)
            usual = runs.medians(store.db, store.campaign, [own]) if own else []
            past = Past(Evidence(exact=False, spread=spread_of(medians), usual=usual_of(usual)))
        else:
            effort = effort.of_one_launch()
            past = self._known()
            if environment:
                whole = any(winner.function == EVERY_FUNCTION for winner in in_force)
                touched = {*self._plan.harness, EVERY_FUNCTION}
                evidence = Evidence(exact=True)
                if touched.isdisjoint(winner.function for winner in in_force):
                    evidence = past.evidence.only(partial(_is_reference, candidate_space))
                past = Past(evidence, before=None if whole else past.evidence)
        past = msgspec.structs.replace(
            past,
            company=self._company,
            in_force=in_force,
            earlier=neighbours.earlier(store.db, store.campaign, candidate_space.refusal),
        )
        return Race(store, candidate_space, Arm(suite, self._plan, environment), effort, past)

    def _known(self) -> Past:
        """Return the past of a simulated machine with the library as it is, from the table on."""
        if self._past is None:
            self._past = Past(Evidence(exact=True))
            samples_of_table = runs.launch_samples(self._store.db, self._store.campaign, ["before"])
            self._past.evidence.add(samples_of_table, self._plan.blocks, self._plan.reps)
        return self._past

    def tell_passed_over(self, race: Race) -> None:
        if race.passed_over:
            sentences = (
                f"{function} {outcome.label(of.variant, of.configuration.as_dict())}: {reason}"
                for (function, of), reason in race.passed_over.items()
            )
            self._store.tell("passed over", "; ".join(sentences), race.suite.name)

    def tell_apart(self, race: Race) -> None:
        """Each function once."""
        for function, reason in self._company.apart.items():
            if function not in self._told:
                self._told.add(function)
                text = f"{function}: {reason}"
                self._store.tell("measured alone", text, race.suite.name, function)

    def compare_duplicate(self, race: Race) -> None:
        comparison = race.duplicate()
        if comparison is None or comparison.low is None or comparison.high is None:
            return
        within = 1 + self._settings.claims.tolerance
        if comparison.low > within or comparison.high < 1 / within:
            text = (
                f"the default takes {comparison.ratio:.2f} [{comparison.low:.2f}, "
                f"{comparison.high:.2f}] times as "
                "long on a duplicate as on MPI_COMM_WORLD; ratios of knobs in this search carry "
                "that factor"
            )
            self._store.tell("communicators differ", text, race.suites[-1])


def _is_reference(candidate_space: CandidateSpace, target: Target, candidate: Candidate) -> bool:
    """Return whether it sends messages and is made of nothing that a winner in force can be
    about."""
    return variant_name(candidate.variant) in candidate_space.reference_variants(target.function)
