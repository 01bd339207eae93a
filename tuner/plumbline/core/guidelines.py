"""The performance guidelines as data: reads guidelines.toml, strictly.

Knows names only. What a guideline kind compares is in `plumbline.verify`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec

from plumbline.core.configuration import variant_name
from plumbline.core.plan import blocking, is_form
from plumbline.system import mistakes, toml
from plumbline.system.toml import Document, Place
from plumbline_db.errors import UsageError

_PAPER = "Hunold, Carpen-Amarie, Lübbe, Träff, Euro-Par 2016"
_TUNE_LIB = "PGMPITuneLib (Hunold, Carpen-Amarie, HPC Asia 2018)"
_LAST_OF_THE_PAPER = 17


class ExplainedGuideline(msgspec.Struct, frozen=True):
    """`right_side`: the variant or call that the left side must not be slower than."""

    id: str
    name: str
    kind: str
    meaning: str
    right_side: str
    source: str
    default: bool = True


def explained(guidelines: Guidelines) -> list[ExplainedGuideline]:
    """Return the guidelines in the order of the file."""
    return [_explained(entry) for entry in guidelines.entries()]


def _explained(
    entry: Monotony | Split | RankMonotony | Pattern | Overlap | Nonblocking,
) -> ExplainedGuideline:
    default = True
    match entry:
        case Monotony():
            kind, meaning = "monotony", "A larger message must not be faster than a smaller one."
            right = "the same call at the next larger measured size"
        case Split():
            kind = "split"
            meaning = "A message must not be slower than pieces of it, one after the other"
            meaning += f"; {100 * entry.tolerance:g} % are allowed for."
            right = f"pieces of the message: {', '.join(map(str, entry.pieces))} of them"
        case RankMonotony():
            kind, meaning = "rank", "A call on fewer ranks must not be slower than on all"
            meaning += f" (1/{entry.divisor} of them, each with the same counts)."
            right, default = "the same call on all ranks", entry.default
        case Pattern():
            kind, default = "pattern", entry.default
            meaning = f"{entry.lhs} must not be slower than what does the same by other calls."
            right = f"{entry.variant}, made of {' and '.join(entry.uses) or entry.lhs}"
        case Overlap():
            kind = "overlap"
            meaning = "A message beside work must not take longer than both, one after the other"
            meaning += f", for work as long as the message and for {entry.work_us} µs."
            right = "the message alone, then the work (plumbline overlap)"
        case Nonblocking():
            kind = "nonblocking"
            meaning = "A non-blocking call and its wait must not be slower than the blocking call."
            right = "the blocking call (plumbline overlap)"
    return ExplainedGuideline(
        entry.id, entry.name, kind, meaning, right, _source(entry.id), default
    )


def _source(id: str) -> str:
    if id not in _ids_of_plumbline():
        return "a file of your own"
    if not id.startswith("GL"):
        return "Plumbline"
    number = int(id.removeprefix("GL"))
    return f"{id} of {_PAPER}" if number <= _LAST_OF_THE_PAPER else _TUNE_LIB


DEFAULT_PATH = Path(__file__).with_name("guidelines.toml")
PRECEDES = "⪯"
EVERY = "all"  # in place of ids of guidelines: also those that are not verified by default
LEFT_OUT = "-"  # before the id of a guideline that is not verified
LIBRARY = "default"  # the variant that is the library's own call
# Patterns of the probe that may be a left side: messages between two ranks. Their operations take
# the place of variants, and the first operation is the library's own call.
MESSAGE_PATTERNS = ("point_to_point", "exchange", "vector", "struct")
# Patterns with gaps in the data. A message of megabytes takes up to a second.
LAYOUT_PATTERNS = ("vector", "struct")


class GuidelineEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the entries of the file: an unknown key is an error."""

    id: str
    name: str

    @property
    def label(self) -> str:
        return f"guideline '{self.id}'"


class Monotony(GuidelineEntry, frozen=True):
    """f(n) ⪯ f(n + k), for every measured function."""


class Split(GuidelineEntry, frozen=True):
    """f(n) ⪯ k f(n / k), for every measured function. `tolerance` is the least slow-down that
    counts: 0.05 means that the left side may take 5 % longer. For `functions` the right side is
    measured, k being one of `pieces`, none of them below `least_bytes`."""

    tolerance: float
    pieces: list[int]
    least_bytes: int
    functions: list[str]

    def variant(self, function: str, pieces: int) -> str:
        return f"{_split_variant(function)}:pieces={pieces}"

    def names(self) -> list[str]:
        """The variants that are its right sides, without their parameter."""
        return [_split_variant(function) for function in self.functions]

    def variants(self, function: str, size: int, least: int) -> list[str]:
        """Right sides at a size, if the smallest message of the function has `least` bytes."""
        if function not in self.functions:
            return []
        smallest = max(self.least_bytes, least)
        return [self.variant(function, k) for k in self.pieces if size >= k * smallest]


