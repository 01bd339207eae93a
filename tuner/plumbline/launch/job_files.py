"""The folder of a launch that a scheduler runs: its script and what says how far it is.

The one template of shell text is here. Values get into it quoted by shlex.quote and by nothing
else; what a user wrote as `setup` is shell text and goes in as it is. All other files are written
under a temporary name and renamed, by the script too, when they are on disk: what is there is
whole. The folder is closed to others; what it keeps of the environment of a node are names."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Event

BEAT_SECONDS = 15
KILL_SECONDS = 10  # between asking the ranks to end at the time limit and killing them
FULL_SECONDS = (1, 2, 4, 8, 16)  # pauses between attempts to say the end on a disk that is full

# {attempt} comes as an argument too, from what was submitted: an earlier attempt that the scheduler
# starts after all does nothing. One that was given up but runs writes nothing that the next one
# writes: the file `over` has the number of attempts that are. The status goes into the file `done`,
# and only a script that came to its end writes that; where the disk is full it tries for a while.
JOB = """\
#!/bin/bash
# One launch of Plumbline (docs/clusters.md), to be run as job.sh {attempt}
cd {folder} || exit 1
[ "$1" = {attempt} ] || exit 0
umask 077
exec </dev/null >stdout 2>stderr
plumbline_over() {{
    local over=0
    {{ read -r over <{folder}/over; }} 2>/dev/null
    [ {attempt} -le "${{over:-0}}" ]
}}
(
    cd / && exec >/dev/null 2>&1 9<> <(:)  # reading from it is a pause without a process
    while kill -0 $$ && ! plumbline_over && touch {folder}/alive; do read -r -t {beat} -u 9; done
) &
plumbline_beat=$!
{preamble}
cd {folder} || exit 1
{{ env -0 | cut -zd= -f1 && echo; }} >environment.part && sync environment.part &&
    mv environment.part environment || exit 1
{variables}
plumbline_begun=$(date +%s.%N)
timeout --kill-after={kill} {seconds} {command}
plumbline_status=$?
plumbline_ended=$(date +%s.%N)
kill "$plumbline_beat"
plumbline_over && exit 0
for plumbline_pause in {pauses}; do
    echo {attempt} "$plumbline_status" "$plumbline_begun" "$plumbline_ended" >done.part &&
        sync done.part && mv done.part done && exit 0
    sleep "$plumbline_pause"
