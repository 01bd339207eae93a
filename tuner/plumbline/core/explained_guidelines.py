"""Guidelines in words: what each one says, what stands on its right side, and where it is from."""

from __future__ import annotations

import msgspec

from .guidelines import Guidelines, Monotony, Nonblocking, Overlap, Pattern, RankMonotony, Split

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


def of(guidelines: Guidelines) -> list[ExplainedGuideline]:
    """Return them in the order of the file."""
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
    if not id.startswith("GL"):
        return "Plumbline"
    number = int(id.removeprefix("GL"))
    return f"{id} of {_PAPER}" if number <= _LAST_OF_THE_PAPER else _TUNE_LIB
