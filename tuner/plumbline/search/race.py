"""Races: candidates of many cells measured side by side in the same launches.

Algorithms first, each with the library's own parameters; then parameters of the algorithms that
are still near the front, as an Optuna study proposes them; then the front runners against the
default over enough launches for a verdict. Every ratio is candidate over default, paired by
launch."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from plumbline.measure import Laboratory, Series
from plumbline.plan import Plan, PlanCase
from plumbline.verify.statistics import Comparison, exact_ratio, paired_ratio
from plumbline_db import runs
from plumbline_db.records import Medians, Trial

from .candidates import DEFAULT, Candidate, Menu
from .study import Study


class Target(msgspec.Struct, frozen=True, order=True):
    """A cell to be made faster."""

    function: str
    bytes: int


class Effort(msgspec.Struct, frozen=True):
    """Launches of each heat, and how many candidates go on: those within `band` of the best, at
    most `front`; `proposals` parameter sets a cell and batch, at most `batches` batches. `repeats`:
    launches repeat each other, so that their ratios are compared as they are."""

    algorithms: int = 3
    parameters: int = 2
    final: int = 8
    band: float = 1.15
    front: int = 3
    proposals: int = 6
    batches: int = 2
    repeats: bool = False

    def compare(self, log_ratios: Sequence[float]) -> Comparison:
        return exact_ratio(log_ratios) if self.repeats else paired_ratio(log_ratios)


# On a simulated machine.
ONE_LAUNCH = Effort(algorithms=1, parameters=1, final=1, repeats=True)


class Race:
    """One round of search over many targets. `run` returns the trials of each."""

    def __init__(
        self,
        lab: Laboratory,
        menu: Menu,
        plan: Plan,
        environment: Mapping[str, str],
        effort: Effort,
        suite: str,
    ) -> None:
        self._lab = lab
        self._menu = menu
        self._plan = plan
        self._environment = environment
        self._effort = effort
        self._suite = suite
        self._suites: list[str] = []
        self._failed: dict[tuple[Target, Candidate], Trial] = {}
        self._ratios: dict[Target, dict[Candidate, Comparison]] = {}

    @property
    def suites(self) -> list[str]:
        return list(self._suites)

    def run(
        self,
        targets: Sequence[Target],
        *,
        refine: bool,
        without: Mapping[Target, Collection[str]] | None = None,
    ) -> dict[Target, list[Trial]]:
        """`refine` says whether the budget allows the parameter heats; `without` names variants
        that do not race in a cell."""
        idle = without or {}
        self._heat(
            "algorithms",
            self._effort.algorithms,
            {
                target: [
                    one
                    for one in self._menu.first(target.function)
                    if one.variant not in idle.get(target, ())
                ]
                for target in targets
            },
        )
        if refine:
            self._parameters(targets)
        self._heat("final", self._effort.final, {target: self._front(target) for target in targets})
        return {target: self._trials(target) for target in targets}

    def duplicate(self) -> Comparison | None:
        """The default on a duplicate over the default on MPI_COMM_WORLD, in all launches so far.
        Hot knobs are measured on duplicates; a library that treats these apart must be known."""
        medians = runs.medians(self._lab.db, self._lab.campaign, self._suites)
        world = {
            (one.case.function, one.case.bytes): dict(zip(one.runs, one.seconds, strict=True))
            for one in medians
            if one.case.config == "default" and one.case.variant == "default"
        }
        logs = [
            math.log(seconds / world[one.case.function, one.case.bytes][run])
            for one in medians
            if one.case.config == "plain"
            for run, seconds in zip(one.runs, one.seconds, strict=True)
        ]
        return self._effort.compare(logs) if logs else None

    def comparison(self, target: Target, candidate: Candidate) -> Comparison | None:
        return self._ratios.get(target, {}).get(candidate)

    def _parameters(self, targets: Sequence[Target]) -> None:
        studies = {}
        for index, target in enumerate(targets):
            known = {
                candidate: found.ratio
                for candidate, found in self._ratios.get(target, {}).items()
                if self._menu.choices(target.function, candidate, target.bytes)
            }
            survivors = [one for one in self._front(target) if one in known]
            if survivors:
                studies[target] = Study(
                    self._menu,
                    target.function,
                    target.bytes,
                    survivors,
                    known,
                    self._plan.seed + index,
                )
        for batch in range(self._effort.batches):
            asked = {one: study.ask(self._effort.proposals) for one, study in studies.items()}
            asked = {target: proposals for target, proposals in asked.items() if proposals}
            if not asked:
                return
            best = {target: self._best(target) for target in asked}
            self._heat(f"parameters-{batch + 1}", self._effort.parameters, asked)
            for target, proposals in asked.items():
                for candidate in proposals:
                    found = self.comparison(target, candidate)
                    studies[target].tell(candidate, found.ratio if found else None)
                if self._best(target) > best[target] * 0.98:
                    del studies[target]  # a batch that gained less than 2 % was the last

    def _heat(
        self, name: str, launches: int, entries: Mapping[Target, Sequence[Candidate]]
    ) -> None:
        """`launches` launches of every entry beside its cell's default, then all ratios anew."""
        cases: list[PlanCase] = []
        for target, candidates in entries.items():
            running = [one for one in candidates if (target, one) not in self._failed]
            if running:
                cases.append(DEFAULT.case(target.function, target.bytes))
                cases += [one.case(target.function, target.bytes) for one in running]
        if not cases:
            return
        # The default on a plain duplicate beside MPI_COMM_WORLD's: some libraries treat them apart.
        cases.append(msgspec.structs.replace(cases[0], plain_duplicate=True))
        suite = f"{self._suite}-{name}"
        plan = msgspec.structs.replace(self._plan, cases=tuple(dict.fromkeys(cases)))
        series = Series(self._lab, suite, plan, self._environment)
        series.advance(launches)
        self._suites.append(suite)
        for dropped in series.dropped:
            self._fail(dropped, "failed", "a launch failed with this case under way")
        for run in runs.listing(self._lab.db, self._lab.campaign, [suite]):
            for case, check in runs.checks(self._lab.db, self._lab.campaign, suite, run.sequence):
                if check.outcome != "ok":
                    state = "failed" if check.outcome == "error" else check.outcome
                    knobs = tuple(sorted(case.knobs.items()))
                    plan_case = PlanCase(case.function, case.bytes, case.variant, knobs)
                    self._fail(plan_case, state, check.detail)
        self._compare(entries)

    def _fail(
        self,
        case: PlanCase,
        state: Literal["wrong", "failed", "not_in_force", "unsupported"],
        detail: str,
    ) -> None:
        candidate = Candidate(case.variant, case.knobs)
        self._failed[Target(case.function, case.bytes), candidate] = Trial(
            variant=case.variant,
            knobs=dict(case.knobs),
            state=state,
            ratio=None,
            ratio_low=None,
            ratio_high=None,
            launches=0,
            detail=detail,
        )

    def _compare(self, targets: Iterable[Target]) -> None:
        medians = index(runs.medians(self._lab.db, self._lab.campaign, self._suites))
        for target in targets:
            reference = medians.get((target, DEFAULT))
            found = self._ratios.setdefault(target, {})
            for (other, candidate), times in medians.items():
                if other == target and candidate != DEFAULT and reference:
                    logs = [
                        math.log(seconds / reference[run])
                        for run, seconds in times.items()
                        if run in reference
                    ]
                    if logs:
                        found[candidate] = self._effort.compare(logs)

    def _best(self, target: Target) -> float:
        return min((one.ratio for one in self._ratios.get(target, {}).values()), default=1.0)

    def _front(self, target: Target) -> list[Candidate]:
        """Candidates near the best. A knob and a variant of ours are not rivals for a place: the
        final must know the best of each, as a rules file is preferred to a preload library."""
        found = self._ratios.get(target, {})
        ranked = sorted(
            (one for one in found if (target, one) not in self._failed),
            key=lambda one: found[one].ratio,
        )
        limit = max(1.0, self._best(target) * self._effort.band)
        near = [one for one in ranked if found[one].ratio <= limit]
        if self._menu.one_for_all_sizes(target.function):
            # A choice for all sizes must be known at every size, also where it is slow.
            return [one for one in ranked if one.is_knobs or one in near]
        chosen = near[: self._effort.front]
        for kind in (True, False):
            first = next((one for one in near if one.is_knobs is kind), None)
            if first is not None and first not in chosen:
                chosen.append(first)
        return chosen

    def _trials(self, target: Target) -> list[Trial]:
        measured = [
            Trial(
                variant=candidate.variant,
                knobs=dict(candidate.knobs),
                state="measured",
                ratio=found.ratio,
                ratio_low=found.low,
                ratio_high=found.high,
                launches=found.n,
                detail=found.reason,
            )
            for candidate, found in sorted(self._ratios.get(target, {}).items())
            if (target, candidate) not in self._failed
        ]
        failed = [trial for (cell, _), trial in sorted(self._failed.items()) if cell == target]
        return measured + failed


def index(medians: Iterable[Medians]) -> dict[tuple[Target, Candidate], dict[int, float]]:
    """Seconds by launch, by cell and candidate; the default is MPI_COMM_WORLD's, untouched."""
    found: dict[tuple[Target, Candidate], dict[int, float]] = {}
    for one in medians:
        case = one.case
        if case.config == "plain" or case.variant == "library" or case.ranks:
            continue
        candidate = Candidate(case.variant, tuple(sorted(case.knobs.items())))
        times = found.setdefault((Target(case.function, case.bytes), candidate), {})
        times.update(zip(one.runs, one.seconds, strict=True))
    return found