done
exit 1
"""

# What is submitted: one or several launches, told apart by the index of the task in its array.
SUBMITTED = """\
#!/bin/bash
case "${{{index}:-0}}" in
{cases}
esac
"""

_DONE = re.compile(rb"(\d{1,9}) (\d{1,3}) (\d{1,12}\.\d+) (\d{1,12}\.\d+)\n\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_T = TypeVar("_T")
_OF_AN_ATTEMPT = ("done", "alive", "environment", "stdout", "stderr")


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """Written before the scheduler is asked, without `id`, and again with it. `name` is the job's
    name (empty: that attempt is over), `task` the launch's number in it. `digest` is that of what
    was to be run."""

    attempt: int
    name: str
    task: int
    digest: str
    id: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    begun_seconds: float
    ended_seconds: float
    age_seconds: float


def job_script(
    *,
    folder: Path,
    attempt: int,
    words: Sequence[str],
    variables: Mapping[str, str],
    preamble: Sequence[str],
    timeout_seconds: float,
) -> str:
    """Raises PlumblineError for a variable that no shell can set."""
    unfit = [name for name in variables if not _NAME.match(name)]
    if unfit:
        raise PlumblineError(f"no shell script can set the variable {unfit[0]!r}: unset it")
    return JOB.format(
        folder=shlex.quote(str(folder)),
        attempt=attempt,
        beat=BEAT_SECONDS,
        preamble="\n".join(preamble),
        variables="\n".join(
            f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())
        ),
        kill=KILL_SECONDS,
        pauses=" ".join(map(str, FULL_SECONDS)),
        seconds=f"{timeout_seconds:g}",
        command=shlex.join(words),
    )


def submitted_script(scripts: Sequence[tuple[Path, int]], index: str) -> str:
    """`scripts` are those of the launches, with their attempts; `index` is the variable that has
    the number of a task of an array."""
    cases = [
        f"{number}) exec /bin/bash {shlex.quote(str(script))} {attempt} ;;"
        for number, (script, attempt) in enumerate(scripts)
    ]
    return SUBMITTED.format(index=index, cases="\n".join(cases))


def of_attempt(records: str, attempt: int) -> str:
    """The file into which an attempt writes what is to become `records`: a job that was given up,
    but still runs, has another one."""
    name, dot, end = records.partition(".")
    return f"{name}-{attempt}{dot}{end}"


class JobFiles:
    """The files of one launch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def submission(self) -> Submission | None:
        """Raises PlumblineError where it is damaged: nobody knows then what is under way."""
        return _decoded(self.folder / "submission", Submission)

    def submitting(self, submission: Submission) -> None:
        _write(self.folder / "submission", msgspec.json.encode(submission))

    def write_script(self, name: str, text: str) -> Path:
        _write(self.folder / name, text.encode())
        return self.folder / name

    def clear(self, records: str) -> None:
        """Takes away what an earlier attempt has left; `records` is the file of its results."""
        for name in (*_OF_AN_ATTEMPT, records, records + ".part"):
            (self.folder / name).unlink(missing_ok=True)

    def over(self, attempts: int) -> None:
        """So many attempts are over, even if one of their jobs still runs."""
        _write(self.folder / "over", f"{attempts}\n".encode())

    def take(self, records: str, attempt: int) -> None:
        """The records of this attempt are those of the launch."""
        for end in ("", ".part"):
            with contextlib.suppress(FileNotFoundError):  # taken before, or never written
                written = self.folder / (of_attempt(records, attempt) + end)
                written.rename(self.folder / (records + end))

    def done(self, attempt: int) -> Done | None:
        # Listing a folder makes clients of network file systems look again.
        if "done" not in os.listdir(self.folder):
            return None
        path = self.folder / "done"
        found = _DONE.match(path.read_bytes())
        if found is None or int(found[1]) != attempt:
            return None  # of another one, or not whole, or not yet so from here
        return Done(
            status=int(found[2]),
            begun_seconds=float(found[3]),
            ended_seconds=float(found[4]),
            age_seconds=max(0.0, time.time() - path.stat().st_mtime),
        )

    def is_cut(self) -> bool:
        """The script's last word is there and cannot be read."""
        path = self.folder / "done"
        return path.is_file() and _DONE.match(path.read_bytes()) is None

    def beat(self) -> int:
        """Another number than before says that the script runs; 0: it has not begun."""
        try:
            return (self.folder / "alive").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def environment(self) -> list[str] | None:
        """The names of what was set for the job on its node, before this launch's own was added;
        None where they are not there as a whole."""
        path = self.folder / "environment"
        words = path.read_bytes().decode(errors="replace").split("\0") if path.is_file() else []
        return words[:-1] if words and words[-1] == "\n" else None

    def tail(self, name: str, cap_bytes: int) -> str:
        try:
            with (self.folder / name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - cap_bytes))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def events(self) -> list[Event]:
        """What has happened to the launch on its way, kept until it is stored."""
        return _decoded(self.folder / "events", list[Event]) or []

    def add(self, event: Event) -> None:
        _write(self.folder / "events", msgspec.json.encode([*self.events(), event]))


def _write(path: Path, data: bytes) -> None:
    try:
        with scratch.replacing(path) as part:
            part.touch(mode=0o600)
            part.write_bytes(data)
    except OSError as error:
        raise PlumblineError(
            f"cannot write {path}: {error.strerror}; make room, and the same command goes on"
        ) from error


def _decoded(path: Path, type: type[_T]) -> _T | None:
    """None where there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlumblineError(
            f"{path} cannot be read ({error}; was the disk full?): cancel the job, if there is one "
            f"(`grep job-name` or -N in its submit.sh), remove {path.parent}, and the same command "
            "starts the launch again"
        ) from error
