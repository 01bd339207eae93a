"""Predictions against SimGrid: our variants and SMPI's own algorithms on simulated ranks, fed with
the ping-pongs and floods of the same launch. Times are simulated, so they are exact."""

from __future__ import annotations

import shutil
import statistics

import msgspec
import pytest

from plumbline import campaign
from plumbline.plan import Plan, PlanCase, RoundTrips
from plumbline.settings import load
from plumbline.simulation import Simulation
from plumbline.workbench import workbench
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CaseRecord, Check, PingPong, Samples

pytestmark = [pytest.mark.mpi]

NPROCS = 16
SMALL = 16 * NPROCS  # 16 B a block


def launched(
    cases: list[PlanCase], sizes: list[int], **machine: float
) -> tuple[dict[PlanCase, float], dict[int, float]]:
    """Seconds of each case, and of a message of each size."""
    if shutil.which("smpirun") is None:
        pytest.skip("SimGrid is not installed (Debian: libsimgrid-dev)")
    settings = load(None, {"simulate": "ompi", "nprocs": NPROCS})
    settings = msgspec.structs.replace(settings, simulate=Simulation(library="ompi", **machine))
    try:
        bench = workbench(settings=settings)
    except PlumblineError as error:
        if "make build" not in str(error):
            raise
        pytest.skip(f"not built for SimGrid: {error}")
    plan = Plan(
        "test",
        1,
        tuple(cases),
        blocks=1,
        reps=1,
        warmup=0,
        pingpongs=tuple(RoundTrips(size, 1) for size in sizes),
    )
    run, records = campaign.starter(bench, settings).start("c", "s", 0, plan.text(), {})
    assert run.outcome == "finished", run.reason
    assert {one.outcome for one in records if isinstance(one, Check)} == {"ok"}
    seconds = {one.case: one.ns[0] / 1e9 for one in records if isinstance(one, Samples)}
    found = {
        PlanCase(one.function, one.bytes, one.variant): seconds[one.case]
        for one in records
        if isinstance(one, CaseRecord)
    }
    messages = {
        one.bytes: statistics.median(one.round_trip_ns) / 2e9
        for one in records
        if isinstance(one, PingPong)
    }
    return found, messages
