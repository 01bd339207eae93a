"""Our lines in a file that has lines of others: between two marks, which name whose and which."""

from __future__ import annotations

import re

import msgspec

from plumbline_db.errors import PlumblineError


class Block(msgspec.Struct, frozen=True):
    """Lines `first` to `last` of a text, counted from 0, marks included; `text` is all of them."""

    number: int
    text: str
    first: int
    last: int


def block(name: str, number: int, lines: list[str], comment: str = "#") -> str:
    """The lines of generation `number`, with their marks; every line ends with a line break."""
    whole = [
        f"{comment} >>> plumbline {name} {number} >>> written by plumbline apply, removed by "
        "plumbline apply --undo",
        *lines,
        f"{comment} <<< plumbline {name} <<<",
    ]
    return "".join(f"{line}\n" for line in whole)


def find(text: str, name: str) -> Block | None:
    """None where there is none. Raises PlumblineError where its marks are damaged: nobody can tell
    then which lines are whose."""
    begin = re.compile(rf"\S+ >>> plumbline {re.escape(name)} (\d+) >>>")
    end = re.compile(rf"\S+ <<< plumbline {re.escape(name)} <<<\s*\Z")
    lines = _lines(text)
    starts = [number for number, line in enumerate(lines) if begin.match(line)]
    ends = [number for number, line in enumerate(lines) if end.match(line)]
    if not starts and not ends:
        return None
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        where = ", ".join(str(number + 1) for number in sorted(starts + ends))
        raise PlumblineError(
            f"the marks of plumbline {name} are damaged (lines {where}): there must be one line "
            "with >>> and one with <<< below it; take our lines out by hand"
        )
    first, last = starts[0], ends[0]
    number = int(begin.sub(r"\1", lines[first]).split()[0])
    return Block(number, "".join(lines[first : last + 1]), first, last)


def put(text: str, name: str, new: str) -> str:
    """`text` with the block `new` in the place of the one of that name, or at the end."""
    old = find(text, name)
    if old is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        return text + gap + new
    lines = _lines(text)
    return "".join(lines[: old.first]) + new + "".join(lines[old.last + 1 :])


def without(text: str, name: str) -> str:
    """`text` as others have written it."""
    old = find(text, name)
    if old is None:
        return text
    lines = _lines(text)
    return "".join(lines[: old.first] + lines[old.last + 1 :])


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only a line break ends one: what else Unicode knows stays
    inside."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
