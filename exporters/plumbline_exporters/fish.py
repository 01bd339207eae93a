"""A file that fish sources before mpirun: what plumbline.sh sets, without the preload library.
Variants are in force for what `plumbline-run` starts."""

from __future__ import annotations

import re

from plumbline_exporters import environment, families, quoting
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import exporter

FILE_NAME = "plumbline.fish"

_CHECK = """\
# With another version nothing is set. (PLUMBLINE_CHECKED: somebody has looked already.)
set -l plumbline_said ""
if not set -q PLUMBLINE_CHECKED
    set plumbline_said (/bin/sh -c {question})
end
if test -n "$plumbline_said"; and not string match -qr -- {pattern} "$plumbline_said"
    echo "plumbline.fish: nothing is set, for it was made for "{library}", and {tool} on PATH" \\
        "says: $plumbline_said; put the other one on PATH first, or run a campaign for this" >&2
else
"""


@exporter(
    "fish",
    "file for fish to source before mpirun",
    needs=(environment.WRAPPER,),
)
def files(bundle: Bundle) -> dict[str, str]:
    here = str(bundle.directory / FILE_NAME)
    lines = environment.heading(bundle, f"source {quoting.fish(here)}")
    sets = [
        f"set -gx {name} {quoting.fish(value)}"
        for name, value in environment.variables(bundle).items()
    ]
    asked = families.question(bundle.library)
    if asked is None or not sets:
        return {FILE_NAME: "\n".join([*lines, *sets]) + "\n"}
    check = _CHECK.format(
        question=quoting.fish(f"{asked.command} 2>/dev/null </dev/null | head -n 1"),
        pattern=quoting.fish(re.escape(asked.answer) + "([^0-9.]|$)"),
        library=quoting.fish(quoting.said(bundle.library.id)),
        tool=asked.tool,
    )
    return {FILE_NAME: "\n".join([*lines, check]) + "\n".join([*sets, "end"]) + "\n"}
