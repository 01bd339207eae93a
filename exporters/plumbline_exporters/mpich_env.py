"""A POSIX shell file to source before MPICH's mpirun.

The preload library must enter the ranks and nothing else of the user's shell, since it brings the
MPI library with it. Hydra reads options from a file that HYDRA_CONFIG_FILE names; `-genv` there
reaches the ranks alone."""

from __future__ import annotations

import shlex

from plumbline_db.errors import PlumblineError
from plumbline_exporters import env, mpich_coll, mpich_selection, profile
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.knobs import is_profile
from plumbline_exporters.registry import exporter

OPTIONS_FILE_NAME = "plumbline.hydra"
OPTIONS_VARIABLE = "HYDRA_CONFIG_FILE"

_PRELOAD = """
# The preload library and its profile, for the ranks alone: hydra hands them what its file of
# options says. Who has an LD_PRELOAD of his own keeps it, behind ours.
export PLUMBLINE_PROFILE={profile}
if [ -n "${{HYDRA_CONFIG_FILE-}}" ] && [ "$HYDRA_CONFIG_FILE" != {options} ]; then
    echo "plumbline.sh: the variants are not in force, for HYDRA_CONFIG_FILE is set already:" \\
        "unset it, or add there: -genv LD_PRELOAD" {library} >&2
else
    case ":${{LD_PRELOAD-}}:" in
    ::) export HYDRA_CONFIG_FILE={options} ;;
    *:{library}:*) ;;
    *) export LD_PRELOAD={library}:"$LD_PRELOAD" ;;
    esac
fi
"""


@exporter(
    "mpich-env",
    "shell file to source before MPICH's mpirun",
    needs=("mpich-json", "profile"),
    family="mpich",
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "Environment for MPICH, written by Plumbline.")
    lines.append(f"# Use: . {shlex.quote(str(bundle.directory / env.FILE_NAME))}")
    lines.append("# The files named here must be on all nodes.")
    for name, value in variables(bundle).items():
        lines.append(f"export {name}={shlex.quote(value)}")
    text = "\n".join(lines) + "\n"
    if not any(is_profile(winner) for winner in bundle.winners):
        return {env.FILE_NAME: text}
    library = _preload(bundle)
    options = bundle.directory / OPTIONS_FILE_NAME
    text += _PRELOAD.format(
        library=shlex.quote(library),
        profile=shlex.quote(str(bundle.directory / profile.FILE_NAME)),
        options=shlex.quote(str(options)),
    )
    return {env.FILE_NAME: text, OPTIONS_FILE_NAME: f"-genv LD_PRELOAD {library}\n"}


def variables(bundle: Bundle) -> dict[str, str]:
    """Variables that put the tables in force, and what holds for a whole process."""
    values: dict[str, str] = {}
    if any(mpich_coll.algorithm(winner) is not None for winner in bundle.winners):
        values[mpich_selection.VARIABLE] = str(bundle.directory / mpich_selection.FILE_NAME)
        compositions = bundle.directory / mpich_selection.COMPOSITIONS_FILE_NAME
        values[mpich_selection.COMPOSITIONS_VARIABLE] = str(compositions)
    for winner in bundle.winners:
        for name, value in sorted(mpich_coll.left_over(winner).items()):
            if values.setdefault(name, value) != value:
                raise PlumblineError(
                    f"{winner.function}, {winner.nprocs} ranks: wants {name}={value}, another "
                    f"winner wants {values[name]}; a process has one value: drop one of them"
                )
    return values


def _preload(bundle: Bundle) -> str:
    if bundle.preload_library is None:
        raise PlumblineError(
            "winners are variants, which need libplumbline.so, and none was named: "
            "build it for this MPI library (make build) and export again"
        )
    path = str(bundle.preload_library)
    for character in " \t\n:;$\"'\\":
        if character in path:
            raise PlumblineError(
                f"{path}: the loader or hydra would split this path at {character!r}; move it to a "
                "path without"
            )
    return path
