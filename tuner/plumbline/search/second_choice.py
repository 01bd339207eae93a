"""Second choices: what takes the place of winners that have lost theirs, by what their races have
measured. A cell has one second choice; what is refused never comes back.

Reserves are second choices that are tried together with the winners, before any of these has lost
its place: the launches are the same, and a turn of launches less is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import beside_others, deciding, holds, pieces_inside
from plumbline_db.records import UNBOUNDED_BYTES, Trial, Winner

from . import outcome
from .race.race import Race
from .space.candidates import DEFAULT, Candidate, CandidateSpace
from .space.select import Trials, candidate_of

# Returns the environment that activates winners in a launch, by the winners and the search's name.
InForce = Callable[[Sequence[Winner]], Mapping[str, str]]
# Selects winners by trials, for cells with the names of their violations.
Select = Callable[[CandidateSpace, Trials, Mapping[Target, Sequence[str]]], list[Winner]]

_RIVALS = 2  # candidates of a second choice
_AS_FAST = 1.03  # so far apart, on average, choices for all cells of a function are as good


class RaceKnowledge(msgspec.Struct, frozen=True):
    """The knowledge of cells that raced together: `opened_by` names their violations, `in_force`
    are the winners that were."""

    race: Race
    in_force: Sequence[Winner]
    candidate_space: CandidateSpace
    trials: Mapping[Target, Sequence[Trial]]
    opened_by: Mapping[Target, list[str]]


class _Vacant(msgspec.Struct):
    """The `cells` that a winner has lost, with the names of their violations; `rivals` are measured
    before one of them takes its place. `ours_alone`: no option of the library takes it."""

    raced: RaceKnowledge
    cells: dict[Target, list[str]]
    trials: dict[Target, list[Trial]]
    rivals: Mapping[Target, Sequence[Candidate]]
    ours_alone: bool


class SecondChoices:
    """The second choices of one campaign. `sizes` are the measured sizes by function. `refused` are
    algorithms that have lost their place in a cell."""

    def __init__(
        self, candidate_space: CandidateSpace, sizes: Mapping[str, Sequence[int]], select: Select
    ) -> None:
        self.refused: dict[Target, set[str]] = {}
        self._candidate_space = candidate_space
        self._sizes = sizes
        self._select = select
        self._races: list[RaceKnowledge] = []
        self._done: set[Target] = set()
        self._reserves: list[Winner] = []

    def add(self, raced: RaceKnowledge) -> None:
        self._races.append(raced)

    def refuse(self, lost: Iterable[Winner]) -> None:
        """Refuse what these are: it has no place in their cells any more, with whatever
        parameters."""
        for winner in lost:
            algorithm = self._candidate_space.algorithm(
                winner.function, winner.variant, winner.configuration
            )
            for size in self._sizes.get(winner.function, ()):
                if holds(winner, target := Target(winner.function, size)):
                    self.refused.setdefault(target, set()).add(algorithm)

    def left(self, target: Target, trials: Sequence[Trial]) -> list[Trial]:
        """Return the trials without what has lost its place there."""
        refused = self.refused.get(target, set())
        return [
            trial
            for trial in trials
            if self._candidate_space.algorithm(target.function, trial.variant, trial.knobs)
            not in refused
        ]

    def reserves(self, winners: Sequence[Winner]) -> list[Winner]:
        """Return, for the cells of each of these, the best of another algorithm that seemed faster
        than the default when it was dropped: whether it is, has yet to be shown."""
        reserves: list[Winner] = []
        for winner in winners:
            raced = self._race_of(winner)
            if raced is None:
                continue
            cells = self._cells(raced, winner)
            algorithm = self._candidate_space.algorithm(
                winner.function, winner.variant, winner.configuration
            )
            trials = {
                target: [
                    _taken_for_shown(trial)
                    for trial in tried
                    if self._candidate_space.algorithm(target.function, trial.variant, trial.knobs)
                    != algorithm
                ]
                for target, tried in self._trials(raced, winner, cells).items()
            }
            chosen = self._select(raced.candidate_space, trials, cells)
            reserves += beside_others(chosen, reserves, self._sizes)
        return reserves

    def keep(self, tried: Iterable[Winner], held: Iterable[Winner], lost: Sequence[Winner]) -> None:
        """Let those of the `tried` reserves that have `held`, or their pieces, wait for a place. A
        cell that is `lost` has no other second choice than what was tried there."""
        held = list(held)
        self._reserves += held
        for reserve in tried:
            for target in self._measured(reserve):
                if deciding(held, target) is None and any(holds(winner, target) for winner in lost):
                    self._done.add(target)

    def instead(
        self, lost: Sequence[Winner], standing: Sequence[Winner], in_force: InForce
    ) -> list[Winner]:
        """The best of another algorithm in the cells of these, if no one that is `standing` answers
        their calls: reserves, where there are any; else what has to be measured for that is
        measured side by side."""
        self.refuse(lost)
        second_winners = self._of_reserves(lost, standing)
        vacant = [
            place
            for winner in lost
            if (place := self._vacated(winner, [*standing, *second_winners])) is not None
        ]
        self._measure(vacant, in_force)
        for place in vacant:
            cells = {
                cell: names
                for cell, names in place.cells.items()
                if deciding([*standing, *second_winners], cell) is None
            }
            if cells:
                chosen = self._select(place.raced.candidate_space, place.trials, cells)
                second_winners += beside_others(chosen, [*standing, *second_winners], self._sizes)
        return second_winners

    def _vacated(self, winner: Winner, standing: Sequence[Winner]) -> _Vacant | None:
        raced = self._race_of(winner)
        if raced is None:
            return None
        cells = {
            cell: names
            for cell, names in self._cells(raced, winner).items()
            if deciding(standing, cell) is None
        }
        if not cells:
            return None
        self._done |= cells.keys()
        trials = self._trials(raced, winner, cells)
        whole = _is_whole(raced, winner)
        ours_alone = whole and not any(
            trial.variant == DEFAULT.variant for tried in trials.values() for trial in tried
        )
        return _Vacant(raced, cells, trials, _rivals(trials, whole=whole), ours_alone)

    def _cells(self, raced: RaceKnowledge, winner: Winner) -> dict[Target, list[str]]:
        """Return the cells of a winner that have had no second choice yet, with their
        violations."""
        return {
            cell: names
            for cell, names in raced.opened_by.items()
            if holds(winner, cell) and cell not in self._done
        }

    def _trials(
        self, raced: RaceKnowledge, winner: Winner, cells: Collection[Target]
    ) -> dict[Target, list[Trial]]:
        """Return what may take the place of a winner in these cells: where it holds for all sizes
        of its function, what was tried at any."""
        whole = _is_whole(raced, winner)
        trials_by_cell = {
            target: self.left(target, trials)
            for target, trials in raced.trials.items()
            if target in cells or (whole and target.function == winner.function)
        }
        return size_by_size(trials_by_cell, cells) if whole else trials_by_cell

    def _of_reserves(self, lost: Sequence[Winner], standing: Sequence[Winner]) -> list[Winner]:
        """The pieces of reserves in cells of `lost` winners that nothing answers."""
        usable_reserves: list[Winner] = []
        for reserve in self._reserves:
            algorithm = self._candidate_space.algorithm(
                reserve.function, reserve.variant, reserve.configuration
            )
            vacant = {
                target
                for target in self._measured(reserve)
                if any(holds(winner, target) for winner in lost)
                and deciding([*standing, *usable_reserves], target) is None
                and algorithm not in self.refused.get(target, set())
            }
            self._done |= vacant
            if reserve.bytes_to == UNBOUNDED_BYTES:
                usable_reserves += [reserve] if vacant else []
            else:
                usable_reserves += pieces_inside(reserve, vacant, self._sizes[reserve.function])
        return beside_others(usable_reserves, standing, self._sizes)

    def _measured(self, winner: Winner) -> list[Target]:
        return [
            target
            for size in self._sizes.get(winner.function, ())
            if holds(winner, target := Target(winner.function, size))
        ]

    def _measure(self, vacant: Sequence[_Vacant], in_force: InForce) -> None:
        """All rivals of a race in the same launches."""
        for raced in self._races:
            places = [place for place in vacant if place.raced is raced and place.rivals]
            rivals: dict[Target, dict[Candidate, None]] = {}
            for place in places:
                for target, candidates in place.rivals.items():
                    rivals.setdefault(target, {}).update(dict.fromkeys(candidates))
            if not rivals:
                continue
            if raced.in_force:
                # The environment of its launches names files that were overwritten since.
                in_force(raced.in_force)
            measured = raced.race.measure(
                {target: list(candidates) for target, candidates in rivals.items()}
            )
            for place in places:
                place.trials |= {
                    target: [
                        trial
                        for trial in measured[target]
                        if not (place.ours_alone and trial.variant == DEFAULT.variant)
                    ]
                    for target in place.rivals
                }

    def _race_of(self, winner: Winner) -> RaceKnowledge | None:
        """The last race that has measured what it is, where it is; rather one that the violations
        have opened which it is to remove. An option for all sizes races again along with others."""
        measured = [
            raced
            for raced in reversed(self._races)
            if any(
                holds(winner, target) and any(outcome.is_of(trial, winner) for trial in trials)
                for target, trials in raced.trials.items()
            )
        ]
        chosen_for = [
            raced
            for raced in measured
            if any(
                holds(winner, cell) and not set(names).isdisjoint(winner.removes)
                for cell, names in raced.opened_by.items()
            )
        ]
        return next(iter(chosen_for + measured), None)


def _is_whole(raced: RaceKnowledge, winner: Winner) -> bool:
    """Return whether it holds for all sizes of its function."""
    one_for_all = raced.candidate_space.one_for_all_sizes(winner.function)
    return one_for_all and winner.variant == DEFAULT.variant


def size_by_size(trials: Trials, cells: Collection[Target]) -> dict[Target, list[Trial]]:
    """Return what may take the place of an option that had to hold for all sizes, and was slower at
    one of them: variants of ours alone, each where it is the best, if they are as fast in these
    `cells` as they would be beside another such option, which may fail at the same sizes."""

    def ratio(trial: Trial) -> float:
        return trial.ratio if trial.state == "measured" and trial.ratio is not None else math.inf

    best_variant = {
        cell: min(
            [
                1.0,
                *(
                    ratio(trial)
                    for trial in trials.get(cell, ())
                    if trial.variant != DEFAULT.variant
                ),
            ]
        )
        for cell in cells
    }
    options: dict[Candidate, dict[Target, float]] = {}
    for target, tried in trials.items():
        for option in tried:
            if option.variant == DEFAULT.variant:
                options.setdefault(candidate_of(option), {})[target] = ratio(option)
    alone = sum(math.log(best_variant[cell]) for cell in cells)
    beside = min(
        (
            sum(math.log(min(best_variant[cell], ratio_by_cell[cell])) for cell in cells)
            for ratio_by_cell in options.values()
            if ratio_by_cell.keys() == trials.keys() and max(ratio_by_cell.values()) < math.inf
        ),
        default=0.0,
    )
    if alone > beside + len(cells) * math.log(_AS_FAST):
        return {target: list(tried) for target, tried in trials.items()}
    return {
        target: [trial for trial in tried if trial.variant != DEFAULT.variant]
        for target, tried in trials.items()
    }


def _taken_for_shown(trial: Trial) -> Trial:
    """Return the trial as if no more launches could change its ratio."""
    if trial.state != "measured" or trial.ratio is None:
        return trial
    return msgspec.structs.replace(trial, ratio_low=trial.ratio, ratio_high=trial.ratio)


def _rivals(trials: Trials, *, whole: bool) -> dict[Target, list[Candidate]]:
    """The best of those that seemed faster than the default when they were dropped; at all sizes
    the same where one choice holds for the whole function."""
    rivals: dict[Target, list[Candidate]] = {}
    for target, tried in trials.items():
        ranked = sorted(
            (trial.ratio, candidate_of(trial)) for trial in tried if trial.ratio is not None
        )
        rivals[target] = [candidate for ratio, candidate in ranked if ratio < 1][:_RIVALS]
    if whole:
        every = list(
            dict.fromkeys(candidate for candidates in rivals.values() for candidate in candidates)
        )
        rivals = dict.fromkeys(rivals, every)
    return {target: candidates for target, candidates in rivals.items() if candidates}
