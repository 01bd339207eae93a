"""Statements of POSIX shells, csh, fish and Dockerfiles, as words: one reader for all of them,
which follows quotes, comments, here-documents and line ends, and expands nothing. Statements of
module files in Tcl and Lua come in the same words: setenv, unsetenv, and what stands under
conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

_BLANK = " \t"
_END_OF_LINE = re.compile(r"\r?\n|\Z")
_REDIRECTION = re.compile(r"(?:[0-9]*|&)(?:>>?|<)(?:&[0-9-]+|&(?!&)|\|)?|[0-9]*<>|<<<")
_HERE = re.compile(r"(?<![0-9<])<<(?P<tabs>-?)[ \t]*[\"'\\]?(?P<word>[A-Za-z_]\w*)[\"']?")
_CSH = re.compile(r"#!\S*csh\b|^[ \t]*(?:un)?setenv[ \t]+\w", re.MULTILINE)
_DOCKERFILE = re.compile(r"(?!#!)(?:\s|#[^\n]*\n)*(?i:FROM[ \t]+\S|ARG[ \t]+\w+)")
_DEFINITION = re.compile(r"(?:\s|#[^\n]*\n)*(?i:bootstrap)[ \t]*:")
_SECTION = re.compile(r"^%(?P<name>\w+)[^\n]*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"[ \t]*(?P<verb>[A-Za-z]+)[ \t]+(?P<rest>.*)", re.DOTALL)
_FOR_BATCH = re.compile(r"#(?:SBATCH|PBS|BSUB|\$|PJM|FLUX:|flux:|COBALT)[ \t]+(?P<words>-.*)")
_EXPANDS = re.compile(r"[$`]")
_MOST_REPEATED = 10_000  # statements of stages that others are built on


class Word(str):
    """A word as the program gets it. `fixed`: nothing in it becomes known only at run time. `line`
    is where it stands, if that is not the line of its statement."""

    __slots__ = ("fixed", "line")
    fixed: bool
    line: int

    def __new__(cls, text: str, *, fixed: bool = True, line: int = 0) -> Word:
        word = super().__new__(cls, text)
        word.fixed = fixed
        word.line = line
        return word


class ShellStatement(msgspec.Struct, frozen=True):
    """A command, or words that open, divide and close what runs under a condition (`if`, `else`,
    `fi`, `(`, `)`, `branch`). `uncertain`: whether it runs depends on the command before it."""

    line: int
    words: tuple[Word, ...]
    uncertain: bool = False


def is_csh(text: str) -> bool:
    return _CSH.search(text) is not None


def is_dockerfile(text: str) -> bool:
    return _DOCKERFILE.match(text) is not None


def of_shell(text: str, line: int = 1) -> Iterator[ShellStatement]:
    """Return the statements of a shell's file, and options for a batch system in its comments."""
    yield from _Lexer(text, line, parentheses=not is_csh(text)).statements()


def is_definition(text: str) -> bool:
    """Return whether a text is a definition file of Apptainer."""
    return _DEFINITION.match(text) is not None


