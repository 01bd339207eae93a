"""Facts that search-spaces/*.toml say of the algorithms of a family, for those who write and read
its files. The tuner reads the same files, strictly (plumbline/libraries/space_file.py)."""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_exporters import shorthand


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
        data = shorthand.written_out(tomllib.loads(path.read_text(encoding="utf-8")))
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
