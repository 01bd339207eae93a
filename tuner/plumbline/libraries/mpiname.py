"""The words of an installation of MVAPICH about itself: `mpiname -a`, else `mpichversion`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from plumbline.libraries.built import tool_output
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
            text = tool_output(
                [path, *(["-a"] if tool == "mpiname" else [])], "MVAPICH", environment
            )
        except PlumblineError:
            if tool == "mpiname":  # which no other library has
                raise
            continue
        answer = read(text, Path(path).parent)
        return answer if answer and answer.name == name else None
    return None


def installation(answer: Said, family: str) -> Installation:
    """Raises PlumblineError where there is no mpiexec beside its programs."""
    programs = str(answer.programs)
    mpirun = shutil.which("mpiexec.hydra", path=programs) or shutil.which("mpiexec", path=programs)
    if mpirun is None:
        raise PlumblineError(
            f"{answer.name} {answer.version} in {programs} has no mpiexec (hydra), which "
            "Plumbline starts "
            "ranks by: build it with hydra (--with-pm=hydra)"
        )
    mpicc = shutil.which("mpicc", path=programs)
    # The fields that distinguish builds; dates and persons do not.
    identity = [answer.name, answer.version]
    identity += [answer.build.get(key, "") for key in ("device", "compiler", "configure")]
    identity += built.facts(Path(mpirun))
    return Installation(
        library=Library(
            id=f"{family}-{answer.version}",
            family=family,
            version=answer.version,
            version_string=f"{answer.name} Version      :\t{answer.version}",
            prefix=str(answer.programs.parent),
            fingerprint=built.fingerprint(identity),
            build=answer.build,
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
        key, colon, value = line.partition(":")
        words = key.split()
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
    match = _NAME.match(name)
    if match is None or not re.match(r"\d+\.", version):
        return None
    facts = {key: value for key, value in build.items() if value}
    if re.search(r"--enable-g=\S*(dbg|debug|all|meminit)", facts.get("configure", "")):
        facts["debug"] = "yes"
    return Said(match[1], version, programs, {"package": f"{name} {version}"} | facts)
