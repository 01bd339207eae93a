"""Rounds of search: which cells race, in which order and surroundings, and how what they win joins
what was won before.

A cell is searched once (hot knobs and our variants) with what was won before in force, right-hand
sides first, and, if a pattern is still violated there under the exported files, once more among our
variants: the right side may have become faster by a winner of its own. A cell whose winner loses
its place gets a second choice (second_choice.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.core.application import worth
from plumbline.core.cell import Target
from plumbline.core.configuration import variant_name
from plumbline.core.winner import (
    Sizes,
    beside_others,
    cut_back,
    deciding,
    holds,
    is_part,
    of_measured_sizes,
    pieces_inside,
)
from plumbline.measure.exclusions import PUT_ASIDE
from plumbline.settings.cases import BARRIER, OWN_BARRIER
from plumbline.system.words import counted
from plumbline_db import findings
from plumbline_db.records import EVERY_FUNCTION, Search, Suite, Trial, Verdict, Winner

from . import crossover, outcome
from .budget import Budget
from .order import DependencyOrder, moved
from .race.entering import Lineup
from .race.judging import bounds
from .race.race import Race
from .races import Favourites, Races, Setup, Spread
from .rescue import Neighbours, as_promised, as_tried, broken, rescue
from .second_choice import InForce, RaceKnowledge, SecondChoices
from .space.candidates import CandidateSpace
from .space.select import Trials

# Cells that a table asks to be searched, those that race along for a later round, and variants that
# do not race. Pure.

# A guideline with a ratio above this may be violated in the next round.
_NEAR = 0.5

# An undecided cell is searched if its ratio exceeds 1 by so many times the tolerance. On a quiet
# machine this applies to at most two of 819 cells; beside other work it applied to 23.
_FAR = 2


def _violated(verdicts: Iterable[Verdict]) -> list[Target]:
    """The cells whose left side is too slow, each once. Where that is not the library's call on all
    ranks, nothing that stands in for this call makes it faster."""
    violations = (
        verdict for verdict in verdicts if verdict.verdict == "violated" and verdict.replaceable
    )
    return sorted({Target(verdict.function, verdict.bytes) for verdict in violations})


def _doubtful(verdicts: Iterable[Verdict], tolerance: float) -> list[Target]:
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


def _near(
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


_RESCUE = 0.1  # of the budget


class Around(msgspec.Struct, frozen=True):
    """The surroundings of a round of search: its number, the environment of its launches, the
    winners that stand, and how winners are put in force; `part` of the round, from 1 on."""

    number: int
    environment: Mapping[str, str]
    standing: Sequence[Winner]
    in_force: InForce
    part: int = 1

    def at(self, part: int, found: Sequence[Winner]) -> Around:
        """Return the same for a part of the round, with what was found before."""
        return msgspec.structs.replace(self, part=part, standing=[*self.standing, *found])


class Rounds:
    """Opens searches for one campaign. `switches` are the longest messages that the library sends
    one way; `uses` other ways of use, in which winners have to hold; `seconds` are the second
    choices. Of an application's cells those that weigh something are searched, the heaviest
    first."""

    def __init__(
        self,
        setup: Setup,
        order: DependencyOrder,
        budget: Budget,
        *,
        switches: Iterable[int] = (),
        uses: Sequence[str] = (),
    ) -> None:
        settings, candidate_space = setup.settings, setup.candidate_space
        if candidate_space.is_all_cold and setup.plan.sync == BARRIER:
            # Its candidates, and settings beside them, would be part of every start.
            plan = msgspec.structs.replace(setup.plan, sync=OWN_BARRIER)
            setup = msgspec.structs.replace(setup, plan=plan)
        ranks = settings.ranks
        self._setup = setup
        self._grid = crossover.SizeGrid(
            ranks.nprocs, settings.cases.data, switches, at_once=setup.at_once
        )
        self._store = setup.store
        self._order = order
        self._budget = budget
        self._candidate_space = candidate_space
        self._settings = settings
        self._sizes = setup.sizes
        self._weights = setup.weights
        self._is_dear = ranks.simulate is None
        self._spread = Spread(candidate_space, usual=ranks.ppn >= ranks.nprocs)
        self._searched: set[Target] = set()
        self._along: dict[Target, list[Trial]] = {}
        self._again: set[Target] = set()
        self.seconds = SecondChoices(candidate_space, setup.sizes, self._select)
        self._races = Races(setup, budget, uses)

    def stands_on(self, winner: Winner, suite: str) -> None:
        """The table was measured in a suite with a setting of the process in force."""
        self._races.stands_on(winner, suite)

    def leave_out(self, cells: set[Target]) -> None:
        """Do not search these, as an earlier campaign has done so."""
        self._searched |= cells
        self._again |= cells

    def take_up(self, cells: set[Target]) -> None:
        """Search these after all."""
        self._searched -= cells
        self._again -= cells

    def fresh(self, verdicts: Iterable[Verdict]) -> list[Target]:
        """Cells with a violation that no round has searched, and with what may well be one; where
        all are to be tuned, the others when none of these is left, or with them where cases are
        cheap and share dear launches."""
        open_cells = self._left(self._wanted(verdicts))
        if self._settings.search.all and (self._setup.at_once or not open_cells):
            open_cells = self._left(self._every())
        return worth(open_cells, self._weights)

    def is_named(self, cells: Collection[Target], verdicts: Iterable[Verdict]) -> bool:
        """Return whether a violated guideline, or one that may well be, names some of the cells;
        also where there are none."""
        return not cells or not self._wanted(verdicts).isdisjoint(cells)

    def unsearched(self, verdicts: Iterable[Verdict]) -> list[Target]:
        """Return what there is to search yet, if there is time."""
        more = self._every() if self._settings.search.all else []
        return worth(self._left([*self._wanted(verdicts), *more]), self._weights)

    def _wanted(self, verdicts: Iterable[Verdict]) -> set[Target]:
        verdicts = list(verdicts)
        return {*_violated(verdicts), *_doubtful(verdicts, self._settings.claims.tolerance)}

    def _every(self) -> list[Target]:
        return [Target(name, size) for name, sizes in self._sizes.items() for size in sizes]

    def _left(self, cells: Iterable[Target]) -> list[Target]:
        """Return the cells that no round has searched and where the library's own call can be
        measured."""
        return sorted(self._there(set(cells) - self._searched))

    def rescue(self, number: int) -> None:
        """Once for each cell where the library's own call ends launches: what of the library works
        there, as far as a share of the budget goes."""
        has_time = self._budget.part(_RESCUE)
        cells: dict[str, list[Target]] = {}
        for function, size in self._store.aside.calls():
            cell = Target(function, size)
            if cell not in self._searched and size in self._sizes.get(function, ()):
                cells.setdefault(function, []).append(cell)
        for function, function_cells in cells.items():
            self._searched.update(function_cells)
            for search in rescue(self._setup, function_cells, number, has_time):
                findings.put_search(self._store.db, self._store.campaign, search)
                text = f"{function} at {search.bytes} B: {search.reason}"
                self._store.tell(PUT_ASIDE, text, function=function)

    def not_asked(self, winners: Sequence[Winner], table: Iterable[Verdict]) -> str:
        """Return which measured cells no search was opened for, and what is known to be faster
        there than what answers them; '' where there are none."""
        out = set(_violated(table))
        not_searched = [cell for cell in self._left(self._every()) if cell not in out]
        if not not_searched or not self._searched or self._settings.search.all:
            return ""
        return outcome.not_asked(not_searched, self._along, winners)

    def _there(self, cells: Iterable[Target]) -> list[Target]:
        """Return the cells where the library's own call can be measured."""
        return [cell for cell in cells if not self._store.aside.how(cell.function, cell.bytes)]

    def stuck(self, verdicts: Iterable[Verdict], before: Iterable[Verdict] = ()) -> list[Target]:
        """Cells with a violated pattern that were searched once, with the library as it is. What
        held in another way of use `before` is left: what is faster here is slower there."""
        elsewhere = {_cell(verdict) for verdict in before if verdict.depends}
        violated_cells = _violated(
            verdict
            for verdict in verdicts
            if verdict.kind == "pattern" and _cell(verdict) not in elsewhere
        )
        return [
            cell for cell in violated_cells if cell in self._searched and cell not in self._again
        ]

    def first(
        self, around: Around, verdicts: Sequence[Verdict], *, refine: Callable[[], bool]
    ) -> list[Winner]:
        """Races the fresh cells, right-hand sides first: each layer with what has won earlier, and
        what stands, in force: mock-ups are made of these then, as they are where they stand
        in for a call. Where launches are dear, all race at once, and those again which should have
        waited for what has won. Where one choice must
        hold for all sizes, all sizes race; sizes whose monotony a winner can break race along.
        Where launches are dear, what winners break elsewhere races too, and what has won at other
        sizes of its function, until there is no more of it, before anybody confirms them."""
        fresh = self.fresh(verdicts)
        layers = self._order.layers(fresh, verdicts)
        waits = self._order.waits(fresh, verdicts)
        won: list[Winner] = []
        for step, layer in enumerate(layers, 1):
            targets = layer
            if self._is_dear:
                targets = fresh if step == 1 else moved(layer, waits, won)
            if targets:
                raced = set(targets)
                won = _outside(won, raced, self._sizes, self._candidate_space)
                around_part = around.at(step, won)
                further = self._favourites(around_part, raced) if step == 1 and refine() else {}
                won += self._layer(around_part, targets, verdicts, further, refine=refine())
        limit, step, alone = 1 + self._settings.claims.tolerance, len(layers), False
        while self._is_dear and refine():
            becomes = as_promised(won, self._sizes)
            table = broken(verdicts, becomes, self._order.made_of, limit)
            targets = worth(self._left(self._wanted(table)), self._weights)
            around_part = around.at(step + 1, won)
            further = self._favourites(around_part, set(targets))
            # Wins of favourites alone do not open a further part: parts would never end.
            if not targets and (alone or not further):
                break
            alone, step = not targets, step + 1
            won += self._layer(around_part, targets, table, further, refine=refine())
        return won

    def _favourites(self, around: Around, targets: Collection[Target]) -> Favourites:
        """Return what is tried beside the `targets` where all cells are to be tuned."""
        if not self._settings.search.all or not self._is_dear:
            return {}
        cells = [cell for cell in self._left(self._every()) if cell not in targets]
        return self._spread.favourites(
            worth(cells, self._weights), around.standing, refused=self.seconds.refused
        )

    def _layer(
        self,
        around: Around,
        targets: Sequence[Target],
        verdicts: Sequence[Verdict],
        further: Favourites,
        *,
        refine: bool,
    ) -> list[Winner]:
        """Return what wins in `targets`, and of the favourites `further`, beside what stands."""
        part = around.part
        suite = Suite("search", around.number, f"step-{part}" if part > 1 else "")
        entered = dict.fromkeys(targets)
        for target in targets:
            if self._candidate_space.one_for_all_sizes(target.function):
                entered |= dict.fromkeys(
                    self._there(
                        Target(target.function, size) for size in self._sizes[target.function]
                    )
                )
        self._searched |= set(targets)
        close = self._neighbours(verdicts).of(targets)
        beside = [cell for cell in close if cell not in self._searched]
        environment = dict(around.environment)
        # A winner that answers the calls of a racing cell would replace the candidates.
        raced = [*entered, *beside]
        others = [
            winner
            for winner in around.standing
            if winner.function == EVERY_FUNCTION
            or not any(holds(winner, target) for target in raced)
        ]
        if others:
            environment |= around.in_force(others)
        race = self._races.begin(self._candidate_space, suite, environment, others)
        of = f", part {part}" if part > 1 else ""
        cells = counted(len({*targets, *further}), "cell")
        self._store.progress.step(f"searching {cells}, round {around.number}{of}")
        opened_by = _opened_by(targets, verdicts)
        lineup = self._lineup(race, opened_by, raced, verdicts, further)
        new = self._run(race, lineup, opened_by, verdicts, refine=refine)
        return beside_others(new, around.standing, self._sizes)

    def second(
        self, around: Around, targets: Sequence[Target], verdicts: Sequence[Verdict]
    ) -> list[Winner]:
        """Races our variants against the present state of `targets`, which are stuck, with the
        standing winners in force; returns the winners with standing ones cut back where a new
        one takes over."""
        self._again |= set(targets)
        candidate_space, standing = self._candidate_space.without_knobs(), around.standing
        suite = Suite("search", around.number, "in-force")
        environment = around.in_force(standing)
        race = self._races.begin(candidate_space, suite, environment, standing)
        self._store.progress.step(
            f"searching {counted(len(targets), 'cell')} with the files in force"
        )
        opened_by = _opened_by(targets, verdicts)
        lineup = self._lineup(race, opened_by, targets, verdicts, {})
        new = self._run(race, lineup, opened_by, verdicts, refine=True)
        # A standing winner that won again stays accepted and confirmed.
        new = [
            new_winner
            for new_winner in new
            if not any(
                is_part(new_winner, standing_winner)
                and new_winner.restrictions == standing_winner.restrictions
                for standing_winner in standing
            )
        ]
        return of_measured_sizes(cut_back(standing, new), self._sizes) + new

    def _select(
        self,
        candidate_space: CandidateSpace,
        trials: Trials,
        opened_by: Mapping[Target, Sequence[str]],
        between: Trials | None = None,
    ) -> list[Winner]:
        selection = self._setup.selection(candidate_space)
        return selection.winners(self._not_refused(trials), opened_by, between)

    def _not_refused(self, trials: Trials) -> Trials:
        return {target: self.seconds.left(target, tried) for target, tried in trials.items()}

    def _neighbours(self, verdicts: Sequence[Verdict]) -> Neighbours:
        return Neighbours(verdicts, self._settings.claims.tolerance)

    def _between(
        self, race: Race, trials: Trials, opened_by: Mapping[Target, Sequence[str]]
    ) -> Trials:
        """Return what was tried between the measured sizes, to see where one choice ends. An
        application calls little between its own."""
        if self._weights is not None:
            return {}
        choose = self._setup.selection(race.candidate_space).choose
        return crossover.search(
            partial(choose, self._not_refused(trials), opened_by),
            race.first_look,
            self._grid,
            self._budget.left,
            race.candidate_space.is_cold,
        )

    def _lineup(
        self,
        race: Race,
        opened_by: Mapping[Target, Sequence[str]],
        entered: Sequence[Target],
        verdicts: Sequence[Verdict],
        further: Favourites,
    ) -> Lineup:
        """Return the lineup of a race that violations of some `entered` cells have opened."""
        beside = [cell for cell in self._neighbours(verdicts).of(opened_by) if cell in entered]
        without = idle(race.candidate_space, [*opened_by, *beside], entered, verdicts)
        refused = self.seconds.refused
        along: list[Target] = []
        if race.knows_more:
            along = self._there(_near(verdicts, self._sizes, {*self._searched, *entered}))
        return Lineup(
            entered,
            without={cell: {*names, *refused.get(cell, ())} for cell, names in without.items()},
            bounds=bounds(verdicts),
            beside=[cell for cell in entered if cell not in opened_by and cell not in beside],
            along=along,
            named={cell for cell, names in opened_by.items() if names} | set(beside),
            # Cells that race only for the library's single choice race without our variants, except
            # for these.
            favourites={
                cell: favourites
                for cell, favourites in further.items()
                if cell not in opened_by and cell not in beside
            },
        )

    def _run(
        self,
        race: Race,
        lineup: Lineup,
        opened_by: dict[Target, list[str]],
        verdicts: Sequence[Verdict],
        *,
        refine: bool,
    ) -> list[Winner]:
        candidate_space, further = race.candidate_space, lineup.favourites
        self._spread.enter(further)
        close = self._neighbours(verdicts)
        beside = [cell for cell in close.of(opened_by) if cell in lineup.targets]
        trials = race.run(lineup, refine=refine)
        opened_by |= {cell: [] for cell in further}
        self._along |= {cell: race.trials(cell) for cell in lineup.along}
        self._races.compare_duplicate(race)
        self._races.tell_passed_over(race)
        winners_chosen = self._select(candidate_space, trials, opened_by)
        while True:
            # A guideline that a winner breaks at a smaller size counts as violated before it is
            # measured.
            unopened = [cell for cell in beside if cell not in opened_by]
            raised = close.broken(unopened, as_tried(trials, winners_chosen))
            if not raised:
                break
            opened_by |= {target: [name] for target, name in raised.items()}
            winners_chosen = self._select(candidate_space, trials, opened_by)
        between = self._between(race, trials, opened_by)
        self._races.tell_apart(race)
        winners_chosen = self._select(candidate_space, trials, opened_by, between)
        won = {cell for cell in further if deciding(winners_chosen, cell)}
        self._searched |= opened_by.keys() - (further.keys() - won)
        self.seconds.add(RaceKnowledge(race, race.in_force, candidate_space, trials, opened_by))
        reasons, ranks = race.reasons, self._settings.ranks
        for target, tried in {**trials, **between}.items():
            if (target in beside and target not in opened_by) or target in further.keys() - won:
                continue
            search = Search(
                round=race.suite.round,
                function=target.function,
                nprocs=ranks.nprocs,
                ppn=ranks.ppn,
                bytes=target.bytes,
                opened_by=opened_by.get(target, []),
                outcome="nothing better",
                reason="",
                trials=list(tried),
                suites=race.suites,
                bound=lineup.bounds[target].name if target in lineup.bounds else "",
                bound_ratio=race.bound_ratio(target),
            )
            search = outcome.decided(search, winners_chosen, reasons.get(target, ""))
            findings.put_search(self._store.db, self._store.campaign, search)
        return winners_chosen


def _opened_by(targets: Iterable[Target], verdicts: Iterable[Verdict]) -> dict[Target, list[str]]:
    """Return the names of the violations of each target."""
    names: dict[Target, list[str]] = {target: [] for target in targets}
    for verdict in verdicts:
        target = Target(verdict.function, verdict.bytes)
        if verdict.verdict == "violated" and verdict.replaceable and target in names:
            names[target].append(f"{verdict.guideline}@{verdict.bytes}")
    return names


def _cell(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.guideline, verdict.function, verdict.bytes


def _outside(
    winners: Iterable[Winner],
    cells: Collection[Target],
    sizes: Sizes,
    candidate_space: CandidateSpace,
) -> list[Winner]:
    """Return what is left of winners where `cells` race again: nothing of an option of the library
    that holds for all sizes of a racing function."""
    racing = {cell.function for cell in cells}
    outside: list[Winner] = []
    for winner in winners:
        function = winner.function
        if function not in racing:
            outside.append(winner)
        elif winner.variant != "default" or not candidate_space.one_for_all_sizes(function):
            kept = {Target(function, size) for size in sizes[function]} - set(cells)
            outside += pieces_inside(winner, kept, sizes[function])
    return outside
