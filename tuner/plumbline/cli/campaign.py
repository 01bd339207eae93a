"""plumbline campaign"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, command_name, typed

from . import base, common, options, progress, whole_site
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.launch.panel import Panel
    from plumbline.launch.starter import Starter
    from plumbline.results.report import Report
    from plumbline.settings.campaign_file import Task
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign

# Options that `verify` does not have: it is this command without the search.
SEARCHING = (
    *("budget_seconds", "unsafe", "earlier"),
    *("output", "check", "continued", "fresh_launches", "submit", "site"),
)


@base.command(
    "campaign",
    takes=f"mpi db json {options.MEASURED}",
    told={
        "sizes": {
            "help": "Volumes in bytes, or a table of them by function (docs/campaign.md).",
            "unset": "21 of them, 1 to 102400",
        }
    },
)
@options.option(
    "--budget",
    "budget_seconds",
    type=options.Real(),
    help="Seconds in launches for the whole campaign; default: twelve times the first table, at "
    "least 150.",
)
@options.exported
@click.option(
    "--unsafe",
    is_flag=True,
    default=None,
    help="Also use algorithms that give wrong results for some correct programs.",
)
@click.option(
    "--earlier",
    help="Campaign whose winners are confirmed before the search, or `none`; default: with `--new` "
    "the last finished one.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Then check the winners by programs that are not the campaign's own (plumbline check).",
)
@click.option(
    "--continue",
    "continued",
    metavar="ID",
    shell_complete=options.complete_campaigns,
    help="Continue this interrupted campaign with the settings it was started with.",
)
@click.option(
    "--submit",
    metavar="slurm|pbs|flux|lsf[,KEY=VALUE...]",
    help="Submit a job that holds the campaign, unless it is queued or running. Keys are those of "
    "the table job: queue, account, constraint, minutes.",
)
@click.option(
    "--site",
    is_flag=True,
    help="Tune every number of ranks and layout up to --nprocs and --nodes, into one export "
    "(docs/campaign.md, table site).",
)
@options.campaign_file
@options.option(
    "--guidelines",
    type=options.Words(),
    help="Ids of guidelines to verify, or `all`; -GL1 leaves GL1 out; default: the usual set (with "
    "commas between).",
)
@click.option(
    "--guidelines-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of your own guidelines, in place of Plumbline's (docs/verification.md).",
)
@options.option(
    "--functions",
    type=options.Functions(),
    help="Functions that are verified too, for monotony and split-robustness; MPI_Ibcast and the "
    "like also against the blocking one (with commas between).",
)
@click.option(
    "--profile",
    help="An application's calls, as `plumbline profile` wrote them (docs/application.md).",
)
@options.launches(
    "Launches (or pairs of launches) before the first decision; only undecided cells get more.",
    unset="6",
)
@options.settings("a campaign file (docs/campaign.md)")
@options.fresh_launches
@options.wait_for_quiet
@options.new
def command(
    program: ProgramOptions,
    output: Path | None,
    check: bool,
    continued: str | None,
    submit: str | None,
    site: bool,
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
            of_site = site or whole_site.is_asked(asked["campaign_file"])
            return _submit(program, scheduler, continued, asked, of_site=of_site)
    manner = Manner(asked.pop("wait_for_quiet"), asked.pop("fresh_launches"), output)
    if continued is None and (site or whole_site.is_asked(asked["campaign_file"])):
        if asked.pop("new") or check or output is not None:
            raise UsageError("--site takes no --new, --check and --output: leave them out")
        member = partial(_member, program, manner)
        return whole_site.run(program, member, shares=not manner.fresh_launches, **asked)
    if continued is None:
        ran = run(program, manner=manner, **asked)
    else:
        ran = _continued(program, continued, manner, **asked)
    reports = show(program, ran)
    status = common.VIOLATIONS_FOUND if any(report.wrong for report in reports) else 0
    if not check:
        return status
    pairs = zip(ran.ids, ran.prefixes, strict=True)
    return max(status, *(_check(id, prefix, program.database) for id, prefix in pairs))


def _member(
    program: ProgramOptions,
    manner: Manner,
    task: Task,
    shared: Panel | None,
    limit_seconds: float,
    begun: Callable[[Database, str], None],
) -> str:
    manner = msgspec.structs.replace(manner, shared=shared, limit_seconds=limit_seconds)
    return run_task(program, task, new=False, manner=manner, begun=begun)


def _continued(program: ProgramOptions, id: str, manner: Manner, **asked: Any) -> Ran:
    settings_given = sorted(name for name, value in asked.items() if value not in (None, False, ()))
    if settings_given:
        raise click.UsageError(
            "--continue uses the settings that the campaign was started with: leave out "
            + ", ".join(settings_given)
        )
    return _run_again(program, id, manner=manner)


def _check(campaign: str, mpi_prefix: Path | None, database: Path) -> int:
    """The exit code of an acceptance test of a campaign's winners, which is shown."""
    from plumbline.campaign import in_force
    from plumbline.check import acceptance, installed

    from .check import shown

    files = in_force.files(database, campaign, mpi_prefix)
    if not files.winners or files.settings.ranks.simulate is not None:
        common.remark(f"{campaign} has no winners that a program could check")
        return 0
    programs = installed.programs(files, None, None, acceptance.ITERATIONS)
    with progress.Bar() as bar:
        acceptance_result = acceptance.run(files, programs=programs, progress=bar)
    common.show(*shown(acceptance_result))
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


