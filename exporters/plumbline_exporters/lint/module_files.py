"""Statements of module files in Tcl and Lua, in the words of shell_statements.py: setenv, unsetenv,
and what stands under conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from plumbline_exporters.lint.shell_statements import ShellStatement, Word

_TCL = re.compile(
    r"#%Module|^[ \t]*(?:(?:module-whatis|prepend-path|append-path|pushenv)[ \t]+[^\s(]"
    r"|proc[ \t]+ModulesHelp\b)",
    re.MULTILINE,
)
_LUA = re.compile(
    r"^[ \t]*(?:setenv|pushenv|prepend_path|append_path|whatis|family|depends_on)[ \t]*[({]"
    r"|^[ \t]*local[ \t]+\w+[ \t]+=[ \t]",
    re.MULTILINE,
)
_LUA_LEXEME = re.compile(
    r"--\[(?P<remark>=*)\[.*?\](?P=remark)\]|--[^\n]*|\[(?P<level>=*)\[.*?\](?P=level)\]"
    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\w[\w.]*|\n|[^\s]",
    re.DOTALL,
)
_END_OF_BARE_WORD = re.compile(r"[ \t\r\n;]|\\\r?\n")
_SETTING = ("setenv", "pushenv", "unsetenv", "prepend_path", "append_path")
_DEEPEST = 30


def is_tcl(text: str) -> bool:
    return _TCL.search(text) is not None


def is_lua(text: str) -> bool:
    return _LUA.search(text) is not None


def of_tcl(text: str, line: int = 1, depth: int = 0) -> Iterator[ShellStatement]:
    """Bodies in braces are read as what they are; a word in braces is taken as it stands."""
    for start, words in _tcl_commands(text, line):
        verb = words[0][1]
        bodies = [] if depth > _DEEPEST else _bodies(verb, words)
        if not bodies:
            yield ShellStatement(start, tuple(word for _, word in words))
            continue
        conditional = verb in ("if", "switch")
        yield ShellStatement(start, (Word("if" if conditional else "function"),))
        for at, (divider, body_line, body) in enumerate(bodies):
            if at or divider == "else":
                yield ShellStatement(body_line, (Word(divider),))
            yield from of_tcl(body, body_line, depth + 1)
        yield ShellStatement(start, (Word("fi"),))


_Words = list[tuple[int, Word]]


def _bodies(verb: str, words: _Words) -> list[tuple[str, int, str]]:
    """The scripts of a command: what divides each from the one before it, its line and its text."""
    if verb == "if":
        words = [pair for pair in words if pair[1] != "then"]
        bodies = [("elif", line, word) for line, word in words[2:3]]
        for (_, before), (line, word) in pairwise(words[2:]):
            if before == "else":
                bodies.append(("else", line, word))
        at = 3
        while at + 2 < len(words) and words[at][1] == "elseif":
            bodies.insert(len(bodies) - (bodies[-1][0] == "else"), ("elif", *words[at + 2]))
            at += 3
        return [(divider, line, str(word)) for divider, line, word in bodies]
    if verb == "switch" and len(words) > 2:
        line, word = words[-1]
        inner = [pair for _, command in _tcl_commands(word, line) for pair in command]
        options = sum(1 for _, option in words[1:-1] if option[:1] == "-")
        if len(words) - options > 3:  # patterns and bodies are words of the command itself
            inner = words[2 + options :]
        return [
            ("else" if pattern == "default" else "elif", body_line, str(body))
            for (_, pattern), (body_line, body) in zip(inner[::2], inner[1::2], strict=False)
        ]
    if verb in ("foreach", "while", "for", "proc") and len(words) > 2:
        return [("elif", words[-1][0], str(words[-1][1]))]
    return []


def _tcl_commands(text: str, line: int) -> Iterator[tuple[int, _Words]]:
    words: _Words = []
    at = 0
    while at <= len(text):
        character = text[at : at + 1]
        if character in ("", "\n", ";"):
            if words:
                yield words[0][0], words
            words = []
            line += character == "\n"
            at += 1
        elif text.startswith(("\\\n", "\\\r\n"), at):
            at = text.index("\n", at) + 1
            line += 1
        elif character in " \t\r":
            at += 1
        elif character == "#" and not words:
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            begin, start = at, line
            at = _end_of_word(text, at)
            line += text.count("\n", begin, at)
            words.append((start, _tcl_word(text[begin:at])))


def _end_of_word(text: str, at: int) -> int:
    closing = {"{": "}", '"': '"', "[": "]"}.get(text[at])
    if closing is None:
        blank = _END_OF_BARE_WORD.search(text, at)
        return blank.start() if blank else len(text)
    depth = 0
    for end in range(at, len(text)):
        if text[end - 1 : end] == "\\" and end > at:
            continue
        if text[end] == closing and (closing != '"' or end > at):
            depth -= 1
            if depth <= 0:
                return end + 1
        elif text[end] == text[at]:
            depth += 1
    return len(text)


def _tcl_word(text: str) -> Word:
    if text[0] == "{" and text[-1] == "}":
        return Word(text[1:-1])
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return Word(re.sub(r"\\(.)", r"\1", bare), fixed=re.search(r"(?<!\\)[$\[]", bare) is None)


def of_lua(text: str) -> Iterator[ShellStatement]:
    """An argument that is more than one text or number is known only when the file runs."""
    lexemes = _lua_lexemes(text)
    at = 0
    while at < len(lexemes):
        line, lexeme = lexemes[at]
        if lexeme in ("if", "for", "while", "repeat", "function"):
            yield ShellStatement(line, (Word("if" if lexeme == "if" else "function"),))
        elif lexeme in ("else", "elseif"):
            yield ShellStatement(line, (Word("else" if lexeme == "else" else "elif"),))
        elif lexeme in ("end", "until"):
            yield ShellStatement(line, (Word("fi"),))
        elif lexeme in _SETTING and at + 1 < len(lexemes) and lexemes[at + 1][1] in ("(", "{"):
            arguments, at = _arguments(lexemes, at + 2)
            yield ShellStatement(line, (Word(lexeme.replace("_path", "-path")), *arguments))
        at += 1


def _lua_lexemes(text: str) -> list[tuple[int, str]]:
    line, lexemes = 1, list[tuple[int, str]]()
    for match in _LUA_LEXEME.finditer(text):
        if not match[0].startswith("--") and match[0] != "\n":
            lexemes.append((line, match[0]))
        line += match[0].count("\n")
    return lexemes


def _arguments(lexemes: Sequence[tuple[int, str]], at: int) -> tuple[list[Word], int]:
    """The arguments of a call up to the bracket that closes it, and where that is."""
    arguments: list[list[str]] = [[]]
    depth = 0
    while at < len(lexemes):
        lexeme = lexemes[at][1]
        if lexeme in ")}" and depth == 0:
            break
        depth += (lexeme in "({") - (lexeme in ")}")
        if lexeme == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(lexeme)
        at += 1
    return [_lua_word(argument) for argument in arguments if argument], at


def _lua_word(argument: Sequence[str]) -> Word:
    text = argument[0]
    if len(argument) > 1 or not re.match(r"[\"'\[0-9]", text):
        return Word("", fixed=False)
    if text[0] == "[":
        return Word(text.strip("=[]") if text[1:2] == "=" else text[2:-2])
    return Word(re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text)
