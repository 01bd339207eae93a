"""Names and values of parameters, by what is known of a library
(search-spaces/parameters/FAMILY.tsv, what its versions take for each): typing errors, dead
parameters, values that are not taken. What is worth a try is another matter: search spaces say
it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from plumbline_db.errors import PlumblineError
from plumbline_exporters import families
from plumbline_exporters.finding import Assignment, Finding, Known, LintTarget, Parameter, Version

_ALIKE = 0.85
_MOST_GUESSES = 100  # in a file: each is compared with every name there is
_FALSE = frozenset({"f", "no", "n", "false", "disabled", "0", ""})


def is_true(value: str | None) -> bool:
    """Return it as Open MPI reads a switch; what is not known before the file runs counts as
    set."""
    return value is None or value.strip().lower() not in _FALSE


def check(
    assignments: Iterable[Assignment], target: LintTarget, *, prefix: str = ""
) -> Iterator[Finding]:
    """`prefix` is what the environment puts before a name."""
    guesses = _MOST_GUESSES
    for assignment in assignments:
        own_versions = [
            version.parameters[assignment.name]
            for version in target.known
            if assignment.name in version.parameters
        ]
        parameters = target.parameters(assignment.name)
        if not parameters:
            guesses -= 1
            yield from _unknown(assignment, target, prefix, guess=guesses >= 0)
        elif own_versions and all(parameter.dead for parameter in own_versions):
            versions = " and ".join(version.versions() for version in target.known)
            yield Finding(
                assignment.line, "ignored", "dead-parameter",
                f"{prefix}{assignment.name} changes nothing in {target.family} {versions}: "
                f"{own_versions[0].dead}", "leave it out",
            )  # fmt: skip
        else:
            yield from _of_value(assignment, target, prefix)


def takes(name: str, value: str, target: LintTarget) -> bool:
    """Return whether a version that the file may meet takes the value; true of a name that nothing
    is known of."""
    parameters = target.parameters(name)
    return not parameters or any(parameter.takes(value) for parameter in parameters)


def _of_value(assignment: Assignment, target: LintTarget, prefix: str) -> Iterator[Finding]:
    """A value that no version takes; `target` has such a parameter."""
    value = assignment.value
    if value is None or takes(assignment.name, value, target):
        return
    parameter = target.parameters(assignment.name)[0]
    effect, what = parameter.refusal or families.linted()[target.family].refusal
    yield Finding(
        assignment.line, effect, "no-such-value",
        f"{prefix}{assignment.name}: {value!r} {what}", f"take {parameter.choices}",
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _near(name: str, names: tuple[str, ...]) -> list[str]:
    return difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE)


def _unknown(
    assignment: Assignment, target: LintTarget, prefix: str, *, guess: bool
) -> Iterator[Finding]:
    """Silent where the name may belong to a part that nothing is known of."""
    owner = next((space for space in target.others if assignment.name in space.parameters), None)
    if owner is not None and target.known:
        yield Finding(
            assignment.line, "ignored", "other-version",
            f"{prefix}{assignment.name} is a parameter of {target.family} {owner.versions()}, not "
            "of this version",
            "leave it out, or take what took its place",
        )  # fmt: skip
        return
    complete = {
        start
        for version in target.known
        for start in version.prefixes
        if assignment.name.startswith(start)
    }
    if not complete:
        return
    names = [
        name
        for version in target.known
        for name in version.parameters
        if name.startswith(max(complete))
    ]
    near = _near(assignment.name, tuple(names)) if guess else []
    yield Finding(
        assignment.line, "ignored", "unknown-name",
        f"{target.family} has no {prefix}{assignment.name}, and says nothing of names that it does "
        "not know", f"did you mean {prefix}{near[0]}?" if near else "leave it out",
    )  # fmt: skip


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
