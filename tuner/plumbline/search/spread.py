"""Races beyond the cells that a table asks for: at every size of a function what has won at one of
them, and what wins at most sizes of a node, the variants that share memory. It is one case or two a
cell, in launches that are made anyway. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from plumbline.core.cell import Target
from plumbline.core.variant_spec import variant_name
from plumbline.core.winner import deciding
from plumbline_db.records import EVERY_FUNCTION, Winner

from .space.candidates import DEFAULT, Candidate, CandidateSpace

# The candidates of each cell.
Favourites = Mapping[Target, Sequence[Candidate]]


class Spread:
    """The favourites of one campaign. `usual`: whether what shares memory is tried too."""

    def __init__(self, candidate_space: CandidateSpace, *, usual: bool) -> None:
        self._space = candidate_space
        self._usual = usual
        self._tried: dict[Target, set[Candidate]] = {}

    def favourites(
        self,
        cells: Iterable[Target],
        winners: Sequence[Winner],
        *,
        refused: Mapping[Target, Collection[str]],
    ) -> Favourites:
        """Return what has not been tried so in each of these `cells`, where no winner holds, and
        is not `refused` there. Hot ones alone, and of the library only what may be chosen size by
        size."""
        won: dict[str, set[Candidate]] = {}
        for winner in winners:
            won.setdefault(winner.function, set()).add(Candidate.of_winner(winner))
        entries = {}
        for cell in cells:
            if _held(winners, cell):
                continue
            candidates = won.get(cell.function, set()) | self._of_a_node(cell.function)
            new = candidates - self._tried.get(cell, set())
            offered = sorted(
                candidate
                for candidate in new
                if variant_name(candidate.variant) not in refused.get(cell, ())
                and self._is_fit(cell, candidate)
            )
            if offered:
                entries[cell] = offered
        return entries

    def enter(self, entries: Favourites) -> None:
        """Note that these race now."""
        for cell, candidates in entries.items():
            self._tried.setdefault(cell, set()).update(candidates)

    def _of_a_node(self, function: str) -> set[Candidate]:
        return set(self._space.of_a_node(function)) if self._usual else set()

    def _is_fit(self, cell: Target, candidate: Candidate) -> bool:
        """The table has measured mock-ups."""
        if candidate == DEFAULT or self._space.is_cold(cell.function, candidate):
            return False
        if variant_name(candidate.variant) in self._space.mockups(cell.function):
            return False
        if candidate.is_knobs and self._space.one_for_all_sizes(cell.function):
            return False
        return self._space.offers(cell.function, candidate, cell.bytes)


def _held(winners: Sequence[Winner], cell: Target) -> bool:
    holding = deciding(winners, cell)
    return holding is not None and holding.function != EVERY_FUNCTION
