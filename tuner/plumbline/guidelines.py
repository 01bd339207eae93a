"""The performance guidelines as data: reads guidelines.toml, strictly.

Knows names only. What a guideline kind compares is in `plumbline.verify`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from plumbline_db.errors import UsageError

DEFAULT_PATH = Path(__file__).with_name("guidelines.toml")
PRECEDES = "⪯"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the entries of the file: an unknown key is an error."""


class Monotony(Entry, frozen=True):
    """f(n) ⪯ f(n + k), for every measured function."""

    id: str
    name: str


class Split(Entry, frozen=True):
    """f(n) ⪯ k f(n / k), for every measured function. `tolerance` is the least slow-down that
    counts: 0.05 means that the left side may take 5 % longer."""

    id: str
    name: str
    tolerance: float


class Pattern(Entry, frozen=True):
    """`lhs` is not slower than its variant `variant`, which is made of the functions `uses`."""

    id: str
    name: str
    lhs: str
    variant: str
    uses: list[str]


class Guidelines(Entry, frozen=True):
    """All guidelines of one file, in its order."""

    monotony: Monotony
    split: Split
    patterns: list[Pattern] = msgspec.field(name="pattern")

    def lhs_functions(self) -> list[str]:
        """Functions on the left side of a pattern, each once, in the order of the file."""
        return list(dict.fromkeys(pattern.lhs for pattern in self.patterns))

    def name_of(self, guideline: str) -> str:
        """Name of a guideline by its id; KeyError where there is none."""
        return {entry.id: entry.name for entry in self.entries()}[guideline]

    def entries(self) -> list[Monotony | Split | Pattern]:
        return [self.monotony, self.split, *self.patterns]


def load(path: Path | None = None) -> Guidelines:
    """Guidelines of a file, by default the ones that come with Plumbline.

    UsageError names the file, the entry and what is wrong with it."""
    path = path or DEFAULT_PATH
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        guidelines = msgspec.convert(document, Guidelines, strict=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}{_entry_hint(document, str(error))}") from error
    for entry, problem in _problems(guidelines):
        raise UsageError(f"{path}: {entry}: {problem}")
    return guidelines


def check_against(guidelines: Guidelines, variants: Collection[str]) -> None:
    """UsageError when a right side is not among `variants`, the names of `probe --list`."""
    known = set(variants)
    for pattern in guidelines.patterns:
        if pattern.variant not in known:
            raise UsageError(
                f"guideline {pattern.id} ({pattern.name}): the probe has no variant "
                f"'{pattern.variant}'; correct the entry, or add the variant to "
                "collectives-alt/catalogue.def and build the probe again"
            )


def _entry_hint(document: dict[str, object], message: str) -> str:
    """The id of the pattern that a decoding error `… at `$.pattern[3].lhs`` points to."""
    _, found, rest = message.partition("$.pattern[")
    patterns = document.get("pattern")
    if not found or not isinstance(patterns, list):
        return ""
    digits = rest.partition("]")[0]
    if not digits.isdigit() or not isinstance(patterns[int(digits)], dict):
        return ""
    entry = patterns[int(digits)]
    return f" (pattern entry {int(digits) + 1}, id {entry.get('id', 'missing')})"


def _problems(guidelines: Guidelines) -> Iterable[tuple[str, str]]:
    """(entry, problem) for what types alone cannot say."""
    seen: set[str] = set()
    variants: dict[str, str] = {}
    for entry in guidelines.entries():
        label = f"guideline '{entry.id}'"
        if not entry.id or entry.id.split() != [entry.id]:
            yield label, "the id must be a word without white space"
        if entry.id in seen:
            yield label, "the id is used twice"
        seen.add(entry.id)
        if not entry.name.strip():
            yield label, "the name is empty"
    if not 0 <= guidelines.split.tolerance < 1:
        yield (
            f"guideline '{guidelines.split.id}'",
            f"tolerance = {guidelines.split.tolerance} is not in [0, 1)",
        )
    if not guidelines.patterns:
        yield "pattern", "the list is empty"
    for pattern in guidelines.patterns:
        label = f"guideline '{pattern.id}'"
        for function in (pattern.lhs, *pattern.uses):
            if not function.startswith("MPI_"):
                yield label, f"'{function}' is not the name of an MPI function (MPI_…)"
        if not pattern.uses:
            yield label, "uses is empty: name the functions of the right side"
        if not pattern.name.startswith(f"{pattern.lhs} {PRECEDES} "):
            yield label, f"the name must start with '{pattern.lhs} {PRECEDES} '"
        prefix = pattern.lhs.removeprefix("MPI_").lower() + "_"
        if not pattern.variant.startswith(prefix):
            yield label, f"'{pattern.variant}' is not a variant of {pattern.lhs} ({prefix}…)"
        if pattern.variant in variants:
            yield label, f"variant '{pattern.variant}' is already in {variants[pattern.variant]}"
        variants[pattern.variant] = pattern.id
