"""Options by which launchers, batch systems and containers hand settings to the programs that they
start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.lint import shell_statements
from plumbline_exporters.lint.shell_statements import Word

_LAUNCHER = re.compile(
    r"(?:.*/)?(?:mpirun|mpiexec|orterun|prterun|prun|mpirun_rsh|srun|aprun|jsrun|lrun|ibrun|flux"
    r"|ccc_mprun|poe|mpiexec\.hydra|mpiexec_mpt|mpiexec\.slurm|dplace)\Z"
)
# Options with NAME=VALUE behind them, some of which take a list with commas between.
_WITH_EQUATION = frozenset({"-x", "-e", "-E", "-v", "--env", "-env", "--export", "-genv", "--genv"})
_LONG = ("--env=", "--export=", "-export=", "--genv=")
_LISTS = ("--export", "-export", "-v")  # of Slurm and PBS: each comma outside of quotes divides
_PART = re.compile(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+")
_ATTACHED = re.compile(r"-[eE](?=[A-Za-z_]\w*=)")
_OF_SPECTRUM = ("--smpiargs", "-M")  # of jsrun: options of mpirun in one word
_EQUATION = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_OPTIONS = re.compile(r"(?:^|\s)-{1,2}(?:g?o?mca|genv|env|x|tune|am|export)[ =]")
_FILES = ("--tune", "-tune", "-am", "--am")
_FILE = re.compile(r"--?(?:tune|am)=")
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
        close = _ATTACHED.match(word)
        of_spectrum = _of_spectrum(words, at)
        if attached is not None:
            value = Word(word[len(attached) :], fixed=word.fixed)
            yield from _equations(here, value, listed=attached.startswith(_LISTS))
        elif close is not None:
            yield from _equations(here, Word(word[close.end() :], fixed=word.fixed))
        elif of_spectrum:
            for statement in shell_statements.of_shell(of_spectrum):
                yield from settings(here, [Word("mpirun"), *statement.words])
        elif following is not None and word in _WITH_EQUATION and "=" in following:
            yield from _equations(here, following, listed=word in _LISTS)
        elif following is not None and word in options and at + 2 < len(words):
            value = words[at + 2]
            yield Assignment(here, options[word] + following, str(value) if value.fixed else None)
        elif word.startswith(families.prefixes()) and words[0].endswith("mpirun_rsh"):
            yield from _equations(here, word)


def _of_spectrum(words: Sequence[Word], at: int) -> str:
    """Return the options of mpirun that jsrun hands on in the word at a place; '' for none."""
    name, equals, value = words[at].partition("=")
    if name not in _OF_SPECTRUM or not words[0].endswith("jsrun"):
        return ""
    return value if equals else str(words[at + 1]) if at + 1 < len(words) else ""


def of_env(words: Sequence[Word]) -> tuple[int, set[str]]:
    """Return where the options of a leading `env` end (0 without one), and the variables that they
    remove; `*` stands for all."""
    at, removed = int(words[0] == "env"), set[str]()
    while at and at < len(words) and words[at][:1] == "-":
        word = words[at]
        if word in ("-u", "--unset") and at + 1 < len(words):
            removed.add(str(words[at + 1]))
        elif word.startswith("--unset="):
            removed.add(word.partition("=")[2])
        elif word in ("-", "-i", "--ignore-environment"):
            removed.add("*")
        at += 2 if word in ("-u", "--unset", "-C", "-S") else 1
    return at, removed


def passed(words: Sequence[Word]) -> set[str] | None:
    """Return the variables that srun passes on where its list of them is without ALL; None where
    all are passed on."""
    if not words or not words[0].endswith("srun"):
        return None
    for at, word in enumerate(words):
        name, equals, listed = word.partition("=")
        if name == "--export" and (equals or at + 1 < len(words)):
            parts = _PART.findall(listed if equals else words[at + 1])
            return None if "ALL" in parts else {part.partition("=")[0] for part in parts}
    return None


def handed_on(words: Sequence[Word]) -> set[str]:
    """Return the variables that a command's options name without a value."""
    names: set[str] = set()
    for word, following in pairwise(words):
        if word in ("-x", "-genvlist", "-envlist", "-E", "--env", "--export", "-v", "-e"):
            names |= {name for name in following.split(",") if re.fullmatch(r"[A-Za-z_]\w*", name)}
    return names


def parameter_files(words: Sequence[Word]) -> list[Word]:
    """Return the files of parameters that a command's options name."""
    lists = [following for word, following in pairwise(words) if word in _FILES]
    for word in words:
        if attached := _FILE.match(word):
            lists.append(Word(word[attached.end() :], fixed=word.fixed, line=word.line))
    return [
        Word(part, fixed=listed.fixed, line=listed.line)
        for listed in lists
        for part in listed.split(",")
    ]


def _equations(line: int, word: Word, *, listed: bool = False) -> Iterator[Assignment]:
    """`listed`: a comma divides wherever it stands, and quotes are no part of a value."""
    parts = _PART.findall(word) if listed else re.split(r",\s*(?=[A-Za-z_]\w*=)", word)
    for part in parts:
        match = _EQUATION.fullmatch(part.strip())
        if match is not None:
            text = match["value"].strip("'\"") if listed else match["value"]
            value = text if word.fixed or not re.search("[$`]", text) else None
            yield Assignment(line, match["name"], value)
