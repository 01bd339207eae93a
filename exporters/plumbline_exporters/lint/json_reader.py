"""Reads JSON as libraries do, with the line of each value and with every key of an object, also one
that comes twice. All of them take a comma before a closing bracket."""

from __future__ import annotations

import json
import re
from bisect import bisect_left

import msgspec

_BLANK = re.compile(r"[ \t\r\n]*")
_BLANK_OR_COMMENT = re.compile(r"(?:[ \t\r\n]+|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_IN_SINGLE_QUOTES = re.compile(r"'(?P<text>(?:[^'\\\x00-\x1f]|\\.)*)'")
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_DEEPEST = 200


class NotJson(Exception):
    """The error for what is wrong at `line`."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class Node(msgspec.Struct):
    """One of `members` (an object's keys and values, in order), `items`, or `value` is filled."""

    line: int
    kind: str
    members: list[tuple[str, Node]] = []
    items: list[Node] = []
    value: str | int | float | bool | None = None

    def get(self, key: str) -> Node | None:
        """The first value of this key."""
        return next((node for name, node in self.members if name == key), None)

    @property
    def number(self) -> int | None:
        whole = isinstance(self.value, int) and not isinstance(self.value, bool)
        return self.value if whole else None  # type: ignore[return-value]


def read(text: str, *, relaxed: bool = False) -> Node:
    """`relaxed`: as json-c reads it, with comments, texts in single quotes, and whatever follows
    the last brace. Raises NotJson."""
    reader = _Reader(text, relaxed=relaxed)
    node = reader.value(0)
    reader.skip()
    if reader.at < len(text) and not relaxed:
        raise NotJson(reader.line(), "something follows the last brace")
    return node


class _Reader:
    def __init__(self, text: str, *, relaxed: bool) -> None:
        self._text = text
        self._relaxed = relaxed
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self.at = 0

    def line(self) -> int:
        return 1 + bisect_left(self._ends, self.at)

    def skip(self) -> None:
        blank = (_BLANK_OR_COMMENT if self._relaxed else _BLANK).match(self._text, self.at)
        self.at = blank.end() if blank else self.at

    def value(self, depth: int) -> Node:
        self.skip()
        line = self.line()
        if depth > _DEEPEST:
            raise NotJson(line, "it is nested too deeply")
        first = self._text[self.at : self.at + 1]
        if first == "{":
            return self._object(line, depth)
        if first == "[":
            return self._array(line, depth)
        if first == '"' or (first == "'" and self._relaxed):
            return Node(line, "string", value=self._string())
        word = _WORD.match(self._text, self.at)
        if word is None:
            raise NotJson(line, f"expected a value in place of {first or 'the end'!r}")
        self.at = word.end()
        try:
            value = json.loads(word[0])
        except ValueError as error:
            raise NotJson(line, f"{word[0]} is not a number") from error
        return Node(line, "number" if word[0][0] in "-0123456789" else "word", value=value)

    def _string(self) -> str:
        match = _STRING.match(self._text, self.at)
        single = _IN_SINGLE_QUOTES.match(self._text, self.at) if self._relaxed else None
        if single is not None:
            self.at = single.end()
            return single["text"]
        if match is None:
            raise NotJson(self.line(), "expected a text in double quotes")
        try:
            text: str = json.loads(match[0])
        except ValueError as error:
            raise NotJson(self.line(), f"{match[0]} is not a text") from error
        self.at = match.end()
        return text

    def _object(self, line: int, depth: int) -> Node:
        node = Node(line, "object")
        while self._more("}", bool(node.members)):
            key = self._string()
            self.skip()
            if self._text[self.at : self.at + 1] != ":":
                raise NotJson(self.line(), f"expected a colon after {key!r}")
            self.at += 1
            node.members.append((key, self.value(depth + 1)))
        return node

    def _array(self, line: int, depth: int) -> Node:
        node = Node(line, "array")
        while self._more("]", bool(node.items)):
            node.items.append(self.value(depth + 1))
        return node

    def _more(self, closing: str, begun: bool) -> bool:
        """Past what opens or separates; whether another member comes."""
        if not begun:
            self.at += 1
        self.skip()
        character = self._text[self.at : self.at + 1]
        if character == closing:
            self.at += 1
            return False
        if not begun:
            return True
        if character != ",":
            raise NotJson(self.line(), f"expected a comma or {closing} in place of {character!r}")
        self.at += 1
        self.skip()
        if self._text[self.at : self.at + 1] == closing:
            self.at += 1
            return False
        return True
