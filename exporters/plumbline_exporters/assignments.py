"""Assignments of a file: names and values, with the lines that say so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters import families

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LUA = re.compile(
    r"""^\s*(?P<verb>setenv|pushenv|prepend_path|append_path)\s*[({]\s*
    ["'](?P<name>\w+)["']\s*,\s*["'](?P<value>[^"']*)["']""",
    re.VERBOSE,
)
_MODULE_VERBS = ("setenv", "pushenv", "prepend-path", "append-path")
_EXPORTS = ("export", "declare", "typeset", "local", "env", "readonly")
_STARTERS = re.compile(r"(?:.*/)?(?:mpirun|mpiexec|orterun|prterun|srun|mpiexec\.hydra)\Z")
_UNKNOWN = re.compile(r"[$`]")


class Assignment(msgspec.Struct, frozen=True):
    """`value` is None where it is not known before the file runs. `exported`: programs that are
    started get it. `depends`: it stands under a condition."""

    line: int
    name: str
    value: str | None
    exported: bool = True
    depends: bool = False


def of_shell(text: str) -> list[Assignment]:
    """Return those of POSIX shells, csh and fish, module files (Tcl and Lua), and the mpirun lines
    of job scripts. What a shell would do beyond that is not followed."""
    assignments: list[Assignment] = []
    exported: set[str] = set()
    depth = 0
    for line, words in _lines(text):
        depth += sum(word in ("if", "case", "foreach", "while") for word in words[:1])
        for of_word in _of_words(line, words):
            assignments.append(msgspec.structs.replace(of_word, depends=depth > 0))
        if words and words[0] in _EXPORTS:
            exported |= {word for word in words[1:] if _NAME.match(word)}
        depth -= sum(word in ("fi", "esac", "end", "endif", "done") for word in words[:1])
    return [
        msgspec.structs.replace(
            assignment, exported=assignment.exported or assignment.name in exported
        )
        for assignment in assignments
    ]


def is_plain(text: str) -> bool:
    """NAME=VALUE in every line, as for containers and services: no shell, nothing to export."""
    if text.startswith("#!"):
        return False
    bare = [
        line for line in (line.strip() for line in text.splitlines()) if line and line[0] != "#"
    ]
    return bool(bare) and all(re.match(r"[A-Za-z_]\w*=", line) for line in bare)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Logical lines as words; `;` ends one. Lines that no shell could split are left out."""
    number, parts, start = 0, list[str](), 0
    for physical in text.splitlines():
        number += 1
        if not parts and physical.lstrip().startswith("--"):  # a comment of Lua
            continue
        start = start or number
        if physical.endswith("\\"):
            parts.append(physical[:-1] + " ")
            continue
        joined = "".join([*parts, physical])
        lua = _LUA.match(joined)
        if lua is not None:
            verb = lua["verb"].replace("_", "-")
            yield start, [verb, lua["name"], lua["value"]]
        else:
            for words in _commands(joined):
                yield start, words
        parts, start = [], 0


def _commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set(";&|"):
            if command:
                yield command
            command = []
        elif command == [] and word in ("then", "else", "do", "{", "elif"):
            continue
        else:
            command.append(word)


def _of_words(line: int, words: Sequence[str]) -> Iterator[Assignment]:
    verb = words[0] if words else ""
    if verb in _MODULE_VERBS and len(words) >= 3 and _NAME.match(words[1]):
        yield Assignment(line, words[1], _value(words[2]))
        return
    if verb == "set" and len(words) >= 4 and re.match(r"-\w*x", words[1]):  # fish
        yield Assignment(line, words[2], _value(words[3]))
        return
    if verb in _EXPORTS:
        yield from _equations(line, words[1:], exported=verb not in ("local", "readonly"))
        return
    pattern = next((at for at, word in enumerate(words[:2]) if word.endswith(")")), None)
    if pattern is not None:  # a branch of `case`
        yield from _of_words(line, words[pattern + 1 :])
        return
    starter = next((at for at, word in enumerate(words) if _STARTERS.match(word)), None)
    if starter is not None:
        yield from _equations(line, words[:starter], exported=True)
        yield from _of_options(line, words[starter + 1 :])
        return
    yield from _equations(line, words, exported=False)


def _equations(line: int, words: Sequence[str], *, exported: bool) -> Iterator[Assignment]:
    for word in words:
        name, equals, value = word.partition("=")
        if equals and _NAME.match(name):
            yield Assignment(line, name, _value(value), exported)


def _of_options(line: int, words: Sequence[str]) -> Iterator[Assignment]:
    """-x NAME=VALUE, and what families have: --mca NAME VALUE, -genv NAME VALUE."""
    options = families.options()
    for at, word in enumerate(words):
        if word in options and at + 2 < len(words):
            yield Assignment(line, options[word] + words[at + 1], _value(words[at + 2]))
        elif word == "-x" and at + 1 < len(words):
            yield from _equations(line, [words[at + 1]], exported=True)


def _value(word: str) -> str | None:
    return None if _UNKNOWN.search(word) else word
