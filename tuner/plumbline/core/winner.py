"""Winners: the cells that one holds for and reaches, what it needs, how ranges are split. Pure.

The one place that knows: the cells that it answers and those that it can change, what differs
between the winners of two turns of a campaign, the conditions of its rule, and what is left of its
range where others take over."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Side, Target
from plumbline.core.configuration import Configuration, VariantSpec
from plumbline.core.guidelines import LAYOUT_PATTERNS, LIBRARY, Guidelines, calls
from plumbline.core.plan import EQUAL_COUNTS, REDUCTIONS, Data
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Tried, Winner
from plumbline_exporters.bundle import conditions, is_profile

BuiltOn = Mapping[str, Collection[str]]
Sizes = Mapping[str, Sequence[int]]

# A winner without an upper end must not be slower up to this size. A simulated machine has the
# buffers of all ranks in one process, which limits the size too.
FAR_BYTES = 4 << 20
_MOST_BYTES_OF_ALL_RANKS = 1 << 30
# The most bytes for each rank by which calls inside a mock-up differ from its volume, because
# counts are whole elements.
PADDING_BYTES = 16

# The profile's classes (docs/profile.md) of types that applications reduce. A rule for bytes alone
# is useless to them.
_CLASSES = {
    "MPI_INT": "integer",
    "MPI_INT64_T": "integer",
    "MPI_FLOAT": "floating",
    "MPI_DOUBLE": "floating",
}
# Functions in which all ranks know all counts, so that a rule can be limited to equal counts.
_KNOWN_COUNTS = frozenset({"MPI_Allgatherv", "MPI_Reduce_scatter"})
_IF_EQUAL = f"counts={EQUAL_COUNTS}"
# From so many bytes for each rank on, no other shape can be mistaken for equal counts
# (docs/profile.md).
_TOLD_APART_BYTES = 32


def holds(winner: Winner, target: Target) -> bool:
    """Return whether the cell `target` is one that `winner` is for."""
    function = winner.function in (target.function, EVERY_FUNCTION)
    return function and holds_size(winner, target.bytes)


def deciding(winners: Sequence[Winner], target: Target) -> Winner | None:
    """The winner that answers a call of this cell: a variant of ours stands before the library,
    what holds for the whole process behind both."""
    holding = [winner for winner in winners if holds(winner, target)]
    variants = [winner for winner in holding if winner.variant != "default"]
    own = [winner for winner in holding if winner.function != EVERY_FUNCTION]
    return next(iter(variants + own + holding), None)


def chosen_configuration(winner: Winner) -> tuple[str, str, Configuration]:
    """Return what is chosen, for whatever sizes."""
    return winner.function, winner.variant, Configuration.of(winner.configuration)


def is_part(winner: Winner, whole: Winner) -> bool:
    """Return whether `winner` is `whole`, or a part of its sizes."""
    inside = whole.bytes_from <= winner.bytes_from and winner.bytes_to <= whole.bytes_to
    return inside and chosen_configuration(winner) == chosen_configuration(whole)


def exported_alike(earlier: Sequence[Winner], winners: Sequence[Winner]) -> bool:
    """Return whether the same files come of them."""
    return changed_between(earlier, winners) == []


def changed_between(earlier: Sequence[Winner], winners: Sequence[Winner]) -> list[Winner] | None:
    """Return the winners that are in force in only one of two turns. None: every call has changed,
    as a winner concerns all calls, or as the preload library stands before all calls in one turn
    alone."""
    changed = [
        winner
        for one_turn, others in ((winners, earlier), (earlier, winners))
        for winner in one_turn
        if exported_as(winner) not in map(exported_as, others)
    ]
    preloads = {
        any(winner.variant != LIBRARY for winner in one_turn) for one_turn in (winners, earlier)
    }
    if len(preloads) > 1 or any(winner.function == EVERY_FUNCTION for winner in changed):
        return None
    return changed


def exported_as(winner: Winner) -> tuple[object, ...]:
    """Return what the exported files say of it to the library and the preload library."""
    own = (winner.function, winner.bytes_from, winner.bytes_to, winner.variant)
    return *own, winner.configuration, conditions(winner)


def functions_built_on(guidelines: Guidelines) -> BuiltOn:
    """Return by function those that a library may build it on, as guidelines have it."""
    return {
        pattern.lhs: {
            used
            for other_pattern in guidelines.patterns
            if (other_pattern.lhs, other_pattern.lhs_variant) == (pattern.lhs, LIBRARY)
            for used in other_pattern.uses
        }
        for pattern in guidelines.patterns
    }


def reaching(winners: Sequence[Winner], cell: Target, built_on: BuiltOn) -> list[Winner]:
    """Return the winners that can change what happens in a cell."""
    return [winner for winner in winners if reaches(winner, cell, built_on)]


def reaches(winner: Winner, cell: Target, built_on: BuiltOn) -> bool:
    """Return whether a winner can change what happens in a cell: its own, or, for a knob, another
    size of its function (a variable that is set may turn off what the library does without it) or a
    cell of a function that the library may build on the tuned one. A variant of ours reaches no
    other by itself (`cell_changes` knows mock-ups that call what it stands in for)."""
    if holds(winner, cell):
        return True
    if winner.variant != "default":
        return False
    built = winner.function in built_on.get(cell.function, ())
    return winner.function == cell.function or (
        built and winner.bytes_from <= cell.bytes <= winner.bytes_to
    )


def is_in_force(winners: Sequence[Winner], left_side: Side, right_side: Side) -> bool:
    """Return whether calls of the left side are replaced by the right side."""
    if left_side.variant != LIBRARY or left_side.ranks or right_side.variant == LIBRARY:
        return False
    winner = deciding(winners, Target(left_side.function, left_side.bytes))
    same = (left_side.function, left_side.bytes) == (right_side.function, right_side.bytes)
    return same and winner is not None and winner.variant == right_side.variant


def side_changes(
    changed: Sequence[Winner], side: Side, built_on: BuiltOn, in_force: Sequence[Winner]
) -> bool:
    """Return whether a side of a table takes another time when these come, go or change, beside
    what is `in_force`. A mock-up calls functions at sizes of its own."""
    if side.variant == LIBRARY and not side.ranks:
        return cell_changes(changed, Target(side.function, side.bytes), built_on, in_force)
    if side.ranks:
        return _are_about(changed, (side.function,), None, built_on, in_force)
    called = calls(side.function, side.variant)
    pieces = int(VariantSpec.parse(side.variant).parameters.get("pieces", 1))
    return _are_about(changed, called, side.bytes // pieces, built_on, in_force)


def cell_changes(
    changed: Sequence[Winner], cell: Target, built_on: BuiltOn, in_force: Sequence[Winner]
) -> bool:
    """Return the same for the library's own call, and for the mock-up that is in force in its
    place, whose calls are replaced in turn."""
    if reaching(changed, cell, built_on):
        return True
    answer = deciding(in_force, cell)
    if answer is None or answer.variant == LIBRARY:
        return False
    called = calls(answer.function, answer.variant)
    return _are_about(changed, called, cell.bytes, built_on, in_force)


def _are_about(
    changed: Sequence[Winner],
    called: Collection[str] | None,
    size: int | None,
    built_on: BuiltOn,
    in_force: Sequence[Winner],
) -> bool:
    """Return whether some of these are about functions that are `called` with `size` bytes, or with
    any number (None), or that these are made of; `called` None: nobody says which. Calls inside a
    call have its volume, but for what fills blocks up (tests/probes/test_mockup_volumes.py)."""
    if called is None or not changed:
        return bool(changed)
    padding = changed[0].nprocs * PADDING_BYTES
    within: dict[str, float] = {}  # how far the volume of a call may lie from `size`
    further = dict.fromkeys(called, padding if size is not None else math.inf)
    while further:
        # A function that calls itself through others may do so with any volume.
        within |= {name: math.inf if name in within else far for name, far in further.items()}
        inside: dict[str, float] = {}
        for winner in in_force:
            if winner.function in further and winner.variant != LIBRARY:
                made = calls(winner.function, winner.variant)
                if made is None:
                    return True
                far = within[winner.function] + padding
                inside |= {name: far for name in made if within.get(name, 0) < far}
        further = inside
    middle = size or 0
    return any(
        (winner.function == name or winner.function in built_on.get(name, ()))
        and (
            winner.variant == LIBRARY
            or (winner.bytes_from <= middle + far and middle - far <= winner.bytes_to)
        )
        for winner in changed
        for name, far in within.items()
    )


def condition(winner: Winner, sent: Data, own: Data, size: int) -> str:
    """Return the condition by which the rule of a winner, measured with data `own`, leaves calls of
    `size` bytes with other data, `sent`, to the library: `type=floating`, `counts=equal`. Empty
    where no condition does. Only rules of a profile have conditions. Only reductions have the same
    type on all ranks."""
    if not is_profile(winner):
        return ""
    if sent.counts != own.counts:
        if own.counts != EQUAL_COUNTS:
            return ""
        apart = size >= _TOLD_APART_BYTES * winner.nprocs
        return _IF_EQUAL if apart and winner.function in _KNOWN_COUNTS else ""
    own_class = _CLASSES.get(own.type, "")
    foreign = own_class and winner.function in REDUCTIONS and _CLASSES.get(sent.type) != own_class
    return f"type={own_class}" if foreign else ""


def with_conditions(winner: Winner, words: Iterable[str]) -> Winner:
    joined = dict.fromkeys([*winner.restrictions, *words])
    return msgspec.structs.replace(winner, restrictions=list(joined))


def is_for(winner: Winner, type: str, counts: str = EQUAL_COUNTS) -> bool:
    """Return whether a winner answers calls with this datatype and this count shape."""
    met = {f"type={_CLASSES.get(type, '')}", f"counts={counts}"}
    return met.issuperset(conditions(winner))


def far_sizes(winner: Winner, sizes: Sequence[int]) -> list[int]:
    """Return the sizes above the measured `sizes` of a function at which a winner without an upper
    end has to be compared with the default: FAR_BYTES, and the size half-way to it on a logarithmic
    scale. A setting that moves the size at which messages go another way is at home below."""
    largest = max(sizes, default=0)
    far = min(FAR_BYTES, _MOST_BYTES_OF_ALL_RANKS // winner.nprocs)
    moves_switch = winner.function == EVERY_FUNCTION and winner.bytes_from > 0
    if winner.bytes_to != UNBOUNDED_BYTES or moves_switch or not 0 < largest < far:
        return []
    return [math.isqrt(largest * far), far]


def far_sizes_of(winner: Winner, sizes: Sizes) -> dict[str, list[int]]:
    """Return by function the sizes above its measured `sizes` at which a winner is compared with
    the default; none for messages with gaps, which take too long there."""
    return {
        function: [] if function in LAYOUT_PATTERNS else far_sizes(winner, measured)
        for function, measured in sizes.items()
        if winner.function in (function, EVERY_FUNCTION)
    }


def with_measured_range(winner: Winner, sizes: Sizes) -> Winner:
    """Return the winner with the smallest and the largest size at which it was measured."""
    inside = [
        size
        for function, far in far_sizes_of(winner, sizes).items()
        for size in [*sizes[function], *far]
        if winner.bytes_from <= size <= winner.bytes_to
    ]
    if not inside:
        return winner
    return msgspec.structs.replace(winner, measured_from=min(inside), measured_to=max(inside))


def piece(winner: Winner, first: int, last: int) -> Winner:
    """A winner for these bytes alone, with what it removes there."""
    removes = [name for name in winner.removes if first <= int(name.rpartition("@")[2]) <= last]
    return msgspec.structs.replace(winner, bytes_from=first, bytes_to=last, removes=removes)


def without_sizes(winner: Winner, first: int, last: int) -> list[Winner]:
    """Return what is left of a winner beside these bytes."""
    parts = []
    if winner.bytes_from < first:
        end = min(winner.bytes_to, first - 1)
        parts.append(msgspec.structs.replace(winner, bytes_to=end))
    if winner.bytes_to > last:
        start = max(winner.bytes_from, last + 1)
        parts.append(msgspec.structs.replace(winner, bytes_from=start))
    return parts


_MANY_SIZES = 5


def islands(winners: Sequence[Winner], sizes: Sizes) -> list[tuple[Winner, str]]:
    """Return the winners that hold a single one of many measured `sizes`, beside which no winner of
    the function holds any, and that remove no violation, with the reason: of many sizes some seem
    faster by luck."""
    lonely = []
    for winner in winners:
        measured = sorted(sizes.get(winner.function, ()))
        inside = [at for at, size in enumerate(measured) if holds_size(winner, size)]
        if len(inside) != 1 or len(measured) < _MANY_SIZES or winner.removes:
            continue
        beside = measured[max(0, inside[0] - 1) : inside[0]] + measured[inside[0] + 1 :][:1]
        own = [rule for rule in winners if rule.function == winner.function]
        if not any(holds_size(rule, size) for rule in own for size in beside):
            why = "a single size, beside which the library is kept; it removes no violation"
            lonely.append((winner, why))
    return lonely


def holds_size(winner: Winner, size: int) -> bool:
    """Return whether the winner is for calls of its function of this size in bytes."""
    return winner.bytes_from <= size <= winner.bytes_to


def pieces_inside(winner: Winner, kept: Collection[Target], sizes: Sequence[int]) -> list[Winner]:
    """The pieces of a winner that hold the cells `kept` and no other of the measured `sizes`, each
    with what it removes there. An end of the winner stays where the size next to it is kept."""
    held = [size for size in sorted(sizes) if holds(winner, Target(winner.function, size))]
    runs: list[list[int]] = []
    for number, size in enumerate(held):
        if Target(winner.function, size) not in kept:
            continue
        if number and runs and runs[-1][-1] == held[number - 1]:
            runs[-1].append(size)
        else:
            runs.append([size])
    return [
        piece(
            winner,
            winner.bytes_from if run[0] == held[0] else run[0],
            winner.bytes_to if run[-1] == held[-1] else run[-1],
        )
        for run in runs
    ]


def cut_back(standing: Iterable[Winner], new: Sequence[Winner]) -> list[Winner]:
    """`standing` without the sizes that `new` variants take. A standing knob keeps its whole range:
    the preload library decides before the library's own rules do."""
    kept: list[Winner] = []
    for winner in standing:
        pieces = [winner]
        if winner.variant != "default":
            for new_winner in new:
                if new_winner.function == winner.function:
                    taken = new_winner.bytes_from, new_winner.bytes_to
                    pieces = [part for piece in pieces for part in without_sizes(piece, *taken)]
        kept += pieces
    return kept


