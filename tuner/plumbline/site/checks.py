"""Launches that prove the merged files of a site: pairs of one with the files in force and one of
the library as it is, on a layout. Decides nothing by itself (verify/decision.py does)."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.campaign.other_uses import other_uses
from plumbline.campaign.pairs import Pairs
from plumbline.campaign.vetting import Trials
from plumbline.core.cell import Target
from plumbline.core.guidelines import LIBRARY
from plumbline.core.plan import PlanCase
from plumbline.core.winner import (
    BuiltOn,
    deciding,
    exported_as,
    functions_built_on,
    holds,
    pieces_inside,
    reaches,
)
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, ArmComparison, NextLook, claim_of
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.search.space.candidates import DEFAULT, index
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import Task
from plumbline.settings.toolchain import find_toolchain
from plumbline.site.layouts import RankLayout
from plumbline.site.proposals import MemberFindings, is_for_layout
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.significance.distributions import binomial_interval
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.layout import SITE_CHECK
from plumbline_db.records import Campaign, Medians, Search, Suite, Trial, Winner
from plumbline_exporters.bundle import of_layout, span

# What a check calls is known from campaigns: its trials leave out the thousands of calls that
# show what fails late (vetting.py).
_TRIAL_CALLS = 500
# Passes over calls in other ways of use, as in the tables of campaigns.
_BLOCKS_OF_USES = 6

Sizes = Mapping[str, Sequence[int]]
Purpose = Literal["between", "sample"]


class CheckedLayout(msgspec.Struct, frozen=True):
    """The `cells` of a layout after pairs of launches: those that the files make `slower`, those
    with a wrong result or none (`lost`), and the time with the files over that without, each with
    its 95 % interval (`ratios`). `mockups`: of a sample, the time with the files over that of the
    fastest right-hand side of a guideline."""

    layout: RankLayout
    cells: Set[Target]
    slower: Set[Target]
    lost: Set[Target]
    ratios: Mapping[Target, Comparison]
    mockups: Mapping[Target, float] = {}

    def findings(
        self, rules: Sequence[Winner], kept: Sequence[Winner], cells: Iterable[Target]
    ) -> MemberFindings:
        """Return what a campaign of these `cells` would have found of the checked `rules`, of which
        these are `kept`."""
        searches = []
        for cell in cells:
            rule, ratio = deciding(rules, cell), self.ratios.get(cell)
            searches.append(
                Search(
                    round=0,
                    function=cell.function,
                    nprocs=self.layout.nprocs,
                    ppn=self.layout.ppn,
                    bytes=cell.bytes,
                    opened_by=[],
                    outcome="nothing better" if deciding(kept, cell) is None else "winner",
                    reason="checked",
                    trials=[] if rule is None or ratio is None else [_trial(rule, ratio)],
                    suites=[],
                )
            )
        own = [of_layout(rule, self.layout.nprocs, self.layout.ppn) for rule in kept]
        return MemberFindings("", self.layout, own, searches)

    @property
    def harmed(self) -> Set[Target]:
        return self.slower | self.lost

    @property
    def faster(self) -> Set[Target]:
        """Return the cells whose whole interval lies below 1."""
        highs = {cell: comparison.high for cell, comparison in self.ratios.items()}
        return {cell for cell, high in highs.items() if high is not None and high < 1} - self.harmed

    def violated(self, limit: float) -> tuple[Set[Target], Set[Target]]:
        """Return the cells that take more than `limit` times the time of a right-hand side without
        the files, and those among them that do so with the files."""
        compared = self.mockups.keys() & self.ratios.keys()
        before = {cell for cell in compared if self.mockups[cell] > limit * self.ratios[cell].ratio}
        return before, {cell for cell in before if self.mockups[cell] > limit}


def _trial(rule: Winner, ratio: Comparison) -> Trial:
    interval = ratio.ratio, ratio.low, ratio.high
    return Trial(rule.variant, rule.configuration, "measured", *interval, ratio.n, "checked")


class SiteSample(msgspec.Struct, frozen=True):
    """The last sample: cells drawn at random over `layouts`, `between` of them where no campaign
    has measured. The files make some `faster` and some `slower`; `low` and `high`: the 95 %
    interval of the share that is slower. `violated`: cells that are slower than a right-hand side
    of a guideline without the files; `removed` of them are not with the files."""

    layouts: list[str]
    cells: int
    between: int
    faster: int
    slower: int
    low: float
    high: float
    violated: int
    removed: int


def counted(
    checks: Sequence[tuple[CheckedLayout, float]], measured: Collection[RankLayout]
) -> SiteSample | None:
    """Return what the checks of the last sample show, each with the limit of a violation; None
    where they have measured no cell. `measured`: the layouts that campaigns have measured."""
    counts = [(each.layout, len(each.ratios.keys() | each.harmed)) for each, _ in checks]
    cells = sum(count for _, count in counts)
    if not cells:
        return None
    slower = sum(len(each.harmed) for each, _ in checks)
    violations = [each.violated(limit) for each, limit in checks]
    low, high = binomial_interval(slower, cells, 0.95)
    return SiteSample(
        layouts=[str(layout) for layout, _ in counts],
        cells=cells,
        between=sum(count for layout, count in counts if layout not in measured),
        faster=sum(len(each.faster) for each, _ in checks),
        slower=slower,
        low=low,
        high=high,
        violated=sum(len(before) for before, _ in violations),
        removed=sum(len(before - after) for before, after in violations),
    )


class Prover:
    """The ranks of one layout, started as its campaign, `task`, would start them.
    `spent_seconds`: seconds in launches. Raises PlumblineError as a campaign does."""

    def __init__(self, db: Database, layout: RankLayout, task: Task, progress: Progress) -> None:
        self.layout = layout
        self._db = db
        beside = Path(db.path).parent
        toolchain = find_toolchain(task.mpi_prefix, settings=task.settings, beside=beside)
        self._settings = task.settings.on(toolchain.launcher.processing_units())
        self._ranks = starting.starter(toolchain, self._settings)
        self._guidelines = identity.chosen(toolchain, self._settings)
        self.sizes: Sizes = tables.sizes_of(self._guidelines, self._settings)
        self.built_on: BuiltOn = functions_built_on(self._guidelines)
        self.limit = claim_of(self._settings).limit
        self._toolchain = toolchain
        self._progress = progress
        self.spent_seconds = 0.0

    def _entered(
        self, purpose: Purpose, cells: Sequence[Target], own: Sequence[Winner]
    ) -> Campaign:
        """Return the row of the database that launches of one check belong to: the same cells under
        the same rules, for the same purpose, are the same check."""
        rules = [(exported_as(winner), span(winner, "nprocs")) for winner in own]
        asked_for = hashlib.sha256(repr((purpose, cells, rules)).encode()).hexdigest()
        check = {"command": SITE_CHECK, "check": asked_for}
        identified = identity.Identity(
            msgspec.json.encode(identity.document(self._settings) | check).decode(),
            self._ranks.placement,
            "sc",
            left_out=set(self._settings.fixed.environment),
            asked=msgspec.json.encode(identity.identifying(self._settings) | check).decode(),
        )
        return identity.enter(self._db, self._toolchain, identified, new=False)

    def cells(self, winners: Sequence[Winner]) -> list[Target]:
        """Return the measured cells of this layout that some of these winners decide."""
        own = [winner for winner in winners if is_for_layout(winner, self.layout)]
        return [cell for cell in self.every_cell() if any(holds(winner, cell) for winner in own)]

    def every_cell(self) -> list[Target]:
        return [Target(function, size) for function, sizes in self.sizes.items() for size in sizes]

    def check(
        self,
        purpose: Purpose,
        cells: Sequence[Target],
        winners: Sequence[Winner],
        environment: Mapping[str, str],
        limit_seconds: float,
    ) -> CheckedLayout:
        """Measure `cells` with the files of `winners` in force and without them, in turn. Each
        `purpose` has launches of its own: those between layouts also call every rule in other ways
        of use and on random data (on a real machine), those of the sample measure the right-hand
        sides of guidelines.
        Raises LimitReached after `limit_seconds` in launches, and PlumblineError as launches do."""
        own = self._own(winners)
        sampling = self._settings.sampling
        row = self._entered(purpose, cells, own)
        store = LaunchStore(self._db, row.id, self._ranks, self._progress)
        store.limit_seconds = limit_seconds
        pairs = Pairs(store, self._settings, environment, own)
        suite = Suite("check")
        lost: set[Target] = set()
        slower: set[Target] = set()
        suites: list[str] = []

        def arms(look: NextLook, some: Sequence[Target]) -> tuple[Arm, Arm]:
            left = [PlanCase(cell.function, cell.bytes) for cell in some]
            beside = self._mockups(some) if purpose == "sample" else []
            seed = sampling.seed + look.before
            both = pairs.arms(look.suite(suite), left, beside, seed=seed)
            suites.append(both[0].suite.name)
            return both

        store.progress.step(f"{self.layout}: checking {len(cells)} cells with the files")
        try:
            with self._ranks.keeping_ranks():
                pairs.until_decided(
                    cells, arms, lambda: [decision.key for decision in pairs.family.suspects()]
                )
                if purpose == "between" and self._settings.ranks.simulate is None and own:
                    slower |= self._slower_in_uses(store, own, cells, environment)
                    trials = Trials(store, self._settings, self.sizes, most_calls=_TRIAL_CALLS)
                    wrong = [winner for winner, _ in trials.wrong(1, own, environment)]
                    lost |= {cell for cell in cells if deciding(wrong, cell) is not None}
        finally:
            self.spent_seconds += store.spent_seconds
        identity.finish(self._db, row)
        decisions = pairs.family.decisions
        compare = pairs.claim.judge([logs for logs in pairs.ratios.values() if logs])
        return CheckedLayout(
            layout=self.layout,
            cells=frozenset(cells),
            slower=frozenset(slower | {each.key for each in decisions if each.word == "slower"}),
            lost=frozenset(lost | set(pairs.lost)),
            ratios={cell: compare(logs, 0.95) for cell, logs in pairs.ratios.items() if logs},
            mockups=over_mockups(runs.medians(self._db, row.id, suites)),
        )

    def _own(self, winners: Sequence[Winner]) -> list[Winner]:
        """Return the winners for this layout, with its numbers of ranks."""
        here = {"nprocs": self.layout.nprocs, "ppn": self.layout.ppn}
        own = [winner for winner in winners if is_for_layout(winner, self.layout)]
        return [msgspec.structs.replace(winner, **here) for winner in own]

    def _slower_in_uses(
        self,
        store: LaunchStore,
        own: Sequence[Winner],
        cells: Sequence[Target],
        environment: Mapping[str, str],
    ) -> set[Target]:
        """Return the cells of the rules with which calls take longer in a way of use that the
        campaigns are not about. The smallest and the largest cell of each rule are measured."""
        ends: set[Target] = set()
        for rule in own:
            inside = [cell for cell in cells if deciding(own, cell) is rule]
            ends |= {*inside[:1], *inside[-1:]}
        settings = self._settings
        uses = other_uses(settings, crowded=self._ranks.placement.oversubscribed)
        asked = [(cell, use) for use in uses for cell in sorted(ends)]
        if not asked:
            return set()

        def arms(look: NextLook, some: Sequence[tuple[Target, str]]) -> tuple[Arm, Arm]:
            cases = [PlanCase(cell.function, cell.bytes, use=use) for cell, use in some]
            plan = look.plan(tables.until_sure(settings, cases))
            plan = msgspec.structs.replace(plan, blocks=min(_BLOCKS_OF_USES, plan.blocks))
            suite = look.suite(Suite("uses"))
            return Arm(suite, plan, environment), Arm(suite.beside(), plan)

        def seconds(suite: str) -> dict[tuple[Target, str], list[float]]:
            return {
                (Target(each.case.function, each.case.bytes), each.case.use): each.seconds
                for each in runs.medians(self._db, store.campaign, [suite], use=None)
            }

        comparison = ArmComparison(store, claim_of(settings), seconds)
        store.progress.step(f"{self.layout}: {len(asked)} cells in use as {', '.join(uses)}")
        comparison.until_decided(
            asked, arms, lambda: [each.key for each in comparison.family.suspects()]
        )
        slower = [each.key for each in comparison.family.decisions if each.word == "slower"]
        bad = [deciding(own, cell) for cell, _ in slower]
        return {cell for cell in cells if any(deciding(own, cell) is rule for rule in bad)}

    def _mockups(self, cells: Sequence[Target]) -> list[PlanCase]:
        return [
            PlanCase(cell.function, cell.bytes, pattern.variant)
            for cell in cells
            for pattern in self._guidelines.patterns
            if pattern.lhs == cell.function and pattern.lhs_variant == LIBRARY
        ]


def over_mockups(medians: Iterable[Medians]) -> dict[Target, float]:
    """Return the time of each cell over that of the fastest right-hand side, the median over the
    launches that have both."""
    ratios: dict[Target, list[float]] = {}
    times = index(medians)
    for (cell, candidate), seconds in times.items():
        own_seconds = times.get((cell, DEFAULT), {})
        both = seconds.keys() & own_seconds.keys()
        if candidate != DEFAULT and both:
            ratio = statistics.median(own_seconds[run] / seconds[run] for run in both)
            ratios.setdefault(cell, []).append(ratio)
    return {cell: max(of_cell) for cell, of_cell in ratios.items()}


def without_harm(
    winners: Sequence[Winner], checked: CheckedLayout, sizes: Sizes, built_on: BuiltOn
) -> tuple[list[Winner], list[Winner]]:
    """Return what is left of the winners without the sizes at which they did harm on a layout, and
    what is lost. Where calls are harmed that no winner decides, all that can reach them are lost:
    those of the same function, and of functions that it is `built_on`."""
    kept: list[Winner] = []
    lost: list[Winner] = []
    here = [winner for winner in winners if is_for_layout(winner, checked.layout)]
    decided = {cell: deciding(here, cell) for cell in checked.harmed}
    undecided = [cell for cell, winner in decided.items() if winner is None]
    for winner in winners:
        harmed = {cell for cell, decider in decided.items() if decider is winner}
        strays = [cell for cell in undecided if _may_reach(winner, cell, built_on)]
        if winner in here and strays:
            lost.append(winner)
        elif harmed:
            measured = sizes[winner.function]
            cells = {Target(winner.function, size) for size in measured}
            kept += pieces_inside(winner, cells - harmed, measured)
            lost += pieces_inside(winner, harmed, measured)
        else:
            kept.append(winner)
    return kept, lost


def _may_reach(winner: Winner, cell: Target, built_on: BuiltOn) -> bool:
    return winner.function == cell.function or reaches(winner, cell, built_on)
