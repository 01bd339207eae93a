"""Read a classic rules file of coll/tuned as Open MPI 4.1 and 5.0 do (docs/design/libraries.md
tells how each thing was tried), and keep what the library prints nothing about.

The library looks for numbers and for nothing else: what is no number is passed over character by
character, `#` to the end of its line, a number that starts with 0 is octal. It knows no lines, so
that a count that is wrong shifts all that follows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import msgspec

COLLECTIVES = 22  # of the library's enumeration, with those that have no algorithms
_MOST_DIGITS = 64  # more than any number has that means something
HEADER = re.compile(r"rule-file-version-[+-]?[0-9]{1,18}")
_WORD = re.compile(
    r"(?P<blank>[ \t]+)|(?P<space>\s+)|(?P<comment>#[^\n]*)"
    r"|(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*))"
    r"|(?P<strange>[^\s#0-9+-]+|[+-])"
)


class Number(msgspec.Struct, frozen=True):
    """`alone`: nothing but blanks stands between it and the number before it in its line. `ends`:
    another number follows at once, which it would be one with if it were not octal."""

    value: int
    text: str
    line: int
    alone: bool
    ends: bool


class Strange(msgspec.Struct, frozen=True):
    """A thing that is neither a number nor a comment."""

    text: str
    line: int


class Rule(msgspec.Struct, frozen=True):
    """`max_requests` is None where the file does not say it. `lines` are those of its numbers."""

    line: int
    size: int
    algorithm: int
    fanout: int
    segment_bytes: int
    max_requests: int | None
    lines: frozenset[int]


class Block(msgspec.Struct):
    """The rules of one communicator size. `count_line` says how many there are."""

    line: int
    nprocs: int
    count_line: int
    rules: list[Rule]


class Section(msgspec.Struct):
    line: int
    collective: int
    blocks: list[Block]


class RulesFile(msgspec.Struct):
    """`error` is why the library drops the whole file, at `error_line`; `sections` then hold what
    came before. `rest` is the first number that nobody reads."""

    version: int
    sections: list[Section]
    numbers: list[Number]
    strange: list[Strange]
    error: str = ""
    error_line: int = 0
    rest: Number | None = None

    def decision(self, collective: int, nprocs: int, size: int) -> list[int]:
        """[algorithm, fan-out, segment size, requests]; zeros where the library decides."""
        blocks = [s.blocks for s in self.sections if s.collective == collective]
        if self.error or not blocks or not blocks[-1]:
            return [0, 0, 0, 0]
        rules = blocks[-1][looking_up([block.nprocs for block in blocks[-1]])(nprocs)].rules
        if not rules:
            return [0, 0, 0, 0]
        one = rules[looking_up([rule.size for rule in rules])(size)]
        if not one.algorithm:
            return [0, 0, 0, 0]
        return [one.algorithm, one.fanout, one.segment_bytes, one.max_requests or 0]


def looking_up(sizes: Sequence[int]) -> Callable[[int], int]:
    """Return which of `sizes` the library takes, by the one that is wanted: the last that is not
    above it, before the first that is; the first of all where that one is above already."""
    largest = list(accumulate(sizes, max))
    return lambda wanted: max(bisect_right(largest, wanted) - 1, 0)


class _Wrong(Exception):
    """The library drops the file here."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def read(text: str, *, second: bool = True) -> RulesFile:
    """`second`: whether the library knows the header of version 2; one that does not takes it for
    numbers, and drops the file."""
    version, start = 1, 0
    header = HEADER.match(text) if second else None
    if header is not None:
        version, start = int(header[0].rpartition("version-")[2]), header.end()
    numbers: list[Number] = []
    strange: list[Strange] = []
    for found in _scan(text, start):
        if isinstance(found, Number):
            numbers.append(found)
        else:
            strange.append(found)
    file = RulesFile(version, [], numbers, strange)
    try:
        _Parser(file).parse()
    except _Wrong as wrong:
        file.error, file.error_line = str(wrong), wrong.line
    return file


def _scan(text: str, at: int) -> Iterator[Number | Strange]:
    line, alone = 1 + text.count("\n", 0, at), True
    for match in _WORD.finditer(text, at):
        word = match[0]
        if match.lastgroup == "number":
            word = word[:_MOST_DIGITS]
        match match.lastgroup:
            case "number":
                ends = text[match.end() : match.end() + 1].isdigit()
                yield Number(_value(word), word, line, alone and word[0].isdigit(), ends)
                alone = True
            case "strange":
                yield Strange(word, line)
                alone = False
            case "blank":
                pass
            case _:
                line += word.count("\n")
                alone = False


def _value(word: str) -> int:
    digits = word.lstrip("+-")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    value = min(int(digits, base), 2**63 - 1)
    return -value if word[0] == "-" else value


class _Parser:
    """One pass over the numbers of a file, in the library's order."""

    def __init__(self, file: RulesFile) -> None:
        self._file = file
        self._at = 0

    def parse(self) -> None:
        sections = self._next("the number of collectives")
        if sections.value > COLLECTIVES:
            raise _Wrong(sections.line, f"{sections.value} collectives: there are {COLLECTIVES}")
        for _ in range(sections.value):
            self._section()
        if self._at < len(self._file.numbers):
            self._file.rest = self._file.numbers[self._at]

    def _next(self, what: str) -> Number:
        if self._at == len(self._file.numbers):
            last = self._file.numbers[-1].line if self._file.numbers else 0
            raise _Wrong(last, f"the file ends where {what} is wanted")
        found = self._file.numbers[self._at]
        if found.value < 0:
            raise _Wrong(found.line, f"{what} is {found.text}, below 0")
        self._at += 1
        return found

    def _section(self) -> None:
        collective = self._next("the id of a collective")
        if collective.value >= COLLECTIVES:
            raise _Wrong(
                collective.line,
                f"{collective.text} is taken for the id of a collective; the last is "
                f"{COLLECTIVES - 1}",
            )
        section = Section(collective.line, collective.value, [])
        self._file.sections.append(section)
        for _ in range(self._next("the number of communicator sizes").value):
            nprocs = self._next("a communicator size")
            count = self._next("the number of message sizes")
            block = Block(nprocs.line, nprocs.value, count.line, [])
            section.blocks.append(block)
            for _ in range(count.value):
                self._rule(block)

    def _rule(self, block: Block) -> None:
        words = [self._next(what) for what in ("a message size", "an algorithm", "a fan-out")]
        words.append(self._next("a segment size"))
        lines = frozenset(word.line for word in words)
        requests = None
        if self._file.version > 1 and self._at < len(self._file.numbers):
            following = self._file.numbers[self._at]
            if following.alone and following.line == words[-1].line:
                requests = self._next("a limit of requests").value
        size, algorithm, fanout, segment = (word.value for word in words)
        if not block.rules and size:
            raise _Wrong(words[0].line, f"the first rule is for {size} bytes, and must be for 0")
        block.rules.append(Rule(words[0].line, size, algorithm, fanout, segment, requests, lines))
