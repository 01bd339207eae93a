"""Intel MPI: found by its own mpiexec.hydra and impi_info, described by `impi_info`.

All its knobs are variables that are read when a launch starts. What it does not take it ignores,
after a line on standard output; a preset that does not apply is replaced in silence, unless
FALLBACKS_FAIL ends the launch there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from plumbline.core.reach import Reach
from plumbline.libraries import (
    DeliberateError,
    Installation,
    Knob,
    built,
    family,
    hydra,
    into_ranks,
)
from plumbline.libraries.built import tool_output
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters.family.intelmpi import ADJUST, SILENT

FALLBACKS_FAIL = "I_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK"
# A launch with these settings ends at a preset that does not fit. On some processors the library's
# own preset for barriers does not fit, and ranks start from barriers: barriers therefore get
# dissemination, which always fits.
LOUD = {FALLBACKS_FAIL: "1", f"{ADJUST}BARRIER": "1"}
NO_SUCH_PRESET = "99"
# A dropped preset of a tamper check is no complaint: the check only tests whether calls reach it.
_COMPLAINTS = re.compile(
    rf"^(?!.*={NO_SUCH_PRESET}, )"
    r".*MPI startup\(\): .*(will be ignored|not supported|has been removed from the product)"
)
# All variables that may be searched, and those that exported files use for preloading.
_SETTINGS = re.compile(
    r"I_MPI_(ADJUST_|TUNING|SHM_|GTOOL$|SHM$|FABRICS$|SPIN_COUNT$|PAUSE_COUNT$|THREAD_YIELD$|"
    r"WAIT_MODE$|MALLOC$|COLL_SHM_THRESHOLD$|ASYNC_PROGRESS$)"
)
_BUILD = re.compile(r"Version (?P<release>\S+) Build (?P<built>\d+) \(id: (?P<revision>\w+)\)")
_HEADER = re.compile(r'^#define I_MPI_VERSION "(\d+\.\d+(?:\.\d+)?)"', re.MULTILINE)
_DESCRIBED = re.compile(r"^([A-Z][A-Z0-9_]+) *\n  MPI Datatype:\n    MPI_(\w+)", re.MULTILINE)
_PRESETS = re.compile(r"<presetid>.*?range: 0-(\d+)", re.DOTALL)
_DEFAULT = re.compile(r"^ \| (\w+) *\| (.*?) *\| MPI_(\w+) *\|?$", re.MULTILINE)
_NOT_DEFINED = "not defined"


@family
class IntelMpi(hydra.Started):
    name = "intelmpi"
    complaints = _COMPLAINTS

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        for folder in _folders(prefix):
            start = shutil.which("mpiexec.hydra", path=folder)
            info = shutil.which("impi_info", path=folder)
            if start is None or info is None:
                continue
            root = Path(start).absolute().parent.parent
            answer = tool_output([start, "-V"], "Intel MPI", os.environ | dict(added or {}))
            facts = _BUILD.search(answer)
            if facts is None:
                raise PlumblineError(f"{start} -V says {answer[:200]!r}: is this Intel MPI's?")
            version = _version(root) or facts["release"]
            build = {"released": facts["release"], "built": facts["built"]}
            build["revision"] = facts["revision"]
            mpicc = shutil.which("mpicc", path=str(root / "bin"))
            library = Library(
                id=f"intelmpi-{version}",
                family=self.name,
                version=version,
                version_string=f"Intel(R) MPI Library {facts['release']} for Linux* OS",
                prefix=str(root),
                fingerprint=built.fingerprint(
                    [version, *build.values(), *built.facts(Path(start))]
                ),
                build=build,
            )
            compiler = Path(mpicc) if mpicc else None
            return [Installation(library=library, mpirun=Path(start), mpicc=compiler)]
        return []

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        info = installation.mpirun.parent / "impi_info"
        given = os.environ | installation.environment
        clean = {name: text for name, text in given.items() if not name.startswith("I_MPI_")}
        environment = clean | self.environment(installation)
        every, expert = (
            tool_output([info, option], "Intel MPI", environment) for option in ("-all", "-expert")
        )
        return knobs_of(every, expert)

    def environment(self, installation: Installation) -> dict[str, str]:
        """Return the environment. Its programs find themselves; libfabric they find by the loader's
        path alone, and take any that the system has."""
        given = os.environ | installation.environment
        root = Path(installation.library.prefix)
        fabric = root / "opt" / "mpi" / "libfabric" / "lib"
        own_folders = [str(path) for path in (fabric, root / "lib") if path.is_dir()]
        other_folders = [word for word in given.get("LD_LIBRARY_PATH", "").split(":") if word]
        path = own_folders + [folder for folder in other_folders if folder not in own_folders]
        variables = {"I_MPI_ROOT": str(root), "LD_LIBRARY_PATH": ":".join(path)}
        providers = fabric / "prov" if fabric.is_dir() else root / "lib"
        if "FI_PROVIDER_PATH" not in given and providers.is_dir():
            variables["FI_PROVIDER_PATH"] = str(providers)
        return variables

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        return hydra.words(placement, reach, binding=_binding(placement))

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        values = dict(knobs)
        if any(name.startswith(ADJUST) for name in knobs):
            values = LOUD | values
        return values

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """One a function. A preset that does not exist makes the library drop the whole variable,
        so this shows that the variable decides the function; not where one range ends. Some
        functions fall back where nothing is set, too, so that the control is as loud."""
        del folder
        loud = {**LOUD, **environment}
        return [
            DeliberateError(
                name=name,
                environment={**loud, name: corrupted(value)},
                functions=(_function(name),),
                fails="nothing" if _function(name) in SILENT else "launch",
                says=rf"\b{name.removeprefix(ADJUST)}: algo #\S+ has fallback",
                control=loud,
            )
            for name, value in sorted(environment.items())
            if name.startswith(ADJUST) and name != FALLBACKS_FAIL
        ]

    def into_ranks(
        self,
        installation: Installation,
        library: Path,
        variables: Mapping[str, str],
        given: Mapping[str, str],
        folder: Path,
    ) -> dict[str, str]:
        """Return by a tool before the program of each rank: `env LD_PRELOAD=…`."""
        del installation, folder
        before = given.get("I_MPI_GTOOL", "")
        own_preload = re.fullmatch(r"env LD_PRELOAD=(\S+):all", before)
        if before and not own_preload:
            raise PlumblineError(
                "I_MPI_GTOOL names a tool already: unset it, for the recording library comes in "
                "the same way"
            )
        path = into_ranks.preloaded_before(
            library, own_preload[1] if own_preload else given.get("LD_PRELOAD", "")
        )
        return {"I_MPI_GTOOL": f"env LD_PRELOAD={path}:all", **variables}

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        own_variables = into_ranks.VARIABLES
        return sorted(
            name for name in environment if _SETTINGS.match(name) or name in own_variables
        )


def corrupted(value: str) -> str:
    """`0:0-63;8:64-64` with a preset that does not exist in place of every one of ours; 0, the
    library's own decision, stays."""
    entries = []
    for entry in value.split(";"):
        preset, colon, where = entry.partition(":")
        entries.append(("0" if preset == "0" else NO_SUCH_PRESET) + colon + where)
    return ";".join(entries)


