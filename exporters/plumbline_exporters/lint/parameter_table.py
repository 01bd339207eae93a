"""Reads search-spaces/parameters/FAMILY.tsv: the parameters of a family's versions, and what the
library itself takes for each. What is worth a try is another matter: search spaces say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from plumbline_db.errors import PlumblineError
from plumbline_exporters.finding import Known, Parameter, Version

_WORDS_OF_SWITCH = "true|t|yes|y|enabled|false|f|no|n|disabled"
_INTEGER = r"[ \t]*[+-]?[0-9]+"
_YES_NO = ("yes", "true", "on", "1", "no", "false", "off", "0")
_KINDS = {
    "text": Parameter(),
    "number": Parameter(
        r"[ \t]*[+-]?[0-9].*|", "a number", refusal=("misread", "is no number, and is read as 0")
    ),
    "switch": Parameter(rf"{_INTEGER}|{_WORDS_OF_SWITCH}|", "true or false"),
    "auto-switch": Parameter(rf"(?i:{_INTEGER}|auto|{_WORDS_OF_SWITCH}|)", "true, false or auto"),
    "integer": Parameter(r"\s*-?\+?[0-9]*", "a number without a unit"),
    "yes-no": Parameter(
        "|".join(word for lower in _YES_NO for word in (lower, lower.upper())), "yes or no"
    ),
}


def read(path: Path) -> tuple[Known, ...]:
    """Return the versions of a family, the oldest first. Raises PlumblineError where the file is
    not a table of parameters."""
    complete, versions = rows(path)
    keys = list(versions)
    bounds = [*keys, (keys[-1][0] + 1, 0)]
    try:
        return tuple(
            Known(
                path.stem, minimum, below, complete,
                {name: _parameter(takes) for name, takes in versions[minimum].items()},
            )
            for minimum, below in pairwise(bounds)
        )  # fmt: skip
    except KeyError as error:
        raise PlumblineError(f"{path}: there is no kind of value {error}") from error


@cache
def rows(path: Path) -> tuple[tuple[str, ...], dict[Version, dict[str, str]]]:
    """Return the beginnings of names that the table has all of, and what it says of each name, by
    version. Raises PlumblineError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        table = [line.split("\t") for line in lines if line and line[0] != "#"]
        versions, complete = table[0][1].split(), tuple(table[1][1].split())
        by_version: dict[Version, dict[str, str]] = {_key(version): {} for version in versions}
        for name, span, takes in table[2:]:
            for at in _span(span, versions):
                by_version[_key(versions[at])][name] = takes
    except OSError as error:
        raise PlumblineError(f"{path}: {error.strerror}; install Plumbline again") from error
    except (ValueError, IndexError) as error:
        raise PlumblineError(f"{path} is no table of parameters: {error}") from error
    return complete, by_version


def _key(version: str) -> Version:
    return tuple(int(number) for number in version.split("."))


def _span(span: str, versions: Sequence[str]) -> range:
    first, _, last = span.partition("-")
    if span == "all":
        return range(len(versions))
    return range(versions.index(first), versions.index(last or first) + 1)


def _spellings(number: str) -> str:
    """Return a pattern of a number in decimal, octal and hexadecimal digits, as strtol takes it."""
    if not number.isdigit():
        return re.escape(number)
    value = int(number)
    return rf"(?:{value}|0+{value:o}|0x0*{value:x})"


def _parameter(takes: str) -> Parameter:
    """`choice 0:false 1:true` is Open MPI's enumerator, `name auto tree` is MPICH's."""
    kind, _, words = takes.partition(" ")
    if kind == "choice":
        pairs = [word.partition(":")[::2] for word in words.split()]
        names = [re.escape(name) for _, name in pairs]
        numbers = [rf"[ \t]*\+?{_spellings(number)}" for number, _ in pairs]
        return Parameter(
            f"(?i:{'|'.join([*names, *numbers])}|)", ", ".join(name for _, name in pairs)
        )
    if kind == "name":
        return Parameter("|".join(map(re.escape, words.split())), ", ".join(words.split()))
    return _KINDS[kind]
