"""The ranks of the largest layout of a site, whose first ones measure smaller layouts, and the
checks that they may: A/A comparisons of the library as it is on the first K of N ranks, while the
others sleep, and on K ranks that were started alone; then on several groups of K ranks at the same
time, and on one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign.pairs import told
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.launch.groups import groups_of
from plumbline.launch.panel import KeepsRanks, Panel
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, ArmComparison, NextLook, claim_of
from plumbline.measure.launches import IN_COMPANY, OWN_RANKS, LaunchStore, Progress
from plumbline.search.space.candidates import DEFAULT, index
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import Task
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline.verify.decision import by_interval, design_over, joint
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.layout import SITE_CHECK
from plumbline_db.records import Suite

# Both sides are alike if the whole interval of their ratio, over all cells together, is within this
# share of 1, and no cell differs by more for certain.
ALIKE = 0.1
# Pairs of launches at the first and at the last look.
_PAIRS = (6, 12)
# Cells that are compared, about: functions and sizes are drawn evenly from those of the campaign.
_CELLS = 12
_FIRST_RANKS, _ONE_GROUP = "first-ranks", "one-group"


class RanksUsed(msgspec.Struct, frozen=True):
    """The ranks that measured a layout: the first ones of a larger number (`shared`), or its own,
    and `why`. `ratio`: time on the first ranks over that on ranks of its own, all cells together;
    None: this was not compared. `company`: whether several groups measure at the same time, and
    why; empty where there is one group."""

    shared: bool
    why: str
    ratio: Comparison | None = None
    company: str = ""

    def __str__(self) -> str:
        ratio = (
            "" if self.ratio is None else f"; time on them over that on its own {told(self.ratio)}"
        )
        company = self.company and f"; {self.company}"
        return f"{'' if self.shared else 'its own: '}{self.why}{ratio}{company}"


class FirstRanks:
    """The shared ranks of a site, `panel`. `seconds`: those in launches that compared."""

    def __init__(self, panel: Panel, whole: Placement) -> None:
        self.panel = panel
        self.whole = whole
        self.seconds = 0.0

    def close(self) -> None:
        self.panel.close()

    def check(self, db: Database, task: Task, progress: Progress) -> RanksUsed:
        """Return whether the first ranks may measure the campaign `task` in place of its own.
        Comparisons that are stored are not made again. Raises PlumblineError as a campaign does."""
        beside = Path(db.path).parent
        toolchain = find_toolchain(task.mpi_prefix, settings=task.settings, beside=beside)
        settings = task.settings.on(toolchain.launcher.processing_units())
        task = Task(settings, task.mpi_prefix)
        starter = starting.starter(toolchain, settings)
        whole = self.whole
        if starter.placement == whole:
            return RanksUsed(shared=True, why="the largest layout")
        if starter.placement.oversubscribed != whole.oversubscribed:
            why = f"{whole.nprocs} ranks have fewer processing units than ranks, these have not"
            return RanksUsed(shared=False, why=why)
        if not self.panel.serves(starter.placement):
            return RanksUsed(shared=False, why=f"the first of {whole.nprocs} are on other nodes")
        try:
            return self._compared(db, toolchain, task, progress)
        except PlumblineError as error:
            return RanksUsed(shared=False, why=str(error))

    def _compared(
        self, db: Database, toolchain: Toolchain, task: Task, progress: Progress
    ) -> RanksUsed:
        settings, whole = task.settings, self.whole
        starter = starting.starter(toolchain, settings)
        check = {"command": SITE_CHECK, "check": f"first ranks of {whole}"}
        identified = identity.Identity(
            msgspec.json.encode(identity.document(settings) | check).decode(),
            starter.placement,
            "sr",
            left_out=set(settings.fixed.environment),
            asked=msgspec.json.encode(identity.identifying(settings) | check).decode(),
        )
        row = identity.enter(db, toolchain, identified, new=False)
        store = LaunchStore(db, row.id, starter, progress)
        store.progress.step(
            f"{starter.placement.nprocs} ranks: compared with the first ones of {whole.nprocs}"
        )
        cells = some_cells(tables.sizes_of(identity.chosen(toolchain, settings), settings))
        plan = tables.plan(settings, [PlanCase(cell.function, cell.bytes) for cell in cells])
        claim = msgspec.structs.replace(
            claim_of(settings), tolerance=ALIKE, design=design_over(*_PAIRS), both_sides=True
        )

        def seconds(suite: str) -> dict[Target, list[float]]:
            times = index(runs.medians(db, row.id, [suite]))
            return {key[0]: list(each.values()) for key, each in times.items() if key[1] == DEFAULT}

        def compared(first: str, other: str) -> ArmComparison[Target]:
            def arms(look: NextLook, _: Sequence[Target]) -> tuple[Arm, Arm]:
                own = look.plan(plan)
                return Arm(look.suite(Suite(first)), own), Arm(look.suite(Suite(other)), own)

            def wanted() -> Sequence[Target]:
                is_clear = by_interval(_over_all(comparison), ALIKE) != "undecided"
                return [] if is_clear else cells

            comparison = ArmComparison(store, claim, seconds)
            comparison.until_decided(cells, arms, wanted)
            return comparison

        with starter.keeping_ranks(self.panel):
            used = _judged(
                compared(_FIRST_RANKS, OWN_RANKS), f"on the first ranks of {whole.nprocs}"
            )
            groups = groups_of(whole, starter.placement)
            if used.shared and groups > 1:
                where = f"beside {counted(groups - 1, 'other group')}"
                company = _judged(compared(IN_COMPANY, _ONE_GROUP), where)
                used = msgspec.structs.replace(used, company=_of_company(company, groups))
                if company.shared:
                    self.panel.side_by_side.add(starter.placement.nprocs)
        self.seconds += store.spent_seconds
        identity.finish(db, row)
        return used


def first_ranks(task: Task, beside: Path) -> FirstRanks | None:
    """Return the ranks of the largest layout, whose campaign is `task`, before any is started; None
    where ranks cannot stay alive. `beside`: the folder of the database."""
    toolchain = find_toolchain(task.mpi_prefix, settings=task.settings, beside=beside)
    if not isinstance(toolchain.launcher, KeepsRanks):
        return None
    settings = task.settings.on(toolchain.launcher.processing_units())
    placement = starting.starter(toolchain, settings).placement
    launcher = toolchain.launcher
    panel = Panel(toolchain.family, toolchain.installation, launcher, placement=placement)
    return FirstRanks(panel, placement)


def some_cells(sizes: Mapping[str, Sequence[int]]) -> list[Target]:
    """Return cells that are compared: the smallest, the middle and the largest size of functions
    that are drawn evenly."""
    few = [
        (function, sorted({own[0], own[len(own) // 2], own[-1]}))
        for function, own in sorted(sizes.items())
        if own
    ]
    count = max(1, _CELLS // max((len(own) for _, own in few), default=1))
    step = max(1, -(-len(few) // count))
    return [Target(function, size) for function, own in few[::step] for size in own]


def _over_all(comparison: ArmComparison[Target]) -> Comparison | None:
    """Return the ratio of both sides in the mean of all cells; None where no launch has them."""
    means = joint([logs for logs in comparison.ratios.values() if logs])
    return paired_ratio(means, 0.95) if means else None


def _judged(comparison: ArmComparison[Target], where: str) -> RanksUsed:
    """Return whether ranks are alike alone and `where` they are not."""
    ratio = _over_all(comparison)
    different = [each for each in comparison.family.decisions if each.word in ("slower", "faster")]
    is_alike = by_interval(ratio, ALIKE) == "equal"
    if comparison.lost:
        why = "some cells have no result on one side"
    elif different:
        worst = max(different, key=lambda each: abs(each.told.ratio - 1))
        why = (
            f"{worst.key.function}, {worst.key.bytes} B, takes {worst.told.ratio:.2f} of its time "
            f"{where}"
        )
    elif not is_alike:
        why = f"times {where} may differ by more than {ALIKE:.0%}"
    else:
        why = f"{where}, alike within {ALIKE:.0%}"
    return RanksUsed(
        shared=is_alike and not different and not comparison.lost, why=why, ratio=ratio
    )


def _of_company(judged: RanksUsed, groups: int) -> str:
    """Return what the comparison of several groups with one says."""
    ratio = "" if judged.ratio is None else f", time over that of one alone {told(judged.ratio)}"
    if judged.shared:
        return f"{groups} groups measure at the same time{ratio}"
    return f"one group at a time: {judged.why}{ratio}"
