"""MPI families: one folder each, registered by decorator. What several share stands beside them.

A family finds its installations, tells what one reports about itself, and knows what its launcher
needs in the environment. It starts nothing but the library's own tools."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from plumbline.core.reach import Reach
from plumbline.system import modules, version
from plumbline.system.placement import Placement
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import families as exported

# Ids become names of folders and files.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
# Requirements of all libraries.
_BELOW = ("UCX_", "FI_")


def reaching(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that reach a library, or what it stands on, as they are."""
    launchers = (prefix for family in families().values() for prefix in family.launcher_prefixes)
    prefixes = (*exported.prefixes(), *launchers, *_BELOW)
    return {name: value for name, value in environment.items() if name.startswith(prefixes)}


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
    """The offer of a family of MPI libraries. `simulates`: its ranks are simulated, so it is used
    only where that is asked for. `reports_all`: `knobs` finds every parameter, so that a search
    space that has another is wrong. `untried`: what of it was never run against the real library;
    empty where all was. `launcher_prefixes`: beginnings of the variables of what starts its ranks.
    `complaints`: lines by which the library says that it did not take a setting."""

    name: str
    simulates: bool = False
    reports_all: bool = True
    untried: str = ""
    launcher_prefixes: tuple[str, ...] = ()
    complaints: re.Pattern[str]

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

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """Ways to see whether the exported settings in `environment` decide; none when there are no
        settings of the library's own in it. `folder` is for files."""
        ...

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        """Names of variables that would change what is measured."""
        ...

    def complaint(self, stderr: str) -> str | None:
        """The first such line."""
        lines = (line for line in stderr.splitlines() if self.complaints.search(line))
        return next((line.strip() for line in lines), None)


@runtime_checkable
class TellsComponents(Protocol):
    """A family whose libraries say on standard error, with the variables `component_talk`, who
    answers collectives."""

    component_talk: ClassVar[dict[str, str]]

    def components(self, stderr: str) -> list[str]:
        """Return the components on MPI_COMM_WORLD; each component answers what none before it
        does."""
        ...


@runtime_checkable
class ChoosesAtStart(Protocol):
    """A family whose libraries try several ways to send messages at each start, and take one. With
    the variables `choice_talk` they say on standard error which."""

    choice_talk: ClassVar[dict[str, str]]

    def choice(self, stderr: str) -> dict[str, str]:
        """Variables by which a start tries that one alone; none where ranks differ, or nothing was
        said."""
        ...


@runtime_checkable
class EntersRanks(Protocol):
    """A family whose mpirun can be told, by variables, what its ranks alone get: it is not to be
    preloaded itself (into_ranks.py). `rank_lists`: beginnings of variables that list, with `;`
    between, what mpirun sets for ranks; what starts them without mpirun must do so too."""

    rank_lists: ClassVar[tuple[str, ...]]

    def into_ranks(
        self,
        installation: Installation,
        library: Path,
        variables: Mapping[str, str],
        given: Mapping[str, str],
        folder: Path,
    ) -> dict[str, str]:
        """Return what is added to the environment `given` so that ranks have `library` preloaded,
        and `variables`. `folder` is for files."""
        ...


class ParameterFiles(msgspec.Struct, frozen=True):
    """`wanted` is the file that gets our lines; `overrides` are heard before it, `overridden`
    after. `notes` are worth a word to the person who asked."""

    wanted: Path
    overrides: list[Path]
    overridden: list[Path]
    notes: list[str]


@runtime_checkable
class ReadsParameterFiles(Protocol):
    """A family whose libraries read files of parameters, whatever shell there is. `silencing`:
    names of parameters that may take the applied ones out of use."""

    silencing: ClassVar[re.Pattern[str]]

    def parameter_files(self, installation: Installation, *, of_user: bool) -> ParameterFiles:
        """Return the parameter files of a user, or of a site. Raises PlumblineError where it reads
        none such."""
        ...

    def reported_in(
        self, installation: Installation, environment: Mapping[str, str]
    ) -> dict[str, Knob]:
        """Every parameter as a program that starts in `environment` has it."""
        ...

    def undoing(self, knob: Knob) -> str:
        """Say how to undo the setting of a parameter that somebody has set."""
        ...


class RulesKnown(NamedTuple):
    """A sentence about the rules files that a library reads. `agrees`: whether the library says
    what exported files and the linter take for granted."""

    text: str
    agrees: bool


@runtime_checkable
class ReadsRules(Protocol):
    """A family whose libraries read files of rules for collectives."""

    def rules(self, installation: Installation) -> Iterator[RulesKnown]:
        """Return the form of such files, and how the algorithms that the library reports compare
        with those that are known of its version. Raises PlumblineError for another version."""
        ...


