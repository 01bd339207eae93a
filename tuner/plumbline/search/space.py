"""Search spaces: what may be tuned in a library, read from search-spaces/*.toml.

Strict: an unknown key, a parameter of an algorithm that does not exist, or a knob named twice is
an error that names the file. Comparing a space with what the installed library reports is here
too; deciding what to try is not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from plumbline import version
from plumbline.libraries import Knob
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Library


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Algorithm(_Entry, frozen=True):
    """One value of a function's algorithm knob, and where it may be used."""

    id: int
    name: str
    summary: str
    commutative_only: bool = False
    power_of_two: bool = False
    even_processes: bool = False
    min_processes: int = 1
    max_processes: int = 2**31 - 1

    def fits(self, nprocs: int) -> bool:
        if self.power_of_two and nprocs & (nprocs - 1):
            return False
        if self.even_processes and nprocs % 2:
            return False
        return self.min_processes <= nprocs <= self.max_processes


class Parameter(_Entry, frozen=True):
    """A numeric knob that only some algorithms read. `rules` says in which version of the rules
    file it can be written per message size; `global` means one value for the whole process."""

    knob: str
    algorithms: list[str]
    values: list[int]
    unit: str
    rules: Literal["v1", "v2", "global"]
    summary: str


class FunctionSpace(_Entry, frozen=True):
    """`sizes` is `each` where the choice may depend on the message size, `one` where a legal
    program needs the same choice for every size."""

    name: str
    knob: str
    sizes: Literal["each", "one"]
    summary: str
    algorithms: list[Algorithm]
    parameters: list[Parameter] = []

    def algorithm(self, name: str) -> Algorithm:
        return next(one for one in self.algorithms if one.name == name)

    def parameters_of(self, algorithm: str) -> list[Parameter]:
        return [one for one in self.parameters if algorithm in one.algorithms]


class Ignored(_Entry, frozen=True):
    reason: str
    knobs: list[str]


class Hot(_Entry, frozen=True):
    """What a launch needs so that knobs can be switched inside it."""

    environment: dict[str, str]


class Space(_Entry, frozen=True):
    family: str
    min_version: str
    below_version: str
    parameters_prefix: str
    rules_v2_since: str
    hot: Hot
    function: list[FunctionSpace]
    ignored: list[Ignored] = []

    def of(self, function: str) -> FunctionSpace | None:
        return next((one for one in self.function if one.name == function), None)

    def knobs(self) -> dict[str, str]:
        """Every knob the file speaks of, with the function or the reason it stands under."""
        found: dict[str, str] = {}
        for entry in self.function:
            found[entry.knob] = entry.name
            found.update({parameter.knob: entry.name for parameter in entry.parameters})
        for ignored in self.ignored:
            found.update(dict.fromkeys(ignored.knobs, ignored.reason))
        return found


def load(path: Path) -> Space:
    try:
        space = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Space)
    except OSError as error:
        raise PlumblineError(f"cannot read search space {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"search space {path}: {error}") from error
    _check(path, space)
    return space


def for_library(folder: Path, library: Library) -> Space:
    """The one space in `folder` whose family and version range hold `library`."""
    fitting = []
    for path in sorted(folder.glob("*.toml")):
        space = load(path)
        if (
            space.family == library.family
            and version.at_least(library.version, space.min_version)
            and not version.at_least(library.version, space.below_version)
        ):
            fitting.append((path, space))
    if not fitting:
        raise PlumblineError(
            f"no search space in {folder} fits {library.id}; copy the nearest one, set its "
            "min_version and below_version, and compare it with `plumbline doctor`"
        )
    if len(fitting) > 1:
        names = " and ".join(path.name for path, _ in fitting)
        raise UsageError(f"{names} both hold {library.id}: their version ranges overlap")
    return fitting[0][1]


def differences(space: Space, installed: Mapping[str, Knob]) -> list[str]:
    """What the space and the installed library do not have in common, as sentences."""
    known = space.knobs()
    reported = {name for name in installed if name.startswith(space.parameters_prefix)}
    found = [
        f"{name} is reported by the library but stands nowhere in the search space"
        for name in sorted(reported - known.keys())
    ]
    found += [
        f"{name} ({known[name]}) stands in the search space but the library does not report it"
        for name in sorted(known.keys() - reported)
    ]
    for entry in space.function:
        if entry.knob in installed:
            found += _enumerator_differences(entry, installed[entry.knob])
    return found


def _enumerator_differences(entry: FunctionSpace, knob: Knob) -> Iterable[str]:
    ours = {one.name: one.id for one in entry.algorithms}
    theirs = {name: number for name, number in knob.choices.items() if number != 0}
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield (
                f"{entry.knob}: algorithm {name} is {ours.get(name, 'missing')} in the search "
                f"space and {theirs.get(name, 'missing')} in the library"
            )


def _check(path: Path, space: Space) -> None:
    seen: set[str] = set()
    functions = [entry.name for entry in space.function]
    for entry in space.function:
        if functions.count(entry.name) > 1:
            raise UsageError(f"search space {path}: {entry.name} stands there twice")
        names = [one.name for one in entry.algorithms]
        for parameter in entry.parameters:
            unknown = set(parameter.algorithms) - set(names)
            if unknown:
                raise UsageError(
                    f"search space {path}: {parameter.knob} names algorithms that {entry.name} "
                    f"does not have: {', '.join(sorted(unknown))}"
                )
        if len(set(names)) != len(names):
            raise UsageError(f"search space {path}: {entry.name} lists an algorithm twice")
    groups: list[list[str]] = [
        [entry.knob, *(one.knob for one in entry.parameters)] for entry in space.function
    ]
    groups += [ignored.knobs for ignored in space.ignored]
    for knob in (knob for group in groups for knob in group):
        if knob in seen:
            raise UsageError(f"search space {path}: {knob} stands there twice")
        seen.add(knob)
    for bound in (space.min_version, space.below_version, space.rules_v2_since):
        try:
            version.key(bound)
        except ValueError as error:
            raise UsageError(f"search space {path}: {error}") from error
