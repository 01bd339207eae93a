"""Experimental factors and their levels: what a level changes in the launches of a plan (Hunold and
Carpen-Amarie, TPDS 2016, section 4). One table of factors; a factor that the table does not have is
a variable, or a knob of the library. Measures nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from plumbline.settings import Settings
from plumbline.settings.cases import BARRIER, USES
from plumbline.settings.toolchain import Toolchain
from plumbline.system import mistakes, process
from plumbline.system.placement import BINDS, PLAIN
from plumbline_db.errors import PlumblineError, UsageError

SYNTAX = "FACTOR or FACTOR=LEVEL, NAME=VALUE for a variable or a knob of the library"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_GOVERNORS = Path("/sys/devices/system/cpu/cpufreq")
_MOST_NEIGHBOURS = 256


class Level(msgspec.Struct, frozen=True):
    """A level of a factor, beside which everything is as in the base. `settings`: keys of a
    campaign file; `plan`: fields of a plan; `variables`: variables and knobs in force; `library`:
    the prefix of another installation; `flags`: compiler flags of the probe; `governor`: of the
    frequency; `neighbours`: busy processes beside the launch."""

    factor: str
    name: str
    settings: dict[str, str] = {}
    plan: dict[str, str] = {}
    variables: dict[str, str] = {}
    library: str = ""
    flags: str = ""
    governor: str = ""
    neighbours: int = 0

    @property
    def text(self) -> str:
        return f"{self.factor}={self.name}"

    @property
    def needs_start(self) -> bool:
        """Return whether ranks have the level from their start on: processes read it then."""
        return bool(self.settings or self.variables or self.library or self.flags)

    @contextmanager
    def beside(self, folder: Path = _GOVERNORS) -> Iterator[None]:
        """Keep the machine in the state of the level as long as the context lasts; `folder`: where
        the kernel has the governors. Raises PlumblineError where a governor cannot be set."""
        with ExitStack() as closing:
            if self.governor:
                closing.enter_context(_governed(self.governor, folder))
            for _ in range(self.neighbours):
                closing.enter_context(_neighbour())
            yield


class Base(msgspec.Struct, frozen=True):
    """The base that all levels are compared with. `settings` have the way of use that they stand
    for on this machine."""

    settings: Settings
    toolchain: Toolchain
    governors: Path = _GOVERNORS


class _Factor(msgspec.Struct, frozen=True):
    """A factor of the table. `base`: the name of its level in the base; `levels`: those that are
    measured where none is named, beside the base; `level`: the level of a name."""

    base: Callable[[Base], str]
    levels: Callable[[Base], list[str]]
    level: Callable[[str], Level]
    is_usual: bool = True


def _pinning(name: str) -> Level:
    return Level("pinning", _one_of("pinning", name, BINDS), settings={"bind": name})


def _cache(name: str) -> Level:
    return Level("cache", name, plan={"cache": name})


def _start(name: str) -> Level:
    runtime = "local" if name in (BARRIER, "dissemination", "none") else "global"
    return Level("start", name, plan={"sync": name, "runtime": runtime})


def _clock(name: str) -> Level:
    return Level("clock", name, plan={"clock": name})


def _neighbours(name: str) -> Level:
    if not name.isdecimal() or not 1 <= int(name) <= _MOST_NEIGHBOURS:
        raise UsageError(f"neighbour={name}: name 1 to {_MOST_NEIGHBOURS} busy processes")
    return Level("neighbour", name, neighbours=int(name))


def _frequency(name: str) -> Level:
    return Level("frequency", name, governor=name)


def _flags(name: str) -> Level:
    return Level("flags", name, flags=name)


def _library(name: str) -> Level:
    return Level("library", name, library=name)


def _bound_in(base: Base) -> str:
    """Return what the ranks of the base are bound to: to cores where they share them."""
    ranks = base.settings.ranks
    held = ranks.placement(base.toolchain.launcher.processing_units()).held
    return ranks.bind or ("core" if held else PLAIN)


def _other_scheme(base: Base) -> list[str]:
    """Return the start scheme of the paper that the base has not: barrier or window."""
    usual = (BARRIER, USES["synchronised"][0])
    return [name for name in usual if name != base.settings.start_scheme]


def _timers(base: Base) -> list[str]:
    """Return MPI_Wtime and the time stamp counter, where the probe has them."""
    return [name for name in ("wtime", "tsc") if name in base.toolchain.catalogue.clocks]


def _governors(base: Base) -> list[str]:
    """Return the governors that can be set here, without the one in force."""
    files = _governor_files(base.governors)
    if not files or not all(os.access(file, os.W_OK) for file in files):
        return []
    available = _words(files[0].with_name("scaling_available_governors"))
    return [name for name in available if name not in _words(files[0])]


FACTORS: dict[str, _Factor] = {
    "pinning": _Factor(
        _bound_in, lambda base: [n for n in ("core", "none") if n != _bound_in(base)], _pinning
    ),
    "cache": _Factor(lambda _: "warm", lambda _: ["overwrite"], _cache),
    "start": _Factor(lambda base: base.settings.start_scheme, _other_scheme, _start),
    "clock": _Factor(lambda _: "monotonic_raw", _timers, _clock),
    "neighbour": _Factor(lambda _: "0", lambda _: ["1"], _neighbours),
    "frequency": _Factor(
        lambda base: " ".join(_words(*_governor_files(base.governors)[:1])) or "not known",
        _governors,
        _frequency,
    ),
    "flags": _Factor(lambda _: "as built", lambda _: ["-O1", "-O3"], _flags, is_usual=False),
    "library": _Factor(
        lambda base: base.toolchain.installation.library.id, lambda _: [], _library, is_usual=False
    ),
}


def parse(words: Sequence[str], base: Base) -> list[Level]:
    """Return the levels that `words` name, or the usual ones without words, in their order. Raises
    UsageError for a word that names none, or a level that cannot be set here."""
    named = words or [name for name, factor in FACTORS.items() if factor.is_usual]
    levels: dict[str, Level] = {}
    for word in named:
        for level in _levels(word, base, is_asked=bool(words)):
            levels.setdefault(level.text, level)
    return list(levels.values())


def _levels(word: str, base: Base, *, is_asked: bool) -> list[Level]:
    name, equals, value = word.partition("=")
    factor = FACTORS.get(name)
    if factor is None:
        return [_variable(word, name, value)]
    if equals:
        if not value:
            raise UsageError(f"{word!r} names no level; a factor is {SYNTAX}")
        _require_governor(name, value, base)
        level = factor.level(value)
        if value == factor.base(base):
            raise UsageError(f"{word}: the base has this level already; name another one")
        return [level]
    names = factor.levels(base)
    if not names and is_asked:
        raise UsageError(f"{name}: {_without_levels(name, base)}")
    return [factor.level(name_of_level) for name_of_level in names]


def _variable(word: str, name: str, value: str) -> Level:
    meant = mistakes.near_to(name, list(FACTORS))
    if meant or not value or not _NAME.match(name):
        instead = f" (did you mean {' or '.join(meant)}?)" if meant else ""
        raise UsageError(
            f"{word!r} is no factor{instead}; a factor is {SYNTAX}; factors are "
            f"{', '.join(FACTORS)}"
        )
    return Level(name, value, variables={name: value})


def _without_levels(name: str, base: Base) -> str:
    if name == "library":
        return "name another installation, as library=PREFIX or library=module:NAME"
    if name == "frequency" and _governor_files(base.governors):
        return f"the files scaling_governor below {base.governors} are not writable for this user"
    if name == "frequency":
        return f"the kernel lets nobody set governors here ({base.governors} has none)"
    return "no other level can be measured here; name one"


def _require_governor(name: str, value: str, base: Base) -> None:
    """Raise UsageError for a governor that cannot be set here."""
    if name == "frequency" and value not in (governors := _governors(base)):
        why = f"choose from {', '.join(governors)}" if governors else _without_levels(name, base)
        raise UsageError(f"frequency={value}: {why}")


def _one_of(factor: str, name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UsageError(f"{factor}={name}: name one of {', '.join(names)}")
    return name


# --- the machine ----------------------------------------------------------------------------------


def _governor_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("policy*/scaling_governor"))


def _words(*files: Path) -> list[str]:
    try:
        return [word for file in files for word in file.read_text().split()]
    except OSError:
        return []


@contextmanager
def _governed(governor: str, folder: Path) -> Iterator[None]:
    """Set the governor of all processors, and put back what was set before."""
    earlier = {file: file.read_text() for file in _governor_files(folder)}
    try:
        _write(dict.fromkeys(earlier, governor))
        yield
    finally:
        _write(earlier)


def _write(governors: Mapping[Path, str]) -> None:
    try:
        for file, governor in governors.items():
            file.write_text(governor)
    except OSError as error:
        raise PlumblineError(
            f"cannot write {error.filename}: {error.strerror}; leave out the factor frequency, or "
            "set it as a user who may"
        ) from error


@contextmanager
def _neighbour() -> Iterator[None]:
    """Keep a process busy, on whatever processing unit the kernel puts it."""
    with open(os.devnull, "wb") as nowhere:
        busy: Any = process.start(
            [sys.executable, "-c", "while True: pass"], None, out=subprocess.DEVNULL, err=nowhere
        )
        try:
            yield
        finally:
            process.end_session(busy)