def knobs_of(described: str, defaults: str) -> dict[str, Knob]:
    """Return the knobs as `impi_info -all` shows them, which has types and ranges of presets, and
    `impi_info -expert`, which has defaults. Some variables stand in one of them alone."""
    starts = list(_DESCRIBED.finditer(described))
    ends = [start.start() for start in starts[1:]] + [len(described)]
    knobs: dict[str, Knob] = {}
    for start, end in zip(starts, ends, strict=True):
        last = _PRESETS.search(described[start.end() : end])
        choices = {str(number): number for number in range(int(last[1]) + 1)} if last else {}
        knobs[start[1]] = _knob(start[1], "", start[2], choices)
    for name, value, kind in _DEFAULT.findall(defaults):
        knob = knobs.get(name)
        value = "" if value == _NOT_DEFINED else value
        knobs[name] = _knob(name, value, kind, knob.choices if knob else {})
    return knobs


def _knob(name: str, value: str, kind: str, choices: dict[str, int]) -> Knob:
    return Knob(name=name, value=value, type=kind.lower(), writable=False, choices=choices)


def _function(knob: str) -> str:
    """`MPI_Reduce_scatter` for I_MPI_ADJUST_REDUCE_SCATTER."""
    return "MPI_" + knob.removeprefix(ADJUST).capitalize()


def _binding(placement: Placement) -> list[str]:
    """The library binds by itself, to a part of the node each; more ranks than processing units
    share them, and stay where they are."""
    if placement.binding == "none":
        return ["-genv", "I_MPI_PIN", "off"]
    if not placement.binding:
        return []
    options = ["-genv", "I_MPI_PIN_DOMAIN", placement.binding]
    if placement.map_by not in ("", "node"):
        order = "compact" if placement.map_by == "core" else "scatter"
        options += ["-genv", "I_MPI_PIN_ORDER", order]
    return options


def _folders(prefix: Path | None) -> list[str | None]:
    """Return where its programs may lie: those of an environment or of one version, or those of the
    latest version of a oneAPI tree. None is PATH."""
    if prefix is None:
        return [None]
    return [str(prefix / "bin"), str(prefix / "mpi" / "latest" / "bin")]


def _version(root: Path) -> str | None:
    """Return the version with the patch level, which only the header has."""
    header = root / "include" / "mpi.h"
    if not header.is_file():
        return None
    version = _HEADER.search(header.read_text(errors="replace"))
    return version[1] if version else None
