"""Values of I_MPI_ADJUST_*: a preset for each range of what Intel MPI takes for the message size.

Of the ranges of a value only the upper ends count: what lies below the first one or between two
goes with the next, what lies above the last goes with it. So the ranges cover everything, in
order. Outside our own stands 0: the library's tuned decision. (That is not the library as it is: a
variable that is set turns off a faster way for small messages, where there is one.)"""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import facts
from plumbline_exporters.bundle import last_volume, sizes

ADJUST = "I_MPI_ADJUST_"
OWN_DECISION = "0"
LAST = 2**31 - 1

# Functions that never check whether their preset applies, so that nothing can be proven for them.
SILENT = ("MPI_Exscan", "MPI_Scan")

# The size that is compared with a range: the whole volume, the block of one process, or nothing
# known, so that a value must be the same for all sizes. It was measured with presets that fail
# (tests/exporters/test_impi_ranges.py).
_VOLUME = frozenset({"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Reduce_scatter"})
_BLOCK = frozenset(
    {
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Gather",
        "MPI_Reduce_scatter_block",
        "MPI_Scatter",
    }
)

WITH_SIZES = _VOLUME | _BLOCK
_WITHOUT = ("MPI_Alltoallv", "MPI_Alltoallw", "MPI_Barrier", "MPI_Gatherv", "MPI_Scatterv")
FUNCTIONS = tuple(sorted((*WITH_SIZES, *_WITHOUT, *SILENT)))


def knob(function: str) -> str:
    """`I_MPI_ADJUST_REDUCE_SCATTER` for MPI_Reduce_scatter."""
    return ADJUST + function.removeprefix("MPI_").upper()


def not_commutative(function: str) -> frozenset[str]:
    """Presets that give wrong results, without an error, for operations that do not commute."""
    return facts.function("intelmpi", function).commutative_only()


def value(winners: Sequence[Winner]) -> str:
    """The value of one function's knob; its winners are in order of size, for one number of ranks.
    Where it is one preset for all sizes it holds for these ranks alone, else for any number:
    in a value with both kinds of conditions, ranges of sizes replace one another."""
    whole = [
        winner for winner in winners if (winner.bytes_from, winner.bytes_to) == (0, UNBOUNDED_BYTES)
    ]
    if whole:
        (only_winner,) = winners
        p = only_winner.nprocs
        entries = [
            (OWN_DECISION, 0, p - 1),
            (_preset(only_winner), p, p),
            (OWN_DECISION, p + 1, LAST),
        ]
        return ";".join(f"{preset}:0-{LAST}@{low}-{high}" for preset, low, high in entries)
    entries_written: list[str] = []
    following = 0
    for winner in winners:
        low, high = _range(winner)
        low = max(low, following)
        if low > high:
            raise PlumblineError(
                f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: the library cannot "
                "tell calls of these sizes from their neighbours"
            )
        if low > following:
            entries_written.append(f"{OWN_DECISION}:{following}-{low - 1}")
        entries_written.append(f"{_preset(winner)}:{low}-{high}")
        following = high + 1
    if following <= LAST:
        entries_written.append(f"{OWN_DECISION}:{following}-{LAST}")
    return ";".join(entries_written)


def _preset(winner: Winner) -> str:
    return winner.configuration[knob(winner.function)]


def _range(winner: Winner) -> tuple[int, int]:
    """The volumes of a winner as the library counts them."""
    low, high = winner.bytes_from, winner.bytes_to
    if winner.function in _BLOCK:
        low, high = low // winner.nprocs, last_volume(winner) // winner.nprocs
    elif winner.function not in _VOLUME:
        raise PlumblineError(
            f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: not exported: Intel MPI "
            "knows no size of such a call, so a preset must be the best for all sizes"
        )
    return low, min(high, LAST)
