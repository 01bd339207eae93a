"""Predictions against SimGrid, which sends the messages of our variants and of SMPI's algorithms
one by one. Where messages cost their ends nothing, α is what the platform says, exactly."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import msgspec
import pytest

from plumbline.core.configuration import variant_name
from plumbline.core.plan import Plan, PlanCase, RoundTrips
from plumbline.launch.simulation import Simulation
from plumbline.model.names import followed
from plumbline.model.schedules import Network, Piece, deviation, hockney, loggp
from plumbline.search.race.effort import Effort
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain
from plumbline_db.probe_records import Check, PingPong, Samples
from tests import simgrid

pytestmark = [pytest.mark.mpi]

MESSAGES = (0, 8, 512, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288)


class Measured(msgspec.Struct):
    """Seconds of cases, and of messages by size."""

    toolchain: Toolchain
    cases: dict[PlanCase, float]
    messages: dict[int, float]


def measured(nprocs: int, cases: Sequence[PlanCase], machine: Simulation) -> Measured:
    settings = load(None, {"simulate": machine.library, "nprocs": nprocs})
    settings = settings.but(simulate=machine)
    toolchain = simgrid.toolchain(settings)
    trips = tuple(RoundTrips(size, 1) for size in MESSAGES)
    plan = Plan("test", 1, tuple(cases), blocks=1, reps=1, warmup=1, pingpongs=trips)
    run, records = starting.starter(toolchain, settings).start("c", "s", 0, plan.text(), {})
    assert run.finished, f"{run.reason}\n{run.stderr}"
    assert {one.outcome for one in records if isinstance(one, Check)} == {"ok"}
    seconds = {one.case: one.ns[0] / 1e9 for one in records if isinstance(one, Samples)}
    return Measured(
        toolchain,
        {cases[number]: one for number, one in seconds.items()},
        {
            one.bytes: statistics.median(one.round_trip_ns) / 2e9
            for one in records
            if isinstance(one, PingPong)
        },
    )


def predicted(found: Measured, network: Network, nprocs: int, case: PlanCase) -> tuple[float, ...]:
    """Seconds by Hockney and by LogGP."""
    standard = {
        each.name: each.standard
        for one in found.toolchain.catalogue.variants
        if one.name == variant_name(case.variant)
        for each in one.parameters
    }
    of = followed(found.toolchain.space, case.function, case.variant, {}, standard)
    assert of is not None
    path = of.schedule.cost(of.shape(nprocs, case.bytes))
    return hockney(path, network), loggp(path, network)


def test_the_case_study_of_the_seed_on_32_ranks() -> None:
    """Direct Gather takes (p - 1) α, the binomial tree log2 p α, with α the way of a message: two
    links and the switch between them, 11 µs, times what SMPI makes of it for small messages."""
    nprocs = 32
    tiny = [PlanCase("MPI_Gather", 4 * nprocs, one) for one in ("gather_linear", "gather_binomial")]
    machine = Simulation(library="mvapich2", send_seconds=0.0, receive_seconds=0.0)
    found = measured(nprocs, [*tiny, PlanCase("MPI_Gather", 4 * nprocs)], machine)
    alpha = found.messages[0]
    assert alpha == pytest.approx(2.01 * 11e-6, rel=0.02)
    network = Network((Piece(math.inf, alpha, 0.0),))
    direct, binomial = (predicted(found, network, nprocs, one)[0] for one in tiny)
    assert (direct, binomial) == (pytest.approx(31 * alpha), pytest.approx(5 * alpha))
    assert found.cases[tiny[0]] == pytest.approx(direct, rel=0.01)
    assert found.cases[tiny[1]] == pytest.approx(binomial, rel=0.01)
    default = found.cases[PlanCase("MPI_Gather", 4 * nprocs)]
    assert default == pytest.approx(direct, rel=0.01)


NPROCS = 16
SMALL, LARGE = 16 * NPROCS, 4096 * NPROCS

# Off by at most so much, at 256 B and at 64 KiB. Far off are, as they stand here: broadcasts along
# trees whose ranks send to all children at the same time, and share a link for it; floods of
# blocks that are long enough to be under way together.
TWICE: list[tuple[str, str, float, float]] = [
    ("MPI_Bcast", "bcast_linear", 0.05, 0.10),
    ("MPI_Bcast", "bcast_binomial", 0.02, 0.35),
    ("MPI_Bcast", "bcast_knomial", 0.05, 0.25),
    ("MPI_Bcast", "bcast_chain", 0.02, 0.05),
    ("MPI_Bcast", "bcast_binary", 0.10, 0.10),
    ("MPI_Bcast", "bcast_scatter_recursive_doubling_allgather", 0.01, 0.10),
    ("MPI_Bcast", "bcast_scatter_ring_allgather", 0.01, 0.10),
    ("MPI_Bcast", "bcast_bine", 0.02, 0.35),
    ("MPI_Bcast", "bcast_circulant", 0.02, 0.35),
    ("MPI_Scatter", "scatter_naive_isend", 0.01, 0.45),
    ("MPI_Scatter", "scatter_binomial", 0.01, 0.15),
    ("MPI_Scatter", "scatter_knomial", 0.01, 0.20),
    ("MPI_Gather", "gather_linear", 0.25, 0.20),
    ("MPI_Gather", "gather_naive_irecv", 0.01, 0.10),
    ("MPI_Gather", "gather_binomial", 0.01, 0.02),
    ("MPI_Gather", "gather_knomial", 0.01, 0.15),
    ("MPI_Allgather", "allgather_ring", 0.01, 0.05),
    ("MPI_Allgather", "allgather_recursive_doubling", 0.01, 0.03),
    ("MPI_Allgather", "allgather_bruck", 0.01, 0.03),
    ("MPI_Allgather", "allgather_sparbit", 0.01, 0.03),
    ("MPI_Allgather", "allgather_bine", 0.01, 0.05),
    ("MPI_Allgather", "allgather_pat", 0.01, 0.05),
    ("MPI_Allgather", "allgather_pat:blocks=1", 0.01, 0.05),
    ("MPI_Allgather", "allgather_pat:blocks=2", 0.01, 0.05),
    ("MPI_Allgather", "allgather_recursive_multiplying", 0.15, 0.05),
    ("MPI_Allgatherv", "allgatherv_recursive_multiplying", 0.15, 0.05),
    ("MPI_Allgatherv", "allgatherv_pipelined_ring", 0.01, 0.05),
    ("MPI_Allgatherv", "allgatherv_pipelined_ring:segment_bytes=1024", 0.01, 0.10),
    ("MPI_Allgather", "allgather_neighbor_exchange", 0.01, 0.03),
    ("MPI_Allgather", "allgather_naive_isend", 0.10, 0.20),
    ("MPI_Alltoall", "alltoall_pairwise", 0.01, 0.05),
    ("MPI_Alltoall", "alltoall_bruck", 0.01, 0.05),
    ("MPI_Alltoall", "alltoall_linear", 0.20, 0.55),
    ("MPI_Reduce", "reduce_binomial", 0.02, 0.02),
    ("MPI_Reduce", "reduce_knomial", 0.20, 0.02),
    ("MPI_Reduce", "reduce_linear", 0.20, 0.25),
    ("MPI_Reduce", "reduce_chain", 0.02, 0.30),
    ("MPI_Reduce", "reduce_rabenseifner", 0.01, 0.03),
    ("MPI_Reduce", "reduce_ring", 0.01, 0.10),
    ("MPI_Allreduce", "allreduce_recursive_doubling", 0.02, 0.05),
    ("MPI_Allreduce", "allreduce_rabenseifner", 0.01, 0.03),
    ("MPI_Allreduce", "allreduce_recursive_multiplying", 0.25, 0.05),
    ("MPI_Allreduce", "allreduce_allgather_reduce", 0.02, 0.05),
    ("MPI_Allreduce", "allreduce_ring", 0.01, 0.05),
    ("MPI_Allreduce", "allreduce_reduce_bcast_tree", 0.02, 0.02),
    ("MPI_Reduce_scatter", "reduce_scatter_recursive_halving", 0.01, 0.03),
    ("MPI_Reduce_scatter", "reduce_scatter_pairwise", 0.01, 0.05),
    ("MPI_Reduce_scatter", "reduce_scatter_chains", 0.10, 0.10),
    ("MPI_Reduce_scatter", "reduce_scatter_pat", 0.01, 0.05),
    ("MPI_Reduce_scatter", "reduce_scatter_pat:blocks=2", 0.01, 0.05),
    ("MPI_Reduce_scatter", "reduce_scatter_allgather_reduce", 0.02, 0.05),
    ("MPI_Reduce_scatter", "reduce_scatter_even_pieces", 0.01, 0.05),
    ("MPI_Reduce_scatter_block", "reduce_scatter_block_ring", 0.01, 0.05),
    ("MPI_Bcast", "bcast_double_tree", 0.10, 0.10),
    ("MPI_Bcast", "bcast_double_tree:segment_bytes=8192", 0.10, 0.35),
    ("MPI_Scatterv", "scatterv_bundled_tree", 0.01, 0.05),
    ("MPI_Scatterv", "scatterv_bundled_tree:bundle_bytes=1024", 0.01, 0.25),
    ("MPI_Scatterv", "scatterv_weighted_tree", 0.20, 0.25),
    ("MPI_Gatherv", "gatherv_bundled_tree", 0.15, 0.30),
    ("MPI_Gatherv", "gatherv_bundled_tree:bundle_bytes=1024", 0.15, 0.45),
    ("MPI_Gatherv", "gatherv_weighted_tree", 0.25, 0.10),
    ("MPI_Allgather", "allgather_naive_gather", 0.20, 0.55),
    ("MPI_Allgatherv", "allgatherv_adaptive", 0.01, 0.01),
    ("MPI_Allgatherv", "allgatherv_circulant", 0.01, 0.05),
    ("MPI_Allgatherv", "allgatherv_circulant:segment_bytes=8192", 0.01, 0.10),
    ("MPI_Alltoallv", "alltoallv_tuna", 0.01, 0.30),
    ("MPI_Alltoallv", "alltoallv_tuna:block_bytes=4096", 0.01, 0.05),
    ("MPI_Reduce", "reduce_two_trees", 0.01, 0.10),
    ("MPI_Allreduce", "allreduce_two_trees", 0.01, 0.05),
    ("MPI_Scan", "scan_linear", 0.02, 0.02),
    ("MPI_Scan", "scan_recursive_doubling", 0.02, 0.05),
    ("MPI_Scan", "scan_linear_nonblocking", 0.15, 0.10),
    ("MPI_Scan", "scan_allgather_reduce", 0.05, 0.05),
    ("MPI_Exscan", "exscan_recursive_doubling", 0.02, 0.05),
    ("MPI_Exscan", "exscan_linear_nonblocking", 0.15, 0.10),
    ("MPI_Exscan", "exscan_allgather_reduce", 0.05, 0.05),
]


def test_our_variants_on_16_ranks() -> None:
    """Messages and gaps are those of the same launch; no γ, as nothing is computed there."""
    floods = [
        PlanCase("MPI_Gather", NPROCS, "gather_naive_irecv"),
        PlanCase("MPI_Scatter", NPROCS, "scatter_naive_isend"),
    ]
    limits = {
        PlanCase(function, size, variant): limit
        for function, variant, small, large in TWICE
        for size, limit in ((SMALL, small), (LARGE, large))
    }
    found = measured(NPROCS, [*limits, *floods], Simulation(library="ompi"))
    sizes = sorted(found.messages.items())
    beta = (found.messages[65536] - found.messages[0]) / 65536
    plain = Network((Piece(math.inf, found.messages[0], beta),), tuple(sizes))
    into, out = ((found.cases[one] - plain.message(1)) / (NPROCS - 2) for one in floods)
    assert (out, into) == (pytest.approx(5.8e-6, rel=0.01), pytest.approx(4.5e-6, rel=0.01))
    # The platform's link, as SMPI uses it for large messages.
    link = Piece(math.inf, found.messages[0], 1 / (0.94 * 1.25e9))
    network = Network((*plain.pieces, link), tuple(sizes), None, out, into)
    off = {
        case: deviation(predicted(found, network, NPROCS, case)[1], found.cases[case])
        for case in limits
    }
    wrong = {
        f"{case.variant} {case.bytes} B": f"{found.cases[case] * 1e6:.1f} µs, off {off[case]:+.2f}"
        for case, limit in limits.items()
        if abs(off[case]) > limit
    }
    assert wrong == {}


SIZES = (64, 4096, 65536)
# The library's segments are its own choice.
SEGMENTS = {"bcast_chain": ("", *(f":segment_bytes={size}" for size in (1024, 8192, 32768)))}


@pytest.mark.parametrize("nodes", [8, 4])
def test_a_variant_that_is_called_alike_does_not_take_much_longer(nodes: int) -> None:
    """So that what it shows to be slow is slow; with one rank a node and with two."""
    settings = load(None, {"simulate": "ompi", "nprocs": 8, "nodes": nodes})
    toolchain = simgrid.toolchain(settings)
    starter = starting.starter(toolchain, settings)

    def seconds(cases: Sequence[PlanCase], options: dict[str, str]) -> list[float]:
        plan = Plan("test", 1, tuple(cases), blocks=1, reps=1, warmup=1)
        extra = toolchain.family.in_environment(options)
        run, records = starter.start("c", "s", 0, plan.text(), dict(extra))
        assert run.finished, f"{run.reason}\n{run.stderr}"
        found = {one.case: one.ns[0] / 1e9 for one in records if isinstance(one, Samples)}
        return [found[number] for number in range(len(cases))]

    alike = [
        (entry, one.name, one.sends_as)
        for entry in toolchain.space.function
        for one in entry.algorithms
        if one.sends_as
    ]
    assert len(alike) == 3
    ours = [
        PlanCase(entry.name, size, f"{variant}{words}")
        for entry, _, variant in alike
        for size in SIZES
        for words in SEGMENTS.get(variant, ("",))
    ]
    by_case = dict(zip(ours, seconds(ours, {}), strict=True))
    for entry, option, variant in alike:
        theirs = seconds([PlanCase(entry.name, size) for size in SIZES], {entry.knob: option})
        for size, taken in zip(SIZES, theirs, strict=True):
            mine = [
                case
                for case in ours
                if case.bytes == size and case.variant.partition(":")[0] == variant
            ]
            ratio = min(by_case[case] for case in mine) / taken
            assert ratio < Effort().alike, (option, size, ratio)
