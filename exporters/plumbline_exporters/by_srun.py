"""The way in which srun is made to start ranks with the preload library, and nothing else of the
user's shell: it hands them what SLURM_EXPORT_ENV lists. srun splits that list at commas."""

from __future__ import annotations

from pathlib import Path

from plumbline_exporters import profile, quoting
from plumbline_exporters.bundle import Bundle

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
