"""A POSIX shell file for Intel MPI that a user sources before mpirun.

The presets are variables, which mpirun carries to all ranks. The preload library must enter the
ranks and nothing else of the user's shell: I_MPI_GTOOL is a command that mpirun puts before the
program of each rank, here `env LD_PRELOAD=…`."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters import by_srun, plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle, groups, is_profile, put
from plumbline_exporters.family.intelmpi import ranges
from plumbline_exporters.registry import exporter

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
        preset = winner.configuration.get(ranges.knob(winner.function), "")
        if not bundle.unsafe and preset in ranges.not_commutative(winner.function):
            raise PlumblineError(
                f"{winner.function}, {winner.nprocs} ranks: not exported: preset {preset} is wrong "
                "for operations that do not commute"
            )
    with_preset = [
        winner for winner in chosen if ranges.knob(winner.function) in winner.configuration
    ]
    for (function, nprocs), group in groups(with_preset).items():
        name = ranges.knob(function)
        if name in presets:
            raise PlumblineError(
                f"{function}: winners for {ranks[name]} and for {nprocs} ranks: a variable of "
                "Intel MPI holds one of them; export one campaign at a time"
            )
        presets[name], ranks[name] = ranges.value(group), nprocs
    for winner in chosen:
        for name, value in sorted(winner.configuration.items()):
            if name != ranges.knob(winner.function):
                put(presets, winner, name, value)
    return presets


def _unseen(winner: Winner) -> bool:
    return winner.function in ranges.SILENT and not is_profile(winner)
