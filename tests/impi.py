"""The installed Intel MPI: short launches of the probe on two ranks, and winners for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.libraries import Installation
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline_db import ndjson
from plumbline_db.probe_records import ProbeRecord, Samples
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters.family.intelmpi import knob
from tests.exporters.bundles import winner
from tests.tuner.families import installations
from tests.tuner.families.started import started

WHEEL = "impi-2021"  # as `make setup-mpis` calls it
FAMILY = IntelMpi()
RANKS = Placement(nodes=1, ppn=2)  # it spins: no more than there are cores


def tuned(
    function: str, preset: int, low: int = 0, high: int = UNBOUNDED_BYTES, nprocs: int = 2
) -> Winner:
    return winner(function, {knob(function): str(preset)}, low, high, nprocs)


@pytest.fixture(scope="session")
def intel_mpi() -> Installation:
    found = installations.real(FAMILY, WHEEL)
    if not probe(found).is_file():
        pytest.skip(f"no {probe(found)}: make build MPICC={found.mpicc}")
    return found


def probe(found: Installation) -> Path:
    return installations.ROOT / "build" / paths.build_id(found.library) / "probe"


def run(
    found: Installation, folder: Path, extra: dict[str, str], *cells: tuple[str, int], reps: int = 1
) -> tuple[Finished, dict[tuple[str, int], list[int]]]:
    """One launch, and its samples (ns) by cell."""
    cases = tuple(PlanCase(function, size) for function, size in cells)
    done, records = launch(
        found, folder, extra, Plan("test", 1, cases, Data("MPI_BYTE"), blocks=1, reps=reps)
    )
    return done, {cells[one.case]: one.ns for one in records if isinstance(one, Samples)}


def launch(
    found: Installation, folder: Path, extra: dict[str, str], plan: Plan
) -> tuple[Finished, Sequence[ProbeRecord]]:
    file, out = folder / "plan", folder / "out.ndjson"
    file.write_text(plan.text())
    out.unlink(missing_ok=True)
    words = [str(probe(found)), "--plan", str(file), "--out", str(out)]
    done = started(FAMILY, found, RANKS, words, extra)
    return done, ndjson.decode(out) if out.is_file() else []
