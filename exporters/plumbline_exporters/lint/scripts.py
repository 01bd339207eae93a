"""The settings of a script that reach a program together: what a shell does with assignments,
conditions and commands, for every language that shell_statements.py reads; and options by which
launchers, batch systems and containers hand settings to the programs that they start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from plumbline_exporters import families
from plumbline_exporters.finding import Assignment
from plumbline_exporters.lint import shell_statements
from plumbline_exporters.lint.shell_statements import ShellStatement, Word

_LAUNCHER = re.compile(
    r"(?:.*/)?(?:mpirun|mpiexec|orterun|prterun|prun|mpirun_rsh|srun|aprun|jsrun|lrun|ibrun|flux"
    r"|ccc_mprun|poe|mpiexec\.hydra|mpiexec_mpt|mpiexec\.slurm|dplace)\Z"
)
# Options with NAME=VALUE behind them, some of which take a list with commas between.
_WITH_EQUATION = frozenset({"-x", "-e", "-E", "-v", "--env", "-env", "--export", "-genv", "--genv"})
_LONG = ("--env=", "--export=", "-export=", "--genv=")
_LISTS = ("--export", "-export", "-v")  # of Slurm and PBS: each comma outside of quotes divides
_PART = re.compile(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+")
_ATTACHED = re.compile(r"-[eE](?=[A-Za-z_]\w*=)")
_OF_SPECTRUM = ("--smpiargs", "-M")  # of jsrun: options of mpirun in one word
_LAUNCHER_EQUATION = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_OPTIONS = re.compile(r"(?:^|\s)-{1,2}(?:g?o?mca|genv|env|x|tune|am|export)[ =]")
_FILES = ("--tune", "-tune", "-am", "--am")
_FILE = re.compile(r"--?(?:tune|am)=")
_QUOTERS = frozenset({"echo", "printf", "cat", "grep", "sed", "awk", "die", "print"})


def option_settings(line: int, words: Sequence[Word]) -> Iterator[Assignment]:
    """Return what the options of a command set."""
    options = families.options()
    if words and words[0] in _QUOTERS:
        return
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else None
        here = word.line or line
        attached = next((start for start in _LONG if word.startswith(start)), None)
        close = _ATTACHED.match(word)
        of_spectrum = _of_spectrum(words, at)
        if attached is not None:
            value = Word(word[len(attached) :], fixed=word.fixed)
            yield from _equations(here, value, listed=attached.startswith(_LISTS))
        elif close is not None:
            yield from _equations(here, Word(word[close.end() :], fixed=word.fixed))
        elif of_spectrum:
            for statement in shell_statements.of_shell(of_spectrum):
                yield from option_settings(here, [Word("mpirun"), *statement.words])
        elif following is not None and word in _WITH_EQUATION and "=" in following:
            yield from _equations(here, following, listed=word in _LISTS)
        elif following is not None and word in options and at + 2 < len(words):
            value = words[at + 2]
            yield Assignment(here, options[word] + following, str(value) if value.fixed else None)
        elif word.startswith(families.prefixes()) and words[0].endswith("mpirun_rsh"):
            yield from _equations(here, word)


def _of_spectrum(words: Sequence[Word], at: int) -> str:
    """Return the options of mpirun that jsrun hands on in the word at a place; '' for none."""
    name, equals, value = words[at].partition("=")
    if name not in _OF_SPECTRUM or not words[0].endswith("jsrun"):
        return ""
    return value if equals else str(words[at + 1]) if at + 1 < len(words) else ""


def of_env(words: Sequence[Word]) -> tuple[int, set[str]]:
    """Return where the options of a leading `env` end (0 without one), and the variables that they
    remove; `*` stands for all."""
    at, removed = int(words[0] == "env"), set[str]()
    while at and at < len(words) and words[at][:1] == "-":
        word = words[at]
        if word in ("-u", "--unset") and at + 1 < len(words):
            removed.add(str(words[at + 1]))
        elif word.startswith("--unset="):
            removed.add(word.partition("=")[2])
        elif word in ("-", "-i", "--ignore-environment"):
            removed.add("*")
        at += 2 if word in ("-u", "--unset", "-C", "-S") else 1
    return at, removed


def passed_settings(words: Sequence[Word]) -> set[str] | None:
    """Return the variables that srun passes on where its list of them is without ALL; None where
    all are passed on."""
    if not words or not words[0].endswith("srun"):
        return None
    for at, word in enumerate(words):
        name, equals, listed = word.partition("=")
        if name == "--export" and (equals or at + 1 < len(words)):
            parts = _PART.findall(listed if equals else words[at + 1])
            return None if "ALL" in parts else {part.partition("=")[0] for part in parts}
    return None


def handed_on(words: Sequence[Word]) -> set[str]:
    """Return the variables that a command's options name without a value."""
    names: set[str] = set()
    for word, following in pairwise(words):
        if word in ("-x", "-genvlist", "-envlist", "-E", "--env", "--export", "-v", "-e"):
            names |= {name for name in following.split(",") if re.fullmatch(r"[A-Za-z_]\w*", name)}
    return names


