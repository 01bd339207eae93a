"""Variables that the files of a campaign set in an environment, whatever language says it, and the
files that csh, tcsh and fish source before mpirun: what plumbline.sh sets, without the preload
library. Variants are in force for what `plumbline-run` starts."""

from __future__ import annotations

import re

from plumbline_exporters import bundle as bundles
from plumbline_exporters import families, quoting
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import exporter

# The preload library is not among the variables: only plumbline.sh can bring it into ranks.
WRAPPER = "plumbline-run"


def variables(bundle: Bundle) -> dict[str, str]:
    """Return the library's variables, in order; none is for the preload library. Raises
    PlumblineError where winners cannot be had together, or no file can hold a name or a value."""
    family_variables = families.of(bundle.library).variables(bundle)
    return {quoting.name(name): quoting.held(value) for name, value in family_variables.items()}


def heading(bundle: Bundle, use: str) -> list[str]:
    """Return the heading of a file for a shell that has not the preload library."""
    lines = bundles.heading(bundle, f"Environment for {bundle.library.id}, written by Plumbline.")
    lines.append(quoting.comment(f"Use: {use}"))
    if bundle.variants:
        wrapper = bundle.directory / WRAPPER
        lines.append(quoting.comment(f"Variants are in force for what is started by {wrapper}"))
    return lines


CSH_FILE_NAME = "plumbline.csh"

_CSH_CHECK = """\
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
    needs=(WRAPPER,),
)
def csh_files(bundle: Bundle) -> dict[str, str]:
    here = str(bundle.directory / CSH_FILE_NAME)
    lines = heading(bundle, f"source {quoting.csh(here)}")
    sets = [f"setenv {name} {quoting.csh(text)}" for name, text in variables(bundle).items()]
    asked = families.question(bundle.library)
    if asked is None or not sets:
        return {CSH_FILE_NAME: "\n".join([*lines, *sets]) + "\n"}
    library = quoting.sh(quoting.said(bundle.library.id))
    check = _CSH_CHECK.format(
        question=quoting.csh(f"{asked.command} 2>/dev/null </dev/null | head -n 1"),
        answer=quoting.csh(asked.answer),
        refusal=quoting.csh(
            'echo "$0: nothing is set, for it was made for "'
            f'{library}", and {asked.tool} on PATH says: $1; put the other '
            'one on PATH first, or run a campaign for this" >&2'
        ),
    )
    end = "endif\nunset plumbline_said\n"
    return {CSH_FILE_NAME: "\n".join([*lines, check]) + "\n".join([*sets, end])}


FISH_FILE_NAME = "plumbline.fish"

_FISH_CHECK = """\
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
    needs=(WRAPPER,),
)
def fish_files(bundle: Bundle) -> dict[str, str]:
    here = str(bundle.directory / FISH_FILE_NAME)
    lines = heading(bundle, f"source {quoting.fish(here)}")
    sets = [f"set -gx {name} {quoting.fish(value)}" for name, value in variables(bundle).items()]
    asked = families.question(bundle.library)
    if asked is None or not sets:
        return {FISH_FILE_NAME: "\n".join([*lines, *sets]) + "\n"}
    check = _FISH_CHECK.format(
        question=quoting.fish(f"{asked.command} 2>/dev/null </dev/null | head -n 1"),
        pattern=quoting.fish(re.escape(asked.answer) + "([^0-9.]|$)"),
        library=quoting.fish(quoting.said(bundle.library.id)),
        tool=asked.tool,
    )
    return {FISH_FILE_NAME: "\n".join([*lines, check]) + "\n".join([*sets, "end"]) + "\n"}
