"""How mpiexec (hydra: MPICH, MVAPICH) is made to start ranks with the preload library, and nothing
else of the user's shell: by a file with options that HYDRA_CONFIG_FILE names.

Beside comments the file is one line: hydra takes no second one, and no quotes."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_exporters import profile, quoting
from plumbline_exporters.bundle import Bundle, heading

FILE_NAME = "plumbline.hydra"

_SCRIPT = """
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


def files(bundle: Bundle) -> dict[str, str]:
    """The file of options. Raises PlumblineError where there is no preload library, or its path is
    one that hydra or the loader would take apart."""
    lines = heading(bundle, "Options of mpiexec (hydra), written by Plumbline.")
    return {
        FILE_NAME: "\n".join([*lines, f"-genv LD_PRELOAD {quoting.held(_library(bundle))}"]) + "\n"
    }


def script(bundle: Bundle) -> str:
    """What plumbline.sh says of it."""
    return _SCRIPT.format(
        library=quoting.sh(_library(bundle)),
        profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        options=quoting.sh(str(bundle.directory / FILE_NAME)),
    )


def _library(bundle: Bundle) -> str:
    if bundle.preload_library is None:
        raise PlumblineError(
            "winners are variants, which need libplumbline.so, and none was named: "
            "build it for this MPI library (make build) and export again"
        )
    path = str(bundle.preload_library)
    for character in " \t\n:;$\"'\\#":
        if character in path:
            raise PlumblineError(
                f"{path}: the loader or hydra would split this path at {character!r}; move it to a "
                "path without"
            )
    return path
