"""The probe under MPICH, from the installations that `make setup-mpis` makes; skips without one."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.probes.launch import ROOT, Probe, build_folder

FOLDER = Path(os.environ.get("PLUMBLINE_MPIS") or ROOT / "build" / "mpis")
NAMES = ("mpich-5.0", "mpich-4.3")


@dataclass(frozen=True)
class MpichProbe(Probe):
    """Two ranks: they spin, so that more than there are cores take milliseconds for each call."""

    prefix: Path = Path()

    def command(self, ranks: int, environment: dict[str, str]) -> list[str]:
        words = [str(self.prefix / "bin" / "mpiexec"), "-n", str(ranks)]
        for name, value in environment.items():
            words += ["-genv", name, value]
        return words


def built(name: str) -> tuple[Path, Path]:
    """Prefix and build folder, brought up to date."""
    prefix = FOLDER / name
    mpicc = prefix / "bin" / "mpicc"
    if not mpicc.is_file():
        pytest.skip(f"no {mpicc}: make setup-mpis")
    for part in ("collectives-alt", "probes"):
        words = ["make", "-s", "-C", str(ROOT / part), "all", f"MPICC={mpicc}"]
        subprocess.run(words, check=True, timeout=600)
    return prefix, build_folder(mpicc)


@pytest.fixture(scope="module", params=NAMES)
def installed_mpich(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    return built(request.param)


@pytest.fixture
def mpich(installed_mpich: tuple[Path, Path], tmp_path: Path) -> MpichProbe:
    prefix, folder = installed_mpich
    return MpichProbe(folder / "probe", tmp_path, Path(), prefix)
