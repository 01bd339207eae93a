"""plumbline campaign"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plumbline.settings.search import Searching
from plumbline_db.errors import command_name

from . import base, common, completing, options, progress, running, submitting
from .base import Program

# What `verify` does not have: it is this command without its search.
SEARCHING = (
    *Searching.__struct_fields__,
    *("output", "check", "continued", "fresh_launches", "submit"),
)


@base.command(
    "campaign",
    takes=f"mpi db json {options.MEASURED}",
    told={"sizes": options.told("sizes")},
)
@options.keys("budget_seconds", "rounds")
@options.exported
@options.keys("variants", "all", "settings", "unsafe", "earlier")
@click.option(
    "--check",
    is_flag=True,
    help="Then check the winners by programs that are not the campaign's own (plumbline check).",
)
@click.option(
    "--continue",
    "continued",
    metavar="ID",
    shell_complete=completing.campaigns,
    help="Continue this interrupted campaign, with the settings that it was begun with.",
)
@click.option(
    "--submit",
    metavar="slurm|pbs|flux|lsf[,KEY=VALUE...]",
    help="Submit a job that holds the campaign, unless it is queued or running. Keys are those of "
    "the table job: queue, account, constraint, minutes.",
)
@options.campaign_file
@options.keys("guidelines", "functions", "profile", "use", "sync", "launches", "launches_max")
@options.fresh_launches
@options.wait_for_quiet
@options.new
def command(
    program: Program,
    output: Path | None,
    check: bool,
    continued: str | None,
    submit: str | None,
    **asked: Any,
) -> int:
    """Measure, verify, search, confirm, export: the whole loop.

    The same settings on the same machine and library are the same campaign: run again, it
    continues, or reports what it found; --continue needs its id alone. Settings come from
    CAMPAIGN_FILE (TOML; keys in docs/campaign.md) and from options, which win. A file that names
    several libraries or layouts is several campaigns, shown side by side. Exit code 3 if a result
    was wrong. With --submit the campaign runs in one job of a scheduler; the same command, typed
    again when the job was killed, goes on.

    \b
    Example:
      plumbline campaign --nprocs 4 --sizes 1024,16384,65536 --guidelines GL12,GL13
    """
    if program.json and check:
        raise click.UsageError(f"--check shows tables; use `{command_name()} check --json` then")
    if submit is not None:
        scheduler, asked["job"] = submitting.asked_for(submit)
        if submitting.is_to_be_submitted():
            return submitting.submit(program, scheduler, continued, asked)
    manner = running.Manner(asked.pop("wait_for_quiet"), asked.pop("fresh_launches"), output)
    if continued is None:
        ran = running.run(program, manner=manner, **asked)
    else:
        ran = _continued(program, continued, manner, **asked)
    found = running.show(program, ran)
    status = common.VIOLATIONS_FOUND if any(each.wrong for each in found) else 0
    if not check:
        return status
    pairs = zip(ran.ids, ran.prefixes, strict=True)
    return max(status, *(_check(id, prefix, program.database) for id, prefix in pairs))


def _continued(program: Program, id: str, manner: running.Manner, **asked: Any) -> running.Ran:
    given = sorted(name for name, value in asked.items() if value not in (None, False, ()))
    if given:
        raise click.UsageError(
            "--continue takes the settings that the campaign was begun with: leave out "
            + ", ".join(given)
        )
    return running.run_again(program, id, manner=manner)


def _check(campaign: str, mpi_prefix: Path | None, database: Path) -> int:
    """The exit code of an acceptance test of a campaign's winners, which is shown."""
    from plumbline.campaign import in_force
    from plumbline.check import acceptance, installed

    from . import check_tables

    files = in_force.files(database, campaign, mpi_prefix)
    if not files.winners or files.settings.ranks.simulate is not None:
        common.remark(f"{campaign} has no winners that a program could check")
        return 0
    programs = installed.programs(files, None, None, acceptance.ITERATIONS)
    with progress.Bar() as bar:
        found = acceptance.run(files, programs=programs, progress=bar)
    common.show(*check_tables.of(found))
    return common.VIOLATIONS_FOUND if found.slower() else 0
