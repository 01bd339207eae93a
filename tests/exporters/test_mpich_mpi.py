"""Exported tables against the real MPICH: what is ours is met at its sizes and nowhere else."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from plumbline.campaign.proof import environment_of, profile_canary
from plumbline.libraries.mpich import Mpich
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import registry
from tests.db import build
from tests.exporters.bundles import bundle, of_mpich, variant
from tests.probes.launch import Launch
from tests.probes.mpich import MpichProbe

pytestmark = pytest.mark.mpi


winner = partial(of_mpich, nprocs=2)

WINNERS = (
    winner("MPI_Allgather", "k_brucks", 64, 127, BRUCKS_KVAL="2"),
    winner("MPI_Alltoall", "pairwise", 64, 128),
    winner("MPI_Allreduce", "recexch", 64, 128, RECEXCH_KVAL="2", RECEXCH_SINGLE_PHASE_RECV="0"),
    winner("MPI_Allreduce", "reduce_scatter_allgather", 129, 256),
    winner("MPI_Bcast", "pipelined_tree", 64, 128, TREE_KVAL="2", TREE_PIPELINE_CHUNK_SIZE="32"),
    winner("MPI_Reduce_scatter_block", "pairwise", 64, 128),
    winner("MPI_Barrier", "recexch", 0, 0, RECEXCH_KVAL="2"),
    winner("MPI_Gather", "nb", 0, UNBOUNDED_BYTES),
    winner("MPI_Scatterv", "linear", 0, UNBOUNDED_BYTES),
    winner("MPI_Scan", "recursive_doubling", 0, UNBOUNDED_BYTES),
)
# Rules of a whole site for other numbers of ranks, which the same tables contain.
OF_OTHER_RANKS = (
    msgspec.structs.replace(
        of_mpich("MPI_Allreduce", "nb", 64, 256, nprocs=3), restrictions=["nprocs=3-5"]
    ),
    of_mpich("MPI_Allreduce", "recursive_doubling", 64, 256, nprocs=8),
    of_mpich("MPI_Bcast", "nb", 64, 128, nprocs=8),
)
# Beside each winner's sizes, just past them.
OUTSIDE = {
    "MPI_Allgather": (62, 130),
    "MPI_Alltoall": (62, 130),
    "MPI_Allreduce": (63, 257),
    "MPI_Bcast": (63, 129),
    "MPI_Reduce_scatter_block": (62, 130),
}


def case(number: int, function: str, size: int) -> str:
    return f"case id={number} function={function} bytes={size} reps=1\n"


def run(mpich: MpichProbe, cells: list[tuple[str, int]], environment: dict[str, str]) -> Launch:
    lines = "".join(case(number, *cell) for number, cell in enumerate(cells))
    head = "set blocks=1 warmup=0 sync=dissemination\n"
    out = mpich.folder / "records.ndjson"
    out.unlink(missing_ok=True)
    return mpich.run(head + lines, 2, environment, out)


def exported(mpich: MpichProbe, *winners: Winner) -> dict[str, str]:
    library = Mpich().find(mpich.prefix)[0].library
    preload = mpich.binary.with_name("libplumbline.so")
    given = bundle(
        *winners, library=library, preload_library=preload, directory=mpich.folder / "out"
    )
    registry.write(given, ["mpich-env"])
    return environment_of(mpich.folder / "out" / "plumbline.sh", {"PATH": "/usr/bin:/bin"})


def test_right_results_at_and_beside_every_winner(mpich: MpichProbe) -> None:
    inside = [(one.function, one.bytes_from or 64 * (one.bytes_to > 0)) for one in WINNERS]
    beside = [(function, size) for function, sizes in OUTSIDE.items() for size in sizes]
    launch = run(mpich, inside + beside, exported(mpich, *WINNERS, *OF_OTHER_RANKS))
    assert launch.code == 0, launch.stderr
    assert {check.outcome for check in launch.checks.values()} == {"ok"}
    assert len(launch.checks) == len(inside + beside)


def test_each_choice_is_met_at_its_sizes_and_nowhere_else(mpich: MpichProbe) -> None:
    environment = exported(mpich, *WINNERS)
    canaries = Mpich().canaries(environment, mpich.folder)
    assert len(canaries) == len(WINNERS) + 5  # compositions: Allreduce twice, Barrier, Bcast, Scan
    for canary in canaries:
        (one,) = [other for other in WINNERS if canary.concerns(other)]
        ends = {one.bytes_from, one.bytes_to} if one.bytes_to < UNBOUNDED_BYTES else {64, 4096}
        if one.function == "MPI_Allgather":
            ends = {64, 128}  # whole blocks
        for size in ends:
            assert run(mpich, [(one.function, size)], canary.environment).code != 0, (one, size)
        if one.function == "MPI_Bcast":
            continue  # the library itself broadcasts names of these sizes when MPI comes up
        others: list[tuple[str, int]] = []
        others += [(one.function, size) for size in OUTSIDE.get(one.function, ())]
        others += [
            (other.function, other.bytes_from or 64 * (other.bytes_to > 0))
            for other in WINNERS
            if other != one
        ]
        spared = run(mpich, others, canary.environment)
        assert spared.code == 0, (canary, spared.stderr[:500])


def test_variants_reach_the_ranks_alone(mpich: MpichProbe) -> None:
    profile = build.winner(
        function="MPI_Scan", nprocs=2, ppn=2, bytes_from=0, bytes_to=9, variant="scan_linear"
    )
    environment = exported(mpich, profile)
    assert "LD_PRELOAD" not in environment
    launcher = mpich.prefix / "bin" / "mpiexec"
    words = [str(launcher), "-n", "2", "/bin/sh", "-c", "echo $LD_PRELOAD:$PLUMBLINE_PROFILE"]
    said = mpich.start(["/usr/bin/env", *(f"{k}={v}" for k, v in environment.items()), *words])
    path = mpich.binary.with_name("libplumbline.so")
    lines = [line for line in said.stdout.splitlines() if line]
    assert lines == [f"{path}:{mpich.folder}/out/plumbline.profile"] * 2


def test_a_variant_takes_the_place_of_the_library_s_call(mpich: MpichProbe) -> None:
    """A canary in the profile makes the call fail, at its sizes alone."""
    environment = exported(mpich, variant("MPI_Allreduce", "allreduce_ring", 64, 128, 2))
    cells = [("MPI_Allreduce", 63), ("MPI_Allreduce", 64), ("MPI_Allreduce", 128)]
    cells.append(("MPI_Allreduce", 129))
    head = "set blocks=1 warmup=0 sync=dissemination\n"
    lines = head + "".join(case(number, *cell) for number, cell in enumerate(cells))
    out = mpich.folder / "records.ndjson"
    for corrupt, wanted in ((str, ["ok"] * 4), (profile_canary, ["ok", "error", "error", "ok"])):
        file = mpich.folder / "out" / "plumbline.profile"
        file.write_text(corrupt(file.read_text()))
        out.unlink(missing_ok=True)
        words = ["/usr/bin/env", *(f"{name}={value}" for name, value in environment.items())]
        words += [*mpich.command(2, {}), str(mpich.binary)]
        words += ["--plan", str(mpich.write(lines)), "--out", str(out)]
        launch = mpich.start(words, out)
        assert launch.code == 0, launch.stderr
        assert [launch.checks[number].outcome for number in range(4)] == wanted
