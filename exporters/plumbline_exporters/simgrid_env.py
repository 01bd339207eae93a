"""A POSIX shell file for simulated programs that plumbline.o is linked into (docs/simulated.md)."""

from __future__ import annotations

import shlex

from plumbline_exporters import env, profile
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.knobs import is_profile
from plumbline_exporters.registry import exporter


@exporter(
    "simgrid-env", "shell file to source before smpirun", needs=("profile",), family="simgrid"
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "Environment for SimGrid, written by Plumbline.")
    lines.append(f"# Use: . {shlex.quote(str(bundle.directory / env.FILE_NAME))}")
    lines.append(
        f"# Link {bundle.preload_library or 'plumbline.o'} into the program, and give smpirun"
    )
    lines.append(f"# --cfg=smpi/coll-selector:{bundle.library.build.get('selector', 'ompi')}")
    if any(is_profile(winner) for winner in bundle.winners):
        path = bundle.directory / profile.FILE_NAME
        lines.append(f"export PLUMBLINE_PROFILE={shlex.quote(str(path))}")
    return {env.FILE_NAME: "\n".join(lines) + "\n"}
