"""Violation tables: which cases a table needs, the launches that fill it, the verdicts.

A table is looked at after its first launches, and again after more of them for the cells that are
still undecided, as its design says (verify/decision.py). The launches of each look are a suite:
what is decided follows from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import Plan, PlanCase, least_bytes, lines, measurable, part_bytes
from plumbline.measure import factors, other_work, repetitions
from plumbline.measure.comparison import Arm, claim_of, looks, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.measure.settling import until_settled
from plumbline.settings import Settings
from plumbline.settings.cases import SYNCHRONISED, USES
from plumbline.system.words import counted
from plumbline.verify.index import Obstacle, side_of
from plumbline.verify.verify import CellKey, Look, Verification, VerifySettings
from plumbline_db import runs
from plumbline_db.errors import UsageError
from plumbline_db.records import Medians, Suite, Verdict


def sizes_of(guidelines: Guidelines, settings: Settings) -> dict[str, list[int]]:
    """The measured sizes of every function on a left side, and of those asked for besides."""
    data = settings.cases.data
    return {
        function: measurable(function, settings.sizes_of(function), settings.ranks.nprocs, data)
        for function in dict.fromkeys(
            [*guidelines.lhs_functions(), *settings.cases.functions, *settings.called]
        )
    }


def cases(guidelines: Guidelines, settings: Settings) -> list[PlanCase]:
    """Every function at every size, all variants that patterns name, messages in pieces, and what
    runs on fewer ranks."""
    sizes = sizes_of(guidelines, settings)
    planned = [
        PlanCase(function, size) for function, of_function in sizes.items() for size in of_function
    ]
    planned += [
        PlanCase(pattern.lhs, size, variant)
        for pattern in guidelines.patterns
        for variant in (pattern.lhs_variant, pattern.variant)
        for size in sizes[pattern.lhs]
    ]
    data = settings.cases.data
    in_pieces = sizes if guidelines.verifies(guidelines.split) else {}
    for function, of_function in in_pieces.items():
        least = least_bytes(function, settings.ranks.nprocs, data)
        planned += [
            PlanCase(function, size, variant)
            for size in of_function
            for variant in guidelines.split.variants(function, size, least)
        ]
    return list(dict.fromkeys(planned + _on_fewer_ranks(guidelines, settings, sizes)))


def _on_fewer_ranks(
    guidelines: Guidelines, settings: Settings, sizes: Mapping[str, Sequence[int]]
) -> list[PlanCase]:
    ranks = guidelines.rank.ranks(settings.ranks.nprocs) if guidelines.rank else 0
    if ranks <= settings.cases.root:
        return []
    return [
        PlanCase(
            function,
            part_bytes(function, size, settings.ranks.nprocs, ranks, settings.cases.data),
            ranks=ranks,
        )
        for function, its_sizes in sizes.items()
        for size in its_sizes
    ]


# Calls of a case before its first samples: from the third one on they take as long as later ones,
# unless the library learns, and then a case goes on until it has settled.
_WARMUP = 4


def plan(settings: Settings, of: Iterable[PlanCase]) -> Plan:
    whole = Plan(
        name="",
        seed=settings.sampling.seed,
        cases=tuple(of),
        data=settings.cases.data,
        blocks=settings.sampling.blocks,
        reps=settings.sampling.reps,
        warmup=_WARMUP,
        sync=settings.start_scheme,
        runtime="global" if settings.way.use == SYNCHRONISED else "local",
        use="" if USES.get(settings.way.use) else settings.way.use,
    )
    return until_settled(whole, simulated=settings.ranks.simulate is not None)


def until_sure(
    settings: Settings, of: Iterable[PlanCase], needed: Mapping[PlanCase, int] | None = None
) -> Plan:
    """The same, where a case that is clear takes no more blocks; or, where a stopping rule has
    counted what is `needed` (repetitions.py), exactly these repetitions."""
    whole = plan(settings, of)
    if needed:
        return repetitions.applied(whole, needed)
    return msgspec.structs.replace(whole, precision=settings.sampling.precision)


def counting(settings: Settings, of: Iterable[PlanCase]) -> Plan | None:
    """Return the plan that counts how many repetitions cases need; None: they are not counted.
    Raises UsageError on a simulated machine, which repeats itself."""
    rule = settings.sampling.rule
    if rule is not None and settings.ranks.simulate is not None:
        raise UsageError("nrep: on a simulated machine one repetition is enough: leave it out")
    return None if rule is None else msgspec.structs.replace(plan(settings, of), nrep=rule)


class ViolationTable:
    """A table under way. The launches of its first look are in the database when `look` is called
    first, those of the others when it is called again; `decide` adds what is missing. `planned` are
    the cases that it needs. What an `earlier` table says stands where nothing that was compared has
    changed since, also that all its looks have not decided a cell, unless they were disturbed by
    other work that has ended; these cells are not measured again, and each part of the table is
    corrected for the number of its own tests."""

    def __init__(
        self,
        store: LaunchStore,
        stage: str,
        guidelines: Guidelines,
        settings: Settings,
        suite: Suite,
        environment: Mapping[str, str] | None = None,
        riders: Callable[[Sequence[Verdict]], Sequence[PlanCase]] = lambda _: (),
        *,
        earlier: ViolationTable | None = None,
        changed: Callable[[Side], bool] = lambda _: True,
        in_force: Callable[[Side, Side], bool] = lambda *_: False,
    ) -> None:
        """`environment` is that of its launches; `riders` are cases of others that its last look
        takes along, of the table before it. `changed`: whether a side may take another time than in
        the `earlier` table; `in_force`: whether calls of a left side are replaced by a right
        side."""
        self._store = store
        self._stage, self._settings = stage, settings
        self._riders = riders
        self._looks = list(looks(claim_of(settings).design))
        self._suites: list[str] = []
        self._suite = suite
        self._samples: list[runs.LaunchSamples] = []
        self._medians: list[Medians] = []
        self._obstacles: list[Obstacle] = []
        # Suites that ran beside other work.
        self._disturbed: set[str] = set(earlier._disturbed) if earlier else set()
        before = earlier.cells() if earlier else []
        is_whole = earlier is not None and not earlier.open_cases()
        self._kept = [
            (msgspec.structs.replace(verdict, stage=stage), sides)
            for verdict, sides in before
            if (_is_final(verdict) or (is_whole and not self._may_say_more(verdict)))
            and not any(map(changed, sides))
        ]
        settled = {_key(verdict) for verdict, _ in self._kept}
        needed = set[Side]().union(
            *(sides for verdict, sides in before if _key(verdict) not in settled)
        )
        self._order = {_key(verdict): place for place, (verdict, _) in enumerate(before)}
        self.planned = [
            case for case in cases(guidelines, settings) if earlier is None or _side(case) in needed
        ]
        self._environment = environment or {}
        self._verification = Verification(
            guidelines,
            stage=stage,
            nprocs=settings.ranks.nprocs,
            ppn=settings.ranks.ppn,
            settings=VerifySettings(
                claim=claim_of(settings),
                deterministic=settings.ranks.simulate is not None,
                in_force=in_force,
            ),
            settled=settled,
        )

    def _may_say_more(self, verdict: Verdict) -> bool:
        """Return whether a cell was measured beside other work that has ended since."""
        return self._store.is_quiet and not self._disturbed.isdisjoint(verdict.suites)

    def look(self) -> list[Verdict]:
        """The verdicts that all launches so far allow. Raises PlumblineError when these launches
        differ in a factor that must be equal."""
        suite = self._suite.at(len(self._suites) + 1).name
        self._suites.append(suite)
        launches = runs.surroundings(self._store.db, self._store.campaign, self._suites)
        factors.require_joinable(factors.named(launches))
        self._disturbed |= other_work.disturbed(launches)
        # Sizes far above those of the table are in its launches too, and are no cells of it.
        sides = {_side(case) for case in self.planned}
        every = runs.launch_samples(self._store.db, self._store.campaign, [suite])
        own_samples = [samples for samples in every if side_of(samples.case) in sides]
        self._samples += own_samples
        self._medians += map(runs.medians_of, own_samples)
        if len(self._suites) == 1:
            self._store.differ(spread(self._medians))
        elif all(launch.member for launch in launches):
            times: dict[Side, dict[int, float]] = {}
            for median in self._medians:
                launch_times = dict(zip(median.runs, median.seconds, strict=True))
                times.setdefault(side_of(median.case), {}).update(launch_times)
            members = {launch.number: launch.member for launch in launches}
            self._store.compare_members(times.values(), members)
        self._obstacles += _obstacles(self._store, [suite])
        refused = _refused(self._store, self._suites, self._medians)
        obstacles = [*self._obstacles, *self._put_aside(), *refused]
        self._verification.look(Look(self._medians, self._suites, obstacles, self._samples))
        return self.verdicts()

    def cells(self) -> list[tuple[Verdict, set[Side]]]:
        """All verdicts so far, in the order of the earlier table, each with what was compared."""
        every_cell = [*self._kept, *self._verification.cells()]
        last = len(self._order)
        return sorted(every_cell, key=lambda cell: self._order.get(_key(cell[0]), last))

    def verdicts(self) -> list[Verdict]:
        return [verdict for verdict, _ in self.cells()]

    def _put_aside(self) -> list[Obstacle]:
        aside = self._store.aside
        return [
            Obstacle(_side(case), why)
            for case in self.planned
            if (why := aside.why(case, self._environment))
        ]

    def open_cells(self) -> int:
        return self._verification.open_cells()

    def open_cases(self) -> list[PlanCase]:
        """Return what the next look must measure; nothing when everything is decided, when launches
        cannot decide what is left, and after the last look."""
        return [
            PlanCase(side.function, side.bytes, side.variant, ranks=side.ranks)
            for side in self._verification.open_sides()
        ]

    def along(self) -> list[PlanCase]:
        """Return the riders of the next look: all, if it is the last of several."""
        is_last = 0 < len(self._suites) == len(self._looks) - 1
        return list(self._riders(self.verdicts())) if is_last else []

    @property
    def ridden(self) -> str:
        """The suite that the riders were in; "": there was no such look."""
        there = 1 < len(self._suites) == len(self._looks)
        return self._suites[-1] if there else ""

    def decide(self, has_time: Callable[[], bool] = lambda: True) -> list[Verdict]:
        """The final verdicts: launches are added for what is undecided, look by look, until nothing
        is, the design ends, or there is no time."""
        if not self._suites:
            self.look()
        for look in self._looks[len(self._suites) :]:
            open_cases = self.open_cases()
            if not open_cases or not has_time():
                break
            self._store.progress.step(
                f"{self._stage}: {counted(self.open_cells(), 'cell')} undecided after "
                f"{counted(look.before, 'launch')}, {look.launches} more"
            )
            suite = look.suite(self._suite)
            cases_asked = [*open_cases, *self.along()]
            first = until_sure(self._settings, cases_asked, self._store.repetitions)
            arm = Arm(suite, self._store.filled(suite, look.plan(first)), self._environment)
            take_turns(self._store, [arm], look.launches)
            self.look()
        return self.verdicts()


def spread(medians: Iterable[Medians]) -> float:
    """Relative standard deviation of the medians of a case, launch by launch: that of the case in
    the middle of all; 0 where no case has two launches."""
    import numpy as np

    deviations = [
        np.std(np.log(median.seconds), ddof=1) for median in medians if len(median.seconds) > 1
    ]
    return float(np.median(deviations)) if deviations else 0.0


def _side(case: PlanCase) -> Side:
    return Side(case.function, case.variant, case.bytes, case.ranks)


def _key(verdict: Verdict) -> CellKey:
    return verdict.guideline, verdict.kind, verdict.function, verdict.bytes


def _is_final(verdict: Verdict) -> bool:
    """Decided, or nothing that launches can decide."""
    return verdict.verdict != "undecided" or verdict.ratio is None


def _case_of(plan_text: str, number: int) -> Side:
    """Return a case of a stored plan."""
    for word, keys in lines(plan_text):
        if word == "case" and keys.get("id") == str(number):
            return Side(
                keys["function"], keys["variant"], int(keys["bytes"]), int(keys.get("ranks", 0))
            )
    raise ValueError(f"the plan has no case {number}")


def _obstacles(store: LaunchStore, suites: Sequence[str]) -> list[Obstacle]:
    """Return why a planned case was not timed, from the checks of all launches."""
    reasons: dict[Side, str] = {}
    for run in runs.listing(store.db, store.campaign, suites):
        if run.failure is not None:
            if run.failure.case is not None:
                side = _case_of(run.plan, run.failure.case)
                reasons[side] = f"a launch failed: {run.failure.text}"
            continue
        for case, check in runs.checks(store.db, store.campaign, run.suite, run.sequence):
            if check.outcome != "ok":
                reason = f"{check.outcome}: {check.detail}" if check.detail else check.outcome
                reasons[side_of(case)] = reason
    return [Obstacle(side, reason) for side, reason in reasons.items()]


def _refused(
    store: LaunchStore, suites: Sequence[str], medians: Sequence[Medians]
) -> list[Obstacle]:
    """Return why no launch gave a result of a case that was timed; where some did, those that were
    refused are simply not there."""
    timed = {side_of(median.case) for median in medians}
    return [
        Obstacle(side_of(case), refused.reason)
        for case, refused in runs.refusals(store.db, store.campaign, suites)
        if side_of(case) not in timed
    ]
