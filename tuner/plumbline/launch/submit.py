"""One job of a scheduler that holds a campaign: its script, the words that submit it, and whether
it is queued or running. Values enter the script quoted by shlex.quote; `setup`, which a user wrote
as shell text, goes in as it is.

Slurm's commands were tried with a real Slurm, those of the others with programs in their place."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from plumbline.launch.allocation import JobTable
from plumbline.system import process
from plumbline_db import lock, scratch
from plumbline_db.errors import PlumblineError

INSIDE = "PLUMBLINE_JOB"  # set in the job: the campaign runs, and is not submitted again
_ANSWER_SECONDS = 60.0

_SCRIPT = """\
#!/bin/bash
# A job that holds a campaign of Plumbline (docs/clusters.md).
cd {folder} || exit 1
exec </dev/null >>{log} 2>&1
{setup}
export {inside}=1
exec {command}
"""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it is asked for: `nodes`, each with `ppn` ranks, for the `command`, which runs in
    `folder`. `files`: where the script and the log are. `campaign`: a text that is equal for the
    same campaign."""

    table: JobTable
    nodes: int
    ppn: int
    command: list[str]
    folder: Path
    files: Path
    campaign: str

    @property
    def name(self) -> str:
        """The job's name, equal for the same campaign. PBS takes 15 letters."""
        return f"plumb-{hashlib.sha256(self.campaign.encode()).hexdigest()[:9]}"

    @property
    def script(self) -> Path:
        return self.files / f"{self.name}.sh"

    @property
    def log(self) -> Path:
        return self.files / f"{self.name}.log"

    def text(self) -> str:
        """Return the script of the job."""
        return _SCRIPT.format(
            folder=shlex.quote(str(self.folder)),
            log=shlex.quote(str(self.log)),
            setup=self.table.setup.rstrip("\n"),
            inside=INSIDE,
            command=shlex.join(self.command),
        )


class Scheduler(msgspec.Struct, frozen=True):
    """`submitting` makes the words before the script; `answer` finds the job's number in what they
    print. `listing` are the words before a job's name that list the jobs of that name which have
    not ended: a number, and a state behind `|`. `unknown` matches the
    complaint that there is none. `cancel` ends a job."""

    title: str
    submitting: Callable[[Request], list[str]]
    answer: str
    listing: Sequence[str]
    cancel: str
    unknown: str = "(?!)"


class Submitted(msgspec.Struct, frozen=True):
    """A job; `state` is the scheduler's word, where it was there already."""

    number: str
    state: str = ""


def submit(scheduler: Scheduler, request: Request) -> Submitted:
    """Submit the job, unless one of its name is queued or running. Raises PlumblineError with what
    the scheduler says."""
    submitted_before = _listed(scheduler, request.name)
    if submitted_before is not None:
        return submitted_before
    try:
        lock.make(request.files)
        with scratch.replacing(request.script) as part:
            part.write_text(request.text())
            part.chmod(0o700)
    except OSError as error:
        raise PlumblineError(
            f"cannot write {request.script}: {error.strerror}; name a database elsewhere (--db)"
        ) from error
    lock.require_closed(request.files)
    words = [*scheduler.submitting(request), str(request.script)]
    done = process.run(words, timeout_seconds=_ANSWER_SECONDS)
    if done.status != 0 or done.timed_out:
        answer = done.stderr.strip()[-500:] or "no answer"
        raise PlumblineError(f"{words[0]} fails: {answer}; its script is {request.script}")
    number = re.search(scheduler.answer, done.stdout, re.MULTILINE)
    if number is None:
        raise PlumblineError(f"{words[0]} answers {done.stdout.strip()!r} in place of a number")
    return Submitted(number[1])


def _listed(scheduler: Scheduler, name: str) -> Submitted | None:
    """Return the job of this name that has not ended. Raises PlumblineError where the scheduler
    does not answer: a second job might be the consequence."""
    words = [*scheduler.listing, name]
    done = process.run(words, timeout_seconds=_ANSWER_SECONDS)
    for line in done.stdout.splitlines():
        number, _, state = line.strip().partition("|")
        if number:
            return Submitted(number, state or "queued or running")
    if done.timed_out or (done.status != 0 and not re.search(scheduler.unknown, done.stderr)):
        raise PlumblineError(f"{words[0]} fails: {done.stderr.strip()[-500:] or 'no answer'}")
    return None


