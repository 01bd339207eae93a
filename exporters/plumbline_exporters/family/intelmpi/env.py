"""A POSIX shell file for Intel MPI that a user sources before mpirun.

The presets are variables, which mpirun carries to all ranks. The preload library must enter the
ranks and nothing else of the user's shell: I_MPI_GTOOL is a command that mpirun puts before the
program of each rank, here `env LD_PRELOAD=…`."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import by_srun, facts, plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle, groups, is_profile, last_volume, put, sizes
from plumbline_exporters.registry import exporter

# Values of I_MPI_ADJUST_*: a preset for each range of what Intel MPI takes for the message size.
# Of the ranges of a value only the upper ends count: what lies below the first one or between two
# goes with the next, what lies above the last goes with it. So the ranges cover everything, in
# order. Outside our own stands 0: the library's tuned decision. (That is not the library as it is:
# a variable that is set turns off a faster way for small messages, where there is one.)

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


def value_of_ranges(winners: Sequence[Winner]) -> str:
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


# Intel MPI splits a tool's command at blanks and tools at semicolons; the loader splits at colons.
_UNFIT = r"[\s;:,=$'\"\\]"

_PRELOAD = """
# The preload library, for the ranks alone. Sourcing the file twice changes nothing. A tool that is
# named on mpirun's command line (-gtool) takes its place.
plumbline_tool="env LD_PRELOAD="{library}"${{LD_PRELOAD:+:$LD_PRELOAD}}:all"
case "${{I_MPI_GTOOL-}}" in
"" | "${{PLUMBLINE_TOOL-}}")
    export I_MPI_GTOOL="$plumbline_tool" PLUMBLINE_TOOL="$plumbline_tool"
    export PLUMBLINE_PROFILE={profile}
    ;;
*)
    echo "plumbline.sh: the variants are not in force, for I_MPI_GTOOL names another tool:" \\
        "unset it, or put before its program: ${{plumbline_tool%:all}}" >&2
    ;;
esac
unset plumbline_tool
"""


@exporter("impi-env", "shell file to source before mpirun", needs=("profile",), family="intelmpi")
def files(bundle: Bundle) -> dict[str, str]:
    remarks = [
        "# mpirun carries I_MPI_* to all nodes; files named here must be there too.",
        "# Presets by range of the message size hold for any number of ranks.",
    ]
    silent = sorted({winner.function for winner in bundle.winners if _unseen(winner)})
    if silent:
        remarks.append(f"# Nothing shows whether a preset is taken for {', '.join(silent)}.")
    text = plumbline_sh.text(bundle, "Intel MPI", remarks, variables(bundle))
    if bundle.variants:
        library = plumbline_sh.preload_library(bundle, _UNFIT, "Intel MPI")
        text += _PRELOAD.format(
            library=quoting.sh(library),
            profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        )
        text += by_srun.script(bundle, library)
    return {plumbline_sh.FILE_NAME: text}


def variables(bundle: Bundle) -> dict[str, str]:
    """Presets of functions, and what holds for the whole process: two winners that want different
    values of one variable are an error."""
    presets: dict[str, str] = {}
    ranks: dict[str, int] = {}
    chosen = [winner for winner in bundle.winners if not is_profile(winner)]
    for winner in chosen:
        preset = winner.configuration.get(knob(winner.function), "")
        if not bundle.unsafe and preset in not_commutative(winner.function):
            raise PlumblineError(
                f"{winner.function}, {winner.nprocs} ranks: not exported: preset {preset} is wrong "
                "for operations that do not commute"
            )
    with_preset = [winner for winner in chosen if knob(winner.function) in winner.configuration]
    for (function, nprocs), group in groups(with_preset).items():
        name = knob(function)
        if name in presets:
            raise PlumblineError(
                f"{function}: winners for {ranks[name]} and for {nprocs} ranks: a variable of "
                "Intel MPI holds one of them; export one campaign at a time"
            )
        presets[name], ranks[name] = value_of_ranges(group), nprocs
    for winner in chosen:
        for name, value in sorted(winner.configuration.items()):
            if name != knob(winner.function):
                put(presets, winner, name, value)
    return presets


def _unseen(winner: Winner) -> bool:
    return winner.function in SILENT and not is_profile(winner)
