"""Reads search-spaces/*.toml: one file a library family, called after it.

A table, or a word in a list as `{ value = "…" }`, that some versions lack says `min_version` or
`below_version`; `since."5.0"` in a table has its keys that are others from this version on.
`facts.py` of the exporters has what spares a file to say a thing twice. With
`like = "FAMILY-VERSION"` a file adds
to the functions of another one.

Strict: an unknown key, a parameter of an algorithm that does not exist, or a knob named twice is
an error that names the file."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from plumbline.libraries.space import Space
from plumbline.system import answers, mistakes, toml, version
from plumbline.system.toml import Document
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Library
from plumbline_exporters import facts, families
from plumbline_exporters.finding import Known, Parameter
from plumbline_exporters.lint import parameters


def known_parameters(folder: Path) -> tuple[Known, ...]:
    """Return what the linter knows: the versions of each table in `folder`/parameters; those of
    the search space where a family has none."""
    return tuple(
        version_known
        for path in sorted(folder.glob("*.toml"))
        if path.stem in families.linted()
        for version_known in _of_family(path, folder / "parameters" / f"{path.stem}.tsv")
    )


def _of_family(path: Path, table: Path) -> Iterator[Known]:
    """A table says what is taken; the search space, what changes nothing, who reads what, and what
    is taken where the table takes any text."""
    spaces = [_of(space) for space in load(path)]
    if not table.is_file():
        yield from spaces
        return
    for column in parameters.read(table):
        space = next((space for space in spaces if space.holds((*column.minimum, 0))), None)
        nearest = space or spaces[0 if column.minimum < spaces[0].minimum else -1]
        of_space = {} if space is None else space.parameters
        yield msgspec.structs.replace(
            column,
            parameters={
                **column.parameters,
                **{
                    name: parameter
                    for name, parameter in of_space.items()
                    if parameter.dead
                    or (parameter.pattern and column.parameters.get(name) == Parameter())
                },
            },
            readers=nearest.readers,
        )


def _of(space: Space) -> Known:
    return Known(
        family=space.family,
        minimum=version.key(space.min_version),
        below=version.key(space.below_version),
        prefixes=tuple(space.prefixes),
        parameters=dict(_parameters(space)),
        readers={
            parameter.knob: frozenset(parameter.algorithms)
            for entry in space.function
            for parameter in entry.parameters
        },
    )


def _parameters(space: Space) -> Iterator[tuple[str, Parameter]]:
    """Later ones say more than earlier ones of the same name."""
    yield from ((knob, Parameter()) for knob in space.knobs())
    for ignored in space.ignored:
        dead = ignored.reason if ignored.dead else ""
        yield from ((knob, Parameter(dead=dead)) for knob in ignored.knobs)
    for entry in space.function:
        own_decision = families.linted()[space.family].own_decision
        names = [algorithm.name for algorithm in entry.algorithms]
        numbers = [str(algorithm.id) for algorithm in entry.algorithms if algorithm.id]
        words = sorted({*names, *numbers, *own_decision})
        yield entry.knob, Parameter("|".join(map(re.escape, words)), ", ".join(words))


_RANGE = ("min_version", "below_version")
# A knob is an MCA parameter or a variable; SimGrid's options have a slash.
_KNOB = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z0-9_-]+)*\Z")
_SWITCH = {"values": [0, 1], "most": 1}  # the defaults of a unit of this name
_LIKE = re.compile(r"([a-z0-9]+)-([0-9.]+)\Z")


class _Addition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The things that a file has beyond a function of the one that it is like."""

    name: str
    algorithms: list[dict[str, Any]] = []
    parameters: list[dict[str, Any]] = []


class _Additions(msgspec.Struct, frozen=True):
    like: str = ""
    prefixes: list[Any] = []
    function: list[_Addition] = []


