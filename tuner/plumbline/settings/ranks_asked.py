"""How many ranks a command line asks for, where it says so plainly: mpirun, mpiexec and srun with a
number before the program. What is not understood is not guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_STARTERS = re.compile(r"(mpirun|mpiexec|orterun|prterun|smpirun|srun)([.-].*)?\Z")
_NUMBER = {"-n", "-np", "--n", "--np", "-c"}
_NUMBER_OF_SRUN = {"-n", "--ntasks"}
# How many words follow an option that is not about numbers of ranks.
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


def ranks(words: Sequence[str]) -> int | None:
    """Of the command `words`; None where it does not say, or not plainly. Several programs with a
    colon between are counted together."""
    name = Path(words[0]).name if words else ""
    if not _STARTERS.match(name):
        return None
    slurm = name == "srun"
    parts: list[list[str]] = [[]]
    for word in words[1:]:
        if word == ":" and not slurm:
            parts.append([])
        else:
            parts[-1].append(word)
    counts = [_count(part, slurm=slurm) for part in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _count(words: Sequence[str], *, slurm: bool) -> int | None:
    names = _NUMBER_OF_SRUN if slurm else _NUMBER
    position = 0
    while position < len(words):
        word = words[position]
        name, equals, value = word.partition("=")
        if word in names:
            return _whole(words[position + 1 : position + 2])
        if name in names and equals:
            return _whole([value])
        if slurm and re.fullmatch(r"-n\d+", word):
            return int(word[2:])
        if slurm and word == "-c":
            position += 2
        elif not word.startswith("-"):
            return None  # the program begins
        elif equals:
            position += 1
        elif word in _VALUES:
            position += 1 + _VALUES[word]
        else:
            return None  # nobody knows how many words it takes
    return None


def _whole(words: Sequence[str]) -> int | None:
    return int(words[0]) if words and words[0].isdecimal() else None
