"""Campaigns that are run to their end, for `campaign` and `verify`, and what they found."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, typed

from . import base, common, progress, pruning
from .base import Program

if TYPE_CHECKING:
    from plumbline.launch.starter import Starter
    from plumbline.results.report import Report
    from plumbline.settings.campaign_file import Task
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign


class Ran(msgspec.Struct, frozen=True):
    """The campaigns of a command, in order; `failures` are those that could not be run to their
    end, each with its label; `prefixes`: where the library of each campaign was looked for."""

    ids: list[str]
    failures: list[str] = []
    prefixes: list[Path | None] = []


class Manner(msgspec.Struct, frozen=True):
    """The way in which launches are made, whatever they measure. `wait_for_quiet`: the machine must
    be left alone by others; `fresh_launches`: no ranks stay alive between launches. `output`: the
    folder of exported files, where it is not the usual one."""

    wait_for_quiet: bool = False
    fresh_launches: bool = False
    output: Path | None = None


def show(program: Program, ran: Ran, *, all_rows: bool | None = None) -> list[Report]:
    """Prints what the campaigns found, and returns it; `all_rows` None: it is about the search.
    Raises PlumblineError when one could not be run."""
    from plumbline.core import guidelines
    from plumbline.results import report
    from plumbline_db.connection import Database

    from . import digest, tables

    in_short = len(ran.ids) == 1 and all_rows is None and not program.json
    with Database.open(program.database) as db:
        reports = [report.read(db, id) for id in ran.ids]
        lines = digest.read(db, reports[0]) if in_short else []
    if program.json:
        common.print_json(report.documents(reports, all_cells=all_rows is not None))
    elif in_short:
        click.echo("\n".join(lines))
    elif reports:
        common.show(*tables.of_all(reports, guidelines.load(), all_rows=bool(all_rows)), fit=True)
    if ran.failures:
        failed = "; ".join(ran.failures)
        raise PlumblineError(f"not run to the end: {failed} (the same command goes on)")
    return reports


def run(
    program: Program,
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

    database = program.database
    given_settings = {name: value for name, value in asked.items() if value is not None}
    tasks = files.tasks(campaign_file, given_settings, program.mpi)
    if len(tasks) == 1:
        id = _one(tasks[0], new=new, database=database, manner=manner)
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
            _one(task, new=new, database=database, manner=manner, begun=begun)
            prefixes.append(task.mpi_prefix)
        except PlumblineError as error:
            common.remark(f"{task.label}: {error}")
            failures.append(f"{task.label}: {error}")
            prefixes += [task.mpi_prefix] * (len(ids) - len(prefixes))
    return Ran(ids, failures, prefixes)


def run_again(program: Program, id: str, *, manner: Manner) -> Ran:
    """Continues a campaign that is in the database. Raises UsageError where that is not possible
    here."""
    from plumbline.settings import identity
    from plumbline.settings.campaign_file import Task
    from plumbline_db import campaigns, machines
    from plumbline_db.connection import Database
    from plumbline_db.layout import is_simulated

    with Database.open(program.database) as db:
        stored_campaign = campaigns.get(db, id)
        if stored_campaign not in campaigns.own(db):
            raise UsageError(f"{id} was not measured here: it cannot be continued")
        library = machines.library(db, stored_campaign.library_fingerprint)
    prefix = program.mpi
    if prefix is None and not is_simulated(stored_campaign) and Path(library.prefix).is_dir():
        prefix = Path(library.prefix)
    task = Task(identity.settings_of(stored_campaign.settings), prefix)
    database = program.database
    _one(task, new=False, database=database, manner=manner, wanted=stored_campaign)
    return Ran([id], prefixes=[prefix])


def _one(
    task: Task,
    *,
    new: bool,
    database: Path,
    manner: Manner,
    begun: Callable[[Database, str], None] | None = None,
    wanted: Campaign | None = None,
) -> str:
    """Run or continue one campaign; return its id. Of several, each has its own folder in the
    output."""
    from plumbline.campaign import exported, going_on, loop
    from plumbline.campaign.forecast import Forecast
    from plumbline.launch import launcher_for
    from plumbline.measure.launches import LaunchStore
    from plumbline.measure.other_work import WAIT_SECONDS, OtherWork
    from plumbline.settings import identity, starting
    from plumbline.settings.toolchain import OUT, find_toolchain, set_by_site
    from plumbline_db import campaigns, runs
    from plumbline_db.connection import Database

    output = manner.output
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
    with Database.open(database, write=True) as db:
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
            staying = contextlib.nullcontext() if manner.fresh_launches else ranks.keeping_ranks()
            with progress.Bar(forecast=Forecast(settings.sampling.launches)) as bar, staying:
                other_work = OtherWork(WAIT_SECONDS if manner.wait_for_quiet else 0.0)
                store = LaunchStore(db, campaign.id, ranks, bar, other_work)
                loop.Loop(store, toolchain, campaign, settings, folder, earlier=going.earlier).run()
        except KeyboardInterrupt as error:
            kept = counted(len(runs.listing(db, campaign.id)), "launch")
            continued = typed("campaign", "--continue", campaign.id)
            error.add_note(f"{kept} kept in {database}; `{continued}` continues")
            raise
        if output is None:
            exported.release_folder(folder)
        pruning.by_policy(db, settings.keeping.policy)
    return campaign.id


def _held(ranks: Starter) -> str:
    """Say that they are placed otherwise than a plain mpirun does it."""
    if ranks.plain is None:
        return ""
    own, plain = (
        " ".join(ranks.family.words(placement)) for placement in (ranks.placement, ranks.plain)
    )
    return f"; started with {own}, so that launches are alike: not as a plain mpirun {plain}"