def for_library(folder: Path, library: Library) -> Space:
    """The space of the library's family in `folder`, for the library's version. A job may remember
    it as long as the files and their reader are unchanged."""
    path = folder / f"{library.family}.toml"
    text = answers.ask(
        ("search space", str(path), library.version),
        lambda: msgspec.json.encode(_for_library(path, library)).decode(),
        lambda _: [*folder.glob("**/*"), folder, Path(__file__), Path(facts.__file__)],
    )
    return msgspec.json.decode(text, type=Space)


def _for_library(path: Path, library: Library) -> Space:
    for space in load(path) if path.is_file() else ():
        if space.holds(library.version):
            return space
    raise PlumblineError(
        f"no search space in {path.parent} fits {library.id}; set min_version and below_version of "
        f"{path.name} so that one does, and compare it with `{command_name()} doctor`"
    )


def load(path: Path) -> tuple[Space, ...]:
    """Return one space for each range of versions in which nothing changes, the oldest first. A
    process reads a file again when it, one beside it or its table has changed."""
    table = path.parent / "parameters" / f"{path.stem}.tsv"
    return _of_files(path, table, tuple(map(_state, [*sorted(path.parent.glob("*.toml")), table])))


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with the file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=16)
def _of_files(path: Path, table: Path, states: tuple[object, ...]) -> tuple[Space, ...]:
    del states
    versions = parameters.rows(table)[1].values() if table.is_file() else ()
    names = frozenset(name for version in versions for name in version)
    return tuple(
        msgspec.structs.replace(space.whole(), registered=names) for space in _as_written(path)
    )


def _as_written(path: Path) -> list[Space]:
    name = f"search space {path}"
    document = toml.read(path, name)
    data = document.values
    spaces = []
    try:
        data = facts.written_out(data)
        data = _joined(path, document, data) if "like" in data else data
        for lower, upper in pairwise(_bounds(data)):
            head = {"family": path.stem, "min_version": lower, "below_version": upper}
            spaces.append(document.convert(Space, _at(data, lower) | head))
            _check(spaces[-1])
    except msgspec.ValidationError as error:
        raise document.mistake(error, mistakes.fields_of(Space), data) from error
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    return spaces


