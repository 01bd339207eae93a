"""Second choices: what takes the place of winners that have lost theirs, by what their races have
measured. A cell has one second choice; what is refused never comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from plumbline_db.records import Trial, Winner

from . import outcome, ranges
from .race.race import Race
from .space.candidates import Candidate, CandidateSpace
from .space.cells import Target
from .space.select import Trials, candidate_of

# Puts winners in force: the environment of a launch, from the winners and the name of the search.
InForce = Callable[[Sequence[Winner], str], Mapping[str, str]]
# Winners by what was measured; each cell with the names of its violations.
Select = Callable[[CandidateSpace, Trials, Mapping[Target, Sequence[str]]], list[Winner]]

_RIVALS = 2  # candidates of a second choice


class Raced(msgspec.Struct, frozen=True):
    """What is known of cells that raced together: `opened_by` names their violations, `in_force`
    are the winners that were."""

    race: Race
    in_force: Sequence[Winner]
    candidate_space: CandidateSpace
    trials: Mapping[Target, Sequence[Trial]]
    opened_by: Mapping[Target, list[str]]


class SecondChoices:
    """Those of one campaign. `sizes` are the measured sizes by function. `refused` are algorithms
    that have lost their place in a cell."""

    def __init__(
        self, candidate_space: CandidateSpace, sizes: Mapping[str, Sequence[int]], select: Select
    ) -> None:
        self.refused: dict[Target, set[str]] = {}
        self._candidate_space = candidate_space
        self._sizes = sizes
        self._select = select
        self._races: list[Raced] = []
        self._done: set[Target] = set()

    def add(self, raced: Raced) -> None:
        self._races.append(raced)

    def refuse(self, lost: Iterable[Winner]) -> None:
        """What these are has no place in their cells any more, with whatever parameters."""
        for winner in lost:
            what = self._candidate_space.algorithm(
                winner.function, winner.variant, winner.configuration
            )
            for size in self._sizes.get(winner.function, ()):
                if outcome.holds(winner, target := Target(winner.function, size)):
                    self.refused.setdefault(target, set()).add(what)

    def left(self, target: Target, trials: Sequence[Trial]) -> list[Trial]:
        """Without what has lost its place there."""
        refused = self.refused.get(target, set())
        return [
            trial
            for trial in trials
            if self._candidate_space.algorithm(target.function, trial.variant, trial.knobs)
            not in refused
        ]

    def instead(
        self, lost: Sequence[Winner], standing: Sequence[Winner], in_force: InForce
    ) -> list[Winner]:
        """The best of another algorithm in the cells of these, if no one that is `standing` answers
        their calls."""
        self.refuse(lost)
        found: list[Winner] = []
        for winner in lost:
            raced = self._race_of(winner)
            if raced is None:
                continue
            cells = {
                cell: names
                for cell, names in raced.opened_by.items()
                if outcome.holds(winner, cell)
                and cell not in self._done
                and outcome.deciding([*standing, *found], cell) is None
            }
            self._done |= cells.keys()
            whole = (
                raced.candidate_space.one_for_all_sizes(winner.function)
                and winner.variant == "default"
            )
            if not cells:
                continue
            others = {
                target: self.left(target, trials)
                for target, trials in raced.trials.items()
                if target in cells or (whole and target.function == winner.function)
            }
            if rivals := _rivals(others, whole=whole):
                if raced.in_force:
                    # The environment of its launches names files that others have been written to.
                    in_force(raced.in_force, raced.race.suite.name)
                others |= raced.race.measure(rivals)
            chosen = self._select(raced.candidate_space, others, cells)
            found += ranges.beside(chosen, [*standing, *found], self._sizes)
        return found

    def _race_of(self, winner: Winner) -> Raced | None:
        """The last race that has measured what it is, where it is."""
        for raced in reversed(self._races):
            for target, trials in raced.trials.items():
                if outcome.holds(winner, target) and any(
                    outcome.is_of(trial, winner) for trial in trials
                ):
                    return raced
        return None


def _rivals(trials: Trials, *, whole: bool) -> dict[Target, list[Candidate]]:
    """The best of those that seemed faster than the default when they were dropped; at all sizes
    the same where one choice holds for the whole function."""
    found: dict[Target, list[Candidate]] = {}
    for target, tried in trials.items():
        ranked = sorted(
            (trial.ratio, candidate_of(trial)) for trial in tried if trial.ratio is not None
        )
        found[target] = [candidate for ratio, candidate in ranked if ratio < 1][:_RIVALS]
    if whole:
        every = list(dict.fromkeys(candidate for those in found.values() for candidate in those))
        found = dict.fromkeys(found, every)
    return {target: those for target, those in found.items() if those}
