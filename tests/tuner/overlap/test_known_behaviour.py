"""What is known of real libraries is found: thresholds that are moved, and who copies."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline.overlap.metric import Ratio, latency, ratio
from plumbline_db.probe_records import Overlap
from tests.memory import memory_can_be_read
from tests.probes.launch import Probe
from tests.tuner.simulated import ROOT
from tests.tuner.started import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.alone]
ATTEMPTS = 3  # others use the cores too
MPICH = ROOT / "build" / "mpis" / "mpich-5.0"


def mpich_probe() -> Path:
    probes = sorted((ROOT / "build").glob("mpich-5.0*/probe"))
    if not (MPICH / "bin" / "mpirun").exists() or not probes:
        pytest.skip("no MPICH in build/mpis with a probe: `make setup-mpis`, `make build MPICC=…`")
    return probes[-1]


def require_open_mpi_4() -> None:
    if shutil.which("ompi_info") is None:
        pytest.skip("no Open MPI on PATH")


def close(found: object, limit: int) -> bool:
    """Within a factor of √2."""
    return isinstance(found, int) and abs(math.log2(found / limit)) <= 0.5


def require_threshold(words: list[str], knobs: Mapping[str, int], limit: int, path: Path) -> None:
    given = [f"--knob={name}={value}" for name, value in knobs.items()]
    for attempt in range(ATTEMPTS):
        database = path / f"{limit}-{attempt}.db"
        done = plumbline(
            "overlap", "thresholds", *words, *given, "--triples=8", "--json", "--db", database
        )
        if "reports no parameter" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if close(found["eager"], limit) and close(found["waits"], limit):
            return
    raise AssertionError((knobs, limit, found))


@pytest.mark.parametrize("limit", [4096, 32768])
def test_the_eager_limit_of_open_mpi_is_found_where_it_is_put(limit: int, tmp_path: Path) -> None:
    """Messages and a header of 56 bytes are eager up to it."""
    require_open_mpi_4()
    knobs = {"btl_vader_eager_limit": limit, "btl_vader_max_send_size": max(32768, 2 * limit)}
    require_threshold([], knobs, limit, tmp_path)


@pytest.mark.parametrize("cell", [8192, 16384])
def test_the_cells_of_mpich_are_its_eager_limit(cell: int, tmp_path: Path) -> None:
    """What does not fit into a cell of the shared queue waits for its receive."""
    mpich_probe()
    knobs = {
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": cell,
        "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": 4 * cell,
    }
    require_threshold(["--mpi", str(MPICH)], knobs, cell, tmp_path)


def sides(copies: str, folder: Path) -> dict[str, list[Ratio]]:
    """Ratios of 512 KiB and 2 MiB by side; `copies`: whether one process copies for both."""
    probe = Probe(mpich_probe(), folder, Path("none"))
    lines = "".join(
        f"overlap id={number} bench={bench} bytes={size} work_ns={size // 6} triples=40\n"
        for number, (bench, size) in enumerate(
            (bench, size) for bench in ("sender", "receiver") for size in (1 << 19, 1 << 21)
        )
    )
    out = folder / "records.ndjson"
    words = [str(MPICH / "bin" / "mpirun"), "-np", "2", str(probe.binary)]
    words += ["--plan", str(probe.write(lines)), "--out", str(out)]
    launch = probe.start(words, out, {"MPIR_CVAR_CH4_CMA_ENABLE": copies})
    assert launch.code == 0, launch.stderr
    empty = latency(launch.records)
    found: dict[str, list[Ratio]] = {"sender": [], "receiver": []}
    for one in launch.of(Overlap):
        told = ratio([(one, empty)])
        if told is not None and not told.noisy and told.high - told.low < 0.5:
            found[one.bench].append(told)
    return found


@pytest.mark.parametrize("copies", ["1", "0"])
def test_who_copies_in_mpich(copies: str, tmp_path: Path) -> None:
    """The receiver reads the sender's memory, unless that is switched off: then both copy."""
    if not memory_can_be_read():
        pytest.skip("processes may not read each other's memory here (no CMA)")
    seen = []
    for _ in range(2 * ATTEMPTS):
        found = sides(copies, tmp_path)
        seen.append({side: [one.value for one in those] for side, those in found.items()})
        if not all(found.values()):
            continue
        free = all(value < 0.2 for value in seen[-1]["sender"])
        paid = all(value > 0.8 for value in seen[-1]["sender"])
        if (free if copies == "1" else paid) and min(seen[-1]["receiver"]) > 0.8:
            return
    if not any(all(one.values()) for one in seen):
        pytest.skip("others use the cores: no ratio here says anything")
    raise AssertionError(seen)
