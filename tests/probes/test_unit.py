"""The C tests of the pure parts (tests/probes/unit)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.probes.launch import ROOT

PROGRAMS = sorted(path.stem for path in (ROOT / "tests/probes/unit").glob("test_*.c"))


@pytest.fixture(scope="module")
def programs(build: Path) -> Path:
    subprocess.run(
        ["make", "-s", "-C", str(ROOT / "probes"), "unit-programs"], check=True, timeout=240
    )
    return build / "tests" / "probes"


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 7


@pytest.mark.parametrize("name", PROGRAMS)
def test_unit(programs: Path, name: str) -> None:
    done = subprocess.run(
        [str(programs / name)], capture_output=True, text=True, timeout=60, check=False
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith("not ok")]
    assert (done.returncode, failed) == (0, []), done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("1..")
