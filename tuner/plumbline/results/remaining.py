"""Violations that remain in the last table, each with the reason about its own guideline: the
search of a cell is held to the fastest right-hand side, maybe that of another guideline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.libraries import space_file
from plumbline.measure.exclusions import HINTS, NO_TIME
from plumbline.results import saving
from plumbline.results.saving import Saving
from plumbline.search.outcome import candidates, fastest, first_of, is_of, label, nothing
from plumbline.search.space import select
from plumbline.system import paths
from plumbline_db import campaigns, findings, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import (
    EVERY_FUNCTION,
    Campaign,
    Event,
    Library,
    Search,
    Trial,
    Verdict,
    Winner,
)

# Cells whose answer is behind the best that their search has measured, and why that was not taken.
# Read from what is stored: ratios are those of the search, to the library as it is.

_LOST = "the search chose a candidate, which was dropped later (see the notes)"
_NOT_CLEAR = "no candidate is clearly faster than the default"
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
    """Return the functions for which the library has one choice for all sizes; none if no search
    space fits."""
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
        return _LOST if won else _NOT_CLEAR
    return "another winner answers this call"


def _ratio(trial: Trial) -> float:
    return trial.ratio or 1.0


_TOO_SLOW = "the winner in force is not fast enough for this guideline"
_OF_PROCESS = "the setting of the process is in force"


class Remaining(msgspec.Struct, frozen=True):
    """A violation that is left, and why. `configuration` is the winner in force there, or else the
    fastest of the `candidates` that were tried; `trial` is its measurement in the search, and
    `of_right_side` its time over that of the guideline's right side there."""

    verdict: Verdict
    reason: str
    candidates: int = 0
    configuration: str = ""
    trial: Trial | None = None
    of_right_side: float | None = None


class Searched(msgspec.Struct, frozen=True):
    """The measures of a campaign against violations. `searches` are in the order of the rounds."""

    searches: Sequence[Search]
    winners: Sequence[Winner]
    events: Sequence[Event]
    behind: Sequence[Behind]
    saving: Saving | None = None

    def remaining(self, table: Iterable[Verdict]) -> list[Remaining]:
        """Return what is violated in `table`."""
        still_violated = [verdict for verdict in table if verdict.verdict == "violated"]
        return [self._of(verdict) for verdict in still_violated]

    def _of(self, verdict: Verdict) -> Remaining:
        cell = Target(verdict.function, verdict.bytes)
        of_cell = [
            search for search in self.searches if Target(search.function, search.bytes) == cell
        ]
        reason = self._reason(verdict, cell, of_cell)
        elsewhere = [use.use for use in verdict.uses if use.verdict == "holds"]
        if elsewhere:
            reason = f"holds in another use ({', '.join(elsewhere)}); {reason}"
        if not of_cell or not verdict.replaceable:
            return Remaining(verdict, reason)
        trials = [trial for search in of_cell for trial in search.trials]
        winner = deciding(self._of_functions(), cell)
        # Ratios of the first search compare with the library's default.
        shown = fastest(first_of(of_cell)[cell].trials)
        if winner is not None:
            shown = next((trial for trial in trials if is_of(trial, winner)), None)
        named = shown if winner is None else winner
        return Remaining(
            verdict,
            reason,
            candidates=candidates(trials),
            configuration="" if named is None else _label(named),
            trial=shown,
            of_right_side=None if shown is None else _of_right_side(verdict, shown, of_cell),
        )

    def _reason(self, verdict: Verdict, cell: Target, of_cell: Sequence[Search]) -> str:
        if not verdict.replaceable:
            side = f"on {verdict.ranks} ranks" if verdict.ranks else verdict.lhs
            return f"not searched: its left side ({side}) is not a call that can be replaced here"
        if not of_cell:
            return self._not_searched(verdict)
        if deciding(self._of_functions(), cell) is not None:
            return _TOO_SLOW
        beside = f"; {_OF_PROCESS}" if deciding(self.winners, cell) else ""
        if any(search.outcome == "winner" for search in of_cell):
            return _LOST + beside
        faster = [
            slower_cell.why
            for slower_cell in self.behind
            if Target(slower_cell.function, slower_cell.bytes) == cell
        ]
        if faster:
            return faster[0] + beside
        trials = [trial for search in of_cell for trial in search.trials]
        return (_NOT_CLEAR if fastest(trials) else nothing(trials)) + beside

    def _not_searched(self, verdict: Verdict) -> str:
        if self.saving and not self.saving.calls_for(verdict):
            return "not searched: the application spends hardly any time there"
        if any(event.kind == HINTS for event in self.events):
            return "not searched again: an earlier campaign did (--earlier none searches again)"
        if any(event.kind == NO_TIME for event in self.events):
            return "not searched: the budget was used up (use a larger --budget)"
        return "not searched: all rounds were used up (use --set rounds=NUMBER with more)"

    def _of_functions(self) -> list[Winner]:
        """Winners but for the settings of the process, which are for no cell."""
        return [winner for winner in self.winners if winner.function != EVERY_FUNCTION]


def of_cell(db: Database, campaign: Campaign, verdicts: Sequence[Verdict]) -> list[Remaining]:
    """Return what is violated of these verdicts of the last table; nothing without a search."""
    every, kept = findings.all_searches(db, campaign.id), findings.get_winners(db, campaign.id)
    if not (every or kept) or all(verdict.verdict != "violated" for verdict in verdicts):
        return []
    whole = whole_functions(machines.library(db, campaign.library_fingerprint))
    spent = saving.of(db, campaign, None, kept)
    searched = Searched(
        every, kept, campaigns.events(db, campaign.id), behind(every, kept, whole), spent
    )
    return searched.remaining(verdicts)


def _label(of: Trial | Winner) -> str:
    return label(of.variant, of.knobs if isinstance(of, Trial) else of.configuration)


def _of_right_side(verdict: Verdict, shown: Trial, of_cell: Sequence[Search]) -> float | None:
    """The time of `shown` over that of the guideline's right side, both over the default's in one
    search; None where its search did not measure that side."""
    for search in of_cell:
        if shown.ratio is None or shown not in search.trials:
            continue
        if search.bound == f"{verdict.guideline}@{verdict.bytes}" and search.bound_ratio:
            return shown.ratio / search.bound_ratio
        for trial in search.trials:
            if trial.variant == verdict.right != "default" and not trial.knobs and trial.ratio:
                return shown.ratio / trial.ratio
    return None
