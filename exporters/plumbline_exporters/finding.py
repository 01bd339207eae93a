"""Findings of the linter, and whom a file is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from plumbline_db.errors import UsageError
from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment

# Knowledge of a library's parameters: their names, what they take, and which are dead.
# It comes from the search spaces, which the command line reads (they belong to the tuner); without
# them the linter says nothing of names.

Version = tuple[int, ...]


class Parameter(msgspec.Struct, frozen=True):
    """`values` are all that it takes, or none; numbers are legal from `least` to `most`. `dead` is
    why setting it changes nothing."""

    values: frozenset[str] = frozenset()
    least: int | None = None
    most: int | None = None
    dead: str = ""

    def takes(self, value: str) -> bool:
        if value in self.values:
            return True
        if self.least is None or self.most is None:
            return not self.values
        try:
            return self.least <= int(value) <= self.most
        except ValueError:
            return False

    def choices(self) -> str:
        """Return for a message what may stand there."""
        if self.least is not None and self.most is not None:
            return f"a number from {self.least} to {self.most}"
        return ", ".join(sorted(self.values))


class Known(msgspec.Struct, frozen=True):
    """One family from `minimum` to below `below`. Every parameter whose name starts with one of
    `prefixes` is in `parameters`. `readers` are the algorithms that read a parameter of theirs."""

    family: str
    minimum: Version
    below: Version
    prefixes: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    readers: Mapping[str, frozenset[str]] = {}

    def holds(self, version: Version) -> bool:
        return self.minimum <= version < self.below

    def versions(self) -> str:
        """`4.1`, for a message."""
        return ".".join(str(number) for number in (*self.minimum, 0)[:2])

    def speaks_of(self, name: str) -> bool:
        return name.startswith(self.prefixes)


# The effects on a user of the file, worst first.
Effect = Literal["corrupts", "fails", "ignored", "misread", "reaches"]
EFFECTS: dict[Effect, str] = {
    "corrupts": "a legal program gets wrong data, or hangs or ends without a reason",
    "fails": "calls or whole launches end with an error",
    "ignored": "the library drops it without a word",
    "misread": "the library takes it for something else than it says",
    "reaches": "it holds for more than it names",
}


class Finding(msgspec.Struct, frozen=True, order=True):
    """`line` counts from 1; 0 is the file as a whole. `trap` is the name of what is wrong."""

    line: int
    effect: Effect
    trap: str
    reason: str
    repair: str


class NamedFile(msgspec.Struct, frozen=True):
    """A file that another one puts in force, and what happens where it is not there."""

    line: int
    path: str
    missing: tuple[Effect, str]


def named(given: Iterable[Assignment], files: Mapping[str, tuple[Effect, str]]) -> list[NamedFile]:
    """Return those that the parameters `files` name."""
    return [
        NamedFile(assignment.line, assignment.value, files[assignment.name])
        for assignment in given
        if assignment.name in files and assignment.value
    ]


class LintTarget(msgspec.Struct, frozen=True):
    """One family, in the versions that a file may meet, with what is known of them, and of its
    other versions."""

    family: str
    versions: tuple[Version, ...]
    known: tuple[Known, ...] = ()
    others: tuple[Known, ...] = ()

    def some(self, holds: Callable[[Version], bool]) -> bool:
        return any(holds(version) for version in self.versions)

    def every(self, holds: Callable[[Version], bool]) -> bool:
        return all(holds(version) for version in self.versions)


class Context(msgspec.Struct, frozen=True):
    """The library that was named, if one was, and what is known of all of them."""

    library: str = ""
    known: tuple[Known, ...] = ()

    def target(self, family: str) -> LintTarget:
        """The named library where it is of this family, else all known versions of it."""
        versions = families.linted()[family].versions
        own_versions = [
            library_known for library_known in self.known if library_known.family == family
        ]
        fitting = own_versions
        asked = _named(self.library) if self.library else None
        if asked is not None and asked[0] == family:
            versions = (asked[1],)
            fitting = [
                library_known for library_known in own_versions if library_known.holds(asked[1])
            ]
        others = [library_known for library_known in own_versions if library_known not in fitting]
        return LintTarget(family, versions, tuple(fitting), tuple(others))


def _named(library: str) -> tuple[str, Version]:
    family, _, version = library.partition("-")
    match = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})*(?![0-9])", version)
    families_known = families.linted()
    if family not in families_known or match is None:
        raise UsageError(
            f"no library {library!r}: name one as FAMILY-VERSION, for instance openmpi-5.0.11; "
            f"families are {', '.join(families_known)}"
        )
    numbers = [int(part) for part in match[0].split(".")]
    return family, (*numbers, 0, 0)[: max(3, len(numbers))]


def check_library(library: str) -> None:
    """Raises UsageError where `library` is not FAMILY-VERSION of a family that is known."""
    _named(library)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return them by line, worst first; each once."""
    ranks = {effect: rank for rank, effect in enumerate(EFFECTS)}
    return sorted(
        set(findings),
        key=lambda finding: (finding.line, ranks[finding.effect], finding.trap, finding),
    )
