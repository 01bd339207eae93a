"""Plumbline's own version, its optional parts (extras of pyproject.toml, by the modules that they
bring), and dotted version numbers as MPI libraries write them (4.1.4, 5.0.0rc2) compared."""

from __future__ import annotations

import re
from importlib.util import find_spec

PLUMBLINE = "0.1.0"


def key(version: str) -> tuple[int, ...]:
    """Sort key: the numeric fields, so that 5.0 equals 5.0.0; anything after the first non-numeric
    part is left out."""
    match = re.match(r"[0-9]{1,18}(?:\.[0-9]{1,18})*(?![0-9])", version)
    if match is None:
        raise ValueError(f"not a version number: {version[:100]!r}")
    fields = [int(field) for field in match[0].split(".")]
    while fields and fields[-1] == 0:
        fields.pop()
    return tuple(fields)


def at_least(version: str, bound: str) -> bool:
    return key(version) >= key(bound)


# The smallest extra that installs each module.
EXTRAS = {
    "anyio": "pages",
    "jinja2": "pages",
    "starlette": "pages",
    "uvicorn": "pages",
    "vl_convert": "pictures",
}


def missing_extra(module: str | None) -> str | None:
    """Return what to say of a module that cannot be imported; None where it is no optional one."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    if extra is None:
        return None
    return (
        f"{extra} are not installed here (no {module}): pip install 'plumbline[{extra}]', or "
        "make install EXTRAS=pages"
    )


def absent_extras() -> dict[str, list[str]]:
    """Extras that are not installed, with the modules that are not there."""
    modules_by_extra: dict[str, list[str]] = {}
    for module, extra in EXTRAS.items():
        if find_spec(module) is None:
            modules_by_extra.setdefault(extra, []).append(module)
    return modules_by_extra
