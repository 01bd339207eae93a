"""plumbline.sh, a file that POSIX shells source: all that follows runs with the winners in force.
Here is what those of all families have in common; and the way in which srun is made to start ranks
with the preload library, and nothing else of the user's shell: it hands them what SLURM_EXPORT_ENV
lists, a list that it splits at commas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from plumbline_db.errors import PlumblineError
from plumbline_exporters import families, profile, quoting
from plumbline_exporters.bundle import Bundle, heading

FILE_NAME = "plumbline.sh"

_SAY = """
# At the end rank 0 says in a line what was replaced how often (PLUMBLINE_SAY=nothing: it does not).
export PLUMBLINE_SAY="${PLUMBLINE_SAY-replaced}"
"""


def text(bundle: Bundle, library: str, remarks: Sequence[str], variables: Mapping[str, str]) -> str:
    """`library` is its name for people, `remarks` are lines of the head."""
    lines = heading(bundle, f"Environment for {library}, written by Plumbline.")
    lines.append(quoting.comment(f"Use: . {quoting.sh(str(bundle.directory / FILE_NAME))}"))
    lines += remarks
    text = "\n".join(lines) + "\n" + families.check_sh(bundle) + quoting.exports(variables)
    return text + _SAY if bundle.variants else text


def preload_library(bundle: Bundle, unfit: str, reader: str) -> str:
    """Return the path of the preload library. Raises PlumblineError where there is none, or `whole`
    does."""
    if bundle.preload_library is None:
        raise PlumblineError(
            "winners are variants, which need libplumbline.so, and none was named: "
            "build it for this MPI library (plumbline build, make build) and export again"
        )
    return whole(bundle.preload_library, unfit, reader)


def whole(path: Path, unfit: str, reader: str) -> str:
    """`path`, where no character is among `unfit` (a class of a pattern), at which `reader` or the
    loader would split it. Raises PlumblineError."""
    unfit_character = re.search(unfit, str(path))
    if unfit_character is not None:
        raise PlumblineError(
            f"{path}: the loader or {reader} would split this path at {unfit_character[0]!r}; "
            "move it to a path without"
        )
    return str(path)


_SCRIPT = """
# srun hands ranks what this list has; a batch script, and srun in it, inherit the list.
plumbline_list=LD_PRELOAD={library}${{LD_PRELOAD:+:$LD_PRELOAD}},PLUMBLINE_PROFILE={profile}
plumbline_theirs=${{SLURM_EXPORT_ENV:-ALL}}
plumbline_theirs=${{plumbline_theirs%",${{PLUMBLINE_EXPORT_ENV-,}}"}}
case ",$plumbline_theirs," in
*,LD_PRELOAD=* | *,NONE,* | *,NIL,*)
    echo "plumbline.sh: under srun the variants are not in force, for SLURM_EXPORT_ENV is" \\
        "$plumbline_theirs: unset it, or let it be ALL,$plumbline_list" >&2
    ;;
*)
    export SLURM_EXPORT_ENV="$plumbline_theirs,$plumbline_list"
    export PLUMBLINE_EXPORT_ENV="$plumbline_list"
    ;;
esac
unset plumbline_list plumbline_theirs
"""

_CANNOT = """
# srun would split these paths at a comma: under srun the variants are not in force.
"""


def script(bundle: Bundle, library: Path | str) -> str:
    """Lines for a file that sh sources."""
    rules = bundle.directory / profile.FILE_NAME
    if "," in f"{library}{rules}":
        return _CANNOT
    return _SCRIPT.format(library=quoting.sh(str(library)), profile=quoting.sh(str(rules)))