def parameter_files(words: Sequence[Word]) -> list[Word]:
    """Return the files of parameters that a command's options name."""
    lists = [following for word, following in pairwise(words) if word in _FILES]
    for word in words:
        if attached := _FILE.match(word):
            lists.append(Word(word[attached.end() :], fixed=word.fixed, line=word.line))
    return [
        Word(part, fixed=listed.fixed, line=listed.line)
        for listed in lists
        for part in listed.split(",")
    ]


def _equations(line: int, word: Word, *, listed: bool = False) -> Iterator[Assignment]:
    """`listed`: a comma divides wherever it stands, and quotes are no part of a value."""
    parts = _PART.findall(word) if listed else re.split(r",\s*(?=[A-Za-z_]\w*=)", word)
    for part in parts:
        match = _LAUNCHER_EQUATION.fullmatch(part.strip())
        if match is not None:
            text = match["value"].strip("'\"") if listed else match["value"]
            value = text if word.fixed or not re.search("[$`]", text) else None
            yield Assignment(line, match["name"], value)


_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_EQUATION = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=(?P<value>.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)(?:\[[@*]\])?\}?")
_SPACED = re.compile(r"=(?![=>~])")
_MOST_STATES = 16
_MOST_SCENES = 2000
_DECLARE = ("export", "declare", "typeset", "readonly", "local")
_SETTERS = ("setenv", "pushenv", "prepend-path", "append-path")
_WRAPPERS = frozenset(
    {"time", "nohup", "exec", "sudo", "command", "eval", "then", "do", "!", "begin"}
)
_OF_CONTAINERS = ("SINGULARITYENV_", "APPTAINERENV_")
_FOLLOWED = (*families.prefixes(), "LD_PRELOAD")
_OPENERS = ("if", "case", "switch", "for", "foreach", "while", "until", "select", "function")
_CLOSERS = ("fi", "esac", "end", "endif", "endsw", "done")
_LANGUAGES: tuple[tuple[Callable[[str], bool], Callable[[str], Iterable[ShellStatement]]], ...] = (
    (shell_statements.is_tcl, shell_statements.of_tcl),
    (shell_statements.is_lua, shell_statements.of_lua),
    (shell_statements.is_dockerfile, shell_statements.of_dockerfile),
    (shell_statements.is_definition, shell_statements.of_definition),
)
# Variables that every process has: a text with some of them is what `printenv` prints.
_OF_PROCESSES = re.compile(r"^(PATH|HOME|PWD|SHLVL|USER|LOGNAME|SHELL|LANG|TERM|_)=", re.MULTILINE)

State = dict[str, Assignment]
Scene = tuple[Assignment, ...]


class Script(msgspec.Struct):
    """`scenes`: what programs of the script get, each as a whole; at last, what is left behind for
    those that are started later. `bare`: assignments that no program gets. `spaced`: lines that set
    nothing for a blank beside the sign. `files`: parameter files that options name. `reads_others`:
    it sources files, which may set what is missing here."""

    scenes: list[Scene]
    bare: list[Assignment]
    spaced: list[tuple[int, str]]
    files: list[tuple[int, Word]]
    reads_others: bool = False


class _Frame(msgspec.Struct):
    """A condition or a group: the states before it, and those in which a branch of it ended."""

    kind: str
    before: list[State]
    ended: list[State] = []
    begun: bool = False
    complete: bool = False


