"""Overlap as a guideline: the steps of a campaign (campaign/states.py) with another objective.

As in a campaign every launch is stored before the next one starts and every decision is a function
of settings and launches, so that an interrupted run is simply run again. The objective of the
search is the time of message and work together, never their ratio: a library whose messages alone
are slow has a good ratio. No other time of the table may become longer."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import states
from plumbline.campaign.exported import ExportedFiles
from plumbline.campaign.proof import Proven
from plumbline.campaign.states import CampaignStep, Standing
from plumbline.core.cell import Side
from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import OverlapCell, Plan
from plumbline.libraries.space import Setting
from plumbline.measure import factors, tables
from plumbline.measure.comparison import Arm, ArmComparison, NextLook, claim_of, looks, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.overlap import benches, metric
from plumbline.overlap.metric import OverlapGrid, OverlapTimes
from plumbline.search.outcome import label
from plumbline.search.process import Settable, values_of
from plumbline.search.settings_race import SettingsRace
from plumbline.settings import Settings, identity
from plumbline.settings.toolchain import Toolchain
from plumbline.verify.decision import by_interval, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.verify import Look, Verification, VerifySettings
from plumbline_db import campaigns, findings, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign, Medians, Suite, Verdict, Winner


class TimedVerdict(msgspec.Struct, frozen=True):
    """A verdict with the times behind it, in seconds, medians of its launches. `overhead_ratio`:
    what both take beyond the longer of the two, over the shorter (None without work)."""

    verdict: str
    measured: float | None
    communication: float | None
    computation: float | None
    overhead_ratio: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    reason: str


class TunedGuideline(msgspec.Struct, frozen=True):
    """A guideline at a benchmark and size; `lhs` and `rhs` are the sides with the largest ratio,
    before."""

    guideline: str
    bench: str
    bytes: int
    lhs: str
    rhs: str
    before: TimedVerdict
    after: TimedVerdict | None


def tuned_lines(db: Database, campaign: Campaign, guidelines: Guidelines) -> list[TunedGuideline]:
    """Return the lines of a tuning run's verdicts, in their order."""
    asked = msgspec.json.decode(campaign.settings, type=OverlapTuningSettings)
    own = metric.own_ns(metric.read_sides(db, campaign.id, ["pilot"]), LEAST_NS)
    grid = grid_of(asked, guidelines, own)
    before = findings.get_verdicts(db, campaign.id, "before")
    after = {
        _place(verdict): verdict for verdict in findings.get_verdicts(db, campaign.id, "after")
    }
    return [
        TunedGuideline(
            verdict.guideline,
            verdict.function,
            verdict.bytes,
            verdict.lhs,
            verdict.rhs,
            _state(db, campaign.id, grid, verdict, verdict),
            _state(db, campaign.id, grid, later, verdict)
            if (later := after.get(_place(verdict)))
            else None,
        )
        for verdict in before
    ]


