"""Installations of MPI libraries: recorded ones, as folders of files that a test writes, and those
there are on this machine.

recorded/FAMILY.py has `FILES`: texts by their path under the prefix. What lies in bin/, and
a probe, is made executable; its programs find the prefix as `${0%/bin/*}`."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline.libraries import Family, Installation
from tests.tuner.families import recorded

ROOT = Path(__file__).resolve().parents[3]
ON_PATH = "PATH"
CC = '#!/bin/sh\nexec cc -I"${0%/bin/*}/include" "$@"\n'


def all_recorded() -> dict[str, dict[str, str]]:
    """Files by family."""
    names = [one.name for one in pkgutil.iter_modules(recorded.__path__)]
    modules = {name: importlib.import_module(f"{recorded.__name__}.{name}") for name in names}
    return {name: module.FILES for name, module in modules.items()}


def write(prefix: Path, files: Mapping[str, str], *changes: tuple[str, str]) -> Path:
    """Writes the files with each change (old text, new text) made wherever the old one stands."""
    for old, _ in changes:
        assert any(old in text for text in files.values()), f"{old!r} stands nowhere"
    for name, text in files.items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for old, new in changes:
            text = text.replace(old, new)
        path.write_text(text)
        if path.parent.name == "bin" or path.name == "probe":
            path.chmod(0o755)
    return prefix


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def prefix_of(name: str) -> Path | None:
    """`PATH`, or a folder that `make setup-mpis` makes; skips where it is not there."""
    if name == ON_PATH:
        return None
    folder = Path(os.environ.get("PLUMBLINE_MPIS") or ROOT / "build" / "mpis")
    if not (folder / name).is_dir():
        pytest.skip(f"no {folder / name}: make setup-mpis")
    return folder / name


def real(family: Family, name: str) -> Installation:
    """The installation `name` of the family; skips where it is not there."""
    found = family.find(prefix_of(name))
    if not found:
        pytest.skip(f"no {family.name} on PATH")
    return found[0]