def beside_others(
    chosen: Iterable[Winner], standing: Sequence[Winner], sizes: Sizes
) -> list[Winner]:
    """`chosen` without the sizes that others in the same files hold."""
    kept: list[Winner] = []
    for winner in chosen:
        pieces = [winner]
        for standing_winner in standing:
            alike = (standing_winner.variant == "default") == (winner.variant == "default")
            if standing_winner.function == winner.function and alike:
                taken = standing_winner.bytes_from, standing_winner.bytes_to
                pieces = [part for piece in pieces for part in without_sizes(piece, *taken)]
        kept += pieces
    return of_measured_sizes(kept, sizes)


def of_measured_sizes(winners: Iterable[Winner], sizes: Sizes) -> list[Winner]:
    """Return the winners without what is left of no measured size: no cell of the table would prove
    or confirm it."""
    return [
        winner
        for winner in winners
        if winner.function == EVERY_FUNCTION
        or any(
            holds(winner, Target(winner.function, size)) for size in sizes.get(winner.function, ())
        )
    ]


def joined_ranges(winners: Sequence[Winner], sizes: Sizes) -> list[Winner]:
    """The winners in their order, those that adjoin and are one configuration as one; gains are
    means over the measured sizes."""
    rows: list[tuple[int, Winner]] = []
    begins = operator.attrgetter("function", "variant", "bytes_from")
    for place, winner in sorted(enumerate(winners), key=lambda numbered: begins(numbered[1])):
        if rows and _continues(rows[-1][1], winner):
            first, last = rows[-1]
            rows[-1] = first, _together(last, winner, sizes)
        else:
            rows.append((place, winner))
    return [winner for _, winner in sorted(rows, key=operator.itemgetter(0))]


