"""MPI families: one file each, registered by decorator.

A family finds its installations, tells what one reports about itself, and knows what its launcher
needs in the environment. It starts nothing but the library's own tools."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import msgspec

from plumbline.core.reach import Reach
from plumbline.libraries.canary import Canary
from plumbline.system import modules, version
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library

# Variables that reach a library, or what it stands on, as they are.
_OF_LIBRARIES = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "MVP_", "MV2_", "I_MPI_")
# Ids are names of folders and files.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
_BELOW = ("PMIX_MCA_", "PRTE_MCA_", "HYDRA_", "UCX_", "FI_")


def reaching(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_OF_LIBRARIES + _BELOW)
    }


class Installation(msgspec.Struct, frozen=True):
    """One installed MPI. `mpicc` is None where only the run-time part is installed. `environment`:
    what the module sets by which it was found."""

    library: Library
    mpirun: Path
    mpicc: Path | None
    environment: dict[str, str] = {}


class Knob(msgspec.Struct, frozen=True):
    """A parameter as the library itself reports it; `choices` maps enumerator names to ids.
    `source` is empty for the library's own default, else it says who has set the value."""

    name: str
    value: str
    type: str
    writable: bool
    choices: dict[str, int]
    source: str = ""


class Family(Protocol):
    """What a family of MPI libraries has to offer. `simulates`: its ranks are simulated, so it is
    used only where that is asked for. `reports_all`: `knobs` finds every parameter, so that a
    search space that has another is wrong. `untried`: what of it was never run against the real
    library; empty where all was."""

    name: str
    simulates: bool
    reports_all: bool
    untried: str

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        """Installations under `prefix`, or on PATH. `added`: variables that their tools get beside
        this process's."""
        ...

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        """Every parameter the library reports."""
        ...

    def environment(self, installation: Installation) -> dict[str, str]:
        """Variables its mpirun and its programs need on this machine."""
        ...

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        """Options by which its mpirun starts the ranks of `placement`: here, or on the hosts of
        `reach`."""
        ...

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        """Variables that put knobs in force for a whole launch, at every message size, so that the
        library says what it does not take."""
        ...

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[Canary]:
        """Ways to see whether the exported settings in `environment` decide; none when there are no
        settings of the library's own in it. `folder` is for files."""
        ...

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        """Names of variables that would change what is measured."""
        ...

    def complaint(self, stderr: str) -> str | None:
        """The first line by which the library says that it did not take a setting."""
        ...


@runtime_checkable
class TellsComponents(Protocol):
    """A family whose libraries say on standard error, with the variables `component_talk`, who
    answers collectives."""

    component_talk: ClassVar[dict[str, str]]

    def components(self, stderr: str) -> list[str]:
        """Those on MPI_COMM_WORLD; each answers what none before it does."""
        ...


_FAMILIES: dict[str, Family] = {}


def beside(
    family: Family, environment: Mapping[str, str], knobs: Mapping[str, str]
) -> dict[str, str]:
    """`environment` with `knobs` in force besides. A simulator's options are words of one variable:
    those of other knobs stay."""
    added = family.in_environment(knobs)
    for name in added.keys() & environment.keys() if family.simulates else ():
        own = {word.partition(":")[0] for word in added[name].split()}
        kept = [word for word in environment[name].split() if word.partition(":")[0] not in own]
        added[name] = " ".join([*kept, added[name]])
    return dict(environment) | added


def family(name: str) -> Callable[[type], type]:
    def register(implementation: type) -> type:
        if name in _FAMILIES:
            raise ValueError(f"library family {name} is registered twice")
        _FAMILIES[name] = implementation()
        return implementation

    return register


def families() -> dict[str, Family]:
    from . import (  # noqa: F401 - they register themselves
        intelmpi,
        mpich,
        mvapich,
        mvapich2,
        openmpi,
        simgrid,
    )

    return _FAMILIES


def find(prefix: Path | None = None) -> tuple[Family, Installation]:
    """The first installation found under `prefix`, in the module that it names (`module:NAME`), or
    on PATH. Raises PlumblineError, with the remedy, when there is none."""
    if prefix is not None and str(prefix).startswith(modules.PREFIX):
        return _of_module(str(prefix).removeprefix(modules.PREFIX))
    real = {name: family for name, family in families().items() if not family.simulates}
    for family in real.values():
        installations = family.find(prefix)
        if installations:
            return family, _sound(installations[0])
    where = f"under {prefix}" if prefix else "on PATH"
    raise PlumblineError(
        f"no supported MPI library found {where} (looked for: {', '.join(real)}); "
        "install one (Debian: openmpi-bin libopenmpi-dev), put its mpirun on PATH, or name it with "
        "--mpi PREFIX"
    )


def _sound(found: Installation) -> Installation:
    """Raises PlumblineError where what its tools say of it is no id, or no version."""
    library = found.library
    try:
        version.key(library.version)
    except ValueError as error:
        raise PlumblineError(f"the library in {library.prefix}: {error}") from error
    if not _ID.match(library.id):
        raise PlumblineError(f"the library in {library.prefix} calls itself {library.id[:200]!r}")
    return found


def _of_module(name: str) -> tuple[Family, Installation]:
    added = modules.loaded(name)
    own = os.environ.get("PATH", "").split(":")
    for folder in added.get("PATH", "").split(":"):
        for family in families().values():
            if folder in own or family.simulates or Path(folder).name != "bin":
                continue
            for installation in family.find(Path(folder).parent, added):
                return family, _sound(msgspec.structs.replace(installation, environment=added))
    raise PlumblineError(
        f"module {name} puts no supported MPI library on PATH; name the prefix of the installation "
        "(where the module is loaded already, its library is the one without --mpi)"
    )


def find_simulated(selector: str, prefix: Path | None = None) -> tuple[Family, Installation]:
    """SimGrid, re-creating the library `selector`. Raises PlumblineError, with the remedy, when
    SimGrid is not there."""
    from .simgrid import SimGrid

    one = SimGrid()
    for installation in one.find(prefix):
        if installation.library.build["selector"] == selector:
            return one, installation
    raise PlumblineError(one.missing(prefix))
