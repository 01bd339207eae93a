"""What `make setup` installs: locked, and each version that may come bounded above."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = {"run": PROJECT["dependencies"]} | {
    name: PROJECT["dependencies"] + extra
    for name, extra in PROJECT["optional-dependencies"].items()
}


def locked(name: str) -> dict[str, str]:
    """Name -> version. Each has hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            match = re.match(
                r"([a-z0-9.-]+)==(\S+)[^#]*(?: --hash=sha256:[0-9a-f]{64})+\s*\Z", line
            )
            assert match is not None, line
            found[match[1]] = match[2]
    return found


@pytest.mark.parametrize("name", WANTED)
def test_the_lock_file_has_what_the_project_wants(name: str) -> None:
    found = locked(name)
    for one in map(Requirement, WANTED[name]):
        assert one.specifier.contains(found[one.name]), one


@pytest.mark.parametrize("name", WANTED)
def test_versions_are_bounded_above(name: str) -> None:
    for one in map(Requirement, WANTED[name]):
        assert any(part.operator == "<" for part in one.specifier), one


def test_the_lock_files_agree() -> None:
    """Who develops runs what is installed."""
    assert locked("run").items() <= locked("dev").items()
