"""Cells whose answer is behind the best that their search has measured, and why that was not taken.

Read from what is stored: ratios are those of the search, to the library as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from plumbline.libraries import space_file
from plumbline.search.outcome import deciding, first_of, is_of, label
from plumbline.search.space import select
from plumbline.search.space.cells import Target
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Search, Trial, Winner

_LEAST = 1.01  # by less than this nothing is behind


class Behind(msgspec.Struct, frozen=True):
    """`in_force` takes `factor` times as long as `best`, both as the search has measured them."""

    function: str
    bytes: int
    in_force: str
    best: str
    factor: float
    why: str


def whole_functions(library: Library) -> set[str]:
    """Those where the library has one choice for all sizes; none where no search space fits."""
    try:
        found = space_file.for_library(paths.layout().search_spaces, library)
    except PlumblineError:
        return set()
    return {space.name for space in found.function if space.sizes == "one"}


def behind(
    searches: Sequence[Search], winners: Sequence[Winner], whole: Collection[str]
) -> list[Behind]:
    """The farthest first. `whole`: functions where the library has one choice for all sizes."""
    found = []
    for cell, search in first_of(searches).items():
        measured = {
            label(trial.variant, trial.knobs): trial
            for trial in search.trials
            if trial.ratio is not None
        }
        best = min(measured.values(), key=_ratio, default=None)
        winner = deciding(winners, cell)
        own = next((trial for trial in measured.values() if winner and is_of(trial, winner)), None)
        if best is None or (winner is not None and own is None):
            continue
        factor = (_ratio(own) if own else 1.0) / _ratio(best)
        if factor > _LEAST:
            said = "default" if own is None else label(own.variant, own.knobs)
            what = label(best.variant, best.knobs)
            why = _why(cell, best, factor, winner, whole)
            found.append(Behind(cell.function, cell.bytes, said, what, factor, why))
    return sorted(found, key=lambda one: -one.factor)


def _why(
    cell: Target, best: Trial, factor: float, winner: Winner | None, whole: Collection[str]
) -> str:
    if best.variant == "default" and cell.function in whole:
        return "one option of the library must hold for all sizes, and this one is not it"
    near = select.tie(best)
    if winner is not None and factor <= near:
        return f"as good within {100 * (near - 1):.0f} %, with fewer rules"
    if winner is None:
        return "not clearly faster when it was measured again, or it lost its place (see the notes)"
    return "another one answers this call"


def _ratio(trial: Trial) -> float:
    return trial.ratio or 1.0