def _joined(path: Path, document: Document, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with the functions of the file that this one is like, in one version of it: a
    choice holds for the process and all sizes, nothing is known of numbers and schedules, and their
    knobs are prefixes."""
    added = document.convert(_Additions, data)
    match = _LIKE.match(added.like)
    if match is None or match[1] == path.stem:
        raise ValueError(f"like does not name FAMILY-VERSION of another file: {added.like!r:.100}")
    bases = _as_written(path.with_name(f"{match[1]}.toml"))
    base = next((space for space in bases if space.holds(match[2])), None)
    if base is None:
        raise ValueError(f"{match[1]}.toml does not contain {match[2]}")
    missing = {addition.name for addition in added.function}
    missing -= {entry.name for entry in base.function}
    if missing:
        raise ValueError(f"{added.like} has no {', '.join(sorted(missing))}")
    functions, prefixes = [], [*added.prefixes]
    for entry in base.function:
        function = msgspec.to_builtins(entry) | {"sizes": "one"}
        for algorithm in function["algorithms"]:
            del algorithm["id"], algorithm["schedule"]
        for parameter in function["parameters"]:
            parameter["scope"] = "process"
        for addition in added.function:
            if addition.name == entry.name:
                function["algorithms"] += addition.algorithms
                function["parameters"] += addition.parameters
        functions.append(function)
        prefixes += [knobs.get("knob") for knobs in (function, *function["parameters"])]
    own = {key: value for key, value in data.items() if key != "like"}
    return own | {"prefixes": prefixes, "function": functions}


def _bounds(data: dict[str, Any]) -> list[str]:
    """Return from which versions on something is another; last, the first that the file does not
    hold."""
    if not all(key in data for key in _RANGE):
        raise ValueError("min_version and below_version are missing")
    if "family" in data:
        raise ValueError("the name of the file is the family")
    tables = list(_ranged(data))
    texts = {version.key(text): text for table in tables for text in _versions(table)}
    inner = [text for _, text in sorted(texts.items()) if _holds(data, text)]
    for table in tables:
        lasting = {version.key(text) for text in inner if _holds(table, text)}
        if not lasting or not {version.key(text) for text in table.get("since", ())} <= lasting:
            raise ValueError(f"a table is for versions that do not exist: {str(table)[:200]}")
    return [*inner, data["below_version"]]


def _ranged(value: Any) -> Iterator[dict[str, Any]]:
    """The tables that speak of versions."""
    if isinstance(value, dict):
        if value.keys() & {*_RANGE, "since"}:
            yield value
        for inner in value.values():
            yield from _ranged(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ranged(inner)


def _versions(table: dict[str, Any]) -> Iterator[str]:
    since = table.get("since", {})
    if not isinstance(since, dict) or not all(
        isinstance(alternative, dict) for alternative in since.values()
    ):
        raise ValueError(f"since is not a table of tables: {since!r:.100}")
    for text in (*since, *(table[key] for key in _RANGE if key in table)):
        if not isinstance(text, str):
            raise ValueError(f"not a version number: {text!r:.100}")
        yield text


def _holds(table: Any, release: str) -> bool:
    """Return whether this version has it; what speaks of no versions, all have."""
    if not isinstance(table, dict):
        return True
    below = table.get("below_version")
    return version.at_least(release, table.get("min_version", "0")) and not (
        below and version.at_least(release, below)
    )


def _at(value: Any, release: str) -> Any:
    """Return the value as this version has it."""
    if isinstance(value, list):
        return [_word(_at(entry, release)) for entry in value if _holds(entry, release)]
    if not isinstance(value, dict):
        return value
    since = value.get("since", {})
    kept = {key: entry for key, entry in value.items() if key not in (*_RANGE, "since")}
    for bound in sorted(since, key=version.key):
        if version.at_least(release, bound):
            kept |= since[bound]
    if kept.get("unit") == "switch":
        kept = _SWITCH | kept
    return {key: _at(entry, release) for key, entry in kept.items()}


def _word(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) and value.keys() == {"value"} else value


def _check(space: Space) -> None:
    """Raises ValueError."""
    names = [name for entry in space.function for name in (entry.name, *entry.also)]
    groups = [
        [entry.knob, *(parameter.knob for parameter in entry.parameters)]
        for entry in space.function
    ]
    groups += [[setting.knob] for setting in space.setting]
    groups += [ignored.knobs for ignored in space.ignored]
    for name in (*_twice(names), *_twice(knob for knobs in groups for knob in knobs)):
        raise ValueError(f"{name} is defined twice")
    for entry in space.function:
        if entry.overlap and not entry.own:
            raise ValueError(
                f"{entry.name}: overlap needs the value with which the library decides"
            )
        algorithms = [algorithm.name for algorithm in entry.algorithms]
        for repeated in _twice(algorithms):
            raise ValueError(f"{entry.name} lists an algorithm twice: {repeated}")
        for parameter in entry.parameters:
            version.key(parameter.each_since)
            unknown = set(parameter.algorithms) - set(algorithms)
            if unknown:
                raise ValueError(
                    f"{parameter.knob} names algorithms that {entry.name} does not have: "
                    + ", ".join(sorted(unknown))
                )
    for knob in space.knobs():
        if not _KNOB.match(knob):
            raise ValueError(f"{knob!r} is not the name of a parameter")
    for setting in space.setting:
        numbers = [value for value in setting.values if isinstance(value, int)]
        if any(not setting.least <= value <= setting.most for value in numbers):
            raise ValueError(f"{setting.knob}: a value is out of its range")
        if not {*setting.usual} <= {*setting.values}:
            raise ValueError(f"{setting.knob}: a usual value is not one of its values")
        if setting.usual and setting.unit != "bytes":
            raise ValueError(f"{setting.knob}: usual values are lengths of messages, in bytes")


def _twice(words: Iterable[str]) -> list[str]:
    return [word for word, count in Counter(words).items() if count > 1]
