"""Cells that a table asks to be searched, those that race along for a later round, and variants
that do not race. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from plumbline.core.cell import Target
from plumbline.core.variant_spec import variant_name
from plumbline_db.records import Verdict

from .space.candidates import CandidateSpace

# A guideline with a ratio above this may be violated in the next round.
_NEAR = 0.5

# An undecided cell is searched if its ratio exceeds 1 by so many times the tolerance. On a quiet
# machine this applies to at most two of 819 cells; beside other work it applied to 23.
_FAR = 2


def violated(verdicts: Iterable[Verdict]) -> list[Target]:
    """The cells whose left side is too slow, each once. Where that is not the library's call on all
    ranks, nothing that stands in for this call makes it faster."""
    violations = (
        verdict for verdict in verdicts if verdict.verdict == "violated" and verdict.replaceable
    )
    return sorted({Target(verdict.function, verdict.bytes) for verdict in violations})


def doubtful(verdicts: Iterable[Verdict], tolerance: float) -> list[Target]:
    """Return the cells of undecided guidelines whose ratio is above 1 by _FAR times what is allowed
    or more, each once. Beside other work, launches differ so much that large violations stay
    undecided. Only what is clearly faster in the search itself becomes a winner."""
    limit = 1 + _FAR * tolerance
    doubtful_verdicts = (
        verdict
        for verdict in verdicts
        if verdict.verdict == "undecided" and verdict.replaceable and (verdict.ratio or 0) >= limit
    )
    return sorted({Target(verdict.function, verdict.bytes) for verdict in doubtful_verdicts})


def near(
    verdicts: Iterable[Verdict],
    sizes: Mapping[str, Sequence[int]],
    without: Collection[Target],
) -> list[Target]:
    """Cells that are likely to be searched in the next round, when right-hand sides are faster:
    where launches are dear and repeat each other, they are measured at once."""
    functions = {
        verdict.function
        for verdict in verdicts
        if verdict.kind == "pattern" and verdict.replaceable and (verdict.ratio or 0) > _NEAR
    }
    every = [Target(name, size) for name in functions for size in sizes[name]]
    return sorted(cell for cell in every if cell not in without)


def idle(
    candidate_space: CandidateSpace,
    targets: Collection[Target],
    entered: Iterable[Target],
    verdicts: Iterable[Verdict],
) -> dict[Target, set[str]]:
    """Variants that do not race: mock-ups, but for those whose guideline was verified in the cell
    and does not hold (the table has measured them); and all of ours in cells that are there only
    because one choice of the library must hold for all sizes."""
    faster: dict[Target, set[str]] = {}
    for verdict in verdicts:
        if verdict.replaceable and verdict.verdict != "holds":
            names = faster.setdefault(Target(verdict.function, verdict.bytes), set())
            names.add(variant_name(verdict.rhs))
    return {
        target: candidate_space.mockups(target.function) - faster.get(target, set())
        if target in targets
        else {
            candidate.variant
            for candidate in candidate_space.first(target.function)
            if not candidate.is_knobs
        }
        for target in entered
    }
