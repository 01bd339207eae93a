"""The commands that a page of docs/ tells people to type, and what it says that they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPOKEN = re.compile(r"`(plumbline [^`]+)`")


class Typed(NamedTuple):
    words: tuple[str, ...]  # behind `plumbline`
    file: str  # takes what is printed, where one does

    @property
    def text(self) -> str:
        return " ".join(self.words)


def _typed(line: str) -> Typed:
    command, _, file = line.partition(" > ")
    return Typed(tuple(shlex.split(command)[1:]), file.strip())


def joined(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


def typed(page: str) -> list[Typed]:
    """Of each line `$ plumbline …` in blocks."""
    return [command for command, _ in printed(page)]


def printed(page: str) -> list[tuple[Typed, list[str]]]:
    """With the lines below it, without the places where lines are left out, with single blanks."""
    told: list[tuple[Typed, list[str]]] = []
    for block in FENCED.findall((DOCS / page).read_text()):
        below: list[str] | None = None
        for line in joined(block):
            if line.startswith("$ plumbline "):
                below = []
                told.append((_typed(line[2:]), below))
            elif below is not None:
                below.extend(filter(None, (" ".join(part.split()) for part in line.split("…"))))
    return told


def spoken(page: str) -> list[Typed]:
    """Of each `plumbline …` inside a sentence."""
    return [_typed(text) for text in SPOKEN.findall(FENCED.sub("", (DOCS / page).read_text()))]
