"""The launches of a race, look by look: candidates of many cells side by side in the same launch,
cold ones in launches of their own, in turn with it; a sample of these alone, and again alone what
is found to be touched by its company (`Company`). Keeps the evidence, and what was found wrong;
decides nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration, variant_name
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.comparison import Arm, of_round
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, Entries, Flaw
from plumbline_db import runs
from plumbline_db.records import Suite, Trial

from .cold_launches import ENOUGH_REFERENCES, ColdLaunches, Company, Comparands
from .effort import Effort
from .evidence import COLD, Evidence
from .neighbours import Past

# Cold candidates that are not worth a launch of their own: what is known says that they are far
# behind. Known is what they took before, with other winners in force, or what a variant of ours
# takes that sends the same messages, and was measured beside everything else. Such a prediction
# counts only where candidate and variant were seen to take the same here, at one size at least.
# Pure.

_SAME = 0.05  # so far apart may a candidate and its prediction be, to be the same


class _Behind(msgspec.Struct, frozen=True):
    """The distance by which the best that races and the default are ahead, logarithms; how far they
    may be, and who says so."""

    best: float
    default: float
    within: float
    source: str


def equivalent_variants(
    candidate_space: CandidateSpace, entries: Entries, cold: Entries
) -> dict[Target, list[str]]:
    """Variants of ours that do not race, and whose times say what candidates are worth whose
    equivalents do not race either. None where no variant races: such a cell must only not get
    slower."""
    variants_by_cell: dict[Target, list[str]] = {}
    for target, candidates in cold.items():
        if _is_guard(entries[target]):
            continue
        racing = {_name(candidate) for candidate in entries[target]}
        allowed = candidate_space.reference_variants(target.function)
        for candidate in candidates:
            equivalents = candidate_space.equivalents(target.function, candidate)
            if equivalents.isdisjoint({*racing, *variants_by_cell.get(target, ())}):
                variants_by_cell.setdefault(target, []).extend(
                    [name for name in allowed if name in equivalents][:1]
                )
    return variants_by_cell


def passed_over(
    candidate_space: CandidateSpace, past: Past, entries: Entries, cold: Entries, effort: Effort
) -> dict[tuple[str, Candidate], str]:
    """Return the `cold` candidates that are passed over, by function, with the reason. `entries` is
    all that races in the cells. A candidate is passed over where it is too far behind the best in
    every cell that it races in: it took longer before than the tolerance of the `effort` allows, or
    what sends the same messages takes longer than `alike` allows. Where one choice holds for all
    sizes, and not one for each range of them, neither cells of which nothing is known are asked nor
    those that must only not get slower (no variant races there), and one that is too far behind the
    default is enough."""
    cells: dict[tuple[str, Candidate], list[Target]] = {}
    for target, candidates in cold.items():
        for cold_candidate in candidates:
            cells.setdefault((target.function, cold_candidate), []).append(target)
    reasons: dict[tuple[str, Candidate], str] = {}
    for (function, candidate), targets in cells.items():
        racing = {target: entries[target] for target in targets}
        behind_by_cell = _behind(candidate_space, past, effort, candidate, racing)
        whole = candidate_space.one_for_all_sizes(function) and not candidate_space.ranged(function)
        if not behind_by_cell or not (whole or len(behind_by_cell) == len(targets)):
            continue
        faster = {
            cell: behind_by_cell[cell] for cell in behind_by_cell if not _is_guard(entries[cell])
        } or behind_by_cell
        nearest, near = min(
            faster.items(),
            key=lambda cell_and_behind: cell_and_behind[1].best - cell_and_behind[1].within,
        )
        farthest, far = max(
            behind_by_cell.items(),
            key=lambda cell_and_behind: cell_and_behind[1].default - cell_and_behind[1].within,
        )
        if near.best > near.within:
            reasons[function, candidate] = _said(near.source, near.best, "the best", nearest)
        elif whole and far.default > far.within:
            reasons[function, candidate] = _said(far.source, far.default, "the default", farthest)
    return reasons


def _said(source: str, log: float, rival: str, target: Target) -> str:
    return f"{source} {math.exp(log):.2f} times as long as {rival} at {target.bytes} bytes"


def _behind(
    candidate_space: CandidateSpace,
    past: Past,
    effort: Effort,
    candidate: Candidate,
    racing: Entries,
) -> dict[Target, _Behind]:
    """Return how far the candidate is behind what is `racing` in its cells, all of one function,
    where something says so."""
    function = next(target.function for target in racing)
    equivalents = candidate_space.equivalents(function, candidate)
    past_evidence = [evidence for evidence in (past.evidence, past.before) if evidence is not None]
    is_confirmed = _is_confirmed(past_evidence, function, candidate, equivalents)
    called = candidate_space.called(candidate_space.calls(function, candidate), {})
    changed = any(winner.function in called for winner in past.in_force)
    behind_by_cell: dict[Target, _Behind] = {}
    for target, others in racing.items():
        logs = _logs(past.before, target) if past.before is not None and not changed else {}
        if candidate in logs:
            log, within, source = logs[candidate], math.log1p(effort.tolerance), "it took"
        else:
            logs = _logs(past.evidence, target)
            least = _least(logs, equivalents)
            if least is None or not is_confirmed:
                continue
            log, within = least, math.log(effort.alike)
            source = "a variant of ours with the same messages takes"
        behind_by_cell[target] = _Behind(log - _best(logs, others), log, within, source)
    return behind_by_cell


def _is_confirmed(
    every_evidence: Iterable[Evidence],
    function: str,
    candidate: Candidate,
    equivalents: Collection[str],
) -> bool:
    """Return whether the candidate was measured at some size of the function beside a variant that
    sends the same messages, and took the same wherever it was."""
    differences = []
    for evidence in every_evidence:
        for target in evidence.targets(function):
            logs = _logs(evidence, target)
            least = _least(logs, equivalents)
            if candidate in logs and least is not None:
                differences.append(abs(logs[candidate] - least))
    return bool(differences) and max(differences) <= math.log1p(_SAME)


def _least(logs: Mapping[Candidate, float], names: Collection[str]) -> float | None:
    """Return what the fastest known variant with one of the names takes."""
    return min((log for candidate, log in logs.items() if _name(candidate) in names), default=None)


def _name(candidate: Candidate) -> str:
    return variant_name(candidate.variant)


def _is_guard(racing: Sequence[Candidate]) -> bool:
    return all(candidate.is_knobs for candidate in racing)


def _best(logs: Mapping[Candidate, float], racing: Sequence[Candidate]) -> float:
    return min(
        log for candidate, log in logs.items() if candidate in racing or candidate == DEFAULT
    )


def _logs(evidence: Evidence, target: Target) -> dict[Candidate, float]:
    """log(candidate / default) of all that is known in a cell."""
    return {DEFAULT: 0.0} | {
        candidate: lead.log
        for candidate in evidence.candidates(target)
        if (lead := evidence.lead(target, candidate)) is not None
    }


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
            plan = msgspec.structs.replace(
                plan, reps=ran.reps, blocks=ran.blocks, precision=ran.precision
            )
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
        """Return the samples of the last launch that candidates shared, in all ways of use."""
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
        """Return the candidates that share launches, and those that need their own; without failed
        candidates and, if launches repeat each other, without candidates that have a result."""
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
        self.evidence.add(
            samples_of_launch, plan.blocks, plan.reps, disturbed=not self._store.is_quiet
        )
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