def read(text: str) -> Script:
    """Follow a script; what a shell would do beyond that is not known."""
    if is_plain(text):
        return Script([tuple(_of_list(text))], [], [], [])
    if not text.startswith("#!"):
        for is_of, statements in _LANGUAGES:
            if is_of(text):
                return _Follower(text).follow(statements(text))
    csh = shell_statements.is_csh(text)
    return _Follower(text, csh=csh).follow(shell_statements.of_shell(text))


def is_plain(text: str) -> bool:
    """NAME=VALUE in every line, as for containers and services and from `printenv`: no shell,
    nothing to export."""
    if text.startswith("#!"):
        return False
    bare = [
        line for line in (line.strip() for line in text.splitlines()) if line and line[0] != "#"
    ]
    equations = [line for line in bare if re.match(r"[A-Za-z_][\w.%()]*=", line)]
    of_processes = len(set(_OF_PROCESSES.findall(text)))
    if of_processes >= 3 and not any(line.startswith(("export ", "setenv ")) for line in bare):
        return True  # lines that are no equation go on a value, or are a function of bash
    if not bare or len(equations) < len(bare):
        return False
    if any(line.startswith(("PATH=", "HOME=", "PWD=")) for line in bare) and len(bare) > 3:
        return True
    return not any(re.search(r";\s*(?:export|setenv)\b|&&|=\S*\s+[./\w-]+", line) for line in bare)


def _of_list(text: str) -> Iterable[Assignment]:
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().partition("=")
        if equals and _NAME.match(name):
            quoted = re.fullmatch(r"([\"'])(.*)\1", value)
            yield Assignment(number, name, quoted[2] if quoted else value)


