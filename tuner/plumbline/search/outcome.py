"""The findings of a search, in words: the record that stays when the race is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.system.words import counted
from plumbline_db.records import Search, Trial, Winner

_WORTH_A_SEARCH = 0.01  # so much faster is worth to be named


def decided(search: Search, winners: Sequence[Winner], stopped: str = "") -> Search:
    """Return the record of one cell with its outcome; `stopped`: why its race ended."""
    holding = deciding(winners, Target(search.function, search.bytes))
    return msgspec.structs.replace(
        search,
        outcome="winner" if holding else "nothing better",
        reason=_reason(search.trials, holding) + (f"; {stopped}" if stopped else ""),
    )


def first_of(searches: Sequence[Search]) -> dict[Target, Search]:
    """The first search of each cell: its ratios are to the library as it is."""
    first_searches: dict[Target, Search] = {}
    for search in searches:
        first_searches.setdefault(Target(search.function, search.bytes), search)
    return first_searches


def label(variant: str, knobs: dict[str, str]) -> str:
    """A configuration in a few words: `coll_tuned_bcast_algorithm=binomial`, `gather_binomial`."""
    words = [f"{name}={value}" for name, value in sorted(knobs.items())]
    if variant != "default":
        words.insert(0, variant)
    return " ".join(words) or "default"


def not_asked(
    cells: Sequence[Target],
    trials_by_cell: Mapping[Target, Sequence[Trial]],
    winners: Sequence[Winner],
) -> str:
    """Report that no search was opened for `cells`, and which candidates are known to be faster
    there than the present answer."""
    faster = []
    for cell in cells:
        trials = {
            (trial.variant, *trial.knobs.items()): trial for trial in trials_by_cell.get(cell, ())
        }
        best = min((trial for trial in trials.values() if trial.ratio), key=_ratio, default=None)
        winner = deciding(winners, cell)
        own = [trial for trial in trials.values() if winner and is_of(trial, winner)]
        factor = (_ratio(own[0]) if own else 1.0) / _ratio(best) if best else 1.0
        if best is not None and factor > 1 + _WORTH_A_SEARCH and bool(own) == bool(winner):
            best_name = label(best.variant, best.knobs)
            faster.append(f"{cell.function} at {cell.bytes} B, {factor:.2f} times, by {best_name}")
    functions = Counter(cell.function for cell in cells)
    where = ", ".join(f"{name} ({count})" for name, count in sorted(functions.items()))
    text = (
        f"{counted(len(cells), 'cell')} without a violation: {where}; --set all=true searches them"
    )
    return text + (f", and would gain at least in {'; '.join(faster)}" if faster else "")


def _ratio(trial: Trial) -> float:
    return trial.ratio or 1.0


def fastest(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial with the least time; None where none has a time."""
    measured = [trial for trial in trials if trial.ratio is not None]
    return min(measured, key=_ratio, default=None)


def candidates(trials: Sequence[Trial]) -> int:
    """Return the number of different candidates in the trials."""
    return len({(trial.variant, *sorted(trial.knobs.items())) for trial in trials})


def _reason(trials: Sequence[Trial], winner: Winner | None) -> str:
    best = fastest(trials)
    if best is None:
        return nothing(trials)
    shown, text = best, f"{counted(len(trials), 'candidate')}; the fastest, "
    if winner is not None:
        same = [trial for trial in trials if trial.ratio is not None and is_of(trial, winner)]
        shown = same[0] if same else best
        text = f"chosen out of {counted(len(trials), 'candidate')}: "
    text += f"{label(shown.variant, shown.knobs)}, takes {shown.ratio:.2f}"
    if shown.ratio_low is not None and shown.ratio_high is not None:
        text += f" [{shown.ratio_low:.2f}, {shown.ratio_high:.2f}]"
    return text + " of the default's time"


_WITHOUT_TIMES = {
    "wrong": "gave wrong results",
    "failed": "ended launches",
    "not_in_force": "was not in force",
    "unsupported": "cannot be had there",
    "slower": "was slower in another way of use",
}


def nothing(trials: Sequence[Trial]) -> str:
    """Return why no candidate has a time."""
    if not trials:
        return "no candidate was tried"
    states = Counter(_WITHOUT_TIMES.get(trial.state, trial.state) for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    first = next((trial.detail for trial in trials if trial.detail), "")
    return f"no candidate has a time: {counts}" + (f" ({first})" if first else "")


def is_of(trial: Trial, winner: Winner) -> bool:
    """Return whether the trial is one of what the winner is."""
    return (trial.variant, trial.knobs) == (winner.variant, winner.configuration)
