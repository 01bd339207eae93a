"""What a wheel carries, and what its program says before `plumbline build`. The whole way, in an
environment of its own, is `make test-install`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging import wheel
from tests.packaging.wheel import ROOT

CARRIED = ("collectives-alt", "probes", "search-spaces", "tuner/detection")
OPTIONAL = ("anyio", "bootstrap", "jinja2", "starlette", "uvicorn", "vl_convert")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its packages; what they stand on comes from the environment of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    target = folder / "packages"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    words += ["--target", str(target), str(wheel.make(folder))]
    subprocess.run(words, check=True, timeout=200)
    return target


class Outside:
    """The program of the wheel, for a user whose folders are empty. Modules of `hides` are not
    installed."""

    def __init__(self, packages: Path, home: Path, hides: tuple[str, ...] = ()) -> None:
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": f"{home}:{packages}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        self.home = home
        text = f"import sys\nsys.modules.update(dict.fromkeys({hides!r}))\n"
        (home / "sitecustomize.py").write_text(text)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        words = (sys.executable, "-m", "plumbline", *words)
        return subprocess.run(
            words, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=120
        )


def test_it_carries_all_sources(installed: Path) -> None:
    done = subprocess.run(
        ["git", "ls-files", *CARRIED, "cflags.mk"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = done.stdout.splitlines()
    assert len(names) > 300 and "search-spaces/parameters/openmpi.tsv" in names
    sources = installed / "plumbline" / "sources"
    for name in names:
        assert (sources / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert len((sources / "digest").read_text()) == 12


def test_doctor_says_what_is_to_be_built_and_how(installed: Path, tmp_path: Path) -> None:
    done = Outside(installed, tmp_path).run("doctor", "--json")
    findings = {one["subject"]: one for one in reversed(json.loads(done.stdout))}
    probe = findings["probe"]
    assert probe["state"] == "fails" and "`plumbline build /" in probe["text"]
    digest = (installed / "plumbline" / "sources" / "digest").read_text()
    assert f"{tmp_path}/.local/state/plumbline/programs/{digest}/" in probe["text"]


def test_what_it_is_without_pages_and_pictures(installed: Path, tmp_path: Path) -> None:
    """Commands that need them say what to install; the others do not look for them."""
    program = Outside(installed, tmp_path, OPTIONAL)
    for words in (["serve"], ["results", "--report", "pages"]):
        done = program.run("--db", "none.db", *words)
        assert done.returncode == 1 and "pip install 'plumbline[pages]'" in done.stderr, done.stderr
    picture = program.run("results", "--picture", "table.svg")
    assert picture.returncode == 1 and "pip install 'plumbline[pictures]'" in picture.stderr
    metrics = program.run("serve", "--textfile", str(tmp_path / "plumbline.prom"))
    assert "no database" in metrics.stderr and (tmp_path / "plumbline.prom").exists()
    extras = json.loads(program.run("doctor", "--json").stdout)
    said = [one["text"] for one in extras if one["subject"] == "extras"]
    assert len(said) == 2 and all("not installed" in text for text in said)


def test_no_command_needs_scipy(installed: Path, tmp_path: Path) -> None:
    """Nor any other package that is not among those that a campaign needs."""
    script = (
        "import importlib, pkgutil, plumbline, plumbline_db, plumbline_exporters\n"
        "for room in (plumbline, plumbline_db, plumbline_exporters):\n"
        "    for module in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
    )
    outside = Outside(installed, tmp_path, ("scipy", "pandas", "matplotlib", "pyarrow"))
    words = [sys.executable, "-c", script]
    done = subprocess.run(
        words, env=outside.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_build_says_what_is_missing(installed: Path, tmp_path: Path) -> None:
    program = Outside(installed, tmp_path)
    done = program.run("build", "no-such-mpicc")
    assert done.returncode == 1 and "no-such-mpicc does not exist" in done.stderr
    (tmp_path / "mpicc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mpicc").chmod(0o755)
    done = program.run("build", str(tmp_path / "mpicc"))
    assert done.returncode == 1 and "no MPI library behind MPICC=" in done.stderr
    assert "Traceback" not in done.stderr
