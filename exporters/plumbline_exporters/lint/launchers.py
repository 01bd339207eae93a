"""Options by which launchers, batch systems and containers hand settings to the programs that they
start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.lint.shell_statements import Word

_LAUNCHER = re.compile(
    r"(?:.*/)?(?:mpirun|mpiexec|orterun|prterun|prun|mpirun_rsh|srun|aprun|jsrun|lrun|ibrun|flux"
    r"|ccc_mprun|poe|mpiexec\.hydra|mpiexec_mpt|mpiexec\.slurm|dplace)\Z"
)
# Options with NAME=VALUE behind them, some of which take a list with commas between.
_WITH_EQUATION = frozenset({"-x", "-e", "-E", "-v", "--env", "-env", "--export", "-genv", "--genv"})
_LONG = ("--env=", "--export=", "-export=", "--genv=")
_EQUATION = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_OPTIONS = re.compile(r"(?:^|\s)-{1,2}(?:g?o?mca|genv|env|x|tune|am|export)[ =]")
_FILES = ("--tune", "-tune", "-am", "--am")
_QUOTERS = frozenset({"echo", "printf", "cat", "grep", "sed", "awk", "die", "print"})


def is_launcher(word: str) -> bool:
    return _LAUNCHER.match(word) is not None


def has_options(text: str) -> bool:
    """Return whether a text holds options that set something."""
    return _OPTIONS.search(text) is not None


def settings(line: int, words: Sequence[Word]) -> Iterator[Assignment]:
    """Return what the options of a command set."""
    options = families.options()
    if words and words[0] in _QUOTERS:
        return
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else None
        here = word.line or line
        attached = next((start for start in _LONG if word.startswith(start)), None)
        if attached is not None:
            yield from _equations(here, Word(word[len(attached) :], fixed=word.fixed))
        elif following is not None and word in _WITH_EQUATION and "=" in following:
            yield from _equations(here, following)
        elif following is not None and word in options and at + 2 < len(words):
            value = words[at + 2]
            yield Assignment(here, options[word] + following, str(value) if value.fixed else None)
        elif word.startswith(families.prefixes()) and words[0].endswith("mpirun_rsh"):
            yield from _equations(here, word)


def handed_on(words: Sequence[Word]) -> set[str]:
    """Return the variables that a command's options name without a value."""
    names: set[str] = set()
    for word, following in pairwise(words):
        if word in ("-x", "-genvlist", "-envlist", "-E", "--env", "--export", "-v", "-e"):
            names |= {name for name in following.split(",") if re.fullmatch(r"[A-Za-z_]\w*", name)}
    return names


def parameter_files(words: Sequence[Word]) -> list[Word]:
    """Return the files of parameters that a command's options name."""
    return [
        file
        for word, following in pairwise(words)
        if word in _FILES
        for file in (
            Word(part, fixed=following.fixed, line=word.line) for part in following.split(",")
        )
    ]


def _equations(line: int, word: Word) -> Iterator[Assignment]:
    for part in re.split(r",\s*(?=[A-Za-z_]\w*=)", word):
        match = _EQUATION.fullmatch(part)
        if match is not None:
            value = match["value"] if word.fixed or not re.search("[$`]", match["value"]) else None
            yield Assignment(line, match["name"], value)
