"""plumbline campaign"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline.settings import Searching
from plumbline.system.words import counted
from plumbline_db.errors import UsageError, command_name, typed

from . import base, common, completing, options, progress, running
from .base import Program

if TYPE_CHECKING:
    from plumbline.settings.campaign_file import Task

# Options that `verify` does not have: it is this command without the search.
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
    help="Continue this interrupted campaign with the settings it was started with.",
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
        scheduler, asked["job"] = _asked_for(submit)
        if _is_to_be_submitted():
            return _submit(program, scheduler, continued, asked)
    manner = running.Manner(asked.pop("wait_for_quiet"), asked.pop("fresh_launches"), output)
    if continued is None:
        ran = running.run(program, manner=manner, **asked)
    else:
        ran = _continued(program, continued, manner, **asked)
    reports = running.show(program, ran)
    status = common.VIOLATIONS_FOUND if any(report.wrong for report in reports) else 0
    if not check:
        return status
    pairs = zip(ran.ids, ran.prefixes, strict=True)
    return max(status, *(_check(id, prefix, program.database) for id, prefix in pairs))


def _continued(program: Program, id: str, manner: running.Manner, **asked: Any) -> running.Ran:
    settings_given = sorted(name for name, value in asked.items() if value not in (None, False, ()))
    if settings_given:
        raise click.UsageError(
            "--continue uses the settings that the campaign was started with: leave out "
            + ", ".join(settings_given)
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
        acceptance_result = acceptance.run(files, programs=programs, progress=bar)
    common.show(*check_tables.of(acceptance_result))
    return common.VIOLATIONS_FOUND if acceptance_result.slower() else 0


# --- one job that runs the campaign ---------------------------------------------------------------


def _asked_for(text: str) -> tuple[str, dict[str, object]]:
    """Return the scheduler and the keys of the table job that `slurm,minutes=90` names."""
    from plumbline.launch import submit as jobs

    scheduler, *pairs = text.split(",")
    if scheduler not in jobs.SCHEDULERS or not all("=" in pair for pair in pairs):
        names = ", ".join(jobs.SCHEDULERS)
        raise UsageError(f"--submit {text}: one of {names}, then KEY=VALUE with commas between")
    keys = dict(pair.split("=", 1) for pair in pairs)
    minutes = keys.get("minutes", "")
    numbers = {"minutes": int(minutes)} if minutes.isdigit() else {}
    return scheduler, {**keys, **numbers}


def _is_to_be_submitted() -> bool:
    """Return False in the job itself, where the same words run the campaign."""
    from plumbline.launch import submit as jobs

    return os.environ.pop(jobs.INSIDE, None) is None


def _submit(program: Program, scheduler: str, continued: str | None, asked: dict[str, Any]) -> int:
    """Submit the job, or show that it is queued or running. The campaign's settings are checked
    before."""
    from plumbline.launch import submit as jobs
    from plumbline.settings import campaign_file as files

    if continued is not None:
        raise UsageError("--submit needs the campaign's settings: give these, not --continue")
    if asked["wait_for_quiet"]:
        raise UsageError("--wait-for-quiet watches this host, not those of a job: leave it out")
    own = {"campaign_file", "new", "wait_for_quiet", "fresh_launches"}
    own_settings = {
        key: value for key, value in asked.items() if key not in own and value is not None
    }
    tasks = files.tasks(asked["campaign_file"], own_settings, program.mpi)
    every = [task.settings.ranks for task in tasks]
    table = every[0].job
    assert table is not None  # noqa: S101 - the option asks for it
    database = program.database.absolute()
    request = jobs.Request(
        table=table,
        nodes=max(ranks.node_count for ranks in every),
        ppn=max(ranks.ppn for ranks in every),
        command=[sys.executable, "-m", "plumbline", *base.words()],
        folder=Path.cwd(),
        files=Path(table.folder) if table.folder else database.parent / "jobs",
        campaign="\n".join([str(database), *map(_text, tasks)]),
    )
    scheduler_known = jobs.SCHEDULERS[scheduler]
    job = jobs.submit(scheduler_known, request)
    if program.json:
        common.print_json(
            {"job": job.number, "state": job.state or "submitted", "log": str(request.log)}
        )
        return 0
    size = f"{counted(request.nodes, 'node')} with {counted(request.ppn, 'rank')} each"
    stands = f"job {job.number} of {scheduler_known.title}"
    click.echo(
        f"{stands} runs this campaign already ({job.state}): no second job is submitted"
        if job.state
        else f"submitted {stands}: {size}"
    )
    click.echo(f"how far it is: tail -F {shlex.quote(str(request.log))}")
    click.echo(f"results:       {typed('results', '--db', database)}")
    click.echo(f"to end it:     {scheduler_known.cancel} {job.number}")
    click.echo("When the job has ended, the same command submits a new one to continue.")
    return 0


def _text(task: Task) -> str:
    """Return what makes a campaign what it is, wherever and by which job it is measured."""
    from plumbline.settings import identity

    keys = identity.identifying(task.settings)
    keys.pop("job")
    return msgspec.json.encode([str(task.mpi_prefix or ""), keys]).decode()
