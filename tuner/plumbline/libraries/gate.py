"""The gate for winners that leave in a file. It lets through functions that exist, variants as we
name them, and knobs of the search space with values that the space allows, whatever a database
says.

Every bundle of winners is asked here (plumbline_exporters.bundle), and so are winners of earlier
campaigns before a launch tries them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from plumbline import libraries
from plumbline.libraries import Family, Installation, space_file
from plumbline.libraries.space import AlgorithmParameter, Setting, Space
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Library, Winner
from plumbline_exporters import by_size, families
from plumbline_exporters.bundle import Refusal

_FUNCTION = re.compile(r"MPI_[A-Z][A-Za-z_]{1,60}\Z")
# The preload library refuses a whole profile if it does not know one of its variants.
_VARIANT = re.compile(r"[a-z0-9_]{1,100}(?::[a-z_]+=[0-9]{1,18}(?:,[a-z_]+=[0-9]{1,18})*)?\Z")
_CANARY = "canary"  # makes calls fail; only a proof names it
_LAYOUT = "[0-9]{1,8}x[0-9]{1,8}"
_RESTRICTION = re.compile(
    r"[a-z_]{1,40}(?:=[a-z_]{1,40})?\Z"
    r"|(?:nprocs|nodes|ppn)=[0-9]{1,8}-[0-9]{1,8}\Z"
    rf"|(?:measured|carried|checked)={_LAYOUT}(?:,{_LAYOUT})*\Z"
)
_WHOLE = re.compile(r"-?[0-9]{1,19}\Z")


def of_library(library: Library) -> Refusal:
    """Return the gate of the installed search space for this family and version."""
    return of_space(space_file.for_library(paths.layout().search_spaces, library))


def of_space(space: Space) -> Refusal:
    """Return a function that says why a winner may not leave; an empty text lets it through."""

    of_functions, of_process = _of_functions(space), _of_settings(space)

    def refusal(winner: Winner) -> str:
        whole = winner.function == EVERY_FUNCTION
        return next(_problems(winner, of_process if whole else of_functions, space.family), "")

    return refusal


def _problems(winner: Winner, allowed: Mapping[str, _Legal], family: str) -> Iterator[str]:
    whole = winner.function == EVERY_FUNCTION
    if not whole and not _FUNCTION.match(winner.function):
        yield "is not for an MPI function"
    named = _VARIANT.match(winner.variant) and winner.variant != _CANARY
    if winner.variant != "default" and (whole or not named):
        yield f"names {winner.variant!r:.100}, which is not one of our variants"
    for word in winner.restrictions:
        if not _RESTRICTION.match(word):
            yield f"has an unknown condition: {word!r:.100}"
    for name, value in winner.configuration.items():
        if name not in allowed:
            yield (
                f"sets {name!r:.100} to {value!r:.200}, which is nothing that Plumbline tunes "
                f"{'for a whole process' if whole else 'for a function'} of {family}"
            )
        elif not allowed[name].holds(value):
            yield f"sets {name} to {value!r:.200}, which the search space does not allow"


class _Legal:
    """Values of a knob: words, or whole numbers in some ranges. `ranged`: a value for each range of
    sizes may stand there as well, of these algorithms."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.numbers: list[tuple[int, int]] = []
        self.ranged: frozenset[int] = frozenset()

    def holds(self, value: str) -> bool:
        if value in self.words:
            return True
        if _WHOLE.match(value):
            return any(least <= int(value) <= most for least, most in self.numbers)
        try:
            return bool(self.ranged) and all(
                part.algorithm in self.ranged for part in by_size.read(value)
            )
        except ValueError:
            return False

    def add(self, number: AlgorithmParameter | Setting) -> None:
        """Allow the values of a parameter or a setting."""
        self.words |= {str(value) for value in number.values}
        if number.default is not None:
            self.words.add(number.default)
        if number.unit != "choice":
            self.numbers.append((number.least, number.most))


def _add(allowed: dict[str, _Legal], exactly: Mapping[str, str]) -> None:
    for name, value in exactly.items():
        allowed.setdefault(name, _Legal()).words.add(value)


def _of_functions(space: Space) -> dict[str, _Legal]:
    """Knobs of all functions: what a function is made of may be chosen beside it."""
    allowed: dict[str, _Legal] = {}
    for entry in space.function:
        legal = allowed.setdefault(entry.knob, _Legal())
        offered = [algorithm for algorithm in entry.algorithms if not algorithm.left_out]
        legal.words |= {algorithm.name for algorithm in offered} | {
            str(algorithm.id) for algorithm in offered if algorithm.id
        }
        legal.words |= {entry.own} - {""}
        if space.site_rules is not None:
            legal.words.add(space.site_rules.own_decision)
        legal.ranged = families.in_ranges(entry.knob) if entry.sizes == "ranges" else frozenset()
        for parameter in entry.parameters:
            allowed.setdefault(parameter.knob, _Legal()).add(parameter)
        for needs in (
            entry.needs,
            entry.needs_nodes,
            *(algorithm.needs for algorithm in entry.algorithms),
        ):
            _add(allowed, needs)
    return allowed


def _of_settings(space: Space) -> dict[str, _Legal]:
    """Knobs of the process as a whole, and what they are read under."""
    allowed: dict[str, _Legal] = {}
    for setting in space.setting:
        allowed.setdefault(setting.knob, _Legal()).add(setting)
        for needs in (setting.when, *setting.needs.values()):
            _add(allowed, needs)
    return allowed


def installed(library: Library, mpi_prefix: Path | None = None) -> tuple[Family, Installation]:
    """The installation of this very build: under `mpi_prefix` (or `module:NAME`), else where it
    was, else on PATH. Raises PlumblineError where another build, or nothing, is there."""
    if mpi_prefix is not None:
        family, installation = libraries.find(mpi_prefix)
        candidates = [installation]
    else:
        family = _family(library)
        candidates = _candidates(family, library)
    for installation in candidates:
        if installation.library.fingerprint == library.fingerprint:
            return family, installation
    if not candidates:
        raise PlumblineError(
            f"{library.id} is installed neither under {library.prefix} nor on PATH: name its "
            "prefix with --mpi"
        )
    found_library = candidates[0].library
    raise PlumblineError(
        f"made for {library.id} (fingerprint {library.fingerprint}), and {found_library.prefix} "
        "has "
        f"{found_library.id} ({found_library.fingerprint}): the library was updated or is another "
        "one; run a "
        "campaign for it"
    )


def other(library: Library) -> str | None:
    """Return why files for `library` do not fit what is installed; None where they do, or where
    nothing is there to compare with."""
    candidates = _candidates(_family(library), library)
    if not candidates:
        return None
    try:
        installed(library)
    except PlumblineError as error:
        return str(error)
    return None


def _family(library: Library) -> Family:
    family = libraries.of_name(library.family)
    if family is None:
        raise PlumblineError(f"{library.id} belongs to an unknown family: {library.family}")
    return family


def _candidates(family: Family, library: Library) -> list[Installation]:
    """Return the installations under the library's prefix or, if there are none, those on PATH."""
    prefix = Path(library.prefix)  # of an imported one: no folder of this machine
    is_there = prefix.is_absolute() and prefix.is_dir()
    return (family.find(prefix) if is_there else []) or family.find(None)
