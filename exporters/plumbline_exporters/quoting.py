"""The form in which a text stands in a file, one function a language. What a function gives is read
back as that very text, whatever is in it. A character that would end a line, or that nobody sees,
is refused in what a file puts in force, and written as its number in what people read."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping

from plumbline_db.errors import PlumblineError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORD = re.compile(r"[A-Za-z0-9_.:/=+,@%-]+\Z")
# Control characters, ends of lines and paragraphs, and bytes that are not UTF-8.
_UNFIT = ("Cc", "Zl", "Zp", "Cs")


def held(text: str) -> str:
    """`text`, where a line of a file can hold it. Raises PlumblineError."""
    for character in text:
        if character != "\t" and unicodedata.category(character) in _UNFIT:
            raise PlumblineError(
                f"{text!r} has the character {character!r}, which no file may put in force: take "
                "it out (of a path: choose another folder with --output)"
            )
    return text


def name(text: str) -> str:
    """`text`, where it is the name of a variable or of a parameter. Raises PlumblineError."""
    if not _NAME.match(text):
        raise PlumblineError(
            f"{text!r} is not the name of a variable or parameter (letters, digits and _): "
            "correct it "
            "in the search space"
        )
    return text


def word(text: str) -> str:
    """`text`, where it is one word to a reader that knows no quotes. Raises PlumblineError."""
    if not _WORD.match(text):
        raise PlumblineError(
            f"{text!r} is not allowed in a file without quotes (letters, digits and _.:/=+,@%- are)"
        )
    return text


def said(text: str) -> str:
    """Return the text for people: on one line, with the numbers of invisible characters."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character == "\t" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def comment(text: str, sign: str = "#") -> str:
    """One line that nothing reads. A backslash at its end would make csh and Tcl pass over the next
    line too."""
    line = f"{sign} {said(text)}"
    return line + " ." if line.endswith("\\") else line


def sh(text: str) -> str:
    """One word for a POSIX shell."""
    return shlex.quote(held(text))


def exports(values: Mapping[str, str]) -> str:
    """Lines of a POSIX shell that put variables into the environment."""
    return "".join(f"export {name(variable)}={sh(value)}\n" for variable, value in values.items())


def csh(text: str) -> str:
    """One word for csh: in single quotes, where ! still speaks of history."""
    return "'" + re.sub(r"!", r"\\!", held(text).replace("'", "'\\''")) + "'"


def fish(text: str) -> str:
    """One word for fish: in single quotes, where a backslash stands before itself and a quote."""
    return "'" + re.sub(r"([\\'])", r"\\\1", held(text)) + "'"


def tcl(text: str) -> str:
    """One word of Tcl."""
    return f'"{in_tcl(text)}"'


def in_tcl(text: str) -> str:
    """Part of a word of Tcl that stands in double quotes."""
    return re.sub(r'([\\"$\[\]{}])', r"\\\1", held(text))


def lua(text: str) -> str:
    """A string of Lua."""
    return '"' + re.sub(r'([\\"])', r"\\\1", held(text)) + '"'


_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "⪯": r"$\preceq$",
    "•": r"\textbullet{}",
    "·": r"\textperiodcentered{}",
    "◐": r"$\circ$",
} | {sign: rf"\{sign}" for sign in "{}$&#_%"}


def latex(text: str) -> str:
    """Text of a LaTeX document, in one line."""
    return "".join(_IN_LATEX.get(character, character) for character in said(text))
