"""A campaign that is submitted as one job of a scheduler (`campaign --submit`)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline.system.words import counted
from plumbline_db.errors import UsageError, typed

from . import base, common
from .base import Program

if TYPE_CHECKING:
    from plumbline.settings.campaign_file import Task


def asked_for(text: str) -> tuple[str, dict[str, object]]:
    """Return the scheduler and the keys of the table job that `slurm,minutes=90` names."""
    from plumbline.launch import submit as jobs

    scheduler, *pairs = text.split(",")
    if scheduler not in jobs.SCHEDULERS or not all("=" in pair for pair in pairs):
        known = ", ".join(jobs.SCHEDULERS)
        raise UsageError(f"--submit {text}: one of {known}, then KEY=VALUE with commas between")
    keys = dict(pair.split("=", 1) for pair in pairs)
    return scheduler, {key: int(one) if one.isdigit() else one for key, one in keys.items()}


def is_to_be_submitted() -> bool:
    """Return False in the job itself, where the same words run the campaign."""
    from plumbline.launch import submit as jobs

    return os.environ.pop(jobs.INSIDE, None) is None


def submit(program: Program, scheduler: str, continued: str | None, asked: dict[str, Any]) -> int:
    """Submit the job, or show that it is queued or running. The campaign's settings are checked
    before."""
    from plumbline.launch import submit as jobs
    from plumbline.settings import campaign_file as files

    if continued is not None:
        raise UsageError("--submit goes with the campaign's settings: type these, not --continue")
    own = {"campaign_file", "new", "wait_for_quiet", "fresh_launches"}
    given = {key: value for key, value in asked.items() if key not in own and value is not None}
    tasks = files.tasks(asked["campaign_file"], given, program.mpi)
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
    known = jobs.SCHEDULERS[scheduler]
    job = jobs.submit(known, request)
    if program.json:
        common.print_json(
            {"job": job.number, "state": job.state or "submitted", "log": str(request.log)}
        )
        return 0
    size = f"{counted(request.nodes, 'node')} with {counted(request.ppn, 'rank')} each"
    stands = f"job {job.number} of {known.title}"
    click.echo(
        f"{stands} holds this campaign already ({job.state}): no second one is submitted"
        if job.state
        else f"submitted {stands}: {size}"
    )
    click.echo(f"how far it is: tail -f {request.log}")
    click.echo(f"results:       {typed('results', '--db', database)}")
    click.echo(f"to end it:     {known.cancel} {job.number}")
    click.echo("The same command submits it anew when it has ended, and the campaign goes on.")
    return 0


def _text(task: Task) -> str:
    """Return what makes a campaign what it is, wherever and by which job it is measured."""
    from plumbline.settings import identity

    keys = identity.identifying(task.settings)
    keys.pop("job")
    return msgspec.json.encode([str(task.mpi_prefix or ""), keys]).decode()
