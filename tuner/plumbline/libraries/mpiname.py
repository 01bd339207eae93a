"""The words of an installation of MVAPICH about itself: `mpiname -a`, else `mpichversion`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from plumbline.libraries.said import by
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library

from . import Installation, built

_NAME = re.compile(r"(MVAPICH2?)[\w-]*\Z")  # MVAPICH2-X, MVAPICH-Plus …


class Said(msgspec.Struct, frozen=True):
    """`name` is MVAPICH2 or MVAPICH, `programs` the folder of its programs."""

    name: str
    version: str
    programs: Path
    build: dict[str, str]


def ask(prefix: Path | None, name: str, added: Mapping[str, str] | None = None) -> Said | None:
    """Return what is found under `prefix`, or on PATH; None where it is no library of that name.
    Its tools get the variables `added` beside this process's."""
    environment = os.environ | dict(added or {})
    search = str(prefix / "bin") if prefix else None
    for tool, read in (("mpiname", _of_mpiname), ("mpichversion", _of_mpichversion)):
        path = shutil.which(tool, path=search)
        if path is None:
            continue
        try:
            text = by([path, *(["-a"] if tool == "mpiname" else [])], "MVAPICH", environment)
        except PlumblineError:
            if tool == "mpiname":  # which no other library has
                raise
            continue
        said = read(text, Path(path).parent)
        return said if said and said.name == name else None
    return None


def installation(said: Said, family: str) -> Installation:
    """Raises PlumblineError where there is no mpiexec beside its programs."""
    here = str(said.programs)
    mpirun = shutil.which("mpiexec.hydra", path=here) or shutil.which("mpiexec", path=here)
    if mpirun is None:
        raise PlumblineError(
            f"{said.name} {said.version} in {here} has no mpiexec (hydra), which Plumbline starts "
            "ranks by: build it with hydra (--with-pm=hydra)"
        )
    mpicc = shutil.which("mpicc", path=here)
    # What tells builds apart: not when it was released, made, or by whom.
    identity = [said.name, said.version]
    identity += [said.build.get(key, "") for key in ("device", "compiler", "configure")]
    identity += built.facts(Path(mpirun))
    return Installation(
        library=Library(
            id=f"{family}-{said.version}",
            family=family,
            version=said.version,
            version_string=f"{said.name} Version      :\t{said.version}",
            prefix=str(said.programs.parent),
            fingerprint=built.fingerprint(identity),
            build=said.build,
        ),
        mpirun=Path(mpirun),
        mpicc=Path(mpicc) if mpicc else None,
    )


def _of_mpiname(text: str, programs: Path) -> Said | None:
    """`NAME VERSION RELEASED… DEVICE`, then sections of lines."""
    lines = text.splitlines()
    words = lines[0].split() if lines else []
    if len(words) < 3:
        return None
    compiler = next((line[4:] for line in lines if line.startswith("CC: ")), "")
    after = lines.index("Configuration") + 1 if "Configuration" in lines else len(lines)
    return _said(
        words[0],
        words[1],
        programs,
        {
            "released": " ".join(words[2:-1]),
            "device": words[-1],
            "compiler": compiler.strip(),
            "configure": " ".join(" ".join(lines[after:]).split()),
        },
    )


def _of_mpichversion(text: str, programs: Path) -> Said | None:
    """`NAME FIELD: VALUE`, one a line."""
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        left, colon, value = line.partition(":")
        words = left.split()
        if colon and len(words) >= 2:
            name = name or words[0]
            fields[" ".join(words[1:]).lower()] = value.strip()
    build = {
        "released": fields.get("release date", ""),
        "device": fields.get("device", ""),
        "compiler": fields.get("cc", ""),
        "configure": fields.get("configure", ""),
    }
    return _said(name, fields.get("version", ""), programs, build)


def _said(name: str, version: str, programs: Path, build: Mapping[str, str]) -> Said | None:
    found = _NAME.match(name)
    if found is None or not re.match(r"\d+\.", version):
        return None
    told = {key: value for key, value in build.items() if value}
    if re.search(r"--enable-g=\S*(dbg|debug|all|meminit)", told.get("configure", "")):
        told["debug"] = "yes"
    return Said(found[1], version, programs, {"package": f"{name} {version}"} | told)
