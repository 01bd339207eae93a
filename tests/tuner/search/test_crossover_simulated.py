"""Crossovers on ranks that SimGrid simulates: the real smpirun, the real probe, our own variants.
Times are simulated, so they are exact."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial

import pytest

from plumbline.core.cell import Target
from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.search import crossover
from plumbline.search.crossover import SizeGrid
from plumbline.search.space.candidates import Candidate
from plumbline.search.space.select import Selection
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain
from plumbline_db.probe_records import Samples
from plumbline_db.records import Trial, Winner
from tests import simgrid
from tests.tuner.search.test_candidates import candidate_space

pytestmark = pytest.mark.mpi

BCAST = "MPI_Bcast"
REFERENCE, OURS = "bcast_naive_send", "bcast_linear"
TABLE = [16384, 262144]
SETTINGS = load(None, {"simulate": "ompi", "nprocs": 4, "sizes": TABLE})


@pytest.fixture(scope="module")
def simulated() -> Toolchain:
    return simgrid.toolchain(SETTINGS)


def measured(ranks: Starter, sizes: Sequence[int]) -> dict[int, Trial]:
    """Sends that do not wait for each other, over sends that do."""
    cases = [PlanCase(BCAST, size, name) for size in sizes for name in (REFERENCE, OURS)]
    plan = Plan("test", 1, tuple(cases), Data(), blocks=1, reps=2, warmup=1)
    run, records = ranks.start("c", "s", 0, plan.text(), {})
    assert run.finished, f"{run.reason}\n{run.stderr}"
    times = {one.case: statistics.median(one.ns) for one in records if isinstance(one, Samples)}
    found = {}
    for place, size in enumerate(sizes):
        ratio = times[2 * place + 1] / times[2 * place]
        low, high = ratio - 1e-3, ratio + 1e-3
        found[size] = Trial(OURS, {}, "measured", ratio, low, high, 1, "")
    return found


def found_by(ranks: Starter, grid: SizeGrid) -> tuple[Winner, int]:
    """The winner, and how many looks it took."""
    trials = {Target(BCAST, size): [one] for size, one in measured(ranks, TABLE).items()}
    opened = {target: ["GL"] for target in trials}
    selection = Selection(candidate_space(), {BCAST: TABLE}, nprocs=4, ppn=1, tolerance=0.05)
    looks: list[int] = []

    def measure(entries: Mapping[Target, Sequence[Candidate]]) -> dict[Target, list[Trial]]:
        looks.append(len(entries))
        assert all(those == [Candidate(OURS)] for those in entries.values())
        sizes = [one.bytes for one in entries]
        return {Target(BCAST, size): [one] for size, one in measured(ranks, sizes).items()}

    choose = partial(selection.choose, trials, opened)
    between = crossover.search(choose, measure, grid, lambda: True)
    (winner,) = selection.winners(trials, opened, between)
    return winner, len(looks)


def test_where_sends_begin_to_wait_is_found_to_the_byte(simulated: Toolchain) -> None:
    """From 64 KiB on a send waits for its receiver: from there on it pays not to wait for each."""
    switches = crossover.switches(simulated.space, simulated.knobs)
    assert switches == [65535]
    ranks = starting.starter(simulated, SETTINGS)
    known, looks = found_by(ranks, SizeGrid(4, Data("MPI_BYTE"), switches))
    assert (known.bytes_from, known.bytes_to, looks) == (65536, 262144, 1)
    unknown, looks = found_by(ranks, SizeGrid(4, Data("MPI_BYTE")))
    assert 65536 / 2**0.5 < unknown.bytes_from < 65536 * 2**0.5
    assert looks <= 3
