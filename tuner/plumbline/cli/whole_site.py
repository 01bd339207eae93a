"""plumbline campaign --site"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, typed

from . import common, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.launch.panel import Panel
    from plumbline.settings.campaign_file import Task
    from plumbline.site.coordinator import SiteOutcome, SitePlan
    from plumbline.site.first_ranks import FirstRanks, RanksUsed
    from plumbline.site.layouts import RankLayout
    from plumbline_db.connection import Database

    RunTask = Callable[[Task, Panel | None, float, Callable[[Database, str], None]], str]


def is_asked(campaign_file: Path | None) -> bool:
    """Return whether a campaign file has a table `site`."""
    from plumbline.settings import campaign_file as files

    return campaign_file is not None and files.SITE in files.read(campaign_file).values


def tasks(
    campaign_file: Path | None, options: Mapping[str, Any], mpi_prefix: Path | None
) -> list[Task]:
    """Return the campaigns of a site's layouts, for the size of a job. Raises UsageError."""
    from plumbline.site import coordinator

    plan = coordinator.plan(campaign_file, options, mpi_prefix)
    return [plan.task(layout) for layout in plan.layouts]


def run(
    program: ProgramOptions,
    run_task: RunTask,
    campaign_file: Path | None,
    *,
    shares: bool,
    **asked: Any,
) -> int:
    """Run or continue the campaigns of a site, each by `run_task`, then prove and export. It
    returns the id of its campaign, tells it as soon as that begins, and stops after so many seconds
    in launches. `shares`: the ranks of the largest layout may measure the others. Return the exit
    code."""
    from plumbline.site import coordinator

    options = {name: value for name, value in asked.items() if value is not None}
    plan = coordinator.plan(campaign_file, options, program.mpi)
    outcome: SiteOutcome | None = None
    with _Campaigns(program, run_task, plan, shares=shares) as campaigns:
        campaigns.run_first()
        while outcome is None:
            with program.open(write=True) as db, progress.Bar() as bar:
                spent = campaigns.spent_seconds(db)
                site = coordinator.SiteRun(db, plan, campaigns.members, spent, bar)
                more = site.prove(campaigns.missing)
                if more is None:
                    outcome = site.finish(campaigns.missing, campaigns.ranks)
            if more is not None:
                campaigns.run(*more)
    if program.json:
        common.print_json(outcome)
    else:
        click.echo("\n".join(_lines(outcome)))
    return 0


class _Campaigns:
    """The campaigns of a site: `members` are the ids of those that have ended by layout, `missing`
    says why a layout has none, `ranks` which ones have measured it where layouts share some."""

    def __init__(
        self, program: ProgramOptions, run_task: RunTask, plan: SitePlan, *, shares: bool
    ) -> None:
        self.members: dict[RankLayout, str] = {}
        self.missing: dict[RankLayout, str] = {}
        self.ranks: dict[RankLayout, RanksUsed] = {}
        self._begun: dict[RankLayout, str] = {}
        self._first_ranks: FirstRanks | None = None
        self._shares = shares
        self._program = program
        self._run_task = run_task
        self._plan = plan

    def __enter__(self) -> _Campaigns:
        from plumbline.site import first_ranks

        largest = self._plan.layouts[-1]
        if self._shares and len(self._plan.layouts) > 1:
            task, beside = self._plan.task(largest), self._program.database.parent
            self._first_ranks = first_ranks.first_ranks(task, beside)
        return self

    def __exit__(self, *_: object) -> None:
        if self._first_ranks is not None:
            self._first_ranks.close()

    def run_first(self) -> None:
        """Run those that come first. Raises PlumblineError where none was run to its end."""
        plan, spent = self._plan, 0.0
        while rest := [each for each in plan.first(self.missing) if each not in self.members]:
            layout, *others = rest
            budget = plan.budget(rest, spent)
            if budget == 0:
                self.missing[layout] = "the budget of the site is used up"
                continue
            self.run(layout, budget, f"{counted(len(others), 'layout')} after it")
            with self._program.open() as db:
                spent = self.spent_seconds(db)
        if not self.members:
            reasons = "; ".join(f"{layout}: {why}" for layout, why in self.missing.items())
            raise PlumblineError(f"no campaign of the site was run to its end: {reasons}")

    def spent_seconds(self, db: Database) -> float:
        """Return the seconds in launches so far, times their nodes."""
        compared = 0.0 if self._first_ranks is None else self._first_ranks.seconds
        nodes = self._plan.nodes(self._plan.layouts[-1])
        return self._plan.spent_seconds(db, self._begun) + compared * nodes

    def run(self, layout: RankLayout, budget_seconds: float | None, why: str) -> None:
        """Run or continue the campaign of one layout."""
        progress.say(f"{layout} (nodes x ranks a node): {why}")

        def begun(_: Database, id: str) -> None:
            self._begun[layout] = id

        try:
            task = self._plan.task(layout, budget_seconds, self._plan.earlier(layout, self.members))
            shared = self._shared(layout, task)
            with self._program.open(write=True) as db:
                limit_seconds = self._plan.limit_seconds(layout, self.spent_seconds(db))
            self.members[layout] = self._run_task(task, shared, limit_seconds, begun)
        except PlumblineError as error:
            self.missing[layout] = str(error)
            common.remark(f"{layout}: {error}")

    def _shared(self, layout: RankLayout, task: Task) -> Panel | None:
        """Return the ranks that a campaign shares with the others; None: it has its own."""
        if self._first_ranks is None:
            return None
        with self._program.open(write=True) as db, progress.Bar() as bar:
            used = self._first_ranks.check(db, task, bar)
        self.ranks[layout] = used
        return self._first_ranks.panel if used.shared else None


def _lines(outcome: SiteOutcome) -> list[str]:
    from plumbline_exporters.bundle import choice, evidence, ranks, sizes

    carried = [winner for winner in outcome.winners if "carried" in evidence(winner)]
    lines = [f"site {outcome.campaign.id}: {counted(len(outcome.members), 'layout')} measured"]
    lines += [f"  {layout:>8}  {id}" for layout, id in outcome.members.items()]
    lines += [f"  {layout:>8}  ranks: {used}" for layout, used in outcome.ranks.items()]
    lines += [f"  {layout:>8}  no campaign: {why}" for layout, why in outcome.missing.items()]
    lines.append("Rules: function, ranks, bytes, times as fast, configuration")
    lines += [
        f"  {winner.function}  {ranks(winner)}  {sizes(winner, ' B')}  {winner.speedup:.2f}  "
        f"{choice(winner)}  ({evidence(winner)})"
        for winner in outcome.winners
    ]
    lines += [f"  not exported: {rule}: {why}" for rule, why in outcome.dropped]
    lines.append(
        f"{counted(len(outcome.winners), 'rule')}, {len(carried)} of them carried over to layouts "
        "between measured ones"
    )
    sample = outcome.sample
    if sample is not None:
        lines.append(
            f"sample of {counted(sample.cells, 'cell')} on {', '.join(sample.layouts)}, "
            f"{sample.between} of them on layouts that no campaign has measured: "
            f"{sample.faster} faster with the files than without, {sample.slower} slower "
            f"({100 * sample.low:.0f}-{100 * sample.high:.0f} % of all cells, 95 % interval); "
            f"{sample.removed} of {counted(sample.violated, 'violation')} removed"
        )
    lines += [f"exported: {path}" for path in outcome.files if path.endswith("plumbline.sh")]
    lines.append(
        f"in force for a user: {typed('apply', '--user', '--campaign', outcome.campaign.id)}"
    )
    return lines