class RankMonotony(GuidelineEntry, frozen=True):
    """f on p / `divisor` ranks ⪯ f on p ranks, for every measured function."""

    divisor: int
    default: bool = True

    def ranks(self, nprocs: int) -> int:
        """Return the ranks of the left side; 0 if there are fewer than two."""
        return nprocs // self.divisor if nprocs // self.divisor >= 2 else 0


class Pattern(GuidelineEntry, frozen=True):
    """`lhs` is not slower than its variant `variant`, which is made of the functions `uses`; with
    `lhs_variant`, that one is not slower than `variant`. `default`: verified unless others are
    asked for. The file leaves out what the name spells (`_spelt`)."""

    lhs: str
    variant: str
    uses: list[str]
    lhs_variant: str = LIBRARY
    default: bool = True


class Overlap(GuidelineEntry, frozen=True):
    """A message beside work ⪯ the message alone, then the work, for benchmarks of overlap: with
    work as long as the message, and with `work_us` microseconds of it."""

    work_us: int


class Nonblocking(GuidelineEntry, frozen=True):
    """Isend or Irecv + Wait with nothing between them ⪯ the blocking call, for the same."""


class Guidelines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All guidelines of one file, in its order. `overlap` and `nonblocking` are of benchmarks, not
    of functions: `plumbline overlap tune` verifies them. `left_out`: ids of monotony and
    split-robustness where they are not verified."""

    monotony: Monotony
    split: Split
    patterns: list[Pattern] = msgspec.field(name="pattern")
    rank: RankMonotony | None = None
    overlap: Overlap | None = None
    nonblocking: Nonblocking | None = None
    left_out: list[str] = []

    def verifies(self, entry: Monotony | Split) -> bool:
        """Return whether a guideline of every measured function is verified."""
        return entry.id not in self.left_out

    def lhs_functions(self) -> list[str]:
        """Functions on the left side of a pattern, each once, in the order of the file."""
        return list(dict.fromkeys(pattern.lhs for pattern in self.patterns))

    def names(self) -> dict[str, str]:
        """Return the names of the guidelines by id."""
        return {entry.id: entry.name for entry in self.entries()}

    def name_of(self, guideline: str) -> str:
        """Name of a guideline by its id; KeyError where there is none."""
        return self.names()[guideline]

    def entries(self) -> list[Monotony | Split | RankMonotony | Pattern | Overlap | Nonblocking]:
        rank = [self.rank] if self.rank else []
        return [self.monotony, self.split, *rank, *self.patterns, *self.of_benchmarks()]

    def of_benchmarks(self) -> list[Overlap | Nonblocking]:
        return [
            guideline for guideline in (self.overlap, self.nonblocking) if guideline is not None
        ]

    def known_to(self, functions: Collection[str]) -> Guidelines:
        """Return the guidelines without those of forms that a library lacks."""
        kept = [
            pattern
            for pattern in self.patterns
            if pattern.lhs in functions or not is_form(pattern.lhs)
        ]
        return msgspec.structs.replace(self, patterns=kept)

    def selected(self, ids: Collection[str], functions: Collection[str] = ()) -> Guidelines:
        """Return the guidelines with these ids (EVERY: all); by default (no ids) the guidelines
        that are verified by default, and those of forms that are among the `functions`. Monotony
        and split-robustness belong to every function that is measured. A guideline whose id stands
        behind LEFT_OUT is left out in any case. Small letters are the same as capitals."""
        left_out = {id.removeprefix(LEFT_OUT).upper() for id in ids if id.startswith(LEFT_OUT)}
        named = {id.upper() for id in ids if not id.startswith(LEFT_OUT)}

        def wanted(entry: Pattern | RankMonotony) -> bool:
            if entry.id.upper() in left_out:
                return False
            if named:
                return entry.id.upper() in named or EVERY in ids
            of_form = isinstance(entry, Pattern) and is_form(entry.lhs) and entry.lhs in functions
            return entry.default or of_form

        return msgspec.structs.replace(
            self,
            patterns=[pattern for pattern in self.patterns if wanted(pattern)],
            rank=self.rank if self.rank and wanted(self.rank) else None,
            left_out=[
                entry.id
                for entry in (self.monotony, self.split)
                if entry.id.upper() in left_out or not self.verifies(entry)
            ],
        )


def prefix_of(function: str) -> str:
    """Return how the names of its variants begin: `reduce_scatter_` for MPI_Reduce_scatter."""
    return function.removeprefix("MPI_").lower() + "_"


def _split_variant(function: str) -> str:
    return f"{prefix_of(function)}as_split"


def _spelt(pattern: Any) -> Any:
    """A pattern of the file, with the sides that its name spells where it says none:
    `MPI_Scan ⪯ MPI_Exscan + MPI_Reduce_local` is of scan_as_exscan_plus_reduce_local, and
    `MPI_Ibcast + MPI_Wait ⪯ MPI_Bcast` of MPI_Ibcast and ibcast_as_bcast."""
    name = pattern.get("name") if isinstance(pattern, dict) else None
    left_side, precedes, right_side = (
        name.partition(f" {PRECEDES} ") if isinstance(name, str) else ("",) * 3
    )
    if not precedes:
        return pattern
    backwards = "+" in left_side
    form = left_side.partition(" + ")[0]
    if is_form(form) and blocking(form) == right_side:
        mockup = f"{prefix_of(form)}as_{right_side.removeprefix('MPI_').lower()}"
        return {"lhs": form, "uses": [right_side], "variant": mockup} | pattern
    function, functions = (right_side, left_side) if backwards else (left_side, right_side)
    made_of = functions.split(" + ")
    mockup = f"{prefix_of(function)}as_" + "_plus_".join(
        part.removeprefix("MPI_").lower() for part in made_of
    )
    sides = {"lhs_variant": mockup, "variant": LIBRARY} if backwards else {"variant": mockup}
    return {"lhs": function, "uses": [function] if backwards else made_of} | sides | pattern


def load(path: Path | None = None) -> Guidelines:
    """Guidelines of a file, by default the ones that come with Plumbline. A file without the tables
    of monotony or split-robustness has Plumbline's.

    UsageError names the file, the entry and what is wrong with it."""
    path = path or DEFAULT_PATH
    document = toml.read(path, str(path))
    values = dict(document.values)
    if path != DEFAULT_PATH:
        values = {key: _of_plumbline()[key] for key in ("monotony", "split")} | values
    if isinstance(values.get("pattern"), list):
        values["pattern"] = [_spelt(pattern) for pattern in values["pattern"]]
    try:
        guidelines = msgspec.convert(values, Guidelines)
    except msgspec.ValidationError as error:
        mistake = document.mistake(error, mistakes.fields_of(Guidelines))
        raise UsageError(f"{mistake}{_entry_hint(values, str(error))}") from error
    for entry, problem in _problems(guidelines):
        raise document.refused(f"{entry}: {problem}", _place(document, entry))
    return guidelines


@functools.cache
def _of_plumbline() -> dict[str, Any]:
    return dict(toml.read(DEFAULT_PATH, str(DEFAULT_PATH)).values)


@functools.cache
def _ids_of_plumbline() -> frozenset[str]:
    return frozenset(load().names())


class _OfCampaign(msgspec.Struct, frozen=True):
    guidelines_file: Guidelines | None = None


def of_settings(text: str) -> Guidelines:
    """Return the guidelines of a campaign with these stored settings (JSON): those of its own file,
    or the ones that come with Plumbline."""
    return msgspec.json.decode(text, type=_OfCampaign).guidelines_file or load()


def check_against(guidelines: Guidelines, variants: Collection[str]) -> None:
    """UsageError when a side is not among `variants`, the variants and operations of
    `probe --list`."""
    variants_known = {LIBRARY, *variants}
    sides: list[tuple[Pattern | Split, str]] = [
        (pattern, variant)
        for pattern in guidelines.patterns
        for variant in (pattern.lhs_variant, pattern.variant)
    ]
    split = guidelines.split
    sides += [(split, name) for name in split.names()]
    for entry, variant in sides:
        if variant not in variants_known:
            is_message = isinstance(entry, Pattern) and entry.lhs in MESSAGE_PATTERNS
            table = "collectives-alt/catalogue.def"
            if is_message:
                table = "probes/pattern/operations.def"
            raise UsageError(
                f"guideline {entry.id} ({entry.name}): the probe has no variant "
                f"'{variant}'; correct the entry, or add the variant to "
                f"{table} and build the probe again"
            )


def _place(document: Document, entry: str) -> Place:
    """Return where the last entry stands that a problem is about."""
    place: Place = ()
    for key, value in document.values.items():
        tables = value if isinstance(value, list) else [value]
        for number, table in enumerate(tables):
            if isinstance(table, dict) and entry == f"guideline '{table.get('id')}'":
                place = (key, number) if isinstance(value, list) else (key,)
    return place


def _entry_hint(document: dict[str, object], message: str) -> str:
    """The id of the pattern that a decoding error `… at `$.pattern[3].lhs`` points to."""
    _, has_entry, rest = message.partition("$.pattern[")
    patterns = document.get("pattern")
    if not has_entry or not isinstance(patterns, list):
        return ""
    digits = rest.partition("]")[0]
    if not digits.isdigit() or not isinstance(patterns[int(digits)], dict):
        return ""
    entry = patterns[int(digits)]
    return f" (pattern entry {int(digits) + 1}, id {entry.get('id', 'missing')})"


def _problems(guidelines: Guidelines) -> Iterable[tuple[str, str]]:
    """(entry, problem) for what types alone cannot say."""
    ids_seen: set[str] = set()
    sides: dict[tuple[str, str, str], str] = {}
    for entry in guidelines.entries():
        if not entry.id or entry.id.split() != [entry.id]:
            yield entry.label, "the id must be a word without white space"
        if entry.id in ids_seen:
            yield entry.label, "the id is used twice"
        ids_seen.add(entry.id)
        if not entry.name.strip():
            yield entry.label, "the name is empty"
    split = guidelines.split
    if not 0 <= split.tolerance < 1:
        yield split.label, f"tolerance = {split.tolerance} is not in [0, 1)"
    if min(split.pieces, default=0) < 2:
        yield split.label, "pieces must name at least one number, none below 2"
    if split.least_bytes < 1:
        yield split.label, "least_bytes must be positive"
    if guidelines.rank and guidelines.rank.divisor < 2:
        yield guidelines.rank.label, "divisor must be at least 2"
    if guidelines.overlap and guidelines.overlap.work_us < 1:
        yield guidelines.overlap.label, "work_us must be positive"
    if not guidelines.patterns:
        yield "pattern", "the list is empty"
    for id in guidelines.left_out:
        if id not in (guidelines.monotony.id, split.id):
            yield "left_out", f"'{id}' is not the id of monotony or split-robustness"
    for pattern in guidelines.patterns:
        label = pattern.label
        for function in (pattern.lhs, *pattern.uses):
            if not function.startswith("MPI_") and function not in MESSAGE_PATTERNS:
                yield label, f"'{function}' is not the name of an MPI function (MPI_…)"
        if not pattern.uses:
            yield label, "uses is empty: name the functions of the right side"
        if pattern.lhs not in MESSAGE_PATTERNS:
            yield from ((label, problem) for problem in _misnamed(pattern))
        both = (pattern.lhs_variant, pattern.variant)
        if pattern.lhs_variant == pattern.variant:
            yield label, f"both sides are '{pattern.variant}'"
        if (pattern.lhs, *both) in sides:
            yield label, f"variant '{pattern.variant}' is already in {sides[pattern.lhs, *both]}"
        sides[pattern.lhs, *both] = pattern.id


def _misnamed(pattern: Pattern) -> Iterable[str]:
    """Yield what the name of a guideline of an MPI function, or of its variants, contradicts."""
    waited = is_form(pattern.lhs) and pattern.name.startswith(f"{pattern.lhs} + ")
    if (
        pattern.lhs_variant == LIBRARY
        and not waited
        and not pattern.name.startswith(f"{pattern.lhs} {PRECEDES} ")
    ):
        yield f"the name must start with '{pattern.lhs} {PRECEDES} '"
    if pattern.variant == LIBRARY and not pattern.name.endswith(f" {PRECEDES} {pattern.lhs}"):
        yield f"the name must end with ' {PRECEDES} {pattern.lhs}'"
    prefix = prefix_of(pattern.lhs)
    for variant in (pattern.lhs_variant, pattern.variant):
        if variant != LIBRARY and not variant.startswith(prefix):
            yield f"'{variant}' is not a variant of {pattern.lhs} ({prefix}…)"


def calls(function: str, variant: str) -> Collection[str] | None:
    """The MPI functions that a variant calls as an application does; None: nobody says."""
    name = variant_name(variant)
    if name == "default" or name.endswith("_as_split"):
        return (function,)
    return _mockups().get(name, None if "_as_" in name else ())


@functools.cache
def _mockups() -> dict[str, list[str]]:
    return {
        pattern.variant: list(pattern.uses)
        for pattern in load().patterns
        if pattern.variant != "default"
    }