@runtime_checkable
class CountsMessages(Protocol):
    """A family whose libraries count, with the variables `counting`, who sends how much to whom,
    where they have the parameter `counts`. Lines of theirs have `counted` in them."""

    counts: ClassVar[str]
    counting: ClassVar[dict[str, str]]
    counted: ClassVar[str]

    def messages(self, stderr: str) -> Iterator[tuple[int, int, int, int]]:
        """Sender, receiver, messages and bytes of each pair, of the library's own collectives."""
        ...


@runtime_checkable
class Simulates(Protocol):
    """A family that simulates ranks, and re-creates the decisions of other libraries."""

    def missing(self, prefix: Path | None) -> str:
        """Return what to do where it is not there."""
        ...


_F = TypeVar("_F", bound=Family)
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


def family(implementation: type[_F]) -> type[_F]:
    """Registers a family under its name."""
    instance = implementation()
    if instance.name in _FAMILIES:
        raise ValueError(f"library family {instance.name} is registered twice")
    _FAMILIES[instance.name] = instance
    return implementation


def of_name(name: str) -> Family | None:
    """Return the family with this name; the folders of other families are not imported."""
    if name not in {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}:
        return None
    importlib.import_module(f"{__name__}.{name}")
    return _FAMILIES[name]


@cache
def families() -> dict[str, Family]:
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FAMILIES.items()))


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


def _sound(installation: Installation) -> Installation:
    """Raises PlumblineError where what its tools say of it is no id, or no version."""
    library = installation.library
    try:
        version.key(library.version)
    except ValueError as error:
        raise PlumblineError(f"the library in {library.prefix}: {error}") from error
    if not _ID.match(library.id):
        raise PlumblineError(f"the library in {library.prefix} calls itself {library.id[:200]!r}")
    return installation


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
    """The simulator that re-creates the library `selector`. Raises PlumblineError, with the remedy,
    when it is not there."""
    (simulator,) = (family for family in families().values() if isinstance(family, Simulates))
    for installation in simulator.find(prefix):
        if installation.library.build["selector"] == selector:
            return simulator, installation
    raise PlumblineError(simulator.missing(prefix))


class DeliberateError(msgspec.Struct, frozen=True):
    """`environment` has the error in it, in what `name` says (a file, a variable). It concerns the
    `functions` (none: all that have a winner of the library's own parameters), and winners for some
    sizes from `bytes_from` to `bytes_to`. It must make the calls in question fail one by one
    (`cells`), or the launch as a whole; `nothing`: the library ignores in silence what it does not
    take, so that there is none, and that is said. `one_of`: it is enough that one of the measured
    sizes fails, as the library knows better at others, or is wrong, as it may swallow the error.

    Launches fail for other reasons too. `says` is what the library writes to standard error when it
    meets the error (a regular expression; empty: nothing certain). `control` has no error in it,
    and all else that the canary adds (None: the exported settings as they are)."""

    name: str
    environment: dict[str, str]
    functions: tuple[str, ...] = ()
    bytes_from: int = 0
    bytes_to: int = UNBOUNDED_BYTES
    fails: Literal["cells", "launch", "nothing"] = "cells"
    one_of: bool = False
    says: str = ""
    control: dict[str, str] | None = None

    def concerns(self, winner: Winner) -> bool:
        if self.functions and winner.function not in self.functions:
            return False
        return self.bytes_from <= winner.bytes_to and winner.bytes_from <= self.bytes_to


def in_copy(
    environment: Mapping[str, str], original: str, corrupt: Callable[[str], str], folder: Path
) -> dict[str, str]:
    """`environment` with a corrupted copy, in `folder`, wherever it names the file `original`."""
    copy = folder / f"canary-{Path(original).name}"
    copy.write_text(corrupt(user_files.text(original)))
    return {key: value.replace(original, str(copy)) for key, value in environment.items()}


class _Choice(msgspec.Struct, frozen=True):
    value: int
    name: str


class _Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    scope: str
    value: str | None = None
    enumerators: list[_Choice] = []


class _System(msgspec.Struct, frozen=True):
    """The part of `probe system` that is read."""

    variables: list[_Variable]


def reported(text: str) -> dict[str, Knob]:
    """Return the knobs from the probe's report. Raises ValidationError (a ValueError) if the text
    is no report."""
    return {
        variable.name: _knob(variable)
        for variable in msgspec.json.decode(text, type=_System).variables
    }


def reported_among(output: str) -> dict[str, Knob]:
    """Return the knobs from the probe's line among other lines; empty if there is no such line."""
    line = next((line for line in output.splitlines() if line.startswith('{"probe"')), None)
    return {} if line is None else reported(line)


def _knob(variable: _Variable) -> Knob:
    """Return the knob, with the name of its value if values have names."""
    names = {str(choice.value): choice.name for choice in variable.enumerators}
    value = variable.value or ""
    return Knob(
        name=variable.name,
        value=names.get(value, value),
        type=variable.type,
        writable=variable.scope not in ("constant", "read-only"),
        choices={name: int(number) for number, name in names.items()},
    )
