"""Races: candidates of many cells measured side by side in the same launches; cold ones, which need
launches of their own, in turn with these (cold.py).

Algorithms first, each with the library's own parameters; then parameters of the algorithms that
are still near the front, as an Optuna study proposes them; then the front runners against the
default over enough launches for a verdict. Every ratio is candidate over default, paired by
launch."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.measure import Laboratory, Series
from plumbline.plan import Plan, PlanCase
from plumbline.verify.statistics import Comparison, exact_ratio, paired_ratio
from plumbline_db import runs
from plumbline_db.records import Trial

from .candidates import DEFAULT, Candidate, Menu
from .cells import Flaw, Target, index
from .cold import ENOUGH_ANCHORS, ColdHeat
from .study import Study

__all__ = ["ONE_LAUNCH", "Effort", "Race", "Target", "index"]


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


class _Studied(msgspec.Struct, frozen=True):
    """Cells whose parameters are proposed by one study."""

    cells: list[Target]
    study: Study


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
        self._cold_suites: list[str] = []
        self._entered: set[tuple[Target, Candidate]] = set()
        self._cold: dict[Target, dict[Candidate, list[float]]] = {}
        self._failed: dict[tuple[Target, Candidate], Trial] = {}
        self._ratios: dict[Target, dict[Candidate, Comparison]] = {}

    @property
    def suites(self) -> list[str]:
        return self._suites + self._cold_suites

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

    def measure(
        self, name: str, entries: Mapping[Target, Sequence[Candidate]]
    ) -> dict[Target, list[Trial]]:
        """These candidates alone, over enough launches for a verdict."""
        self._heat(name, self._effort.final, entries)
        return {target: self._trials(target) for target in entries}

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
        studies: list[_Studied] = []
        fronts = {target: self._with_choices(target, self._front(target)) for target in targets}
        for target, front in fronts.items():
            hot = [one for one in front if not self._menu.is_cold(target.function, one)]
            if hot:
                studies.append(self._study([target], hot, len(studies)))
        # A launch has one value for all sizes of a function, and these are studied together.
        for function in dict.fromkeys(target.function for target in targets):
            cells = [target for target in targets if target.function == function]
            cold = {
                one: None
                for target in cells
                for one in fronts[target]
                if self._menu.is_cold(function, one)
            }
            if cold:
                studies.append(self._study(cells, list(cold), len(studies)))
        for batch in range(self._effort.batches):
            asked = [(one, one.study.ask(self._effort.proposals)) for one in studies]
            asked = [(one, proposals) for one, proposals in asked if proposals]
            if not asked:
                return
            entries: dict[Target, list[Candidate]] = {}
            for one, proposals in asked:
                for target in one.cells:
                    entries.setdefault(target, []).extend(proposals)
            best = {target: self._best(target) for target in entries}
            self._heat(f"parameters-{batch + 1}", self._effort.parameters, entries)
            for one, proposals in asked:
                for candidate in proposals:
                    one.study.tell(candidate, self._over(one.cells, candidate))
            # A batch that gained less than 2 % was the last.
            studies = [
                one
                for one, _ in asked
                if any(self._best(target) <= best[target] * 0.98 for target in one.cells)
            ]

    def _with_choices(self, target: Target, candidates: Iterable[Candidate]) -> list[Candidate]:
        return [one for one in candidates if self._menu.choices(target.function, one, target.bytes)]

    def _study(self, cells: list[Target], survivors: list[Candidate], number: int) -> _Studied:
        largest = max(cells)
        known = dict.fromkeys(
            one for cell in cells for one in self._with_choices(cell, self._ratios.get(cell, {}))
        )
        ratios = {one: ratio for one in known if (ratio := self._over(cells, one)) is not None}
        seed = self._plan.seed + number
        study = Study(self._menu, largest.function, largest.bytes, survivors, ratios, seed)
        return _Studied(cells, study)

    def _over(self, cells: Sequence[Target], candidate: Candidate) -> float | None:
        """The mean ratio of a candidate over the cells that know it."""
        found = [one for cell in cells if (one := self.comparison(cell, candidate)) is not None]
        if not found:
            return None
        return math.exp(sum(math.log(one.ratio) for one in found) / len(found))

    def _heat(
        self, name: str, launches: int, entries: Mapping[Target, Sequence[Candidate]]
    ) -> None:
        """`launches` launches of every entry beside its cell's default, then all ratios anew."""
        hot, cold = self._divided(entries)
        anchors = self._anchors(cold)
        cases: list[PlanCase] = []
        for target in entries:
            if hot.get(target) or cold.get(target):
                running = [DEFAULT, *hot.get(target, ())]
                self._entered |= {(target, one) for one in running}
                running += [Candidate(one) for one in anchors.get(target, ())]
                cases += [one.case(target.function, target.bytes) for one in running]
        if not cases:
            return
        if not cold or any(one.is_knobs for candidates in hot.values() for one in candidates):
            # The default on a plain duplicate beside MPI_COMM_WORLD's: some libraries treat them
            # apart.
            cases.append(msgspec.structs.replace(cases[0], plain_duplicate=True))
        suite = f"{self._suite}-{name}"
        plan = msgspec.structs.replace(self._plan, cases=tuple(dict.fromkeys(cases)))
        series = Series(self._lab, suite, plan, self._environment)
        beside = ColdHeat(
            self._lab,
            suite,
            self._plan,
            self._environment,
            cold,
            anchors,
            repeats=self._effort.repeats,
        )
        for number in range(launches):
            series.advance()
            beside.round(number)
        self._suites.append(suite)
        self._cold_suites += beside.suites
        for dropped in series.dropped:
            flaw = Flaw("failed", "a launch failed with this case under way")
            self._fail(_target(dropped), Candidate(dropped.variant, dropped.knobs), flaw)
        for run in runs.listing(self._lab.db, self._lab.campaign, [suite]):
            for case, check in runs.checks(self._lab.db, self._lab.campaign, suite, run.sequence):
                if check.outcome != "ok":
                    candidate = Candidate(case.variant, tuple(sorted(case.knobs.items())))
                    self._fail(Target(case.function, case.bytes), candidate, Flaw.of(check))
        if cold:
            self._entered |= {(target, one) for target, those in cold.items() for one in those}
            for (target, candidate), flaw in beside.flaws.items():
                self._fail(target, candidate, flaw)
            for target, found in beside.ratios(suite).items():
                known = self._cold.setdefault(target, {})
                for candidate, logs in found.items():
                    known.setdefault(candidate, []).extend(logs)
        self._compare(entries)

    def _divided(
        self, entries: Mapping[Target, Sequence[Candidate]]
    ) -> tuple[dict[Target, list[Candidate]], dict[Target, list[Candidate]]]:
        """Those that share launches, and those that need their own; without what has failed. A
        launch that repeats an earlier one is not needed."""
        hot: dict[Target, list[Candidate]] = {}
        cold: dict[Target, list[Candidate]] = {}
        for target, candidates in entries.items():
            running = [one for one in candidates if (target, one) not in self._failed]
            own = [one for one in running if self._menu.is_cold(target.function, one)]
            if shared := [one for one in running if one not in own]:
                hot[target] = shared
            if self._effort.repeats:
                own = [one for one in own if one not in self._cold.get(target, ())]
            if own:
                cold[target] = own
        return hot, cold

    def _anchors(self, cold: Mapping[Target, Sequence[Candidate]]) -> dict[Target, list[str]]:
        """One for each cell as a witness; more where the factor between launches must be seen."""
        count = 1 if self._effort.repeats else -(-ENOUGH_ANCHORS // max(1, len(cold)))
        return {target: self._menu.anchors(target.function)[:count] for target in cold}

    def _fail(self, target: Target, candidate: Candidate, flaw: Flaw) -> None:
        if (target, candidate) in self._entered:
            self._failed[target, candidate] = Trial(
                variant=candidate.variant,
                knobs=dict(candidate.knobs),
                state=flaw.state,
                ratio=None,
                ratio_low=None,
                ratio_high=None,
                launches=0,
                detail=flaw.detail,
            )

    def _compare(self, targets: Iterable[Target]) -> None:
        medians = index(runs.medians(self._lab.db, self._lab.campaign, self._suites))
        for target in targets:
            reference = medians.get((target, DEFAULT))
            found = self._ratios.setdefault(target, {})
            for (other, candidate), times in medians.items():
                entered = other == target and (target, candidate) in self._entered
                if entered and candidate != DEFAULT and reference:
                    logs = [
                        math.log(seconds / reference[run])
                        for run, seconds in times.items()
                        if run in reference
                    ]
                    if logs:
                        found[candidate] = self._effort.compare(logs)
            for candidate, logs in self._cold.get(target, {}).items():
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
            return [
                one
                for one in ranked
                if one in near or (one.is_knobs and not self._too_slow(target.function, one))
            ]
        chosen = near[: self._effort.front]
        for kind in (True, False):
            first = next((one for one in near if one.is_knobs is kind), None)
            if first is not None and first not in chosen:
                chosen.append(first)
        return chosen

    def _too_slow(self, function: str, candidate: Candidate) -> bool:
        """A cold candidate, whose launches cost, that is far behind the default in some cell."""
        if not self._menu.is_cold(function, candidate):
            return False
        known = [
            found[candidate].ratio
            for target, found in self._ratios.items()
            if target.function == function and candidate in found
        ]
        return max(known, default=1.0) > self._effort.band

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


def _target(case: PlanCase) -> Target:
    return Target(case.function, case.bytes)
