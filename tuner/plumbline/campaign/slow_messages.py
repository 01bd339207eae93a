"""Winners must hold where messages between ranks take longer than in other launches, too.

A host may move the processors of a virtual machine apart, and ranks that are not bound may run on
cores that share a cache or not. What passes through memory that ranks share takes several times as
long then, and messages that the kernel copies hardly longer, so that a variant is faster than the
library in one state and slower in the other. Round trips before and after all cases of a launch
show the state (`LaunchStore.slow_messages`). Measured: docs/design/shared-memory.md."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

import msgspec

from plumbline.campaign.pairs import told
from plumbline.core.cell import Target
from plumbline.core.winner import deciding, holds, pieces_inside
from plumbline.search.space.candidates import Candidate
from plumbline.verify.decision import Claim, decide
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Winner

# Launches in which messages take long: fewer decide nothing about a cell, and so many are waited
# for.
LEAST, ENOUGH = 2, 5


class LaunchRatios:
    """The log ratios of all candidates that were compared with the library in the same launch: by
    launch, for each cell and circumstance."""

    def __init__(self) -> None:
        self._logs: dict[tuple[Candidate, Target, Hashable], dict[int, float]] = {}

    def add(
        self,
        candidate: Candidate,
        cell: Target,
        logs: Mapping[int, float],
        circumstance: Hashable = None,
    ) -> None:
        self._logs.setdefault((candidate, cell, circumstance), {}).update(logs)

    def unknown(self, winners: Sequence[Winner], launches: Collection[int]) -> set[Target]:
        """Return the cells of winners that were compared in launches, but in too few of these."""
        counts: dict[Target, int] = {}
        for (candidate, cell, _), logs in self._logs.items():
            if _is_of(candidate, cell, winners):
                count = sum(launch in launches for launch in logs)
                counts[cell] = max(count, counts.get(cell, 0))
        return {cell for cell, count in counts.items() if count < ENOUGH}

    def slower(
        self, winners: Sequence[Winner], launches: Collection[int], claim: Claim
    ) -> dict[Target, Comparison]:
        """Return the cells whose winner is slower than the claim allows in these `launches`, in
        any circumstance. All launches tell how much ratios vary."""
        groups: list[list[float]] = []
        tested: dict[tuple[Target, Hashable], list[float]] = {}
        for (candidate, cell, circumstance), logs in self._logs.items():
            slow = [log for launch, log in logs.items() if launch in launches]
            groups += [slow, [log for launch, log in logs.items() if launch not in launches]]
            if len(slow) >= LEAST and _is_of(candidate, cell, winners):
                tested[cell, circumstance] = slow
        compare = claim.judge([group for group in groups if group])
        own = msgspec.structs.replace(claim, judge=lambda _: compare, min_launches=LEAST)
        found: dict[Target, Comparison] = {}
        for (cell, _), decision in decide(tested, own).items():
            if decision.word == "slower":
                found.setdefault(cell, decision.told)
        return found


def _is_of(candidate: Candidate, cell: Target, winners: Sequence[Winner]) -> bool:
    winner = deciding(winners, cell)
    return winner is not None and Candidate.of_winner(winner) == candidate


def without(
    winners: Sequence[Winner],
    slower: Mapping[Target, Comparison],
    sizes: Mapping[str, Sequence[int]],
) -> tuple[list[Winner], list[tuple[Winner, str]]]:
    """Return what is left of the winners without the cells at which they are `slower`, and what is
    not, with the reason. `sizes`: the measured ones by function."""
    left: list[Winner] = []
    lost: list[tuple[Winner, str]] = []
    for winner in winners:
        own = {cell for cell in slower if deciding(winners, cell) is winner}
        if not own:
            left.append(winner)
            continue
        measured = sizes[winner.function]
        cells = {Target(winner.function, size) for size in measured}
        left += pieces_inside(winner, cells - own, measured)
        for part in pieces_inside(winner, own, measured):
            worst = max(
                (slower[cell] for cell in own if holds(part, cell)), key=lambda found: found.ratio
            )
            lost.append((part, f"slower where messages take longer: {told(worst)}"))
    return left, lost