def _submit(
    program: ProgramOptions,
    scheduler: str,
    continued: str | None,
    asked: dict[str, Any],
    *,
    of_site: bool,
) -> int:
    """Submit the job, or show that it is queued or running. The campaign's settings are checked
    before; `of_site`: it is the campaign of a whole site."""
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
    if of_site:
        tasks = whole_site.tasks(asked["campaign_file"], own_settings, program.mpi)
    else:
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


# --- campaigns that are run to their end ----------------------------------------------------------


class Ran(msgspec.Struct, frozen=True):
    """The campaigns of a command, in order; `failures` are those that could not be run to their
    end, each with its label; `prefixes`: where the library of each campaign was looked for."""

    ids: list[str]
    failures: list[str] = []
    prefixes: list[Path | None] = []


class Manner(msgspec.Struct, frozen=True):
    """The way in which launches are made, whatever they measure. `wait_for_quiet`: the machine must
    be left alone by others; `fresh_launches`: no ranks stay alive between launches. `output`: the
    folder of exported files, where it is not the usual one. `shared`: ranks that several campaigns
    visit. `limit_seconds`: seconds in launches after which the campaign stops, wherever it is."""

    wait_for_quiet: bool = False
    fresh_launches: bool = False
    output: Path | None = None
    shared: Panel | None = None
    limit_seconds: float = math.inf


def show(program: ProgramOptions, ran: Ran, *, all_rows: bool | None = None) -> list[Report]:
    """Prints what the campaigns found, and returns it; `all_rows` None: it is about the search.
    Raises PlumblineError when one could not be run."""
    from plumbline.core import guidelines
    from plumbline.results import report

    from . import digest, tables

    in_short = len(ran.ids) == 1 and all_rows is None and not program.json
    with program.open() as db:
        reports = [report.read(db, id) for id in ran.ids]
        lines = digest.read(db, reports[0]) if in_short else []
    if program.json:
        common.print_json(report.documents(reports, all_cells=all_rows is not None))
    elif in_short:
        click.echo("\n".join(lines))
    elif reports:
        own_guidelines = guidelines.of_settings(reports[0].campaign.settings)
        common.show(*tables.of_all(reports, own_guidelines, all_rows=bool(all_rows)), fit=True)
    require_all(ran)
    return reports


def require_all(ran: Ran) -> None:
    """Raise PlumblineError when a campaign could not be run to its end."""
    if ran.failures:
        failed = "; ".join(ran.failures)
        raise PlumblineError(f"not run to the end: {failed} (the same command goes on)")


