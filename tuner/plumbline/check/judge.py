"""The meaning of times with and without the exported files for the winners. Pure.

The launch is the replicate: each pair of launches gives one log ratio of each cell in each loop.
Who looks slower is measured again in fresh launches, and who is slower there a third time, in
twice as many; he is slower if he is so in all of them, and slower at times if he was so beyond
doubt in the first ones alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline.check.programs import ProgramCell, place_of
from plumbline.verify.decision import CellDecision, Claim, by_interval, decide, joint
from plumbline_db.records import Winner

from .programs import Reading, Seconds

CLAIM = Claim(alpha=0.05, both_sides=True)

Word = Literal["faster", "unclear", "slower at times", "slower"]

# What is slower by that much in the first launches, with that error over all comparisons, and not
# in fresh ones, is slower at times: the machine was in another state.
_SURELY, _MUCH = 0.001, 1.05


class SpeedUp(msgspec.Struct, frozen=True):
    """Plain over tuned time: above 1 is faster. `low` and `high`: its 95 % interval, None where the
    pairs are too few. `adjusted_p`: two-sided, after Benjamini and Hochberg over all comparisons of
    a program, or over all that was measured again. `pairs`: of launches."""

    speedup: float
    low: float | None
    high: float | None
    adjusted_p: float
    pairs: int


class CellSeen(msgspec.Struct, frozen=True):
    """A cell in a loop. `winner` is its place among the winners; `again` what the fresh launches
    said, where it looked slower."""

    winner: int
    loop: str
    cell: ProgramCell
    seen: SpeedUp
    again: SpeedUp | None
    word: Word


class WinnerInLoop(msgspec.Struct, frozen=True):
    """A winner in a loop: the geometric mean over its `cells`. `slower` are the cells that are;
    `worst` is the one with the least speed-up."""

    winner: int
    loop: str
    seen: SpeedUp
    again: SpeedUp | None
    cells: int
    worst: ProgramCell
    worst_speedup: float
    slower: list[ProgramCell]
    word: Word


class Times(msgspec.Struct):
    """One mapping a pair and side; `tuned[i]` and `plain[i]` are of the same pair."""

    tuned: list[Seconds] = []
    plain: list[Seconds] = []


class Judgement(msgspec.Struct, frozen=True):
    winners: list[WinnerInLoop]
    cells: list[CellSeen]


# A comparison: a reading, or all readings of a winner in a loop.
Key = Reading | tuple[int, str]
Logs = dict[Key, list[float]]


def log_ratios(times: Times, winners: Sequence[Winner]) -> Logs:
    """Log of tuned over plain, pair by pair, of all that every launch has seen, and of the winners
    as a whole. What no winner answers is left out."""
    sides = [*times.tuned, *times.plain]
    common = set[Reading]().union(*sides)
    for side in sides:
        common &= side.keys()
    logs_of: Logs = {}
    groups: dict[tuple[int, str], list[list[float]]] = {}
    for reading in sorted(common):
        winner = place_of(winners, reading.cell)
        if winner is None:
            continue
        logs = [
            math.log(tuned[reading] / plain[reading])
            for tuned, plain in zip(times.tuned, times.plain, strict=True)
        ]
        logs_of[reading] = logs
        groups.setdefault((winner, reading.loop), []).append(logs)
    return logs_of | {key: joint(members) for key, members in groups.items()}


def suspects(stages: Sequence[Logs], winners: Sequence[Winner]) -> list[Reading]:
    """Return what must be measured again after so many stages: cells that look slower, their
    interval wholly above 1, uncorrected (after the first), or that are slower (after others); and
    all cells of a winner whose mean does or is."""
    first, later = _decided(stages)
    if len(stages) > 1:
        slow = {key for key, decision in later.items() if decision.word == "slower"}
    else:
        slow = {key for key, decision in first.items() if by_interval(decision.told) == "slower"}
    return [
        key
        for key in stages[0]
        if isinstance(key, Reading)
        and (key in slow or (place_of(winners, key.cell), key.loop) in slow)
    ]


_Decisions = dict[Key, CellDecision[Key]]


def _decided(stages: Sequence[Logs]) -> tuple[_Decisions, _Decisions]:
    """Decide what each stage says, of what the one before found slower: the first one, and the last
    one that measured it."""
    first = decide(stages[0], CLAIM)
    slow = {key for key, decision in first.items() if by_interval(decision.told) == "slower"}
    later: _Decisions = {}
    for stage in stages[1:]:
        fresh = decide({key: stage[key] for key in stage if key in slow}, CLAIM)
        # What was slower, and was not measured again, is not known to be so.
        later = {key: decision for key, decision in later.items() if key not in slow} | fresh
        slow = {key for key, decision in fresh.items() if decision.word == "slower"}
    return first, later


def judge(stages: Sequence[Logs], winners: Sequence[Winner]) -> Judgement:
    """`stages`: the logs of all launches; of fresh ones, for what looked slower in these; and of
    fresh ones again, for what was slower there too."""
    first, later = _decided(stages)
    words = {key: _word(first[key], later.get(key)) for key in first}
    cells = [
        CellSeen(
            winner=place_of(winners, key.cell) or 0,
            loop=key.loop,
            cell=key.cell,
            seen=_speedup(first[key]),
            again=_speedup(later[key]) if key in later else None,
            word=words[key],
        )
        for key in first
        if isinstance(key, Reading)
    ]
    winners_seen: list[WinnerInLoop] = []
    for key in first:
        if isinstance(key, Reading):
            continue
        mine = [cell for cell in cells if (cell.winner, cell.loop) == key]
        worst = min(mine, key=lambda one: one.seen.speedup)
        slower = [cell.cell for cell in mine if cell.word == "slower"]
        at_times = any(cell.word == "slower at times" for cell in mine)
        winners_seen.append(
            WinnerInLoop(
                winner=key[0],
                loop=key[1],
                seen=_speedup(first[key]),
                again=_speedup(later[key]) if key in later else None,
                cells=len(mine),
                worst=worst.cell,
                worst_speedup=worst.seen.speedup,
                slower=slower,
                word="slower" if slower else "slower at times" if at_times else words[key],
            )
        )
    return Judgement(winners=winners_seen, cells=cells)


def _word(first: CellDecision[Key], second: CellDecision[Key] | None) -> Word:
    if second is not None and second.word == "slower":
        return "slower"
    comparison, p = first.told, first.p_adjusted
    if comparison.low is not None and comparison.low > _MUCH and p is not None and p < _SURELY:
        return "slower at times" if second is not None else "unclear"
    return "faster" if first.word == "faster" else "unclear"


def _speedup(decision: CellDecision[Key]) -> SpeedUp:
    comparison = decision.told
    return SpeedUp(
        speedup=1 / comparison.ratio,
        low=None if comparison.high is None else 1 / comparison.high,
        high=None if comparison.low is None else 1 / comparison.low,
        adjusted_p=decision.p_adjusted or 0.0,
        pairs=comparison.n,
    )
