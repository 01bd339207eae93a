"""A wheel in an environment of its own, on a machine without dpkg and apt: build, doctor, a small
campaign's check, export (`make test-install`; some two minutes)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.packaging.test_needs import System

MOST_BYTES = 260e6  # of the environment, with Python's own pip in it


def test_from_a_wheel_to_exported_files(environment: Path, tmp_path: Path) -> None:
    system = System(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def said(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [str(environment / "bin" / "plumbline"), *words],
            env={"PATH": str(system.commands), "HOME": str(home)} | allowed,
            cwd=home, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    assert "plumbline build" in said("doctor", status=1)
    built = json.loads(said("build", "--json"))
    assert {Path(path).name for path in built["programs"]} == {
        *("probe", "loops", "libplumbline.so", "librecorder.so", "libdetection.so")
    }
    assert all(path.startswith(str(home)) for path in built["programs"])
    findings = json.loads(said("doctor", "--json"))
    assert not [one for one in findings if one["state"] == "fails"]
    guidelines = ("-n", "2", "--sizes", "1024,4096", "--launches", "6", "--guidelines", "GL7")
    done = subprocess.run(
        [str(environment / "bin" / "plumbline"), "verify", *guidelines],
        env={"PATH": str(system.commands), "HOME": str(home)} | allowed,
        cwd=home, capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert done.returncode in (0, 3) and "Before (" in done.stdout, done.stdout + done.stderr
    assert "MPI_Bcast" in said("variants", "MPI_Bcast", "--json")


def test_its_weight(environment: Path) -> None:
    """No SciPy, no pictures: 383 MB were too much."""
    files = (Path(top) / name for top, _, names in os.walk(environment) for name in names)
    weight = sum(path.lstat().st_size for path in files)
    assert weight < MOST_BYTES, f"{weight / 1e6:.0f} MB"
    print(f"{weight / 1e6:.0f} MB")
