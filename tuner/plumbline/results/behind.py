"""Cells whose answer is behind the best that their search has measured, and why that was not taken.

Read from what is stored: ratios are those of the search, to the library as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.libraries import space_file
from plumbline.search.outcome import first_of, is_of, label
from plumbline.search.space import select
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Search, Trial, Winner

LOST = "the search chose a candidate, which was dropped later (see the notes)"
NOT_CLEAR = "no candidate is clearly faster than the default"
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
    """Return those where the library has one choice for all sizes; none where no search space
    fits."""
    try:
        search_space = space_file.for_library(paths.layout().search_spaces, library)
    except PlumblineError:
        return set()
    return {space.name for space in search_space.function if space.sizes == "one"}


def behind(
    searches: Sequence[Search], winners: Sequence[Winner], whole: Collection[str]
) -> list[Behind]:
    """The farthest first. `whole`: functions where the library has one choice for all sizes."""
    won = {
        Target(search_of.function, search_of.bytes)
        for search_of in searches
        if search_of.outcome == "winner"
    }
    lines = []
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
            answered_by = "default" if own is None else label(own.variant, own.knobs)
            best_name = label(best.variant, best.knobs)
            one_option = best.variant == "default" and cell.function in whole
            why = _why(best, factor, winner, one_option=one_option, won=cell in won)
            lines.append(Behind(cell.function, cell.bytes, answered_by, best_name, factor, why))
    return sorted(lines, key=lambda line: -line.factor)


def _why(best: Trial, factor: float, winner: Winner | None, *, one_option: bool, won: bool) -> str:
    if one_option:
        return (
            "the library has one option for all sizes of this function; another value is better "
            "over all sizes"
        )
    near = select.tie(best)
    if winner is not None and factor <= near:
        return f"as good within {100 * (near - 1):.0f} %, with fewer rules"
    if winner is None:
        return LOST if won else NOT_CLEAR
    return "another winner answers this call"


def _ratio(trial: Trial) -> float:
    return trial.ratio or 1.0