def run(
    program: ProgramOptions,
    campaign_file: Path | None,
    *,
    new: bool,
    manner: Manner = Manner(),  # noqa: B008 - it is frozen
    **asked: Any,
) -> Ran:
    """Runs or continues the campaigns that are asked for, one after the other. Where there are
    several, one that cannot be run does not keep the others from it."""
    from plumbline.settings import campaign_file as files
    from plumbline_db import campaigns

    given_settings = {name: value for name, value in asked.items() if value is not None}
    tasks = files.tasks(campaign_file, given_settings, program.mpi)
    if len(tasks) == 1:
        id = run_task(program, tasks[0], new=new, manner=manner)
        return Ran([id], prefixes=[tasks[0].mpi_prefix])
    ids: list[str] = []
    prefixes: list[Path | None] = []
    failures: list[str] = []

    def begun(db: Database, id: str) -> None:
        ids.append(id)
        written = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        campaigns.put_batch(db, str(Path(campaign_file or "").absolute()), ids, written)

    for number, task in enumerate(tasks):
        progress.say(f"{number + 1} of {len(tasks)}: {task.label}")
        try:
            run_task(program, task, new=new, manner=manner, begun=begun)
            prefixes.append(task.mpi_prefix)
        except PlumblineError as error:
            common.remark(f"{task.label}: {error}")
            failures.append(f"{task.label}: {error}")
            prefixes += [task.mpi_prefix] * (len(ids) - len(prefixes))
    return Ran(ids, failures, prefixes)


def _run_again(program: ProgramOptions, id: str, *, manner: Manner) -> Ran:
    """Continues a campaign that is in the database. Raises UsageError where that is not possible
    here."""
    from plumbline.settings import identity
    from plumbline.settings.campaign_file import Task
    from plumbline_db import campaigns, machines
    from plumbline_db.layout import is_simulated

    with program.open() as db:
        stored_campaign = campaigns.get(db, id)
        if stored_campaign not in campaigns.own(db):
            raise UsageError(f"{id} was not measured here: it cannot be continued")
        library = machines.library(db, stored_campaign.library_fingerprint)
    prefix = program.mpi
    if prefix is None and not is_simulated(stored_campaign) and Path(library.prefix).is_dir():
        prefix = Path(library.prefix)
    task = Task(identity.settings_of(stored_campaign.settings), prefix)
    run_task(program, task, new=False, manner=manner, wanted=stored_campaign)
    return Ran([id], prefixes=[prefix])