def _continues(last: Winner, winner: Winner) -> bool:
    ends = msgspec.structs.replace(
        winner,
        bytes_from=last.bytes_from,
        bytes_to=last.bytes_to,
        measured_from=last.measured_from,
        measured_to=last.measured_to,
        removes=last.removes,
        tried=last.tried,
        search_speedup=last.search_speedup,
        speedup=last.speedup,
        speedup_low=last.speedup_low,
        speedup_high=last.speedup_high,
    )
    return ends == last and winner.bytes_from == last.bytes_to + 1


def _together(lower: Winner, upper: Winner, sizes: Sizes) -> Winner:
    first, second = (
        sum(holds(winner, Target(winner.function, size)) for size in sizes.get(winner.function, ()))
        for winner in (lower, upper)
    )

    def mean(gain: Callable[[Winner], float]) -> float:
        return _mean(gain(lower), first, gain(upper), second)

    return msgspec.structs.replace(
        lower,
        bytes_to=upper.bytes_to,
        removes=sorted({*lower.removes, *upper.removes}),
        tried=_pooled([*lower.tried, *upper.tried]),
        search_speedup=mean(lambda winner: winner.search_speedup),
        speedup=mean(lambda winner: winner.speedup),
        speedup_low=mean(lambda winner: winner.speedup_low),
        speedup_high=mean(lambda winner: winner.speedup_high),
    )


def _mean(one_mean: float, first: int, other_mean: float, second: int) -> float:
    """The geometric mean over `first` cells with one value and `second` with another."""
    logs = first * math.log(one_mean) + second * math.log(other_mean)
    return math.exp(logs / max(1, first + second))


def _pooled(tried: Iterable[Tried]) -> list[Tried]:
    """Return the trials with those for the same use, type, operator, binding and counts joined into
    one."""
    pooled: dict[tuple[str, ...], Tried] = {}
    for attempt in tried:
        key = (attempt.use, attempt.type, attempt.op, attempt.binding, attempt.counts)
        pool = pooled.get(key)
        if pool is None:
            pooled[key] = attempt
            continue
        pooled[key] = msgspec.structs.replace(
            attempt,
            cells=pool.cells + attempt.cells,
            speedup=_mean(pool.speedup, pool.cells, attempt.speedup, attempt.cells),
            speedup_low=_mean(pool.speedup_low, pool.cells, attempt.speedup_low, attempt.cells),
            worst_low=min(pool.worst_low, attempt.worst_low),
        )
    return list(pooled.values())