def _place(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.guideline, verdict.function, verdict.bytes


def _state(
    db: Database, campaign: str, grid: metric.OverlapGrid, verdict: Verdict, shown: Verdict
) -> TimedVerdict:
    """A verdict, with the times of the side that is `shown`."""
    side = Side(shown.function, shown.lhs, shown.bytes)
    (cell,) = grid.cells([side])
    key = (side.function, side.bytes, cell.work_ns)
    times = [
        medians[key]
        for _, medians in metric.read_sides(db, campaign, verdict.suites)
        if key in medians
    ]
    middle = OverlapTimes(*map(statistics.median, zip(*times, strict=True))) if times else None
    return TimedVerdict(
        verdict.verdict,
        middle.both if middle else None,
        middle.communication if middle else None,
        middle.computation if middle and cell.work_ns else None,
        _overhead(middle) if middle and cell.work_ns else None,
        verdict.ratio,
        verdict.ratio_low,
        verdict.ratio_high,
        verdict.reason,
    )


def _overhead(times: OverlapTimes) -> float | None:
    shorter = min(times.communication, times.computation)
    return (
        (times.both - max(times.communication, times.computation)) / shorter
        if shorter > 0
        else None
    )


_PILOT = 2  # launches
_SEARCH, _CONFIRM = Suite("search"), Suite("confirm")
LEAST_NS = 1_000  # of work that is as long as a message
_PROOF = {"MPI_Bcast": [8]}  # a call by which a launch is read back


class OverlapTuningSettings(msgspec.Struct, frozen=True):
    """Beside the settings of a campaign: `benches` (benches.py), `sizes` in bytes, `limit` (Grid),
    `triples` of each cell in a launch."""

    benches: tuple[str, ...]
    sizes: tuple[int, ...]
    limit: float = 1.0
    triples: int = 15


def text_of(asked: OverlapTuningSettings, settings: Settings) -> str:
    """Return what the row in the database keeps, under the names that readers of campaigns know."""
    document = identity.document(settings) | msgspec.to_builtins(asked)
    return msgspec.json.encode(document | {"command": campaigns.OVERLAP_TUNE}).decode()


def pilot_plan(asked: OverlapTuningSettings, settings: Settings) -> Plan:
    return plan(metric.pilot(asked.benches, asked.sizes, asked.triples), settings.sampling.seed)


def tried(
    toolchain: Toolchain, asked: OverlapTuningSettings, settings: Settings
) -> tuple[list[Configuration], list[str]]:
    """The values of a search, and the knobs that need a core that is not there. Raises UsageError
    for settings that cannot be tried."""
    return candidate_values(
        Settable.of(toolchain, settings),
        asked.benches,
        nodes=settings.ranks.node_count,
        named=settings.search.named_settings,
    )


def begin(
    db: Database,
    toolchain: Toolchain,
    asked: OverlapTuningSettings,
    settings: Settings,
    *,
    new: bool,
) -> Campaign:
    """The row that the launches of this run belong to. What a site has set of the settings that are
    searched is part of the library as it is."""
    site = [
        f"{setting.knob}={installed.value} ({installed.source})"
        for setting in toolchain.space.setting
        if setting.overlap and (installed := toolchain.knobs.get(setting.knob)) and installed.source
    ]
    overlap = toolchain.guidelines.overlap
    made = identity.Identity(
        text_of(asked, settings),
        settings.ranks.placement(toolchain.launcher.processing_units()),
        "ot",
        [*site, f"work_us={overlap.work_us}"] if overlap else site,
        left_out=set(settings.fixed.environment),
    )
    return identity.enter(db, toolchain, made, new=new)


class Objective(SettingsRace[Side]):
    """Times of the table: those of `violated_sides` are to become shorter, and no other one longer
    by more than the tolerance."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        grid: OverlapGrid,
        violated_sides: Sequence[Side],
    ) -> None:
        super().__init__(
            store,
            settings,
            has_time=lambda: store.spent_seconds < settings.budget,
            tolerance=settings.claims.tolerance,
        )
        self._grid = grid
        self._wanted = frozenset(violated_sides)
        self._plan = plan(grid.cells(), settings.sampling.seed)
        self._measured = frozenset(grid.measured())

    def plan(self, value: Configuration) -> Plan:
        del value
        return self._plan

    def checked(self, suite: str, sequence: int) -> str:
        store = self._store
        run = runs.get(store.db, store.campaign, suite, sequence)
        launch_cells = table_samples.of_launch(store.db, run.id) if run else []
        return metric.flaw_of_data(launch_cells)

    def seconds(self, suite: str, value: Configuration) -> dict[Side, dict[int, float]]:
        del value
        store = self._store
        every_median = self._grid.medians(metric.read_sides(store.db, store.campaign, [suite]))
        return {
            side: {
                number: seconds
                for number, seconds in zip(medians.runs, medians.seconds, strict=True)
                if seconds > 0
            }
            for side, medians in ((_side(medians), medians) for medians in every_median)
            if side in self._measured
        }

    def weight(self, cell: Side) -> float:
        return 1.0 if cell in self._wanted else 0.0

    def pairs(self) -> ArmComparison[Side]:
        """Return pairs of launches, with exported files in force and without."""

        def seconds(suite: str) -> dict[Side, Collection[float]]:
            times_by_side = self.seconds(suite, AS_IT_IS)
            return {side: times.values() for side, times in times_by_side.items()}

        return ArmComparison(self._store, self._claim, seconds)


class OverlapTuning:
    """The steps of one run. `folder` is where the exported files go."""

    def __init__(
        self,
        store: LaunchStore,
        toolchain: Toolchain,
        asked: OverlapTuningSettings,
        settings: Settings,
        folder: Path,
    ) -> None:
        self._store, self._toolchain = store, toolchain
        self._campaign = campaign = campaigns.get(store.db, store.campaign)
        self._asked, self._settings = asked, settings
        self._guidelines = toolchain.guidelines
        self._files = ExportedFiles(
            store, toolchain, campaign, folder, {}, {}, unsafe=False, site_rules=""
        )

        self._before: list[Verdict] = []
        self._after: list[Verdict] = []
        self._winners: list[Winner] = []
        self._searched = self._confirmed = False

    def run(self) -> Campaign:
        return states.run(self, self._store, searches=not self._settings.search.verifies_only)

    def standing(self) -> Standing:
        violated = any(verdict.verdict == "violated" for verdict in self._before)
        return Standing(
            winners=bool(self._winners),
            changed=bool(self._winners) and not self._confirmed,
            opened=False,
            may_search=False,  # overlap has no algorithms to choose from, but settings
            may_set=violated and not self._settings.search.verifies_only and not self._searched,
        )

    def has_time(self) -> bool:
        return True  # values for which none is left are named in what is kept of the search

    def take(self, step: CampaignStep) -> None:
        store, settings = self._store, self._settings
        if step is CampaignStep.BEFORE:
            self._grid = self._measured_grid()
            store.progress.step("overlap: measuring the library as it is")
            own = Suite("before")
            first = plan(self._grid.cells(), settings.sampling.seed)
            take_turns(store, [Arm(own, first)], settings.sampling.launches)
            self._before = self._decide("before", own, {})
            self._after = self._before
            findings.put_verdicts(store.db, store.campaign, "before", self._before)
            return
        violated = [verdict for verdict in self._before if verdict.verdict == "violated"]
        slow = [Side(verdict.function, verdict.lhs, verdict.bytes) for verdict in violated]
        objective = Objective(store, settings, self._grid, slow)
        if step is CampaignStep.SETTINGS:
            self._searched = True
            self._winners = self._search(objective, violated)
        elif step is CampaignStep.CONFIRM:
            self._confirmed = True
            (winner,) = self._winners
            self._after, self._winners = self._confirm(objective, winner)

    def end(self) -> Campaign:
        store, kept = self._store, self._winners
        done = msgspec.structs.replace(self._campaign, state="finished", finished=identity.now())
        self._files.finish(done, kept)
        after = [msgspec.structs.replace(verdict, stage="after") for verdict in self._after]
        findings.put_verdicts(store.db, store.campaign, "after", after)
        findings.put_winners(store.db, store.campaign, kept)
        campaigns.put(store.db, done)
        return done

    def _measured_grid(self) -> OverlapGrid:
        store, asked = self._store, self._asked
        store.progress.step("overlap: how long messages take")
        take_turns(store, [Arm(Suite("pilot"), pilot_plan(asked, self._settings))], _PILOT)
        metric.require_delivered(store.db, store.campaign, ["pilot"])
        own = metric.own_ns(metric.read_sides(store.db, store.campaign, ["pilot"]), LEAST_NS)
        return grid_of(asked, self._guidelines, own)

    def _search(self, objective: Objective, violated: Sequence[Verdict]) -> list[Winner]:
        settings = self._settings
        values, left_out = tried(self._toolchain, self._asked, settings)
        for knob in left_out:
            self._store.tell("left out", f"{knob} needs a spare core for each rank; there is none")
        entered, best = objective.race(_SEARCH, values, {})
        nprocs, ppn = settings.ranks.nprocs, settings.ranks.ppn
        opened = [named(verdict) for verdict in violated]
        objective.record(1, _SEARCH, entered, best, nprocs=nprocs, ppn=ppn, opened_by=opened)
        return [] if best is None else [objective.winner(best, nprocs, ppn, opened)]

    def _confirm(self, objective: Objective, winner: Winner) -> tuple[list[Verdict], list[Winner]]:
        """The table with the exported files in force and the winner, or what was there before."""
        store, settings = self._store, self._settings
        self._files.write([winner])
        environment = self._files.environment()
        store.progress.step("overlap: confirming the winner, with the exported files in force")
        short = tables.plan(settings, [])
        proven = Proven(store, self._toolchain, short, _PROOF)
        if proven.missed(1, [winner], environment):
            return self._dropped(winner, "not in force with the exported files")
        pairs, harm = self._pairs(objective, environment)
        if harm:
            harm = self._again(objective, environment, harm)
        if harm:
            where = ", ".join(
                f"{side.function} at {side.bytes} B, {side.variant}" for side in harm[:3]
            )
            return self._dropped(winner, f"slower: {where}")
        if pairs is None or pairs.high is None or by_interval(pairs) != "faster":
            return self._dropped(winner, "no gain is left with the exported files")
        after = self._decide("after", _CONFIRM, environment)
        still_violated = {named(verdict) for verdict in after if verdict.verdict != "holds"}
        kept = msgspec.structs.replace(
            winner,
            speedup=1 / pairs.ratio,
            speedup_low=1 / pairs.high,
            speedup_high=1 / (pairs.low or pairs.ratio),
            removes=[name for name in winner.removes if name not in still_violated],
        )
        return after, [kept]

    def _pairs(
        self, objective: Objective, environment: Mapping[str, str]
    ) -> tuple[Comparison | None, list[Side]]:
        """Launches with the files in force in turn with launches without, more of them while the
        gain is unclear or a side seems slower: the gain's ratio, and the sides that are slower."""
        pairs = objective.pairs()
        gain: Comparison | None = None

        def arms(look: NextLook, _: Sequence[Side]) -> tuple[Arm, Arm]:
            suite = look.suite(_CONFIRM.part("pairs")) if look.number else _CONFIRM
            arm = Arm(suite, look.plan(objective.plan(AS_IT_IS)), environment)
            return arm, arm.beside()

        def wanted() -> list[Side]:
            nonlocal gain
            turns = max(map(len, pairs.ratios.values()), default=0)
            whole = {side: logs for side, logs in pairs.ratios.items() if len(logs) == turns}
            gain = objective.overall(whole, pairs.family.confidence)
            unclear = gain is not None and by_interval(gain) == "undecided"
            if not unclear and not pairs.family.suspects():
                return []
            self._store.progress.step("overlap: the gain is not clear yet, more launches")
            return list(whole)

        pairs.until_decided(self._grid.measured(), arms, wanted)
        return gain, [side.key for side in pairs.family.decisions if side.word == "slower"]

    def _again(
        self, objective: Objective, environment: Mapping[str, str], harm: Sequence[Side]
    ) -> list[Side]:
        """Return what is slower in fresh launches too: cells of one launch share its luck."""
        self._store.progress.step("overlap: perhaps slower; measuring again")
        sampling, pairs = self._settings.sampling, objective.pairs()
        own = plan(self._grid.cells(harm), sampling.seed + sampling.launches_max)
        arm = Arm(_CONFIRM.part("again"), own, environment)
        pairs.take((arm, arm.beside()), sampling.of_few_cells, harm)
        return list(slower(pairs.ratios, pairs.claim))

    def _decide(self, stage: str, suite: Suite, environment: Mapping[str, str]) -> list[Verdict]:
        """Return the verdicts of a table whose first look's launches, the suite, are there.
        Launches are added for what is undecided, look by look."""
        store, grid, settings = self._store, self._grid, self._settings
        claim = claim_of(settings)
        table = Verification(
            self._guidelines,
            stage=stage,
            nprocs=settings.ranks.nprocs,
            ppn=settings.ranks.ppn,
            settings=VerifySettings(claim=claim),
        )
        suites = [suite.name]
        for look in looks(claim.design):
            if look.number:
                undecided = table.open_sides()
                if not undecided:
                    break
                store.progress.step(f"overlap, {stage}: {table.open_cells()} cells undecided")
                own = look.suite(suite)
                suites.append(own.name)
                more = look.plan(plan(grid.cells(undecided), settings.sampling.seed))
                take_turns(store, [Arm(own, more, environment)], look.launches)
            launches = runs.surroundings(store.db, store.campaign, suites)
            factors.require_joinable(factors.named(launches))
            metric.require_delivered(store.db, store.campaign, suites[-1:])
            medians = grid.medians(metric.read_sides(store.db, store.campaign, suites))
            table.look(Look(medians, list(suites)))
        return table.verdicts()

    def _dropped(self, winner: Winner, why: str) -> tuple[list[Verdict], list[Winner]]:
        configuration = label(winner.variant, winner.configuration)
        self._store.tell("winner dropped", f"{configuration}: {why}", _CONFIRM.name)
        return self._before, []


def grid_of(
    asked: OverlapTuningSettings, guidelines: Guidelines, own: Mapping[metric.Place, int]
) -> OverlapGrid:
    fixed = guidelines.overlap.work_us * 1000 if guidelines.overlap else 0
    return OverlapGrid(asked.benches, asked.sizes, own, fixed, asked.triples, asked.limit)


def plan(cells: Sequence[OverlapCell], seed: int) -> Plan:
    return Plan("overlap", seed, (), overlaps=tuple(cells), blocks=1)


def named(verdict: Verdict) -> str:
    """`OV1@1048576 (vector)`, as a winner that is about all functions names what it removes."""
    return f"{verdict.guideline}@{verdict.bytes} ({verdict.function})"


def _side(medians: Medians) -> Side:
    return Side(medians.case.function, medians.case.variant, medians.case.bytes)


def candidate_values(
    settable: Settable, names: Sequence[str], *, nodes: int, named: Collection[str] | None = None
) -> tuple[list[Configuration], list[str]]:
    """Return what is tried for the benchmarks `names`: settings that the installed library has, and
    reads as it is, or those that are `named`. Then the knobs that are left out because no core is
    free. Raises UsageError for a name that no setting has, or whose setting needs a spare core, or
    that is fixed already."""
    space, installed, fixed = settable.space, settable.installed, settable.fixed
    unknown = sorted(set(named or ()) - {setting.knob for setting in space.setting})
    if unknown:
        raise UsageError(
            f"settings: {', '.join(unknown)}: not in the search space; those for overlap are "
            f"{', '.join(setting.knob for setting in space.setting if setting.overlap)}"
        )
    missing = sorted(set(named or ()) - installed.keys())
    if missing:
        raise UsageError(f"settings: the installed library has no {', '.join(missing)}")
    taken = sorted(set(named or ()) & set(fixed))
    if taken:
        raise UsageError(f"settings: {', '.join(taken)}: in force in every launch by `environment`")
    settable.require_core(named or ())
    candidates: dict[Configuration, None] = {}
    left_out = []
    for setting in space.setting:
        if (
            setting.knob not in installed
            or setting.knob in fixed
            or not _wanted(setting, names, nodes, named)
        ):
            continue
        if named is None and not settable.is_read(setting):
            continue
        if setting.needs_spare_core and not settable.spare_cores:
            left_out.append(setting.knob)
            continue
        candidates |= dict.fromkeys(values_of(installed, setting))
    return list(candidates), left_out


def _wanted(
    setting: Setting, names: Sequence[str], nodes: int, named: Collection[str] | None
) -> bool:
    if named is not None:
        return setting.knob in named
    collective = any(benches.of(name).function for name in names)
    fits = setting.overlap == "messages" or (setting.overlap == "collectives" and collective)
    return fits and (nodes > 1 or not setting.between_nodes)