def _slurm(request: Request) -> list[str]:
    table = request.table
    words = ["sbatch", "--parsable", f"--job-name={request.name}", "--export=ALL", "--no-requeue"]
    words += [f"--output={request.log}", "--open-mode=append"]
    words += [f"--nodes={request.nodes}", f"--ntasks-per-node={request.ppn}"]
    words += ["--exclusive"] if table.exclusive else []
    words += [f"--time={table.minutes}"] if table.minutes else []
    for option, value in (
        ("partition", table.queue),
        ("account", table.account),
        ("constraint", table.constraint),
    ):
        words += [f"--{option}={value}"] if value else []
    return [*words, *_split(table.options)]


def _pbs(request: Request) -> list[str]:
    """OpenPBS and PBS Pro, or Torque, whose commands have the same names: `qstat --version` tells
    them apart."""
    table, nodes, ppn = request.table, request.nodes, request.ppn
    version_output = process.run(["qstat", "--version"], timeout_seconds=_ANSWER_SECONDS)
    more = f":{table.constraint}" if table.constraint else ""
    words = ["qsub", "-N", request.name, "-S", "/bin/bash", "-V", "-r", "n"]
    words += ["-o", "/dev/null", "-e", "/dev/null"]
    if "pbs_version" in version_output.stdout + version_output.stderr:
        place = "scatter:excl" if table.exclusive else "scatter"
        words += ["-l", f"select={nodes}:ncpus={ppn}:mpiprocs={ppn}{more}", "-l", f"place={place}"]
    else:
        words += ["-l", f"nodes={nodes}:ppn={ppn}{more}", *(["-n"] if table.exclusive else [])]
    words += ["-l", f"walltime={60 * table.minutes}"] if table.minutes else []
    words += ["-q", table.queue] if table.queue else []
    words += ["-A", table.account] if table.account else []
    return [*words, *_split(table.options)]


def _flux(request: Request) -> list[str]:
    table = request.table
    words = ["flux", "batch", f"--job-name={request.name}"]
    words += ["--output=/dev/null", "--error=/dev/null"]
    words += [f"--nodes={request.nodes}", f"--nslots={request.nodes * request.ppn}"]
    words += ["--exclusive"] if table.exclusive else []
    words += [f"--time-limit={table.minutes}m"] if table.minutes else []
    for option, value in (
        ("queue", table.queue),
        ("bank", table.account),
        ("requires", table.constraint),
    ):
        words += [f"--{option}={value}"] if value else []
    return [*words, *_split(table.options)]


def _lsf(request: Request) -> list[str]:
    table = request.table
    words = ["bsub", "-J", request.name, "-o", str(request.log), "-rn"]
    words += ["-n", str(request.nodes * request.ppn), "-R", f"span[ptile={request.ppn}]"]
    words += ["-R", table.constraint] if table.constraint else []
    words += ["-x"] if table.exclusive else []
    words += ["-W", str(table.minutes)] if table.minutes else []
    words += ["-q", table.queue] if table.queue else []
    words += ["-P", table.account] if table.account else []
    return [*words, *_split(table.options), "/bin/bash"]


def _split(options: Sequence[str]) -> list[str]:
    """Return the words of `--name=value` and of `-x value`."""
    return [word for option in options for word in option.split(" ", 1)]


SCHEDULERS = {
    "slurm": Scheduler(
        "Slurm",
        _slurm,
        r"^(\d+)",
        ("squeue", "--noheader", "--format=%i|%T", "--name"),
        "scancel",
    ),
    "pbs": Scheduler("PBS", _pbs, r"^(\d[\w.\[\]-]*)$", ("qselect", "-s", "EHQRTW", "-N"), "qdel"),
    "flux": Scheduler(
        "Flux",
        _flux,
        r"^([ƒf][A-Za-z0-9]+)$",
        ("flux", "jobs", "--no-header", "--format={id.f58}|{state}", "--name"),
        "flux cancel",
    ),
    "lsf": Scheduler(
        "LSF",
        _lsf,
        r"Job <(\d+)> is submitted",
        ("bjobs", "-noheader", "-o", "jobid stat delimiter='|'", "-J"),
        "bkill",
        unknown="is not found",
    ),
}
