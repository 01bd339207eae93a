"""Open MPI as `ompi_info` and the files beside it describe it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from plumbline.libraries import Installation, Knob, built
from plumbline.libraries.said import by
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library

_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})+[A-Za-z0-9.+-]{0,64}\Z")
_ENUMERATOR = re.compile(r"[^:]*:(?P<number>-?[0-9]{1,18}):(?P<label>.*)\Z", re.DOTALL)
# Exported files use mca_base_env_list_internal on Open MPI 4.
# The site decides about networks and daemons; how messages are sent is measured.
SETTINGS = re.compile(
    r"OMPI_MCA_(coll$|coll_|mca_base_env_list|mca_base_param_files$|mpi_|pml$|smsc$"
    r"|smsc_|pml_(?!ucx_(tls|devices)$)|btl_(sm|vader|tcp)_(?!if_|port_|disable_family$|backing_directory$))"
)


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


def folders(prefix: Path | None) -> list[Path]:
    """Return where programs may lie, each once: a folder on PATH may be a link to another."""
    if prefix is not None:
        return [prefix.absolute() / "bin"]
    listed = [Path(word).absolute() for word in os.environ.get("PATH", "").split(":") if word]
    return list({path.resolve(): path for path in reversed(listed)}.values())[::-1]


def installed(folder: Path, added: Mapping[str, str]) -> Installation | None:
    """The one whose programs lie together in `folder`. On Debian mpirun may be another MPI's, and
    mpirun.openmpi is not."""
    where = str(folder)
    mpirun = shutil.which("mpirun.openmpi", path=where) or shutil.which("mpirun", path=where)
    info = shutil.which("ompi_info", path=where)
    if mpirun is None or info is None:
        return None
    text = say(Path(info), ["--parsable"], added)
    mpicc = shutil.which("mpicc.openmpi", path=where) or shutil.which("mpicc", path=where)
    debian = ["lib/*/openmpi/lib"]
    facts = built.facts(Path(mpirun), ["libmpi.so*"], ["openmpi*/mca_coll_*.so"], debian)
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
    # A library that was moved (a Python wheel) names the prefix that it was built for.
    prefix = _field(text, "path:prefix")
    if not os.path.isdir(os.path.join(prefix, "bin")):
        prefix = str(where)
    # Configuration and component versions distinguish builds; times and users do not.
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
        fingerprint=built.fingerprint([*identity, *facts]),
        build=_build(text),
    )


# Facts about the build -> keys of `ompi_info --parsable`, joined with a blank.
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
    """Return what the library says about its making; what it does not say is left out."""
    lines = text.splitlines()
    facts = {
        name: " ".join(
            line[len(key) + 1 :].strip().strip('"')
            for key in keys
            for line in lines
            if line.startswith(key + ":")
        )
        for name, keys in _BUILD.items()
    }
    return {name: value for name, value in facts.items() if value}


def say(info: Path, options: list[str], added: Mapping[str, str]) -> str:
    """Say that what the user (or a module) has set for applications is not what the library comes
    with."""
    given = os.environ | dict(added)
    clean = {name: value for name, value in given.items() if not SETTINGS.match(name)}
    return by([info, *options], "Open MPI", clean)


def _field(text: str, key: str) -> str:
    for line in text.splitlines():
        if line.startswith(key + ":"):
            return line[len(key) + 1 :]
    raise PlumblineError(f"ompi_info reports no {key}; is this Open MPI?")