def of_definition(text: str) -> Iterator[ShellStatement]:
    """%environment sets variables for everything that runs in the container; what another section
    sets is gone with its shell."""
    starts = list(_SECTION.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    sections = [
        (start["name"], 1 + text.count("\n", 0, start.end()), text[start.end() : end])
        for start, end in zip(starts, ends, strict=True)
    ]
    for _, line, body in (section for section in sections if section[0] == "environment"):
        yield from of_shell(body, line)
    for _, line, body in (section for section in sections if section[0] != "environment"):
        yield from _apart(of_shell(body, line), line)


def of_dockerfile(text: str) -> Iterator[ShellStatement]:
    """ENV sets variables for everything that follows in its stage, and in stages that are built on
    it; what RUN sets is gone with its shell."""
    stages: dict[str, list[ShellStatement]] = {}
    of_stage: list[ShellStatement] = []
    line, repeatable = 1, _MOST_REPEATED
    yield ShellStatement(line, (Word("("),))
    for line, verb, rest in _instructions(text):
        if verb == "FROM":
            names = [word.lower() for word in rest.split() if not word.startswith("--")]
            of_stage = list(stages.get(names[0], ()))[:repeatable] if names else []
            repeatable -= len(of_stage)
            if names[1:2] == ["as"]:
                stages[names[-1]] = of_stage
            yield from _end_of_stage(line)
            yield ShellStatement(line, (Word("("),))
            yield from of_stage
        elif verb == "ENV":
            of_stage.append(_of_env(rest, line))
            yield of_stage[-1]
        elif verb == "RUN":
            yield from _apart(of_shell(rest, line), line)
        elif verb in ("CMD", "ENTRYPOINT"):
            yield from _apart(_of_start(rest, line), line)
    yield from _end_of_stage(line)


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the verb and the rest of each instruction of a Dockerfile."""
    mark = "`" if re.match(r"#[ \t]*escape[ \t]*=[ \t]*`", text, re.IGNORECASE) else "\\"
    gathered, start = "", 0
    for line, physical in enumerate(text.split("\n"), 1):
        bare = physical.strip()
        if bare.startswith("#") or (gathered and not bare):
            continue
        start = start or line
        goes_on = bare.endswith(mark)
        gathered += physical.rstrip()[:-1] + "\\\n" if goes_on else physical + "\n"
        instruction = _INSTRUCTION.match(gathered)
        if not goes_on:
            if instruction is not None:
                yield start, instruction["verb"].upper(), instruction["rest"]
            gathered, start = "", 0


def _end_of_stage(line: int) -> Iterator[ShellStatement]:
    yield ShellStatement(line, (Word("#container"),))
    yield ShellStatement(line, (Word(")"),))


def _apart(statements: Iterable[ShellStatement], line: int) -> Iterator[ShellStatement]:
    yield ShellStatement(line, (Word("("),))
    yield from statements
    yield ShellStatement(line, (Word(")"),))


def _of_env(rest: str, line: int) -> ShellStatement:
    words = [word for statement in of_shell(rest, line) for word in statement.words]
    if words and "=" not in words[0]:
        words = [Word(f"{words[0]}={' '.join(words[1:])}", fixed=all(w.fixed for w in words))]
    return ShellStatement(line, (Word("export"), *words))


def _of_start(rest: str, line: int) -> Iterable[ShellStatement]:
    """Return the command of CMD or ENTRYPOINT, which may be a list of words in JSON."""
    try:
        words = msgspec.json.decode(rest, type=list[str])
    except msgspec.DecodeError:
        return of_shell(rest, line)
    return [ShellStatement(line, tuple(Word(word) for word in words))] if words else []


class _Lexer:
    def __init__(self, text: str, line: int, *, parentheses: bool) -> None:
        self._text = text
        self._at = 0
        self._line = line
        self._parentheses = parentheses
        self._depth = 0
        self._words: list[Word] = []
        self._start = line
        self._uncertain = False
        self._here: list[tuple[str, bool]] = []

    def statements(self) -> Iterator[ShellStatement]:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            here = _HERE.match(text, self._at)
            redirection = _REDIRECTION.match(text, self._at)
            if character in _BLANK or (
                character == "\r" and text[self._at + 1 : self._at + 2] in "\n"
            ):
                self._at += 1
            elif self._continues():
                self._line += 1
                self._at = _END_OF_LINE.match(text, self._at + 1).end()  # type: ignore[union-attr]
            elif character == "#":
                yield from self._comment()
            elif here is not None:
                self._here.append((here["word"], bool(here["tabs"])))
                self._at = here.end()
            elif (
                redirection is not None
                and redirection[0]
                and text[redirection.end() : redirection.end() + 1] != "("
            ):
                self._at = redirection.end()
                self._target()
            elif character in "\n;&|" or (self._parentheses and character in "()"):
                yield from self._operator(character)
            else:
                self._begin()
                self._words.append(self._word())
        yield from self._end()

    def _continues(self) -> bool:
        return self._text.startswith(("\\\n", "\\\r\n"), self._at)

    def _begin(self) -> None:
        if not self._words:
            self._start = self._line

    def _end(self, *, uncertain: bool = False) -> Iterator[ShellStatement]:
        if self._words:
            yield ShellStatement(self._start, tuple(self._words), self._uncertain)
        self._words = []
        self._uncertain = uncertain

    def _comment(self) -> Iterator[ShellStatement]:
        end = _END_OF_LINE.search(self._text, self._at)
        stop = end.start() if end else len(self._text)
        batch = _FOR_BATCH.match(self._text[self._at : stop])
        self._at = stop
        if batch is not None:
            words = [
                w
                for s in _Lexer(batch["words"], 1, parentheses=False).statements()
                for w in s.words
            ]
            yield ShellStatement(self._line, (Word("#batch"), *words))

    def _target(self) -> None:
        """Skip the file of a redirection."""
        while self._text[self._at : self._at + 1] in _BLANK and self._at < len(self._text):
            self._at += 1
        if self._text[self._at : self._at + 1] not in ("", "\n", "\r", ";", "&", "|", "(", ")"):
            self._word()

    def _operator(self, character: str) -> Iterator[ShellStatement]:
        text, at = self._text, self._at
        if character in "&|" and text[at : at + 2] in ("&&", "||"):
            tested = text[at : at + 2] == "||" or _tests(self._words)
            yield from self._end(uncertain=tested)
            self._at += 2
        elif character == "\n":
            self._at += 1
            self._line += 1
            yield from self._end()
            self._skip_here_documents()
        elif character in ";&|":
            yield from self._end()
            self._at += 1
        elif character == "(":
            self._depth += 1
            self._at += 1
            function = self._words and re.match(r"[ \t]*\)", text[self._at :])
            if function:
                self._depth -= 1
                self._at += function.end()
                self._words = []
                yield ShellStatement(self._line, (Word("function"),))
                return
            yield from self._end()
            yield ShellStatement(self._line, (Word("("),))
        else:
            pattern = tuple(self._words) if self._depth == 0 else ()
            if self._depth == 0:
                self._words = []
            yield from self._end()
            yield ShellStatement(
                self._line, (Word("branch"), *pattern) if self._depth == 0 else (Word(")"),)
            )
            self._depth = max(self._depth - 1, 0)
            self._at += 1

    def _skip_here_documents(self) -> None:
        """Skip to the line that ends each of them; what nothing ends is none."""
        for word, tabs in self._here:
            end = re.compile(rf"^{chr(9) + '*' if tabs else ''}{word}\r?$", re.MULTILINE)
            match = end.search(self._text, self._at)
            if match is not None:
                self._line += self._text.count("\n", self._at, match.end())
                self._at = match.end()
        self._here = []

    def _word(self) -> Word:
        """Return one word, with its quotes taken off."""
        text, parts, fixed = self._text, list[str](), True
        while self._at < len(text):
            character = text[self._at]
            if character in " \t\n;&|" or (character in "<>" and parts):
                break
            if text.startswith("\r\n", self._at):
                break
            if character in "()" and self._parentheses:
                if character == "(" and (
                    not parts or parts[-1][-1:] in ("=", "<", ">", "@", "?", "!", "+", "*")
                ):
                    begin = self._at
                    self._balanced()
                    parts.append(text[begin + 1 : self._at - 1])
                    fixed = False
                    continue
                break
            if character == "\\":
                if self._continues():
                    break
                parts.append(text[self._at + 1 : self._at + 2])
                self._line += parts[-1] == "\n"
                self._at += 2
            elif character in "\"'":
                part, unchanging = self._quoted(character)
                parts.append(part)
                fixed = fixed and unchanging
            elif text.startswith(("$(", "${"), self._at) or character == "`":
                begin = self._at
                self._at += character == "$"
                self._balanced()
                parts.append(text[begin : self._at])
                fixed = False
            else:
                fixed = fixed and character != "$"
                parts.append(character)
                self._at += 1
        return Word("".join(parts), fixed=fixed)

    def _quoted(self, quote: str) -> tuple[str, bool]:
        """Return a text in quotes, and whether it is fixed; quotes that nothing closes are a
        character like others."""
        text, at = self._text, self._at + 1
        parts: list[str] = []
        while at < len(text) and text[at] != quote:
            if (
                text[at] == "\\"
                and quote == '"'
                and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n")
            ):
                at += 1
                parts.append("" if text[at] == "\n" else "\\$" if text[at] == "$" else text[at])
            else:
                parts.append(text[at])
            at += 1
        if at >= len(text):
            self._at += 1
            return quote, True
        self._line += text.count("\n", self._at, at)
        self._at = at + 1
        content = "".join(parts)
        expands = quote == '"' and _EXPANDS.search(content.replace("\\$", "")) is not None
        return content.replace("\\$", "$"), not expands

    def _balanced(self) -> None:
        """Skip a bracket up to the one that closes it, or a command in backticks."""
        text = self._text
        opening = text[self._at]
        closing = {"(": ")", "{": "}", "`": "`"}[opening]
        depth, at = 0, self._at
        while at < len(text):
            character = text[at]
            if character == "\\":
                at += 1
            elif character == "'" and opening == "(" and "'" in text[at + 1 :]:
                at = text.index("'", at + 1)
            elif character == closing and (opening != "`" or at > self._at):
                depth -= 1
                if depth <= 0:
                    break
            elif character == opening:
                depth += 1
            at += 1
        self._line += text.count("\n", self._at, at)
        self._at = min(at + 1, len(text))


def _tests(words: list[Word]) -> bool:
    """Return whether a command is there for its exit status."""
    return bool(words) and words[0] in ("[", "[[", "test", "grep", "command", "which", "type", "!")


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
