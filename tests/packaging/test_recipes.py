"""Recipes of packagers say what pyproject.toml, needs.txt and the Makefile say. Spack, Docker,
Apptainer and EasyBuild themselves are not here: docs/administrator.md says what was tried."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from plumbline.cli import common

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()
CONTAINERS = ("Dockerfile", "plumbline.def")


def targets(text: str) -> set[str]:
    """Of the calls of make in a recipe."""
    found = re.findall(r"^(?:RUN |\s*)make ([^\n#&]*)", text, re.MULTILINE)
    return {word for words in found for word in words.split() if "=" not in word}


def easyconfig() -> dict[str, Any]:
    (path,) = (PACKAGING / "easybuild").glob("*.eb")
    values: dict[str, Any] = {}
    for line in ast.parse(path.read_text()).body:
        assert isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
        values[line.targets[0].id] = ast.literal_eval(line.value)
    name, version, toolchain = values["name"], values["version"], values["toolchain"]
    assert path.stem == f"{name}-{version}-{toolchain['name']}-{toolchain['version']}"
    return values


def test_easybuild() -> None:
    values = easyconfig()
    assert values["version"] == PROJECT["version"]
    for target in (*values["buildopts"].split(), "install"):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
    (python,) = (version for name, version in values["dependencies"] if name == "Python")
    assert tuple(map(int, python.split(".")))[:2] >= (3, 11)


def test_spack() -> None:
    """It calls make, whose Python parts requirements/ names."""
    text = (PACKAGING / "spack" / "package.py").read_text()
    ast.parse(text)
    assert f'version("{PROJECT["version"]}"' in text
    assert f"python@{PROJECT['requires-python'].removeprefix('>=')}:" in text
    called = {word for words in re.findall(r"make\(([^*]*)", text) for word in words.split(", ")}
    targets_of_make = {word.strip('"') for word in called if re.fullmatch(r'"[a-z]+"', word)}
    assert targets_of_make == {"setup", "build", "install"}
    for name in (*targets_of_make, "EXTRAS"):
        assert re.search(rf"^{name}(:| \?=)", MAKEFILE, re.MULTILINE), name
    for library in ("hwloc", "xxhash", "papi", "mpi"):
        assert f'depends_on("{library}"' in text


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name: str) -> None:
    text = (PACKAGING / "containers" / name).read_text()
    assert targets(text) == {"install"}
    assert re.search(r"^install:", MAKEFILE, re.MULTILINE)
    assert "From: debian:12" in text or "FROM debian:12" in text


def test_debian_has_what_the_image_installs() -> None:
    release = Path("/etc/os-release")
    if shutil.which("apt-cache") is None or "VERSION_CODENAME=bookworm" not in release.read_text():
        pytest.skip("this is no Debian 12, whose packages the image has")
    text = (PACKAGING / "containers" / "Dockerfile").read_text().replace("\\\n", " ")
    for words in re.findall(r"apt-get install ([^&\n]*)", text):
        names = [word for word in words.split() if not word.startswith("-")]
        known = subprocess.run(
            ["apt-cache", "pkgnames"], capture_output=True, text=True, check=True
        )
        assert set(names) <= set(known.stdout.split()), names


def test_reframe() -> None:
    """The checks read fields of `results --json` and `check --json` (docs/results.md, uses.md)."""
    text = (PACKAGING / "reframe" / "plumbline_checks.py").read_text()
    ast.parse(text)
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("results.md", "uses.md"))
    fields = set(re.findall(r'document(?:\(\))?\["(\w+)"\]', text))
    assert fields >= {"state", "wrong", "before", "winners", "loops", "slower"}
    for field in fields:
        assert re.search(rf"`{field}(\[\])?`", pages), field
    assert f"_SLOWER = {common.VIOLATIONS_FOUND}" in text
