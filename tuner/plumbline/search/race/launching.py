"""The launches of a race, look by look: candidates of many cells side by side in the same launch,
cold ones in launches of their own, in turn with it; a sample of these alone, and again alone what
is found to be touched by its company (company.py). Keeps the evidence, and what was found wrong;
decides nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.experiment import Arm, of_round
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, Entries
from plumbline.search.space.cells import Flaw
from plumbline_db import runs
from plumbline_db.records import Suite, Trial

from .cold_launches import ENOUGH_REFERENCES, ColdLaunches, Comparands
from .company import Company
from .effort import Effort
from .equivalent import equivalent_variants, passed_over
from .evidence import COLD
from .past import Past

# log(candidate / default), one value for each launch.
_Ratios = dict[Target, dict[Candidate, list[float]]]


class RaceLaunches:
    """The launches of one race: an `arm` without cases, which each look fills. `suites` are those
    of the launches so far. `passed_over` are cold candidates of functions that were not worth a
    launch, with the reason."""

    def __init__(
        self,
        store: LaunchStore,
        candidate_space: CandidateSpace,
        arm: Arm,
        effort: Effort,
        past: Past,
    ) -> None:
        self.suites: list[str] = []
        self.cold_suites: list[str] = []
        self.failed, self.evidence = past.failed, past.evidence
        self.passed_over: dict[tuple[str, Candidate], str] = {}
        self._past = past
        self._company = past.company or Company(candidate_space, arm.plan.harness)
        self._store = store
        self._candidate_space = candidate_space
        self._arm = arm
        self._effort = effort
        self._looks = 0
        self._launch = 0  # of the last look: its number in the database

    def look(self, entries: Entries, beside: Sequence[PlanCase], *, blocks: int) -> bool:
        """One launch of every entry beside its cell's default, and of the cases `beside`; whether
        there was anything to launch."""
        hot, cold = self._divided(entries)
        if not (
            hot or cold or any(self._lacks_default(entry) for entry in entries if entries[entry])
        ):
            return False
        self._looks += 1
        suite = self._arm.suite.at(self._looks)
        # Each look has its own orders and data.
        plan = of_round(self._arm.plan, self._looks)
        plan = msgspec.structs.replace(plan, blocks=blocks)
        if self.evidence.exact:
            reference_variants = equivalent_variants(self._candidate_space, entries, cold)
        else:
            reference_variants = self._reference_variants(cold)
        cases = self._cases(entries, hot, cold, reference_variants)
        cases += [case for case in beside if self._is_new(case)]
        if cases:
            ran = self._hot(suite, plan, cases, hot)
            # Calls in a longer series are faster, and cold launches are compared with this launch.
            plan = msgspec.structs.replace(plan, reps=ran.reps, blocks=ran.blocks)
        if cold:
            if self.evidence.exact:
                # If launches repeat each other, the first result of our variants stays valid.
                cold = self._worth_a_launch(entries, cold)
                reference_variants = self._reference_variants(cold)
            self._cold(suite, plan, cold, reference_variants)
        return True

    def duplicates(self) -> list[float]:
        """log(default on a plain duplicate / default on MPI_COMM_WORLD), a launch each."""
        medians = runs.medians(self._store.db, self._store.campaign, self.suites)
        world = {
            (median.case.function, median.case.bytes): dict(
                zip(median.runs, median.seconds, strict=True)
            )
            for median in medians
            if median.case.config == "default" and median.case.variant == "default"
        }
        return [
            math.log(seconds / default[run])
            for median in medians
            if median.case.config == "plain"
            for default in [world.get((median.case.function, median.case.bytes), {})]
            for run, seconds in zip(median.runs, median.seconds, strict=True)
            if run in default
        ]

    @property
    def is_quiet(self) -> bool:
        """Return whether the last launch ran beside nothing else."""
        return self._store.is_quiet

    def is_hot(self, target: Target, candidate: Candidate) -> bool:
        """Return whether it shares launches."""
        return not self._candidate_space.is_cold(target.function, candidate)

    def last_samples(self) -> list[runs.LaunchSamples]:
        """Return those of the last launch that candidates shared, in all ways of use."""
        store = self._store
        return runs.launch_samples(store.db, store.campaign, self.suites[-1:], use=None)

    def is_out(self, target: Target, candidate: Candidate) -> bool:
        """Return whether it has failed there, or was passed over."""
        over = (target.function, candidate) in self.passed_over
        return over or (target, candidate) in self.failed

    def _worth_a_launch(
        self, entries: Entries, cold: dict[Target, list[Candidate]]
    ) -> dict[Target, list[Candidate]]:
        over = passed_over(self._candidate_space, self._past, entries, cold, self._effort)
        self.passed_over |= over
        worth_launching = {
            target: [
                candidate for candidate in candidates if (target.function, candidate) not in over
            ]
            for target, candidates in cold.items()
        }
        return {target: candidates for target, candidates in worth_launching.items() if candidates}

    def fail(self, target: Target, candidate: Candidate, flaw: Flaw) -> None:
        if candidate == DEFAULT:
            return
        self.failed[target, candidate] = Trial(
            variant=candidate.variant,
            knobs=candidate.configuration.as_dict(),
            state=flaw.state,
            ratio=None,
            ratio_low=None,
            ratio_high=None,
            launches=0,
            detail=flaw.detail,
        )

    def _divided(
        self, entries: Entries
    ) -> tuple[dict[Target, list[Candidate]], dict[Target, list[Candidate]]]:
        """Return those that share launches, and those that need their own; without what has failed,
        and where launches repeat each other without what is known."""
        hot: dict[Target, list[Candidate]] = {}
        cold: dict[Target, list[Candidate]] = {}
        for target, candidates in entries.items():
            for candidate in dict.fromkeys(candidates):
                if (target, candidate) in self.failed or self._is_aside(target, candidate):
                    continue
                if self.evidence.exact and self.evidence.knows(target, candidate):
                    continue
                side = cold if self._candidate_space.is_cold(target.function, candidate) else hot
                side.setdefault(target, []).append(candidate)
        return hot, cold

    def _is_aside(self, target: Target, candidate: Candidate) -> bool:
        """Return whether a candidate that shares launches has ended some, which is an outcome."""
        why = ""
        if not self._candidate_space.is_cold(target.function, candidate):
            case = candidate.case(target.function, target.bytes)
            why = self._store.aside.why(case, self._arm.environment)
        if why:
            self.fail(target, candidate, Flaw("failed", why))
        return bool(why)

    def _cases(
        self,
        entries: Entries,
        hot: Entries,
        cold: Entries,
        reference_variants: Mapping[Target, Sequence[str]],
    ) -> list[PlanCase]:
        found: list[PlanCase] = []
        for target, candidates in entries.items():
            if target in hot or target in cold or (candidates and self._lacks_default(target)):
                running = [DEFAULT, *hot.get(target, ())]
                running += [Candidate(variant) for variant in reference_variants.get(target, ())]
                cases = [candidate.case(target.function, target.bytes) for candidate in running]
                found += [case for case in cases if self._is_new(case)]
        return found

    def _lacks_default(self, target: Target) -> bool:
        """All candidates may be known from elsewhere, and what they are compared with is not."""
        return self.evidence.exact and not self.evidence.knows(target, DEFAULT)

    def _is_new(self, case: PlanCase) -> bool:
        """False for what need not be measured again, as the machine repeats itself."""
        cell = Target(case.function, case.bytes), Candidate(case.variant, case.configuration)
        return not (self.evidence.exact and self.evidence.knows(*cell))

    def _hot(self, suite: Suite, plan: Plan, cases: Sequence[PlanCase], entered: Entries) -> Plan:
        """The plan of the launch, with as many samples as it has room for."""
        cases = list(cases)
        default = next(
            (case for case in cases if case.variant == "default" and not case.configuration), None
        )
        if default is not None and any(case.configuration for case in cases):
            # The default is also measured on a plain duplicate of MPI_COMM_WORLD: some libraries
            # treat the two differently.
            cases.append(msgspec.structs.replace(default, plain_duplicate=True))
        plan = msgspec.structs.replace(plan, cases=tuple(dict.fromkeys(cases)))
        plan = self._store.filled(suite, plan)
        series = Series(self._store, suite, plan, self._arm.environment)
        series.advance()
        self.suites.append(suite.name)
        running = {
            (target, candidate)
            for target, candidates in entered.items()
            for candidate in candidates
        }
        store = self._store
        for planned in plan.cases:
            cell = (
                Target(planned.function, planned.bytes),
                Candidate(planned.variant, planned.configuration),
            )
            why = store.aside.why(planned, self._arm.environment)
            if planned in series.dropped:
                why = why or "a launch failed with this case under way"
            if why and cell in running:
                self.fail(*cell, Flaw("failed", why))
        for run in runs.listing(store.db, store.campaign, [suite.name]):
            for case, check in runs.checks(store.db, store.campaign, suite.name, run.sequence):
                candidate = Candidate(case.variant, Configuration.of(case.knobs))
                cell = Target(case.function, case.bytes), candidate
                if check.outcome != "ok" and cell in running:
                    self.fail(*cell, Flaw.of(check))
        samples_of_launch = runs.launch_samples(store.db, store.campaign, [suite.name])
        self.evidence.add(samples_of_launch, plan.blocks, disturbed=not self._store.is_quiet)
        self._launch = max(
            (run for samples in samples_of_launch for run in samples.runs), default=self._launch
        )
        return plan

    def _cold(
        self,
        suite: Suite,
        plan: Plan,
        entered: Entries,
        reference_variants: Mapping[Target, Sequence[str]],
    ) -> None:
        # The launch of the untuned library in this look; any launch, if launches repeat each other.
        launch = None if self.evidence.exact else self._launch
        plain = {
            (target, candidate): seconds
            for target in entered
            for candidate in (DEFAULT, *map(Candidate, reference_variants.get(target, ())))
            if (seconds := self.evidence.seconds(target, candidate, launch)) is not None
        }

        comparands = Comparands(
            plain=plain,
            reference_variants=reference_variants,
            error=0.0 if self.evidence.exact else COLD * self.evidence.spread,
            whole={
                cell.function
                for cell in entered
                if self._candidate_space.one_for_all_sizes(cell.function)
            },
        )
        arm = Arm(suite, plan, self._arm.environment)
        look = _ColdLook(self._store, arm, self._company, comparands, self._effort.may_launch)
        cold_ratios = look.run(entered)
        self.cold_suites += look.suites
        for (target, candidate), flaw in look.flaws.items():
            self.fail(target, candidate, flaw)
        self.evidence.forget_cold(look.touched)
        for target, ratios in cold_ratios.items():
            for candidate, logs in ratios.items():
                for log in logs:
                    self.evidence.add_cold(target, candidate, self._launch, log)

    def _reference_variants(self, cold: Entries) -> dict[Target, list[str]]:
        """One for each cell, which checks its result; more where the factor between
        launches must be seen. The fastest that are known: they cost what the candidate costs."""
        count = 1 if self.evidence.exact else -(-ENOUGH_REFERENCES // max(1, len(cold)))
        names_by_cell = {}
        for target in cold:
            names = [
                variant
                for variant in self._candidate_space.reference_variants(target.function)
                if not self._store.aside.why(PlanCase(target.function, target.bytes, variant))
            ]
            seconds_by_name = {
                name: seconds
                for name in names
                if (seconds := self.evidence.seconds(target, Candidate(name))) is not None
            }
            ranked = sorted(seconds_by_name, key=lambda name: seconds_by_name[name])
            names_by_cell[target] = [
                *ranked,
                *(name for name in names if name not in seconds_by_name),
            ][:count]
        return names_by_cell


class _ColdLook:
    """The cold launches of one look, each begun if `go_on` says so. Afterwards `touched` are the
    functions that were found only now to take another time in company, of which nothing that was
    measured before stands; `flaws` and `suites` are as those of ColdLaunches."""

    def __init__(
        self,
        store: LaunchStore,
        arm: Arm,
        company: Company,
        comparands: Comparands,
        go_on: Callable[[], bool],
    ) -> None:
        self.suites: list[str] = []
        self.flaws: dict[tuple[Target, Candidate], Flaw] = {}
        self.touched: set[str] = set()
        self._store = store
        self._arm = arm
        self._company = company
        self._comparands = comparands
        self._go_on = go_on

    def run(self, entered: Entries) -> _Ratios:
        suite = self._arm.suite
        launches = self._launch(suite, entered)
        cold_ratios = launches.ratios()
        sample = self._company.sample(launches.shared, cold_ratios)
        all_launches = [launches]
        if sample:
            all_launches.append(self._launch(suite.of("alone"), sample))
            self._compare(cold_ratios, all_launches[-1].ratios(), sample)
        for launches_made in all_launches:
            for function, logs in launches_made.touched().items():
                self._learn(function, "the default", logs)
        if self.touched:
            again = {
                target: [
                    candidate for candidate in candidates if (target, candidate) not in self.flaws
                ]
                for target, candidates in entered.items()
                if target.function in self.touched
            }
            alone = self._launch(suite.of("apart"), again).ratios()
            cold_ratios = {
                cell: of for cell, of in cold_ratios.items() if cell.function not in self.touched
            }
            cold_ratios |= alone
        return cold_ratios

    def _launch(self, suite: Suite, entries: Entries) -> ColdLaunches:
        arm = msgspec.structs.replace(self._arm, suite=suite)
        launches = ColdLaunches(self._store, arm, entries, self._company, self._comparands)
        launches.run(self._go_on)
        self.suites += launches.suites
        self.flaws |= launches.flaws
        return launches

    def _compare(self, together: _Ratios, alone: _Ratios, sample: Entries) -> None:
        logs: dict[tuple[str, Candidate], list[float]] = {}
        for target, candidates in sample.items():
            for candidate in candidates:
                in_company, on_its_own = (
                    together[target][candidate],
                    alone.get(target, {}).get(candidate),
                )
                if on_its_own:
                    log = statistics.median(in_company) - statistics.median(on_its_own)
                    logs.setdefault((target.function, candidate), []).append(log)
        for (function, candidate), differences in logs.items():
            label = str(candidate.configuration)
            self._learn(function, label, differences)

    def _learn(self, function: str, what: str, logs: Sequence[float]) -> None:
        if self._company.learn(function, what, logs, self._comparands.error):
            self.touched.add(function)
