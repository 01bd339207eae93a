"""The beginnings of the races of a campaign, with what is known before, and what is said of them
besides who wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from plumbline.core.cell import Target
from plumbline.core.variant_spec import variant_name
from plumbline.measure.experiment import Arm
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

from . import outcome
from .budget import Budget
from .race import neighbours
from .race.company import Company
from .race.effort import Effort
from .race.evidence import Evidence, spread_of, usual_of
from .race.past import Past
from .race.race import Race
from .setup import Setup
from .space.candidates import Candidate, CandidateSpace


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
            self._past.evidence.add(samples_of_table, self._plan.blocks)
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
