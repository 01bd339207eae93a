"""Families of MPI libraries, as files for their users know them: a folder each, which says in
`FAMILY` all that exporters and the linter ask of it. A module beside the folders is what several of
them share.

Nothing outside of the folders names a family: it asks here."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from plumbline_db.errors import UsageError
from plumbline_db.records import Library, Winner
from plumbline_exporters import quoting
from plumbline_exporters.bundle import Bundle, FileDecision, MpiCall
from plumbline_exporters.finding import Effect, FileKind, Finding, Known, LintTarget, Version

if TYPE_CHECKING:
    from types import ModuleType

    from plumbline_exporters.finding import Assignment

# The way in which a shell sees at once that the MPI library on PATH is the one that files were made
# for: by the line in which a tool of the library names its version. The fingerprint, which tells
# builds of one version apart too, takes longer: `plumbline run`, `export` and `apply` look at it.


class Question(msgspec.Struct, frozen=True):
    """The first line that `words` prints has `answer` in it, and no digit or dot after that."""

    words: tuple[str, ...]
    answer: str

    @property
    def tool(self) -> str:
        return self.words[0]

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def question(library: Library) -> Question | None:
    """None for a library that nobody has to ask, or that does not say."""
    return of(library).question(library)


_SH = """
# With another version nothing is set. (PLUMBLINE_CHECKED: somebody has looked already.)
if [ -z "${{PLUMBLINE_CHECKED-}}" ] && command -v {tool} >/dev/null 2>&1; then
    plumbline_said=$({command} 2>/dev/null </dev/null | {{ read -r line; printf %s "$line"; }})
    case "$plumbline_said" in
    "" | *{answer} | *{answer}[!0-9.]*) unset plumbline_said ;;
    *)
        echo "plumbline.sh: nothing is set, for it was made for "{library}", and {tool} on PATH" \\
            "says: $plumbline_said; put the other one on PATH first, or run a campaign for this" >&2
        unset plumbline_said
        return 0
        ;;
    esac
fi
"""


def check_sh(bundle: Bundle) -> str:
    """Lines for a file that sh sources; it returns there where the library is another one."""
    asked = question(bundle.library)
    if asked is None:
        return ""
    return _SH.format(
        tool=asked.tool,
        command=asked.command,
        answer=quoting.sh(asked.answer),
        library=quoting.sh(quoting.said(bundle.library.id)),
    )


class Linting(msgspec.Struct, frozen=True, kw_only=True):
    """The way in which files that set its parameters are read. `versions` stand for all that are
    known, where no library is named. `variables`, a pattern, are those that `findings` speaks of.
    `refusal`: what the library does with a value that it does not take. `own_decision`: what a
    choice may be besides an algorithm. `files`: variables that name a file, with what happens where
    it is not there. `options`: words of its mpirun that set a variable, with the beginning of its
    name. `formats`: modules of its own files, in the order in which they are asked. `instead_of`:
    the family whose variables it has too, and which speaks of them where no library is named.
    `aliases`: beginnings of other names of its variables, which are not its own alone."""

    versions: tuple[Version, ...]
    variables: str
    findings: Callable[[Sequence[Assignment], LintTarget], Iterable[Finding]]
    refusal: tuple[Effect, str]
    own_decision: tuple[str, ...] = ()
    files: Mapping[str, FileKind] = {}
    options: Mapping[str, str] = {}
    formats: Mapping[str, ModuleType] = {}
    instead_of: str = ""
    aliases: tuple[str, ...] = ()


class ParameterFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the library reads by itself, whatever the shell. `parameters` are what winners
    put there, `line` is one of them, `read` gives those of such a file. `prefix` makes a variable
    of a name, which is heard first; the variable `elsewhere` names other files in its place.
    `silences`: why a line of others takes ours out of force, for a library or (None) for some."""

    parameters: Callable[[Bundle], dict[str, str]]
    line: Callable[[str, str], str]
    read: Callable[[str], list[Assignment]]
    prefix: str
    elsewhere: str
    silences: Callable[[Assignment, Mapping[str, str], Library | None], str]


