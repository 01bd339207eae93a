"""Launches that prove the merged files of a site: pairs of one with the files in force and one of
the library as it is, on a layout. Decides nothing by itself (verify/decision.py does)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import msgspec

from plumbline.campaign.pairs import Pairs
from plumbline.campaign.vetting import Trials
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding, holds, pieces_inside
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import Task
from plumbline.settings.toolchain import find_toolchain
from plumbline.site.layouts import Layout
from plumbline.site.transfer import is_for_layout
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.connection import Database
from plumbline_db.layout import SITE_CHECK
from plumbline_db.records import Suite, Winner

Sizes = Mapping[str, Sequence[int]]


class CheckedLayout(msgspec.Struct, frozen=True):
    """What pairs of launches said of the `cells` of a layout: those that the files make `slower`,
    those with a wrong result or none (`lost`), and files over library (`ratios`)."""

    layout: Layout
    cells: Set[Target]
    slower: Set[Target]
    lost: Set[Target]
    ratios: Mapping[Target, Comparison]

    @property
    def harmed(self) -> Set[Target]:
        return self.slower | self.lost


class Prover:
    """The ranks of one layout, started as its campaign, `task`, would start them. The launches
    belong to a row of their own in the database, one for each `site` (the id of its row).
    `spent_seconds`: seconds in launches. Raises PlumblineError as a campaign does."""

    def __init__(
        self, db: Database, site: str, layout: Layout, task: Task, progress: Progress
    ) -> None:
        self.layout = layout
        self._db = db
        beside = Path(db.path).parent
        toolchain = find_toolchain(task.mpi_prefix, settings=task.settings, beside=beside)
        self._settings = task.settings.on(toolchain.launcher.processing_units())
        self._ranks = starting.starter(toolchain, self._settings)
        guidelines = identity.chosen(toolchain, self._settings)
        self.sizes: Sizes = tables.sizes_of(guidelines, self._settings)
        own = {"command": SITE_CHECK, "site": site}
        identified = identity.Identity(
            msgspec.json.encode(identity.document(self._settings) | own).decode(),
            self._ranks.placement,
            "sc",
            left_out=set(self._settings.fixed.environment),
            asked=msgspec.json.encode(identity.identifying(self._settings) | own).decode(),
        )
        self._row = identity.enter(db, toolchain, identified, new=False)
        self._store = LaunchStore(db, self._row.id, self._ranks, progress)

    @property
    def spent_seconds(self) -> float:
        return self._store.spent_seconds

    def cells(self, winners: Sequence[Winner]) -> list[Target]:
        """Return the measured cells of this layout that some of these winners decide."""
        own = [winner for winner in winners if is_for_layout(winner, self.layout)]
        return [cell for cell in self.every_cell() if any(holds(winner, cell) for winner in own)]

    def every_cell(self) -> list[Target]:
        return [Target(function, size) for function, sizes in self.sizes.items() for size in sizes]

    def check(
        self,
        turn: int,
        cells: Sequence[Target],
        winners: Sequence[Winner],
        environment: Mapping[str, str],
    ) -> CheckedLayout:
        """Measure `cells` with the files of `winners` in force and without them, in turn, for the
        `turn`-th time (from 1). On a real machine every rule is also called on random data. Raises
        PlumblineError as launches do."""
        here = {"nprocs": self.layout.nprocs, "ppn": self.layout.ppn}
        own = [
            msgspec.structs.replace(winner, **here)
            for winner in winners
            if is_for_layout(winner, self.layout)
        ]
        sampling = self._settings.sampling
        pairs = Pairs(self._store, self._settings, environment, own)
        suite = Suite("check", turn)
        lost: set[Target] = set()
        self._store.progress.step(f"{self.layout}: checking {len(cells)} cells with the files")
        with self._ranks.keeping_ranks():
            pairs.until_decided(
                cells,
                lambda look, some: pairs.arms(
                    look.suite(suite),
                    [PlanCase(cell.function, cell.bytes) for cell in some],
                    seed=sampling.seed + look.before,
                ),
                lambda: [decision.key for decision in pairs.family.suspects()],
            )
            if self._settings.ranks.simulate is None and own:
                trials = Trials(self._store, self._settings, self.sizes)
                wrong = [winner for winner, _ in trials.wrong(turn, own, environment)]
                lost |= {cell for cell in cells if deciding(wrong, cell) is not None}
        identity.finish(self._db, self._row)
        decisions = pairs.family.decisions
        return CheckedLayout(
            layout=self.layout,
            cells=frozenset(cells),
            slower=frozenset(each.key for each in decisions if each.word == "slower"),
            lost=frozenset(lost | set(pairs.lost)),
            ratios={each.key: each.comparison for each in decisions if each.comparison is not None},
        )


def without_harm(
    winners: Sequence[Winner], checked: CheckedLayout, sizes: Sizes
) -> tuple[list[Winner], list[Winner]]:
    """Return what is left of the winners without the sizes at which they did harm on a layout, and
    what is lost. Where calls are harmed that no winner decides, all that are for this layout and
    function are lost."""
    kept: list[Winner] = []
    lost: list[Winner] = []
    own = [winner for winner in winners if is_for_layout(winner, checked.layout)]
    for winner in winners:
        harmed = {
            cell
            for cell in checked.harmed
            if cell.function == winner.function and winner in own
            if deciding(own, cell) in (winner, None)
        }
        inside = {cell for cell in harmed if holds(winner, cell)}
        if harmed and inside == harmed:
            measured = sizes[winner.function]
            cells = {Target(winner.function, size) for size in measured}
            kept += pieces_inside(winner, cells - harmed, measured)
            lost += pieces_inside(winner, harmed, measured)
        elif harmed:
            lost.append(winner)
        else:
            kept.append(winner)
    return kept, lost
