"""A file that csh and tcsh source before mpirun: what plumbline.sh sets, without the preload
library. Variants are in force for what `plumbline-run` starts."""

from __future__ import annotations

from plumbline_exporters import environment, families, quoting
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import exporter

FILE_NAME = "plumbline.csh"

_CHECK = """\
# With another version nothing is set. (PLUMBLINE_CHECKED: somebody has looked already.)
set plumbline_said = ""
if ( ! $?PLUMBLINE_CHECKED ) then
    set plumbline_said = "`/bin/sh -c {question}`"
endif
if ( "$plumbline_said" != "" && "$plumbline_said" !~ *{answer} \\
    && "$plumbline_said" !~ *{answer}[^0-9.]* ) then
    /bin/sh -c {refusal} plumbline.csh "$plumbline_said"
else
"""


@exporter(
    "csh",
    "file for csh and tcsh to source before mpirun",
    needs=(environment.WRAPPER,),
)
def files(bundle: Bundle) -> dict[str, str]:
    here = str(bundle.directory / FILE_NAME)
    lines = environment.heading(bundle, f"source {quoting.csh(here)}")
    sets = [
        f"setenv {name} {quoting.csh(text)}" for name, text in environment.variables(bundle).items()
    ]
    asked = families.question(bundle.library)
    if asked is None or not sets:
        return {FILE_NAME: "\n".join([*lines, *sets]) + "\n"}
    library = quoting.sh(quoting.said(bundle.library.id))
    check = _CHECK.format(
        question=quoting.csh(f"{asked.command} 2>/dev/null </dev/null | head -n 1"),
        answer=quoting.csh(asked.answer),
        refusal=quoting.csh(
            'echo "$0: nothing is set, for it was made for "'
            f'{library}", and {asked.tool} on PATH says: $1; put the other '
            'one on PATH first, or run a campaign for this" >&2'
        ),
    )
    end = "endif\nunset plumbline_said\n"
    return {FILE_NAME: "\n".join([*lines, check]) + "\n".join([*sets, end])}