class _Follower:
    def __init__(self, text: str, *, csh: bool = False) -> None:
        self._csh = csh
        self._states: list[State] = [{}]
        self._frames: list[_Frame] = []
        self._scenes: dict[Scene, None] = {}
        self._all_exported = False
        self._exported: set[str] = set()
        self._used = set(re.findall(r"\$\{?(\w+)", text))  # by the script itself
        self._result = Script([], [], [], [])

    def follow(self, parts: Iterable[ShellStatement]) -> Script:
        for statement in parts:
            words = statement.words
            if not self._divides(words, statement.line):
                self._maybe(statement.line, words, uncertain=statement.uncertain)
        while self._frames:
            self._close()
        for state in self._states:
            self._scene(state, [])
        self._result.scenes = list(self._scenes)
        bare = self._result.bare
        heard = self._exported | self._used
        self._result.bare = [setting for setting in bare if setting.name not in heard]
        return self._result

    def _divides(self, words: Sequence[Word], line: int) -> bool:
        """Conditions, loops and groups. Their own commands are run as well."""
        verb = words[0]
        following = words[1] if len(words) > 1 else ""
        if self._csh and verb == "if" and words[-1] != "then":
            self._maybe(line, _after_condition(words), uncertain=True)
        elif (verb in _OPENERS and not self._in_switch(verb)) or verb in ("(", "{"):
            self._frames.append(_Frame(verb, _copied(self._states)))
            if verb in ("if", "while", "until") and not self._csh:
                self._command(line, words[1:])
        elif verb in ("else", "elif") or (verb in ("branch", "case", "default") and self._frames):
            self._divide(verb, complete=_is_rest(words))
            if verb == "else" and following not in ("", "if"):
                self._command(line, words[1:])
        elif verb in (*_CLOSERS, ")", "}") or verb == "default:":
            if verb == "default:":
                self._divide(verb, complete=True)
            else:
                self._close_down_to(verb)
        elif verb in ("then", "do", "breaksw", "begin"):
            self._command(line, words[1:])
        else:
            return False
        return True

    def _in_switch(self, verb: str) -> bool:
        """Return whether this `case` is a branch, as in csh and fish."""
        return verb == "case" and bool(self._frames) and self._frames[-1].kind == "switch"

    def _close_down_to(self, verb: str) -> None:
        """A bracket closes whatever was left open inside of it, and nothing without its own."""
        opening = {")": ("(",), "}": ("{", "function")}.get(verb)
        kinds = [frame.kind for frame in self._frames]
        if opening is None:
            if kinds and kinds[-1] not in ("(", "{"):
                self._close()
            return
        if not set(opening) & set(kinds):
            return
        while self._frames[-1].kind not in opening:
            self._close()
        self._close()
        if verb == "}" and self._frames and self._frames[-1].kind == "function":
            self._close()

    def _divide(self, verb: str, *, complete: bool) -> None:
        if not self._frames:
            return
        frame = self._frames[-1]
        if frame.begun or (verb in ("else", "elif") and frame.kind == "if"):
            frame.ended += self._states
        frame.begun = True
        frame.complete = frame.complete or complete
        self._states = _copied(frame.before)

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.kind == "(":
            self._states = frame.before
        elif frame.kind in ("if", "case", "switch", "function"):
            self._join([*frame.ended, *self._states, *([] if frame.complete else frame.before)])

    def _join(self, states: list[State]) -> None:
        """Each different state once; where there are too many, what differs is not known."""
        distinct = {
            tuple(sorted((n, s.line, s.value or "") for n, s in state.items())): state
            for state in states
        }
        self._states = list(distinct.values())
        if len(self._states) > _MOST_STATES:
            merged: State = {}
            for state in self._states:
                for name, setting in state.items():
                    same = all(alternative.get(name) == setting for alternative in self._states)
                    merged[name] = setting if same else msgspec.structs.replace(setting, value=None)
            self._states = [merged]

    def _maybe(self, line: int, words: Sequence[Word], *, uncertain: bool) -> None:
        before = _copied(self._states) if uncertain else []
        self._command(line, words)
        if uncertain:
            self._join([*before, *self._states])

    def _command(self, line: int, words: Sequence[Word]) -> None:
        while words and words[0] in _WRAPPERS:
            words = words[1:]
        if not words:
            return
        verb = words[0]
        if verb in _SETTERS and len(words) > 2 and _NAME.match(words[1]):
            self._set(Assignment(line, words[1], str(words[2]) if words[2].fixed else None))
        elif verb in ("source", "."):
            self._result.reads_others = True
        elif verb in ("unset", "unsetenv"):
            for state in self._states:
                for word in words[1:]:
                    state.pop(word, None)
        elif verb == "set":
            self._of_set(line, words)
        elif verb in _DECLARE:
            self._declare(line, words)
        elif verb == "#batch":
            for setting in option_settings(line, words):
                self._set(setting)
        elif verb == "#container":
            for state in self._states:
                self._scene(state, [])
        else:
            self._program(line, words)

    def _of_set(self, line: int, words: Sequence[Word]) -> None:
        if len(words) > 1 and (words[1] == "-a" or tuple(words[1:3]) == ("-o", "allexport")):
            self._all_exported = True
        elif len(words) > 2 and re.match(r"-\w*e", words[1]):
            for state in self._states:
                state.pop(words[2], None)
        elif len(words) > 3 and re.match(r"-\w*x", words[1]):
            value = " ".join(words[3:])
            self._set(
                Assignment(line, words[2], value if all(w.fixed for w in words[3:]) else None)
            )
        elif self._csh:
            text = "".join(words[1:3]) if tuple(words[2:3]) == ("=",) else "".join(words[1:2])
            fixed = all(word.fixed for word in words)
            self._assign(line, Word(text + " ".join(words[3:]), fixed=fixed))

    def _declare(self, line: int, words: Sequence[Word]) -> None:
        flags = "".join(word for word in words[1:] if word[:1] in "-+")
        exports = words[0] == "export" or "-x" in flags or re.search(r"-\w*x", flags)
        if "-n" in flags or "+x" in flags:
            self._exported -= set(words)
            self._used |= set(words)
            for state in self._states:
                for name in state.keys() & set(words):
                    state[name] = msgspec.structs.replace(state[name], exported=False)
            return
        for at, word in enumerate(words[1:], 1):
            match = _EQUATION.fullmatch(word)
            if match is not None:
                self._assign(line, word)
                self._set(_equation(line, word, match, exported=bool(exports)), keeps=True)
            elif exports and _NAME.match(word):
                self._exported.add(str(word))
                for state in self._states:
                    if word in state:
                        state[word] = msgspec.structs.replace(state[word], exported=True)
                if at + 1 < len(words) and _SPACED.match(words[at + 1]):
                    self._result.spaced.append((line, str(word)))

    def _program(self, line: int, words: Sequence[Word]) -> None:
        """A command with what stands before it and in its options; or assignments alone."""
        own: list[Assignment] = []
        at, removed = of_env(words)
        while at < len(words) and (match := _EQUATION.fullmatch(words[at])):
            own.append(_equation(line, words[at], match, exported=True))
            at += 1
        if at == len(words):
            for word in words if words[0] != "env" else ():
                self._assign(line, word)
            return
        if at == 0 and len(words) > 1 and _SPACED.match(words[1]) and _NAME.match(words[0]):
            self._result.spaced.append((line, str(words[0])))
        command = words[at:]
        while command and command[0] in _WRAPPERS:
            command = command[1:]
        self._exported |= handed_on(command)
        passed = passed_settings(command)
        for whole_state in self._states:
            state = {
                name: setting
                for name, setting in whole_state.items()
                if name not in removed and "*" not in removed
                if passed is None or name in passed or name.startswith("$")
            }
            whole = _expanded(command, state)
            files = [(file.line or line, file) for file in parameter_files(whole)]
            self._result.files += [file for file in files if file not in self._result.files]
            settings = [*own, *option_settings(line, whole)]
            settings = [s for s in settings if s.name.startswith(families.prefixes())]
            if settings or any(_LAUNCHER.match(word) for word in command[:4]):
                self._scene(state, settings)

    def _assign(self, line: int, word: Word) -> None:
        """A variable of the shell: a setting, or a text with options of a later command."""
        match = _EQUATION.fullmatch(word)
        if match is None:
            return
        self._set(_equation(line, word, match, exported=self._all_exported), keeps=True)
        name, text = f"${match['name']}", match["value"]
        for state in self._states:
            before = state.pop(name, None)
            whole = (
                f"{before.value} {text}"
                if before and "+=" in word[: match.start("value")]
                else text
            )
            if _OPTIONS.search(whole):
                state[name] = Assignment(line, name, whole, exported=False)

    def _set(self, setting: Assignment, *, keeps: bool = False) -> None:
        """`keeps`: a variable that is exported already stays so."""
        name = setting.name
        for prefix in _OF_CONTAINERS:
            name = name.removeprefix(prefix)
        if not name.startswith(_FOLLOWED):
            return
        setting = msgspec.structs.replace(setting, name=name, depends=bool(self._frames))
        if setting.exported:
            self._exported.add(name)
        elif name.startswith(families.prefixes()):
            self._result.bare.append(setting)
        for state in self._states:
            was = state.get(name)
            exported = setting.exported or (keeps and was is not None and was.exported)
            state[name] = msgspec.structs.replace(setting, exported=exported)

    def _scene(self, state: State, own: Sequence[Assignment]) -> None:
        together = state | {setting.name: setting for setting in own}
        exported = tuple(
            setting
            for setting in together.values()
            if setting.exported or setting.name in self._exported
        )
        if exported and len(self._scenes) < _MOST_SCENES:
            self._scenes[exported] = None