class RulesFiles(msgspec.Struct, frozen=True):
    """`names` are those of the files. `decision`: what exported files of rules (texts by name)
    decide for a call; None where they leave it to the library. `holds`: whether a winner stands in
    such a file."""

    names: tuple[str, ...]
    decision: Callable[[Mapping[str, str], MpiCall, Library], FileDecision | None]
    holds: Callable[[Winner], bool]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`prefixes`: beginnings of its variables. `script`: the format that writes plumbline.sh.
    `variables`: what files of a campaign set, whatever language says it. `question`: how a shell
    sees that the library is the one that files were made for; None where nobody can be asked.
    `in_ranges`: variables that may name an algorithm for each range of sizes, with those that may
    stand there. `lint` is None where nobody sets parameters in files of his own. `rules`: its
    files of rules; None where nothing here reads them."""

    script: str
    variables: Callable[[Bundle], dict[str, str]]
    question: Callable[[Library], Question | None]
    prefixes: tuple[str, ...] = ()
    lint: Linting | None = None
    parameter_file: ParameterFile | None = None
    in_ranges: Mapping[str, frozenset[int]] = {}
    rules: RulesFiles | None = None


@cache
def families() -> dict[str, Family]:
    """Return by name, which is that of the folder."""
    package = importlib.import_module("plumbline_exporters.family")
    folders = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    return {name: importlib.import_module(f"{package.__name__}.{name}").FAMILY for name in folders}


def of(library: Library) -> Family:
    return families()[library.family]


def linted() -> dict[str, Linting]:
    """Return the families that the linter knows."""
    return {name: family.lint for name, family in families().items() if family.lint is not None}


class Context(msgspec.Struct, frozen=True):
    """The library that was named, if one was, and what is known of all of them."""

    library: str = ""
    known: tuple[Known, ...] = ()

    def target(self, family: str) -> LintTarget:
        """The named library where it is of this family, else all known versions of it."""
        versions = linted()[family].versions
        asked = _named(self.library) if self.library else None
        named = asked is not None and asked[0] == family
        if asked is not None and named:
            versions = (asked[1],)
        of_family = [space for space in self.known if space.family == family]
        fitting = tuple(space for space in of_family if any(map(space.holds, versions)))
        others = tuple(space for space in of_family if space not in fitting)
        return LintTarget(family, versions, fitting, others, named)

    def unknown_version(self) -> str:
        """Return the named library where nothing is known of its version, else nothing."""
        if not (self.library and self.known):
            return ""
        return "" if self.target(self.library.partition("-")[0]).known else self.library


def _named(library: str) -> tuple[str, Version]:
    family, _, version = library.partition("-")
    match = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})*(?![0-9])", version)
    families_known = linted()
    if family not in families_known or match is None:
        raise UsageError(
            f"no library {library!r}: name one as FAMILY-VERSION, for instance openmpi-5.0.11; "
            f"families are {', '.join(families_known)}"
        )
    numbers = [int(part) for part in match[0].split(".")]
    return family, (*numbers, 0, 0)[: max(3, len(numbers))]


def check_library(library: str) -> None:
    """Raises UsageError where `library` is not FAMILY-VERSION of a family that is known."""
    _named(library)


def speaking(named: str) -> Iterator[tuple[str, Linting]]:
    """Return the families that report on their variables, where `named` (or '') is the family of a
    file."""
    linted_families = linted()
    instead_of = linted_families[named].instead_of if named in linted_families else ""
    for name, lint in linted_families.items():
        if name == named or (name != instead_of and not lint.instead_of):
            yield name, lint


@cache
def prefixes() -> tuple[str, ...]:
    """The beginnings of the variables of all of them."""
    return tuple(prefix for family in families().values() for prefix in family.prefixes)


def in_ranges(variable: str) -> frozenset[int]:
    """The algorithms that the value of `variable` may name for a range of sizes."""
    in_family = (family.in_ranges.get(variable, frozenset()) for family in families().values())
    return frozenset[int]().union(*in_family)


@cache
def files() -> dict[str, FileKind]:
    """Return the variables of all of them that name a file."""
    return {name: kind for lint in linted().values() for name, kind in lint.files.items()}


@cache
def aliases() -> tuple[str, ...]:
    """Return those of all of them."""
    return tuple(alias for lint in linted().values() for alias in lint.aliases)


@cache
def options() -> dict[str, str]:
    """Words of all mpiruns that set a variable, with the beginning of its name."""
    return {word: prefix for lint in linted().values() for word, prefix in lint.options.items()}


def parameter_file(library: Library) -> ParameterFile:
    """Return the parameter file of a family that reads one."""
    file = of(library).parameter_file
    if file is None:
        raise ValueError(f"{library.id} reads no file of parameters")
    return file
