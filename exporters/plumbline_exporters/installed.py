"""The way in which a shell sees at once that the MPI library on PATH is the one that files were
made for: by the line in which a tool of the library names its version. The fingerprint, which tells
builds of one version apart too, takes longer: `plumbline run`, `export` and `apply` look at it."""

from __future__ import annotations

import shlex

import msgspec

from plumbline_db.records import Library
from plumbline_exporters import families, quoting
from plumbline_exporters.bundle import Bundle


class Question(msgspec.Struct, frozen=True):
    """The first line that `words` prints has `answer` in it, and no digit or dot after that."""

    words: tuple[str, ...]
    answer: str

    @property
    def tool(self) -> str:
        return self.words[0]

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def question(library: Library) -> Question | None:
    """None for a library that nobody has to ask, or that does not say."""
    return families.of(library).question(library)


_SH = """
# With another version nothing is set. (PLUMBLINE_CHECKED: somebody has looked already.)
if [ -z "${{PLUMBLINE_CHECKED-}}" ] && command -v {tool} >/dev/null 2>&1; then
    plumbline_said=$({command} 2>/dev/null </dev/null | {{ read -r line; printf %s "$line"; }})
    case "$plumbline_said" in
    "" | *{answer} | *{answer}[!0-9.]*) unset plumbline_said ;;
    *)
        echo "plumbline.sh: nothing is set, for it was made for "{library}", and {tool} on PATH" \\
            "says: $plumbline_said; put the other one on PATH first, or run a campaign for this" >&2
        unset plumbline_said
        return 0
        ;;
    esac
fi
"""


def check_sh(bundle: Bundle) -> str:
    """Lines for a file that sh sources; it returns there where the library is another one."""
    asked = question(bundle.library)
    if asked is None:
        return ""
    return _SH.format(
        tool=asked.tool,
        command=asked.command,
        answer=quoting.sh(asked.answer),
        library=quoting.sh(quoting.said(bundle.library.id)),
    )
