"""Rules files of coll/han (Open MPI 5): whose a collective is, by level, communicator and message
size. In 5.0 components have names; a single error makes it drop the whole file."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import han
from plumbline_exporters.family.openmpi.lint_rules import UNTUNED_IDS, function_of
from plumbline_exporters.family.openmpi.rules_reader import COLLECTIVES
from plumbline_exporters.finding import Finding

SUMMARY = "rules file of Open MPI's coll/han"
COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")
_SINCE_6 = ("xhc",)  # no word about it where the version may be 6.0
# The algorithms of han by their numbers; those below are from 6.0 on.
_ALGORITHMS = {
    "barrier": ("default", "simple"),
    **dict.fromkeys(("allreduce", "reduce"), ("default", "intra", "simple", "reproducible")),
    **dict.fromkeys(("allgather", "bcast", "gather", "scatter"), ("default", "intra", "simple")),
    **dict.fromkeys(("gatherv", "scatterv"), ("default", "intra")),
    **dict.fromkeys(("alltoall", "alltoallv"), ("default", "smsc")),
}
_LEVELS = {"intra_node": 0, "inter_node": 1, "global_communicator": 2}
# coll/han looks up rules of these functions; rules of others are read and never used.
_OWNED = {function.removeprefix("MPI_").lower() for function in han.FUNCTIONS}
_OWNED |= {"allgatherv", "gatherv"}
_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_WORD = re.compile(r"@\s*\S+|\[[^\[\]]*\]|[^\s@\[\]#]+")
_LINE = re.compile(r"^[ \t]*[0-9]+[ \t]+(?:" + "|".join(COMPONENTS) + r")\b", re.MULTILINE)


class _Word(msgspec.Struct, frozen=True):
    text: str
    line: int


class _Wrong(Exception):
    def __init__(self, line: int, reason: str, repair: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.repair = repair or "put this right; without the file MCA parameters decide"


def recognises(name: str, text: str) -> bool:
    """A message size and a component in one line."""
    bare = re.sub(r"#.*", "", text)
    return ("han" in name.lower() and bare.lstrip()[:1].isdigit()) or bool(_LINE.search(bare))


def findings(text: str, context: Context) -> Iterator[Finding]:
    words = [
        _Word(match[0], number)
        for number, line in enumerate(text.splitlines(), 1)
        for match in _WORD.finditer(line.partition("#")[0])
    ]
    if context.target("openmpi").every(lambda version: version < (5, 0, 0)):
        yield Finding(
            0, "ignored", "han-is-off",
            "in Open MPI 4.1 coll/han has priority 0 and answers nothing, and its rules name "
            "components by numbers", "leave the file out: coll/tuned answers there",
        )  # fmt: skip
        return
    try:
        yield from _Reader(words).file()
    except _Wrong as wrong:
        yield Finding(
            wrong.line, "ignored", "dropped",
            f"{wrong}: coll/han drops the whole file; coll_base_verbose alone says so",
            wrong.repair,
        )  # fmt: skip


class _Reader:
    """A reader in the library's order, word by word. Findings are what is legal and does
    nothing."""

    def __init__(self, words: list[_Word]) -> None:
        self._words = words
        self._at = 0
        self._collective_name = ""

    def file(self) -> Iterator[Finding]:
        for _ in range(self._count("the number of collectives", 1)):
            yield from self._collective()
        if self._at < len(self._words):
            yield Finding(
                self._words[self._at].line, "ignored", "left-over",
                "nothing is read from here on: the counts before are too small",
                "write how many collectives, levels, communicator sizes and rules there are",
            )  # fmt: skip

    def _next(self, what: str) -> _Word:
        if self._at == len(self._words):
            line = self._words[-1].line if self._words else 0
            raise _Wrong(line, f"the file ends where {what} is wanted")
        self._at += 1
        return self._words[self._at - 1]

    def _count(self, what: str, least: int = 0) -> int:
        return self._number(what, least)[0]

    def _number(self, what: str, least: int = 0) -> tuple[int, int]:
        word = self._next(what)
        if not _NUMBER.match(word.text) or int(word.text) < least:
            raise _Wrong(word.line, f"{word.text!r} stands where {what} is wanted")
        return int(word.text), word.line

    def _collective(self) -> Iterator[Finding]:
        word = self._next("a collective")
        name = word.text
        if _NUMBER.match(name) and int(name) < COLLECTIVES:
            number = int(name)
            full = function_of(number) or UNTUNED_IDS.get(number, "")
            name = full.removeprefix("MPI_").lower()
        elif name != name.lower() or not re.fullmatch(r"[a-z_]+", name):
            raise _Wrong(word.line, f"there is no collective {name!r}", "write it in lower case")
        self._collective_name = name
        if name not in _OWNED:
            yield Finding(
                word.line, "ignored", "no-rules",
                f"coll/han does not answer {word.text}: these rules are never looked at",
                "leave them out; rules of coll/tuned decide it",
            )  # fmt: skip
        for _ in range(self._count("the number of levels")):
            level = self._next("a level")
            level_number = _LEVELS.get(level.text.lower(), level.text)
            if str(level_number) not in ("0", "1", "2"):
                raise _Wrong(
                    level.line, f"there is no level {level.text!r}", f"write {', '.join(_LEVELS)}"
                )
            sizes: list[int] = []
            for _ in range(self._count("the number of communicator sizes")):
                yield from self._block(int(level_number), sizes)

    def _block(self, level: int, sizes: list[int]) -> Iterator[Finding]:
        size, line = self._number("a communicator size", 1)
        if not sizes and size > 1:
            raise _Wrong(
                line, f"the first communicator size is {size}, and must be 1",
                "put a block for 1 in front: one rule, 0 han",
            )  # fmt: skip
        if sizes and size <= max(sizes):
            yield _order(line, "communicator", size, max(sizes))
        sizes.append(size)
        messages: list[int] = []
        for _ in range(self._count("the number of message sizes")):
            yield from self._rule(level, messages)

    def _rule(self, level: int, messages: list[int]) -> Iterator[Finding]:
        size, line = self._number("a message size")
        if not messages and size > 1:
            raise _Wrong(line, f"the first rule is for {size} bytes, and must be for 0")
        if messages and size <= max(messages):
            yield _order(line, "message", size, max(messages))
        messages.append(size)
        component = self._next("a component")
        if _NUMBER.match(component.text):
            number = int(component.text)
            meant = COMPONENTS[number] if number < len(COMPONENTS) else "tuned"
            raise _Wrong(
                component.line,
                f"component {component.text}: from 5.0 on components have names",
                f"write {meant}",
            )
        if component.text not in (*COMPONENTS, *_SINCE_6):
            raise _Wrong(
                component.line, f"there is no component {component.text!r}",
                f"write one of {', '.join(COMPONENTS)}",
            )  # fmt: skip
        if component.text == "han" and level != han.WHOLE_COMMUNICATOR:
            yield Finding(
                component.line, "misread", "han-within-han",
                "coll/han answers for the communicator as a whole alone (level 2)",
                "name another component for this level",
            )  # fmt: skip
        yield from self._extras(component)

    def _extras(self, component: _Word) -> Iterator[Finding]:
        while self._at < len(self._words) and self._words[self._at].text[0] in "@[":
            extra = self._next("")
            if extra.text[0] == "@" and component.text != "han":
                yield Finding(
                    extra.line, "misread", "algorithm-of-another",
                    f"{extra.text} after {component.text} is passed over, but for digits, which "
                    "are the next number: han alone has algorithms here", "leave it out",
                )  # fmt: skip
            elif extra.text[0] == "@":
                self._require_algorithm(extra)

    def _require_algorithm(self, extra: _Word) -> None:
        """A name, or a number; of a collective that is not known here, whatever it is."""
        algorithms = _ALGORITHMS.get(self._collective_name)
        text = extra.text.removeprefix("@").strip()
        if algorithms is None or text in algorithms:
            return
        if not (_NUMBER.match(text) and int(text) < len(algorithms)):
            raise _Wrong(
                extra.line, f"coll/han has no algorithm {text!r} for {self._collective_name}",
                f"write @ and one of {', '.join(algorithms)}",
            )  # fmt: skip


def _order(line: int, what: str, size: int, before: int) -> Finding:
    return Finding(
        line, "misread", f"{what}s-not-ascending",
        f"{what} size {size} comes after {before}; coll/han says so under coll_base_verbose alone",
        f"put {what} sizes in ascending order, each once",
    )  # fmt: skip
