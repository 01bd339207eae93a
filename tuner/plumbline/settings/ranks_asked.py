"""A reader of what a command line says of its ranks, where it says so plainly: mpirun, mpiexec and
srun with a number before the program. What is not understood is not guessed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from plumbline_db import user_files
from plumbline_exporters import run_script

_STARTERS = re.compile(r"(mpirun|mpiexec|orterun|prterun|smpirun|srun)([.-].*)?\Z")
# Programs that start the command at the end of their words, such as a launcher, unchanged.
_WRAPPERS = re.compile(
    r"(env|nice|ionice|chrt|time|timeout|nohup|setsid|stdbuf|numactl|taskset|strace|ltrace|perf)\Z"
)
_NUMBER = {"-n", "-np", "--n", "--np", "-c"}
_NUMBER_OF_SRUN = {"-n", "--ntasks"}
_FLAGS_OF_SRUN = {"-O", "--overcommit", "-s", "-k", "--no-kill", "-E", "-K", "--kill-on-bad-exit"}
# The number of words after each option that is not about numbers of ranks.
_VALUES = {
    **dict.fromkeys(
        ("--oversubscribe", "-oversubscribe", "--allow-run-as-root", "--report-bindings", "-v",
         "--verbose", "-q", "--quiet", "--tag-output", "-l", "--label", "--bynode", "--bycore",
         "--nolocal", "--display-map", "-u", "--unbuffered", "--exclusive", "--overlap", "-quiet",
         "--use-hwthread-cpus", "-s", "--display-allocation"),
        0,
    ),
    **dict.fromkeys(
        ("--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f",
         "--map-by", "-map-by", "--bind-to", "-bind-to", "--rank-by", "-x", "--wdir", "-wdir",
         "--prefix", "--tune", "--timeout", "-hosts", "-iface", "-launcher", "-ppn", "-perhost",
         "--npernode", "-npernode", "-N", "--nodes", "-p", "--partition", "-A", "--account", "-t",
         "--time", "--mpi", "--cpu-bind", "--distribution", "-m", "-w", "--nodelist", "-platform",
         "--ntasks-per-node", "--cpus-per-task", "-map"),
        1,
    ),
    **dict.fromkeys(("--mca", "-mca", "--gmca", "-genv", "-env", "--prtemca"), 2),
}  # fmt: skip


# Options of a launcher with which its program may be on another host or in another folder.
_ELSEWHERE = {
    "--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f",
    "-hosts", "--wdir", "-wdir",
}  # fmt: skip


# Variables with the number of ranks in a process that a launcher has started.
_OF_A_RANK = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
_MENTIONS_MPI = b"libmpi"
_MOST_BYTES = 1 << 28  # of a program that is looked into


class Start(NamedTuple):
    """`launcher`: the words before the program, those of programs around the launcher too; empty
    where nothing says where it begins or there are several programs. `ranks`: None where nobody
    knows. `starter`: the launcher's own word; empty where there is none."""

    launcher: tuple[str, ...]
    ranks: int | None
    starter: str = ""


def ranks(words: Sequence[str]) -> int | None:
    """Return the number of ranks of the command `words`, or None if the command does not say it
    plainly. Several programs with a colon between are counted together."""
    return of(words, {}).ranks


def of(words: Sequence[str], environment: Mapping[str, str], binary: Path | None = None) -> Start:
    """Return the start of the command `words` in an `environment`: an allocation's environment says
    what srun uses by default. A program (`binary`) that calls MPI itself, without a launcher, is
    one rank."""
    at = _place(words)
    name = Path(words[at]).name if words else ""
    if not _STARTERS.match(name):
        alone = binary is not None and calls_mpi(binary)
        inside = any(variable in environment for variable in _OF_A_RANK)
        return Start((), 1 if alone and not inside else None)
    slurm = name == "srun"
    parts: list[list[str]] = [[]]
    for word in words[at + 1 :]:
        if word == ":" and not slurm:
            parts.append([])
        else:
            parts[-1].append(word)
    read = [_read(part, slurm=slurm) for part in parts]
    begins = read[0].program
    launcher = () if begins is None or len(parts) > 1 else tuple(words[: at + begins + 1])
    counts = [part.ranks for part in read]
    if slurm and counts == [None] and launcher:
        counts = [_whole([environment.get("SLURM_NTASKS", "")])]
    known_counts = [count for count in counts if count is not None]
    return Start(
        launcher, sum(known_counts) if len(known_counts) == len(counts) else None, words[at]
    )


def _place(words: Sequence[str]) -> int:
    """Return where the launcher stands: first, or behind `env A=1`, `nice -n 5`, `timeout 60` and
    the like."""
    if not words or not _WRAPPERS.match(Path(words[0]).name):
        return 0
    starters = (at for at, word in enumerate(words) if _STARTERS.match(Path(word).name))
    return next(starters, 0)


def missing(words: Sequence[str]) -> str | None:
    """Return the program that a launcher would start on this host where it does not exist; None
    where it does, or where the launcher may look elsewhere: on other hosts, in another folder."""
    start = of(words, {})
    if not start.launcher or names_hosts(start) or Path(start.starter).name == "srun":
        return None
    program = words[len(start.launcher)]
    return None if shutil.which(program) or Path(program).exists() else program


def names_hosts(start: Start) -> bool:
    """Return whether the launcher may start the program on other hosts, or in another folder."""
    return any(word.partition("=")[0] in _ELSEWHERE for word in start.launcher)


def takes_all(program: Path) -> bool:
    """Return whether the ranks of a command that begins with `program` have its environment as it
    is: it is one of their launchers, or calls MPI itself."""
    name = program.name
    return run_script.takes_all(name) or (not run_script.hands_on(name) and calls_mpi(program))


def calls_mpi(program: Path) -> bool:
    """Return whether a program names the library as one that the loader brings."""
    try:
        if program.stat().st_size > _MOST_BYTES:
            return False
        return _MENTIONS_MPI in user_files.read(program)
    except OSError:
        return False


class _Part(NamedTuple):
    """`program`: how many words stand before it; None where that is not plain."""

    ranks: int | None
    program: int | None


def _read(words: Sequence[str], *, slurm: bool) -> _Part:
    names = _NUMBER_OF_SRUN if slurm else _NUMBER
    position = 0
    count: int | None = None
    while position < len(words):
        word = words[position]
        name, equals, value = word.partition("=")
        if word in names:
            count = _whole(words[position + 1 : position + 2])
            position += 2
        elif name in names and equals:
            count = _whole([value])
            position += 1
        elif slurm and re.fullmatch(r"-n\d+", word):
            count = int(word[2:])
            position += 1
        elif slurm and word == "-c":
            position += 2
        elif not word.startswith("-"):
            return _Part(count, position)
        elif equals or (slurm and word in _FLAGS_OF_SRUN):
            position += 1
        elif word in _VALUES:
            position += 1 + _VALUES[word]
        else:
            return _Part(count, None)  # nobody knows how many words it takes
    return _Part(count, None)


def _whole(words: Sequence[str]) -> int | None:
    return int(words[0]) if words and words[0].isdecimal() else None
