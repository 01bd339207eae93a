"""plumbline campaign --site"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, typed

from . import common, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.site.coordinator import SiteOutcome, SitePlan
    from plumbline.site.layouts import Layout

    from .campaign import Manner


def is_asked(campaign_file: Path | None) -> bool:
    """Return whether a campaign file has a table `site`."""
    from plumbline.settings import campaign_file as files

    return campaign_file is not None and files.SITE in files.read(campaign_file).values


def run(
    program: ProgramOptions,
    manner: Manner,
    *,
    campaign_file: Path | None,
    new: bool,
    check: bool,
    **asked: Any,
) -> int:
    """Run or continue the campaigns of a site, then prove and export; return the exit code."""
    from plumbline.site import coordinator

    if new or check or manner.output is not None:
        raise UsageError("--site takes no --new, --check and --output: leave them out")
    options = {name: value for name, value in asked.items() if value is not None}
    plan = coordinator.plan(campaign_file, options, program.mpi)
    members, missing = _campaigns(program, manner, plan)
    if not members:
        raise PlumblineError(
            "no campaign of the site was run to its end: "
            + "; ".join(f"{layout}: {why}" for layout, why in missing.items())
        )
    with program.open(write=True) as db, progress.Bar() as bar:
        outcome = coordinator.Site(db, plan, members, bar).run(missing)
    if program.json:
        common.print_json(outcome)
    else:
        click.echo("\n".join(_lines(outcome)))
    return 0


def _campaigns(
    program: ProgramOptions, manner: Manner, plan: SitePlan
) -> tuple[dict[Layout, str], dict[Layout, str]]:
    """Return the ids of the campaigns by layout, and why layouts have none."""
    from .campaign import run_task

    members: dict[Layout, str] = {}
    missing: dict[Layout, str] = {}
    spent = 0.0
    for number, layout in enumerate(plan.layouts):
        budget = plan.budget(plan.layouts[:number], spent)
        if budget == 0:
            missing[layout] = "the budget of the site is used up"
            continue
        progress.say(f"{number + 1} of {len(plan.layouts)}: {layout} (nodes x ranks a node)")
        try:
            members[layout] = run_task(program, plan.task(layout, budget), new=False, manner=manner)
        except PlumblineError as error:
            missing[layout] = str(error)
            common.remark(f"{layout}: {error}")
            continue
        with program.open() as db:
            spent = plan.spent_seconds(db, members)
    return members, missing


def _lines(outcome: SiteOutcome) -> list[str]:
    from plumbline_exporters.bundle import choice, evidence, ranks, sizes

    carried = [winner for winner in outcome.winners if "carried" in evidence(winner)]
    lines = [f"site {outcome.campaign.id}: {counted(len(outcome.members), 'layout')} measured"]
    lines += [f"  {layout:>8}  {id}" for layout, id in outcome.members.items()]
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
            f"sample of {counted(sample.cells, 'cell')} on {', '.join(sample.layouts)}: "
            f"{sample.slower} slower with the files than without "
            f"({100 * sample.low:.0f}-{100 * sample.high:.0f} % of all cells, 95 % interval)"
        )
    lines += [f"exported: {path}" for path in outcome.files if path.endswith("plumbline.sh")]
    lines.append(
        f"in force for a user: {typed('apply', '--user', '--campaign', outcome.campaign.id)}"
    )
    return lines
