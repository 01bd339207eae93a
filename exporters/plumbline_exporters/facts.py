"""Facts that search-spaces/*.toml say of the algorithms of a family, for those who write and read
its files. The tuner reads the same files, strictly (plumbline/libraries/space_file.py)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from plumbline_db.errors import PlumblineError

# The shorthand of search spaces, written out: what one says once for many.
# The `rows` of a table share what stands beside them. What says `alike = "radix"` has the keys of
# `[alike.radix]` too, where it does not say others. A setting that stands alike for several
# functions, or ignored knobs of them, name these in `each`, and have `{function}` (MPI_Bcast),
# `{name}` (bcast) and `{NAME}` (BCAST) where they differ; so has the table of a function. `presets
# = 3` are the algorithms 1, 2 and 3, of which no more than the number is known.

_Table = dict[str, Any]


def written_out(data: _Table) -> _Table:
    """The file's tables one by one. Raises ValueError."""
    alike = msgspec.convert(data.get("alike", {}), dict[str, _Table])
    written = {key: value for key, value in data.items() if key != "alike"}
    if "function" in data:
        rows = _rows(data["function"], alike)
        written["function"] = [_function(table, alike) for table in rows]
    for key in ("setting", "ignored"):
        if key in data:
            rows = _rows(data[key], alike)
            written[key] = [table for row in rows for table in _for_each(row)]
    return written


def _rows(tables: Any, alike: Mapping[str, _Table]) -> Iterator[_Table]:
    for table in msgspec.convert(tables, list[_Table]):
        shared = {key: value for key, value in table.items() if key != "rows"}
        for row in msgspec.convert(table.get("rows", [{}]), list[_Table]):
            whole = shared | row
            name = whole.pop("alike", None)
            if name is not None and name not in alike:
                raise ValueError(f"the table [alike.{name!s:.100}] is missing")
            yield alike.get(name, {}) | whole


def _function(table: _Table, alike: Mapping[str, _Table]) -> _Table:
    filled: _Table = _filled(table, str(table.get("name")))
    if "parameters" in filled:
        filled["parameters"] = list(_rows(filled["parameters"], alike))
    if "presets" in filled:
        count = msgspec.convert(filled.pop("presets"), Annotated[int, msgspec.Meta(ge=1, le=1000)])
        filled["algorithms"] = [
            {"id": number, "name": str(number), "summary": f"preset {number} of {count}"}
            for number in range(1, count + 1)
        ]
    return filled


def _for_each(table: _Table) -> Iterator[_Table]:
    """A setting of each of the functions that it names so, or all their knobs that are ignored."""
    if "each" not in table:
        yield table
        return
    knobs = table.get("knobs", table.get("knob"))
    if "functions" in table or "{" not in str(knobs):
        raise ValueError(f"each wants a {{name}} in the knob, and no functions: {table!s:.200}")
    alike = {key: value for key, value in table.items() if key != "each"}
    ignored: list[Any] = []
    for function in msgspec.convert(table["each"], list[str]):
        if isinstance(knobs, list):
            ignored += _filled(knobs, function)
        else:
            yield _filled(alike, function) | {"functions": [function]}
    if ignored:
        yield alike | {"knobs": ignored}


def _filled(value: Any, function: str) -> Any:
    """Return the value with the function's name in its forms."""
    if isinstance(value, dict):
        return {_filled(key, function): _filled(entry, function) for key, entry in value.items()}
    if isinstance(value, list):
        return [_filled(entry, function) for entry in value]
    if isinstance(value, str):
        name = function.removeprefix("MPI_")
        for hole, word in (("function", function), ("name", name.lower()), ("NAME", name.upper())):
            value = value.replace(f"{{{hole}}}", word)
    return value


class Algorithm(msgspec.Struct, frozen=True):
    """`id` is 0 where names have no numbers; `min_version` is the first that has it. `looks_for` is
    what the library sees to where a variable names it, and an exported file must see to itself."""

    name: str
    id: int = 0
    commutative_only: bool = False
    min_version: str = "0"
    looks_for: tuple[str, ...] = ()


class Function(msgspec.Struct, frozen=True):
    name: str
    knob: str = ""
    algorithms: tuple[Algorithm, ...] = ()

    def commutative_only(self) -> frozenset[str]:
        return frozenset(
            algorithm.name for algorithm in self.algorithms if algorithm.commutative_only
        )


class _Space(msgspec.Struct, frozen=True):
    function: tuple[Function, ...]


@cache
def functions(family: str) -> dict[str, Function]:
    """Return by name; of a file that is like another one, what it adds alone."""
    path = folder() / f"{family}.toml"
    try:
        data = written_out(tomllib.loads(path.read_text(encoding="utf-8")))
        space = msgspec.convert(data, _Space)
    except OSError as error:
        raise PlumblineError(
            f"{path}: {error.strerror}: it says what {family}'s algorithms are; install "
            "Plumbline again, or set PLUMBLINE_PREFIX to the prefix it is installed under"
        ) from error
    except ValueError as error:  # of TOML, msgspec, and written_out
        raise PlumblineError(f"search space {path}: {error}") from error
    return {entry.name: entry for entry in space.function}


def function(family: str, name: str) -> Function:
    """One without algorithms where the family's file does not speak of it."""
    return functions(family).get(name, Function(name))


def folder() -> Path:
    """Return where search spaces lie for this package: as plumbline/system/paths.py has it, which
    it cannot ask."""
    named = os.environ.get("PLUMBLINE_PREFIX")
    if named:
        return _installed(Path(named).absolute())
    this_file = Path(__file__).resolve()
    checkout = this_file.parents[2]
    if (checkout / "search-spaces").is_dir() and (checkout / "probes").is_dir():
        return checkout / "search-spaces"
    carried = this_file.parents[1] / "plumbline" / "sources" / "search-spaces"
    own = _installed(this_file.parents[4])
    return carried if carried.is_dir() and not own.is_dir() else own


def _installed(prefix: Path) -> Path:
    return prefix / "share" / "plumbline" / "search-spaces"