def run_task(
    program: ProgramOptions,
    task: Task,
    *,
    new: bool,
    manner: Manner,
    begun: Callable[[Database, str], None] | None = None,
    wanted: Campaign | None = None,
) -> str:
    """Run or continue one campaign; return its id. Of several, each has its own folder in the
    output."""
    from plumbline.campaign import exported, going_on, loop
    from plumbline.cli.progress import Forecast
    from plumbline.launch import launcher_for
    from plumbline.measure.launches import LaunchStore
    from plumbline.measure.other_work import WAIT_SECONDS, OtherWork
    from plumbline.settings import identity, starting
    from plumbline.settings.toolchain import OUT, find_toolchain, set_by_site
    from plumbline_db import campaigns, runs

    from .db import by_policy

    output, database = manner.output, program.database
    if manner.wait_for_quiet and task.settings.ranks.place is not None:
        raise UsageError(
            "--wait-for-quiet watches this host, but these ranks run elsewhere: leave it out"
        )
    toolchain = find_toolchain(task.mpi_prefix, settings=task.settings, beside=database.parent)
    settings = task.settings.on(toolchain.launcher.processing_units())
    site = set_by_site(toolchain)
    if site:
        raise PlumblineError(f"{'; '.join(site)}: {OUT}")
    ranks = starting.starter(toolchain, settings)
    loop.check(toolchain, settings, ranks)
    for function, ids in identity.beside(toolchain, settings).items():
        common.remark(
            f"{function} is measured as well: {', '.join(ids)} is about it, and "
            "`functions` adds to what `guidelines` name"
        )
    measured = [*identity.chosen(toolchain, settings).lhs_functions(), *settings.cases.functions]
    common.remark(settings.cases.rounding(measured, settings.ranks.nprocs))
    with program.open(write=True) as db:
        campaign = identity.begin(db, toolchain, settings, new=new, wanted=wanted)
        if wanted is None:
            campaigns.put_command_line(db, campaign.id, base.command_line())
        going = going_on.go_on(db, campaign, settings)
        if going.settings != settings:
            settings = going.settings
            launcher = launcher_for(settings.ranks.place, database.parent)
            toolchain = msgspec.structs.replace(toolchain, launcher=launcher)
            ranks = starting.starter(toolchain, settings)
        campaign = going.campaign
        if begun is not None:
            begun(db, campaign.id)
            output = None if output is None else output / campaign.id
        if campaign.state == "finished":
            if output is not None:
                words = ["env", "json", "--campaign", campaign.id, "--output", output]
                common.remark(
                    f"campaign {campaign.id} is finished already; its files are written "
                    f"elsewhere with `{typed('export', *words)}`"
                )
            return campaign.id
        folder = output or exported.claim_folder(db, database, campaign)
        if campaign.oversubscribed:
            common.remark(
                f"{campaign.nprocs} ranks on "
                f"{counted(toolchain.machine.processing_units, 'processing unit')}: "
                f"oversubscribed, and marked as such{_held(ranks)}"
            )
        if not settings.search.verifies_only:
            more = (
                "" if settings.search.budget_seconds is not None else ", more if launches are slow"
            )
            common.remark(
                f"time limit: {settings.budget:g} s in launches for the whole campaign{more} "
                "(--budget)"
            )
        try:
            with contextlib.ExitStack() as staying:
                if not manner.fresh_launches:
                    shared = staying.enter_context(_shared_ranks(program, db, task, manner.shared))
                    staying.enter_context(ranks.keeping_ranks(shared))
                forecast = Forecast(settings.sampling.launches)
                bar = staying.enter_context(progress.Bar(forecast=forecast))
                other_work = OtherWork(WAIT_SECONDS if manner.wait_for_quiet else 0.0)
                store = LaunchStore(db, campaign.id, ranks, bar, other_work)
                store.limit_seconds = manner.limit_seconds
                loop.CampaignLoop(
                    store, toolchain, campaign, settings, folder, earlier=going.earlier
                ).run()
        except KeyboardInterrupt as error:
            kept = counted(len(runs.listing(db, campaign.id)), "launch")
            continued = typed("campaign", "--continue", campaign.id)
            error.add_note(f"{kept} kept in {database}; `{continued}` continues")
            raise
        if output is None:
            exported.release_folder(folder)
        by_policy(db, settings.keeping.policy)
    return campaign.id


@contextlib.contextmanager
def _shared_ranks(
    program: ProgramOptions, db: Database, task: Task, shared: Panel | None
) -> Iterator[Panel | None]:
    """Yield the ranks that a campaign visits: those that are `shared`, or the first ones of the key
    `within`; None: its own."""
    from plumbline.site import first_ranks

    whole = task.settings.ranks.whole
    if shared is not None or whole is None:
        yield shared
        return
    largest = msgspec.structs.replace(
        task, settings=msgspec.structs.replace(task.settings, ranks=whole)
    )
    first = first_ranks.first_ranks(largest, program.database.parent)
    if first is None:
        yield None
        return
    try:
        with progress.Bar() as bar:
            used = first.check(db, task, bar)
        common.remark(f"ranks: {used}")
        yield first.panel if used.shared else None
    finally:
        first.close()


def _held(ranks: Starter) -> str:
    """Say that they are placed otherwise than a plain mpirun does it."""
    if ranks.plain is None:
        return ""
    own, plain = (
        " ".join(ranks.family.words(placement)) for placement in (ranks.placement, ranks.plain)
    )
    return f"; started with {own}, so that launches are alike: not as a plain mpirun {plain}"
