"""Findings of the linter, whom a file is for, and the assignments of a file: names and values, with
the lines that say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec


class Assignment(msgspec.Struct, frozen=True):
    """`value` is None where it is not known before the file runs. `exported`: programs that are
    started get it. `depends`: it stands under a condition."""

    line: int
    name: str
    value: str | None
    exported: bool = True
    depends: bool = False


# Knowledge of a library's parameters: their names, what they take, and which are dead.
# It comes from the search spaces, which the command line reads (they belong to the tuner); without
# them the linter says nothing of names.

Version = tuple[int, ...]


# The effects on a user of the file, worst first.
Effect = Literal["corrupts", "fails", "ignored", "misread", "reaches", "unchecked"]
EFFECTS: dict[Effect, str] = {
    "corrupts": "a legal program gets wrong data, or hangs or ends without a reason",
    "fails": "calls or whole launches end with an error",
    "ignored": "the library drops it without a word",
    "misread": "the library takes it for something else than it says",
    "reaches": "it holds for more than it names",
    "unchecked": "the linter did not look at it, and nothing is known to be wrong",
}


class Parameter(msgspec.Struct, frozen=True):
    """A value is taken where the whole of it fits `pattern`, a regular expression; any value where
    that is empty. `choices` says so in a message. `dead` is why setting it changes nothing.
    `refusal` is what the library does with another value, where its family does not say it."""

    pattern: str = ""
    choices: str = ""
    dead: str = ""
    refusal: tuple[Effect, str] | None = None

    def takes(self, value: str) -> bool:
        return not self.pattern or re.fullmatch(self.pattern, value) is not None


class Known(msgspec.Struct, frozen=True):
    """One family from `minimum` to below `below`. Every parameter whose name starts with one of
    `prefixes` is in `parameters`, which has others besides. `readers` are the algorithms that read
    a parameter of theirs."""

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


class Finding(msgspec.Struct, frozen=True, order=True):
    """`line` counts from 1; 0 is the file as a whole. `trap` is the name of what is wrong."""

    line: int
    effect: Effect
    trap: str
    reason: str
    repair: str


# Traps of what is missing beside a setting; another file may have it.
WANTING = frozenset(
    {
        "indexed-mode", "no-switch", "parameters-without-algorithm", "reduce-wanted",
        "shared-memory-above",
    }
)  # fmt: skip


class FileKind(msgspec.Struct, frozen=True):
    """The effect of a parameter's file that is missing, and the formats that it may have; none
    where nobody but the library reads it."""

    missing: tuple[Effect, str]
    formats: tuple[str, ...]


class NamedFile(msgspec.Struct, frozen=True):
    """A file that another one puts in force. `path` is empty where it is not known before the file
    runs."""

    line: int
    path: str
    kind: FileKind


def named(given: Iterable[Assignment], kinds: Mapping[str, FileKind]) -> list[NamedFile]:
    """Return the files that parameters name, by the `kinds` of these parameters."""
    return [
        NamedFile(assignment.line, assignment.value or "", kinds[assignment.name])
        for assignment in given
        if assignment.name in kinds and assignment.value != ""
    ]


class LintTarget(msgspec.Struct, frozen=True):
    """One family, in the versions that a file may meet, with what is known of them, and of its
    other versions. `named`: somebody said which version it is."""

    family: str
    versions: tuple[Version, ...]
    known: tuple[Known, ...] = ()
    others: tuple[Known, ...] = ()
    named: bool = False

    def parameters(self, name: str) -> list[Parameter]:
        """Return the parameter of this name in each version that the file may meet, the newest
        first; where nobody said which one it is, those of all others come after."""
        versions = self.known[::-1] + (() if self.named else self.others[::-1])
        return [version.parameters[name] for version in versions if name in version.parameters]

    def some(self, holds: Callable[[Version], bool]) -> bool:
        return any(holds(version) for version in self.versions)

    def every(self, holds: Callable[[Version], bool]) -> bool:
        return all(holds(version) for version in self.versions)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return them by line, worst first; each once."""
    ranks = {effect: rank for rank, effect in enumerate(EFFECTS)}
    return sorted(
        set(findings),
        key=lambda finding: (finding.line, ranks[finding.effect], finding.trap, finding),
    )
