"""Knowledge of a library's parameters: their names, what they take, and which are dead.

It comes from the search spaces, which the command line reads (they belong to the tuner); without
them the linter says nothing of names."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

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
