"""plumbline-run: a program that starts another one with everything in force, variants too, and
leaves the environment that called it alone. Modulefiles and csh name it: they preload nothing."""

from __future__ import annotations

import fnmatch

from plumbline_exporters import families, plumbline_sh, profile, quoting, shells
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.registry import exporter

# Launchers that pass the lists of exported shell files to ranks; they must not be preloaded.
_HAND_ON = ("mpirun*", "mpiexec*", "orterun", "prterun", "smpirun", "srun", "sbatch", "salloc")
# Launchers whose ranks get the environment unchanged, so it must contain the preload library.
_WHOLE = ("aprun", "jsrun", "lrun", "ibrun", "ccc_mprun", "flux")


def takes_all(name: str) -> bool:
    """Return whether the ranks of this program get its environment as it is."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _WHOLE)


def hands_on(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _HAND_ON)


FILE_NAME = shells.WRAPPER

_SCRIPT = """\
if [ $# = 0 ]; then
    echo "usage: {name} mpirun OPTIONS PROGRAM" >&2
    exit 2
fi
"""

_CHECK = """\
# A library is asked by the tool beside its mpirun. Another version is refused.
plumbline_start=$(command -v -- "$1") || plumbline_start=
case "${{plumbline_start##*/}}" in
mpirun* | mpiexec* | orterun | prterun) plumbline_tool=${{plumbline_start%/*}}/{tool} ;;
*) plumbline_tool={tool} ;;
esac
if command -v -- "$plumbline_tool" >/dev/null 2>&1; then
    plumbline_said=$("$plumbline_tool" {options}2>/dev/null </dev/null | {{
        read -r line
        printf %s "$line"
    }})
    case "$plumbline_said" in
    "" | *{answer} | *{answer}[!0-9.]*) ;;
    *)
        echo "{name}: made for "{library}", and $plumbline_tool says: $plumbline_said;" \\
            "call its own mpirun, or run a campaign for this library" >&2
        exit 1
        ;;
    esac
fi
unset plumbline_start plumbline_tool plumbline_said
"""

_PRELOAD = """\
# Whose ranks get the whole environment, or what calls MPI itself, is started with the variants;
# mpirun, mpiexec and srun hand them to their ranks.
case "${{1##*/}}" in
{own}) ;;
*)
    plumbline_start=$(command -v -- "$1") || plumbline_start=$1
    case "${{1##*/}}" in
    {whole}) plumbline_start=yes ;;
    *) if LC_ALL=C grep -q libmpi "$plumbline_start" 2>/dev/null; then plumbline_start=yes; fi ;;
    esac
    if [ "$plumbline_start" = yes ]; then
        export LD_PRELOAD={library}"${{LD_PRELOAD:+:$LD_PRELOAD}}" PLUMBLINE_PROFILE={profile}
    fi
    unset plumbline_start
    ;;
esac
"""


@exporter(
    shells.WRAPPER,
    "program that starts another with everything in force",
    needs=tuple(family.script for family in families.families().values()),
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = ["#!/bin/sh"]
    lines += heading(bundle, "Starts a program with the winners in force, written by Plumbline.")
    path = quoting.sh(str(bundle.directory / FILE_NAME))
    lines.append(quoting.comment(f"Use: {path} mpirun -n 4 ./app"))
    text = "\n".join(lines) + "\n" + _SCRIPT.format(name=FILE_NAME)
    asked = families.question(bundle.library)
    if asked is not None:
        text += _CHECK.format(
            name=FILE_NAME,
            tool=asked.tool,
            options="".join(f"{quoting.sh(word)} " for word in asked.words[1:]),
            answer=quoting.sh(asked.answer),
            library=quoting.sh(quoting.said(bundle.library.id)),
        )
    path = quoting.sh(str(bundle.directory / plumbline_sh.FILE_NAME))
    text += f"PLUMBLINE_CHECKED=1\n. {path}\nunset PLUMBLINE_CHECKED\n"
    if bundle.preload_library and bundle.variants:
        text += _PRELOAD.format(
            own=" | ".join(_HAND_ON),
            whole=" | ".join(_WHOLE),
            library=quoting.sh(str(bundle.preload_library)),
            profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        )
    text += 'exec "$@"\n'
    return {FILE_NAME: text}