def _copied(states: Iterable[State]) -> list[State]:
    return [dict(state) for state in states]


def _expanded(words: Sequence[Word], state: State) -> list[Word]:
    """Return the words of a command with the options that its variables hold, where they stand."""
    expanded: list[Word] = []
    for word in words:
        match = _VARIABLE.fullmatch(word)
        text = state.get(f"${match['name']}") if match else None
        if text is None or text.value is None:
            expanded.append(word)
            continue
        expanded += [
            Word(part, fixed=part.fixed, line=text.line)
            for statement in shell_statements.of_shell(text.value)
            for part in statement.words
        ]
    return expanded


def _equation(line: int, word: Word, match: re.Match[str], *, exported: bool) -> Assignment:
    value = match["value"] if word.fixed else None
    return Assignment(line, match["name"], value, exported)


def _is_rest(words: Sequence[Word]) -> bool:
    """Return whether a branch is for whatever no other one fits."""
    if words[0] == "else":
        return len(words) == 1 or words[1] != "if"
    return words[0] == "default" or (len(words) > 1 and words[1].rstrip(":") in ("*", "default"))


def _after_condition(words: Sequence[Word]) -> Sequence[Word]:
    """The command of a csh's `if (…) command`."""
    depth = 0
    for at, word in enumerate(words[1:], 1):
        depth += word.count("(") - word.count(")")
        if depth <= 0:
            return words[at + 1 :]
    return ()
