"""Whether it may measure now: windows, budget, load of the host, jobs of users. `why_not` is pure;
what it judges is asked of the kernel and of Slurm."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from plumbline.daemon.configuration import Configuration, Neighbour
from plumbline.launch.batch import ask
from plumbline.launch.slurm import SlurmTable
from plumbline.settings import Settings
from plumbline.system.machine import processing_units
from plumbline.system.words import counted
from plumbline_db.watch_records import WatchDay

_NODES = re.compile(r"[0-9]{1,8}\Z")
_OURS = "plumbline-"  # how the names of our jobs begin (launch/batch.py)


class Jobs(msgspec.Struct, frozen=True):
    """Of users in the partition: how many `wait` and `run`; `idle` nodes there."""

    wait: int
    run: int
    idle: int


class Seen(msgspec.Struct, frozen=True):
    """`closed`: why windows forbid it; `load` a processing unit (None: ranks run elsewhere); `jobs`
    None: there is no scheduler; node-seconds of today and of the last seven days, this one too."""

    closed: str
    load: float | None
    jobs: Jobs | None
    today_seconds: float
    week_seconds: float


def why_not(limits: Neighbour, seen: Seen, nodes: int) -> str:
    """Why nothing is measured now, for people; "": it may be. A launch takes `nodes`."""
    if seen.closed:
        return seen.closed
    for spent, limit, when in (
        (seen.today_seconds, limits.node_seconds_a_day, "today"),
        (seen.week_seconds, limits.node_seconds_a_week, "in the last seven days"),
    ):
        if spent >= limit:
            return f"{spent:.0f} node-seconds were used {when}, of {limit:.0f}"
    if seen.load is not None and seen.load > limits.load:
        return f"the load is {seen.load:.2f} a processing unit, and {limits.load:.2f} the most"
    return _jobs(limits, seen.jobs, nodes) if seen.jobs is not None else ""


def _jobs(limits: Neighbour, jobs: Jobs, nodes: int) -> str:
    if limits.jobs != "ignore" and jobs.wait:
        return f"{counted(jobs.wait, 'job')} of users wait"
    if limits.jobs == "any" and jobs.run:
        return f"{counted(jobs.run, 'job')} of users run"
    needed = nodes + limits.nodes_held_back
    if limits.nodes_held_back and jobs.idle < needed:
        held = f"{nodes} for a launch and {limits.nodes_held_back} held back"
        return f"{counted(jobs.idle, 'node')} idle, and {needed} needed: {held}"
    return ""


def look(
    configuration: Configuration, settings: Settings, days: Sequence[WatchDay], now: datetime
) -> Seen:
    """Raises PlumblineError where Slurm does not answer."""
    slurm = settings.ranks.slurm
    here = settings.ranks.place is None
    today = now.date().isoformat()
    since = (now - timedelta(days=6)).date().isoformat()
    return Seen(
        closed=configuration.schedule.times.closed(now),
        load=os.getloadavg()[0] / processing_units() if here else None,
        jobs=None if slurm is None else _ask(slurm, configuration.neighbour),
        today_seconds=sum(day.node_seconds for day in days if day.day == today),
        week_seconds=sum(day.node_seconds for day in days if since <= day.day <= today),
    )


def _ask(table: SlurmTable, limits: Neighbour) -> Jobs:
    if limits.jobs == "ignore" and not limits.nodes_held_back:
        return Jobs(0, 0, 0)
    there = [f"--partition={table.partition}"] if table.partition else []
    listed = ask("squeue", "--noheader", "--states=PD,R", "--format=%j|%T", *there)
    nodes = ask("sinfo", "--noheader", "--states=idle", "--format=%D", *there)
    return read(listed, nodes)


def read(listed: str, nodes: str) -> Jobs:
    """What squeue (name|state a line) and sinfo (nodes a line) say; our own jobs do not count."""
    lines = [line.rpartition("|") for line in listed.splitlines() if "|" in line]
    states = [state.strip() for name, _, state in lines if not name.startswith(_OURS)]
    idle = sum(int(line) for line in nodes.split() if _NODES.match(line))
    return Jobs(states.count("PENDING"), states.count("RUNNING"), idle)
