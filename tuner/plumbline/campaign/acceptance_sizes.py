"""The sizes at which a winner is tried before it is exported, and those of them that it keeps:
those at which it is known not to be slower in any circumstance. A rule that can be for one class of
datatypes, or for equal counts, is for these where it holds for these alone. Beyond its range it
takes the neighbouring sizes at which it is clearly faster in all of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from plumbline.campaign.other_uses import Circumstance, everywhere
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import condition, deciding, far_sizes, holds, piece, with_conditions
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.settings import Settings
from plumbline.verify.curve import CurveEstimate
from plumbline.verify.decision import CellDecision
from plumbline_db.records import UNBOUNDED_BYTES, Tried, Winner

_PERHAPS = "perhaps slower"
_NOT_SHOWN = (_PERHAPS, "seems slower")
CONFIDENCE = 0.99  # of what is said of a winner's gains
_NEIGHBOURS = 3  # sizes on either side that a winner is tried for beyond its range
FAR_REPS = 2  # calls in a block at a size far above the measured ones

# A winner's size in the circumstances that a condition of its rule can leave out ("": in those that
# its rule is for in any case).
Part = tuple[int, Target, str]


class AcceptanceTrial(msgspec.Struct, frozen=True):
    """One hypothesis: is the candidate slower there than the library as it is? `winner` is its
    number among those that are tried; the cell may lie `beyond` its range, or `far` above all
    measured sizes, where the calls are long and a few of them are enough."""

    winner: int
    beyond: bool
    target: Target
    candidate: Candidate
    where: Circumstance
    condition: str = ""  # by which the winner's rule may leave this out, if it must
    reserve: bool = False  # of a second choice, tried beside what holds the size
    far: bool = False

    @property
    def size(self) -> tuple[int, Target]:
        return self.winner, self.target

    @property
    def part(self) -> Part:
        return self.winner, self.target, self.condition

    def is_among(self, lost: Collection[Part]) -> bool:
        """Return whether it need not be asked: what is lost without any condition is lost."""
        return self.part in lost or (*self.size, "") in lost

    def sides(self) -> tuple[PlanCase, PlanCase]:
        cell = (self.target.function, self.target.bytes)
        return self.where.case(self.candidate.case(*cell)), self.where.case(DEFAULT.case(*cell))

    def planned(self) -> list[PlanCase]:
        """Return the sides as a plan has them."""
        reps = FAR_REPS if self.far else 0
        return [msgspec.structs.replace(side, reps=reps) for side in self.sides()]


Rows = Sequence[CellDecision[AcceptanceTrial]]
WRONG = "wrong"  # how the reason of a trial with a wrong result begins: the outcome of a check


class SizeDecision(msgspec.Struct, frozen=True):
    """The decision about one winner: the pieces that may be exported; those that may not, with the
    reason; those of the first whose rules have a condition, with the reason."""

    winners: list[Winner]
    refused: list[tuple[Winner, str]]
    narrowed: list[tuple[Winner, str]]


def trials(
    fresh: Sequence[Winner],
    winners: Sequence[Winner],
    settings: Settings,
    measured: Mapping[str, Sequence[int]],
    *,
    crowded: bool,
    reserves: Sequence[Winner] = (),
) -> list[AcceptanceTrial]:
    """Return the trials of the `fresh` ones among the `winners`, and of the `reserves` for these,
    which are numbered after them; `measured` are the measured sizes by function."""
    return [
        AcceptanceTrial(
            number,
            beyond,
            Target(winner.function, size),
            Candidate.of_winner(winner),
            where,
            condition=""
            if beyond
            else condition(winner, where.data, settings.cases.data.of(winner.function), size),
            reserve=number >= len(fresh),
            far=size in far_sizes(winner, measured[winner.function]),
        )
        for number, winner in enumerate([*fresh, *reserves])
        for beyond, sizes in (
            (False, _held(winner, measured[winner.function])),
            (True, _beyond(winner, measured[winner.function], winners)),
        )
        if not (beyond and number >= len(fresh))
        for size in sizes
        for where in everywhere(settings, PlanCase(winner.function, size), crowded=crowded)
        if where.data.type == settings.cases.data.of(winner.function).type
        or size not in far_sizes(winner, measured[winner.function])
    ]


def kept(
    fresh: Sequence[Winner],
    rows: Rows,
    settings: Settings,
    measured: Mapping[str, Sequence[int]],
    binding: str,
) -> list[SizeDecision]:
    """Return what is kept of each of the `fresh` ones, by the `rows` of their trials; `binding`:
    how ranks were put. A candidate with one wrong result is not trusted at any size or type."""
    wrong: dict[tuple[str, Candidate], str] = {}
    for row in rows:
        if row.reason.startswith(WRONG):
            wrong.setdefault((row.key.target.function, row.key.candidate), row.reason)
    return [
        SizeDecision([], [(winner, why)], [])
        if (why := wrong.get((winner.function, Candidate.of_winner(winner))))
        else _kept(
            winner,
            [row for row in rows if row.key.winner == number],
            measured[winner.function],
            beyond,
            settings,
            binding,
        )
        for number, (winner, beyond) in enumerate(
            zip(fresh, _shared_out(rows, len(fresh)), strict=True)
        )
    ]


def _held(winner: Winner, measured: Sequence[int]) -> list[int]:
    """The measured sizes in its range, also those that others decide, which may lose their place;
    and its ends, or the sizes far above the measured ones where it has no upper end."""
    sizes = {*measured, *far_sizes(winner, measured)}
    if winner.bytes_to != UNBOUNDED_BYTES:
        sizes |= {winner.bytes_from, winner.bytes_to} - {0}
    return sorted(size for size in sizes if holds(winner, Target(winner.function, size)))


def _beyond(winner: Winner, measured: Sequence[int], winners: Sequence[Winner]) -> Iterator[int]:
    """The measured sizes next to its range that nobody holds, on each side."""
    if winner.bytes_to == UNBOUNDED_BYTES:
        return
    below = sorted((size for size in measured if size < winner.bytes_from), reverse=True)
    above = sorted(size for size in measured if size > winner.bytes_to)
    for side in (below, above):
        for size in side[:_NEIGHBOURS]:
            if deciding(winners, Target(winner.function, size)) is not None:
                break
            yield size


def _shared_out(rows: Rows, winners: int) -> list[set[int]]:
    """Return for each winner the sizes beyond its range at which it is clearly faster everywhere;
    where several are, the fastest has it."""
    cells: dict[tuple[int, Target], list[CellDecision[AcceptanceTrial]]] = {}
    for row in rows:
        trial = row.key
        if trial.beyond:
            cells.setdefault(trial.size, []).append(row)
    best: dict[Target, tuple[float, int]] = {}
    for (winner, target), cell in cells.items():
        estimates = [row.estimate for row in cell if row.estimate and not row.estimate.odd]
        if len(estimates) == len(cell) and all(
            estimate.high(CONFIDENCE) < 0 for estimate in estimates
        ):
            mine = (CurveEstimate.of_several(estimates).mean, winner)
            best[target] = min(mine, best.get(target, mine))
    taken: list[set[int]] = [set() for _ in range(winners)]
    for target, (_, winner) in best.items():
        taken[winner].add(target.bytes)
    return taken


def _kept(
    winner: Winner,
    rows: Rows,
    measured: Sequence[int],
    beyond: Collection[int],
    settings: Settings,
    binding: str,
) -> SizeDecision:
    """Return what is kept of a winner. It may take the sizes `beyond` its range where the piece
    beside them needs no condition."""
    by_size: dict[int, list[CellDecision[AcceptanceTrial]]] = {}
    for row in rows:
        by_size.setdefault(row.key.target.bytes, []).append(row)
    held = _held(winner, measured)
    obstacles = {size: _obstacles(by_size[size], settings) for size in held}
    whole = winner.bytes_to == UNBOUNDED_BYTES
    if whole:
        every: dict[str, str] = {}
        for size in held:
            every = obstacles[size] | every
        obstacles = dict.fromkeys(held, every)
    outcome = SizeDecision([], [], [])
    runs = _runs_of(held, obstacles)
    for place, (sizes, narrow) in enumerate(runs):
        part = winner if whole or len(sizes) == len(held) else piece(winner, sizes[0], sizes[-1])
        beside = [
            why.get("", "")
            for _, why in (*runs[max(0, place - 1) : place], *runs[place + 1 : place + 2])
        ]
        if why := narrow.get("", "") or _left_alone(part, measured, beside):
            outcome.refused.append((part, why))
            continue
        low, high = sizes[0], sizes[-1]
        if narrow:
            part = with_conditions(part, narrow)
        elif not whole:
            below = sorted((size for size in by_size if size < held[0]), reverse=True)
            above = sorted(size for size in by_size if size > held[-1])
            low = _extended(low, held[0], below, beyond)
            high = _extended(high, held[-1], above, beyond)
        near = [
            row
            for size in by_size
            if low <= size <= high
            for row in by_size[size]
            if not row.key.far
        ]
        part = msgspec.structs.replace(
            part,
            bytes_from=min(part.bytes_from, low),
            bytes_to=max(part.bytes_to, high),
            tried=_tried(
                [row for row in near if row.key.condition not in narrow],
                settings,
                binding,
            ),
        )
        if why := _without_gain(part, settings):
            outcome.refused.append((part, why))
            continue
        outcome.winners.append(part)
        if narrow:
            outcome.narrowed.append((part, "; ".join(narrow.values())))
    return outcome


def _left_alone(part: Winner, measured: Sequence[int], beside: Sequence[str]) -> str:
    """Return why what is left of a winner `beside` sizes that it has lost, with the reasons, is no
    range: no measured size is in it, or a single one, where nothing was violated and not all
    around was shown to be slower. Sizes are looked at one by one, and some seem better by luck."""
    inside = sum(holds(part, Target(part.function, size)) for size in measured)
    if not inside:
        return "no measured size is left of it, which could be confirmed"
    if (
        inside == 1
        and not part.removes
        and all(beside)
        and any(why.startswith(_NOT_SHOWN) for why in beside)
    ):
        return f"a single size is left of it, and beside that it is {beside[0]}"
    return ""


def _without_gain(piece: Winner, settings: Settings) -> str:
    """Return why a piece is not worth a rule: it is not known to be faster in the campaign's own
    use, or is little faster and was not chosen for a violation. Empty: it is worth one."""
    own = piece.tried[0] if piece.tried else None
    if own is None:
        return ""
    if own.speedup_low <= 1:
        high = own.speedup**2 / own.speedup_low
        return (
            f"no gain is seen: {own.speedup:.2f} [{own.speedup_low:.2f}, {high:.2f}] times as fast"
        )
    if not piece.removes and own.speedup < least_gain(settings):
        return f"it removes no violation, and gains too little: {own.speedup:.2f} times as fast"
    return ""


def least_gain(settings: Settings) -> float:
    """Return how many times as fast a winner has to be that removes no violation. Where nothing is
    left to chance, any gain is one."""
    return 1.0 if settings.ranks.simulate else 1 + settings.claims.tolerance


def _obstacles(rows: Rows, settings: Settings) -> dict[str, str]:
    """Return why a size is lost, by the condition that would keep it: under "" where none does.
    Empty where the size is held in all circumstances. The library does what a variant cannot do."""
    reasons: dict[str, str] = {}
    for row in rows:
        if why := _obstacle(row, settings):
            reasons.setdefault(row.key.condition, why)
    return reasons


def _obstacle(row: CellDecision[AcceptanceTrial], settings: Settings) -> str:
    trial, comparison = row.key, row.comparison
    if comparison is None:
        return "" if row.reason.startswith("unsupported") else row.reason
    if row.is_held:
        return ""
    what = "slower" if row.word == "slower" else _PERHAPS
    where = f"at {trial.target.bytes} B ({trial.where.label(settings)})"
    low, high = comparison.low or 0, comparison.high or math.inf
    return f"{what} {where}: {comparison.ratio:.2f} [{low:.2f}, {high:.2f}]"


def _runs_of(
    sizes: Sequence[int], obstacles: Mapping[int, Mapping[str, str]]
) -> list[tuple[list[int], Mapping[str, str]]]:
    """Return neighbouring sizes that are kept together, lost together, or kept together under the
    same conditions, with the first reasons."""
    groups: list[tuple[list[int], Mapping[str, str]]] = []
    for size in sizes:
        why = obstacles[size]
        if "" in why:
            why = {"": why[""]}
        if groups and groups[-1][1].keys() == why.keys():
            groups[-1][0].append(size)
        else:
            groups.append(([size], why))
    return groups


def _extended(end: int, edge: int, outwards: Sequence[int], taken: Collection[int]) -> int:
    """Return how far a piece that ends at `end` goes on, if that is an `edge` of the range: over
    sizes that follow each other `outwards`."""
    if end != edge:
        return end
    for size in outwards:
        if size not in taken:
            break
        end = size
    return end


def _tried(rows: Rows, settings: Settings, binding: str) -> list[Tried]:
    """Return what was measured, by circumstance."""
    by_circumstance: dict[Circumstance, list[CurveEstimate]] = {}
    for row in rows:
        if row.estimate is not None:
            by_circumstance.setdefault(row.key.where, []).append(row.estimate)
    tried = []
    for where, estimates in by_circumstance.items():
        whole = CurveEstimate.of_several(estimates)
        tried.append(
            Tried(
                use=where.use or settings.way.use or settings.start_scheme,
                type=where.data.type,
                op=where.data.op,
                binding=binding,
                cells=len(estimates),
                speedup=math.exp(-whole.mean),
                speedup_low=math.exp(-whole.high(CONFIDENCE)),
                worst_low=math.exp(-max(estimate.high(CONFIDENCE) for estimate in estimates)),
                counts=where.data.counts,
            )
        )
    return tried
