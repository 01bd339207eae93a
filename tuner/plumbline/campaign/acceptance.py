"""Acceptance: a winner is tried wherever a user stands, before it is exported.

Of every size that it holds, and of the ends of its range, the winner and the library as it is are
called beside each other in the same launches: in all ways of use, with the types that applications
have, where a plain mpirun puts the ranks (acceptance_launches.py). It keeps the sizes at which it
is known not to be slower in any of these: the interval of each ratio ends within the tolerance
(acceptance_sizes.py).

What needs launches of its own (cold knobs) cannot be tried so: acceptance_in_turn.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.campaign.acceptance_launches import AcceptanceLaunches
from plumbline.campaign.acceptance_sizes import kept, trials
from plumbline.core.guidelines import LIBRARY, calls
from plumbline.core.plan import Plan
from plumbline.core.winner import is_part, pieces_inside
from plumbline.measure.launches import LaunchStore
from plumbline.search.order import levels
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.settings import Settings
from plumbline.system.placement import Placement
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner
from plumbline_exporters.bundle import conditions


class Accepted(msgspec.Struct, frozen=True):
    """`winners` as they may be exported: some for fewer or for more sizes than before; `refused`
    are winners, or the sizes that they have lost, with the reason; `narrowed` those of `winners`
    that are for the campaign's own class of datatypes alone. `reserves` were tried beside them, of
    which these, or pieces of them, have `held`. `suite`: that of its launches; None where nothing
    was left to be tried."""

    suite: Suite | None
    winners: list[Winner]
    refused: list[tuple[Winner, str]] = []
    narrowed: list[tuple[Winner, str]] = []
    reserves: list[Winner] = []
    held: list[Winner] = []


class Acceptance:
    """Of the winners of one campaign. `placement`: where the ranks are (None: as in all launches);
    `environment`: what lets knobs be switched inside a launch; `in_force` puts winners in force for
    launches of a name."""

    def __init__(
        self,
        store: LaunchStore,
        candidate_space: CandidateSpace,
        plan: Plan,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        environment: Mapping[str, str],
        in_force: Callable[[Sequence[Winner]], Mapping[str, str]],
        *,
        placement: Placement | None,
        crowded: bool,
    ) -> None:
        self._store = store
        self._in_force = in_force
        self._candidate_space = candidate_space
        self._plan = plan
        self._settings = settings
        self._sizes = sizes
        self._environment = environment
        self._placement = placement
        self._binding = store.starter.placement.bind if placement is None else "user"
        self._crowded = crowded
        self._known: list[Winner] = []
        self._turns = 0

    def judge(
        self,
        winners: Sequence[Winner],
        reserves_of: Callable[[Sequence[Winner]], list[Winner]] = lambda _: [],
    ) -> Accepted:
        """Tries some that were not accepted before, in the order in which they are made of each
        other: those whose calls others answer wait for these, and are tried with them in force.
        `reserves_of`: what may take their places, which is tried in the same launches."""
        fresh = [
            winner
            for winner in winners
            if self.fits(winner) and not any(_is_known(winner, known) for known in self._known)
        ]
        standing = [winner for winner in winners if winner not in fresh]
        if not fresh:
            return Accepted(None, list(winners))
        every = fresh
        fresh = _first(fresh)
        self._turns += 1
        suite = Suite("accept", self._turns)
        environment = dict(self._environment)
        whole = any(winner.function == EVERY_FUNCTION for winner in standing)
        if whole or any(_calls_any(winner, standing) for winner in fresh):
            environment |= self._in_force(standing)
        launches = AcceptanceLaunches(self._store, self._plan, environment, self._placement)
        reserves = [
            reserve
            for reserve in reserves_of(fresh)
            if self.fits(reserve) and not _calls_any(reserve, [*every, *standing])
        ]
        asked = trials(
            fresh, winners, self._settings, self._sizes, crowded=self._crowded, reserves=reserves
        )
        rows = launches.decide(suite, asked, self._settings)
        found = kept([*fresh, *reserves], rows, self._settings, self._sizes, self._binding)
        self._known += [piece for kept_of in found for piece in kept_of.winners]
        mine, theirs = found[: len(fresh)], found[len(fresh) :]
        pieces = {id(winner): kept_of.winners for winner, kept_of in zip(fresh, mine, strict=True)}
        return Accepted(
            suite,
            [piece for winner in winners for piece in pieces.get(id(winner), [winner])],
            [lost for kept_of in mine for lost in kept_of.refused],
            [narrow for kept_of in mine for narrow in kept_of.narrowed],
            self._tried(reserves, launches),
            [piece for kept_of in theirs for piece in kept_of.winners],
        )

    def _tried(self, reserves: Sequence[Winner], launches: AcceptanceLaunches) -> list[Winner]:
        """The sizes of reserves at which they were measured."""
        cells = {trial.target for trial, logs in launches.logs.items() if trial.reserve and logs}
        return [
            piece
            for reserve in reserves
            for piece in pieces_inside(reserve, cells, self._sizes[reserve.function])
        ]

    def shows_gain(self, winner: Winner) -> bool:
        """Whether it was accepted, and is faster than the default over its sizes in the campaign's
        own use, beyond doubt."""
        own = winner.tried[0] if winner.tried else None
        return own is not None and own.speedup_low > 1 and self.fits(winner)

    def fits(self, winner: Winner) -> bool:
        """Whether it can be put in force beside the library as it is."""
        return winner.function != EVERY_FUNCTION and not self._candidate_space.is_cold(
            winner.function, Candidate.of_winner(winner)
        )


def _is_known(winner: Winner, known: Winner) -> bool:
    """Whether it, or more, was accepted."""
    return is_part(winner, known) and set(conditions(known)) <= set(conditions(winner))


def _calls_any(winner: Winner, others: Sequence[Winner]) -> bool:
    """Whether a variant of ours makes calls that some of the `others` are about."""
    if winner.variant == LIBRARY or not others:
        return False
    about = {other.function for other in others}
    made = calls(winner.function, winner.variant)
    return made is None or EVERY_FUNCTION in about or not about.isdisjoint(made)


def _first(winners: Sequence[Winner]) -> list[Winner]:
    """Those of the functions that wait for no others, or for each other alone."""
    waits: dict[str, set[str]] = {winner.function: set() for winner in winners}
    for winner in winners:
        waits[winner.function] |= {
            other.function
            for other in winners
            if other.function != winner.function and _calls_any(winner, [other])
        }
    first = levels(waits)[0]
    return [winner for winner in winners if winner.function in first]
