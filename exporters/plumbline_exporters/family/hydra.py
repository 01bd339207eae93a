"""The way in which mpiexec (hydra: MPICH, MVAPICH) is made to start ranks with the preload library,
and nothing else of the user's shell: by a file with options that HYDRA_CONFIG_FILE names.

Beside comments the file is one line: hydra takes no second one, and no quotes."""

from __future__ import annotations

from plumbline_exporters import plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle, heading

FILE_NAME = "plumbline.hydra"
OPTIONS = {"-genv": "", "-env": ""}  # of mpiexec: words that set a variable

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


def files(bundle: Bundle, text: str) -> dict[str, str]:
    """plumbline.sh, which begins with `text`, and the file of options where there are variants.
    Raises PlumblineError where there is no preload library, or its path is one that hydra or the
    loader would take apart."""
    if not bundle.variants:
        return {plumbline_sh.FILE_NAME: text}
    library = plumbline_sh.preload_library(bundle, r"""[ \t\n:;$"'\\#]""", "hydra")
    lines = heading(bundle, "Options of mpiexec (hydra), written by Plumbline.")
    text += _SCRIPT.format(
        library=quoting.sh(library),
        profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        options=quoting.sh(str(bundle.directory / FILE_NAME)),
    )
    text += plumbline_sh.script(bundle, library)
    options = "\n".join([*lines, f"-genv LD_PRELOAD {quoting.held(library)}"]) + "\n"
    return {FILE_NAME: options, plumbline_sh.FILE_NAME: text}
