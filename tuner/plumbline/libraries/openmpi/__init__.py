"""Open MPI: found by its own mpirun and ompi_info, described by `ompi_info --parsable`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from plumbline.core.reach import Reach
from plumbline.libraries.canary import Canary, in_copy
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters.ompi_site import MARK

from . import Installation, Knob, built, family

_COMPLAINTS = (
    "An invalid value was supplied for an enum variable",
    "is an unrecognized parameter",
    "The following MCA parameter has been",
    "was unable to open the rules file",
)
RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
NO_SUCH_ALGORITHM = "99"
# mca_base_env_list_internal is what exported files use on Open MPI 4.
# Which networks and daemons there are is the site's to say; how messages are sent is measured.
_SETTINGS = re.compile(
    r"OMPI_MCA_(coll$|coll_|mca_base_env_list|mca_base_param_files$|mpi_|pml$|smsc$"
    r"|smsc_|pml_(?!ucx_(tls|devices)$)|btl_(sm|vader|tcp)_(?!if_|port_|disable_family$|backing_directory$))"
)
_SELECTED = re.compile(
    r"\[(?P<rank>[^]]+)\] coll:base:comm_select: "
    r"(new communicator: (?P<communicator>\S+)|"
    r"selecting +(?P<name>\w+), priority +(?P<priority>\d+), Enabled)"
)
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})+[A-Za-z0-9.+-]{0,64}\Z")
_ENUMERATOR = re.compile(r"[^:]*:(?P<number>-?[0-9]{1,18}):(?P<label>.*)\Z", re.DOTALL)
_INFO_CAP_BYTES = 16 * 1024 * 1024  # `ompi_info --all` prints more than half a megabyte


@family("openmpi")
class OpenMpi:
    name = "openmpi"
    simulates = False
    reports_all = True
    untried = ""
    component_talk: ClassVar[dict[str, str]] = {"OMPI_MCA_coll_base_verbose": "20"}

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        return [
            found for folder in _folders(prefix) if (found := _installation(folder, added or {}))
        ]

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        info = installation.mpirun.parent / "ompi_info"
        words = ["--parsable", "--all", "--level", "9"]
        return reported(_ompi_info(info, words, installation.environment))

    def environment(self, installation: Installation) -> dict[str, str]:
        del installation
        if os.geteuid() != 0:
            return {}
        names = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
        return {name + suffix: "1" for name in names for suffix in ("", "_CONFIRM")}

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        words = ["-np", str(placement.nprocs)]
        if reach is not None:
            words += _to_hosts(placement, reach)
        bind = "core" if placement.held else placement.binding
        if placement.oversubscribed:
            words += ["--oversubscribe"]
        if placement.map_by:
            words += ["--map-by", placement.map_by]
        if bind:
            overload = placement.oversubscribed and bind != "none"
            words += ["--bind-to", f"{bind}:overload-allowed" if overload else bind]
        return words

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        values = {f"OMPI_MCA_{name}": value for name, value in knobs.items()}
        if any(name.startswith("coll_tuned_") and "_algorithm" in name for name in knobs):
            values["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
            # Open MPI 4 would prefer the rules of a file.
            values[RULES] = ""
        return values

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[Canary]:
        rules = environment.get(RULES)
        if rules is None:
            return []
        spoilt = in_copy(environment, rules, rules_canary, folder)
        return [Canary(name=Path(rules).name, environment=spoilt)]

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        ours = ("LD_PRELOAD", "PLUMBLINE_CALLS", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT")
        return sorted(name for name in environment if _SETTINGS.match(name) or name in ours)

    def components(self, stderr: str) -> list[str]:
        found: dict[str, int] = {}
        rank, inside = "", False
        for match in _SELECTED.finditer(stderr):
            rank = rank or match["rank"]
            if match["rank"] != rank:
                continue
            if match["communicator"]:
                inside = match["communicator"] == "MPI_COMM_WORLD"
            elif inside:
                found[match["name"]] = int(match["priority"])
        return [
            f"{component} ({found[component]})"
            for component in sorted(found, key=lambda one: -found[one])
        ]

    def complaint(self, stderr: str) -> str | None:
        for line in stderr.splitlines():
            if any(part in line for part in _COMPLAINTS):
                return line.strip()
        return None


def reported(text: str) -> dict[str, Knob]:
    """The parameters that `ompi_info --parsable --all` speaks of. Raises PlumblineError where it
    says what it never says."""
    fields: dict[str, dict[str, str]] = {}
    choices: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        words = line.split(":", 6)
        if len(words) < 7 or words[0] != "mca" or words[3] != "param":
            continue
        name, field, value = words[4], words[5], words[6]
        if field == "enumerator":
            match = _ENUMERATOR.match(value)
            if match is None:
                raise PlumblineError(f"ompi_info says {line[:200]!r}: is this Open MPI?")
            choices.setdefault(name, {})[match["label"]] = int(match["number"])
        else:
            fields.setdefault(name, {})[field] = value
    return {
        name: Knob(
            name=name,
            value=field.get("value", ""),
            type=field.get("type", ""),
            writable=field.get("status") == "writeable",
            choices=choices.get(name, {}),
            source=field.get("source", "").replace("default", ""),
        )
        for name, field in fields.items()
    }


def _folders(prefix: Path | None) -> list[Path]:
    """Where programs may lie, each once: a folder on PATH may be a link to another."""
    if prefix is not None:
        return [prefix.absolute() / "bin"]
    listed = [Path(word).absolute() for word in os.environ.get("PATH", "").split(":") if word]
    return list({path.resolve(): path for path in reversed(listed)}.values())[::-1]


def _installation(folder: Path, added: Mapping[str, str]) -> Installation | None:
    """The one whose programs lie together in `folder`. On Debian mpirun may be another MPI's, and
    mpirun.openmpi is not."""
    where = str(folder)
    mpirun = shutil.which("mpirun.openmpi", path=where) or shutil.which("mpirun", path=where)
    info = shutil.which("ompi_info", path=where)
    if mpirun is None or info is None:
        return None
    text = _ompi_info(Path(info), ["--parsable"], added)
    mpicc = shutil.which("mpicc.openmpi", path=where) or shutil.which("mpicc", path=where)
    facts = built.facts(Path(mpirun), ["libmpi.so*"], ["openmpi*/mca_coll_*.so"])
    return Installation(
        library=described(text, folder.parent, facts),
        mpirun=Path(mpirun),
        mpicc=Path(mpicc) if mpicc else None,
    )


def described(text: str, where: Path, facts: list[str]) -> Library:
    """The library under `where` that `ompi_info --parsable` speaks of; `facts` tell its builds
    apart too. Raises PlumblineError where it says what it never says."""
    version = _field(text, "ompi:version:full")
    if not _VERSION.match(version):
        raise PlumblineError(f"ompi_info says it is version {version[:200]!r}: is this Open MPI?")
    # One that was moved (a Python wheel) names the prefix that it was built for.
    prefix = _field(text, "path:prefix")
    if not os.path.isdir(os.path.join(prefix, "bin")):
        prefix = str(where)
    # What tells builds apart: configuration and component versions, not times and users.
    identity = [
        line
        for line in text.splitlines()
        if line.startswith(("ident:", "path:", "config:cli:", "compiler:c:version:", "mca:"))
    ]
    return Library(
        id=f"openmpi-{version}",
        family="openmpi",
        version=version,
        version_string=f"Open MPI v{version}",
        prefix=prefix,
        fingerprint=hashlib.sha256("\n".join([*identity, *facts]).encode()).hexdigest()[:16],
        build=_build(text),
    )


def _to_hosts(placement: Placement, reach: Reach) -> list[str]:
    """Each name is read by the version that knows it: the daemons of Open MPI 5 are PRRTE's, and
    have their agent and their interfaces under names of their own."""
    hosts = ",".join(f"{name}:{placement.ppn}" for name in reach.names[: placement.nodes])
    words = ["--host", hosts, "--mca", "plm_rsh_agent", reach.agent]
    if reach.interface:
        for layer in ("btl", "oob"):
            words += ["--mca", f"{layer}_tcp_if_include", reach.interface]
    for name in reach.variables:
        if not name.startswith(("OMPI_", "PMIX_", "PRTE_")):  # those are carried there anyway
            words += ["-x", name]
    return words


def rules_canary(text: str) -> str:
    """A rules file in which every algorithm but 0 (the library's own decision) does not exist; or,
    where winners are marked, those of theirs."""
    lines = []
    marked = any(_mark(line) for line in text.splitlines())
    for line in text.splitlines():
        body, mark, comment = line.partition("#")
        words = body.split()
        if len(words) in (4, 5) and (_mark(line) if marked else words[1] != "0"):
            words[1] = NO_SUCH_ALGORITHM
            body = " ".join(words) + " "
        lines.append(body + mark + comment)
    return "\n".join(lines) + "\n"


def _mark(line: str) -> bool:
    body, _, comment = line.partition("#")
    return bool(body.strip()) and comment.strip() == MARK


# What is said about the build -> keys of `ompi_info --parsable`, joined with a blank.
_BUILD = {
    "package": ("package",),
    "released": ("ompi:version:release_date",),
    "built": ("build:timestamp",),
    "built_by": ("build:user",),
    "built_on": ("build:host",),
    "architecture": ("config:arch",),
    "compiler": ("compiler:c:familyname", "compiler:c:version"),
    "compiler_path": ("compiler:c:absolute",),
    "configure": ("config:cli",),
    "debug": ("option:debug",),
    "memory_debug": ("option:mem-debug",),
    "profiling_of_memory": ("option:mem-profile",),
    "parameter_check": ("option:mpi-param-check",),
    "threads": ("option:threads",),
    "dlopen": ("option:dlopen",),
}


def _build(text: str) -> dict[str, str]:
    """What the library says about its making; what it does not say is left out."""
    lines = text.splitlines()
    said = {
        name: " ".join(
            line[len(key) + 1 :].strip().strip('"')
            for key in keys
            for line in lines
            if line.startswith(key + ":")
        )
        for name, keys in _BUILD.items()
    }
    return {name: value for name, value in said.items() if value}


def _ompi_info(info: Path, options: list[str], added: Mapping[str, str]) -> str:
    # What the user (or a module) has set for applications is not what the library comes with.
    given = os.environ | dict(added)
    clean = {name: value for name, value in given.items() if not _SETTINGS.match(name)}
    done = process.run(
        [info, *options], timeout_seconds=60, environment=clean, cap_bytes=_INFO_CAP_BYTES
    )
    if done.status != 0:
        raise PlumblineError(
            f"{info} failed with status {done.status}: {done.stderr.strip()[-300:]}; "
            "check the Open MPI installation"
        )
    return done.stdout


def _field(text: str, key: str) -> str:
    for line in text.splitlines():
        if line.startswith(key + ":"):
            return line[len(key) + 1 :]
    raise PlumblineError(f"ompi_info reports no {key}; is this Open MPI?")
