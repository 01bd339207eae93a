"""Messages of findings played under a real mpirun, beside the collective."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from plumbline.core.configuration import Configuration
from plumbline.detect import read, replay
from plumbline.detect.analysis import analysis
from plumbline.detect.findings import HandMade
from plumbline.detect.known_costs import Tuned, Winners
from plumbline.detect.recording import Recording
from plumbline.measure import unkept
from plumbline.settings import campaign_file, starting
from plumbline.settings.toolchain import find_toolchain
from tests import busy
from tests.bench.detection import broadcasts, exchanges, reductions, spmd
from tests.collectives_alt.programs import mpirun
from tests.probes.recorder.programs import FLAGS, recorder

pytestmark = pytest.mark.mpi


def replayed(
    recording: Recording, found: list[HandMade], launches: int, winners: Winners | None = None
) -> replay.Replayed:
    settings = campaign_file.load(None, {"nprocs": recording.nprocs})
    toolchain = find_toolchain(None, settings=settings)
    settings = settings.on(toolchain.launcher.processing_units())
    starter = starting.starter(toolchain, settings)
    with unkept.store_for(toolchain, starter, "detect") as store:
        return replay.replayed(
            *(store, found, recording.nprocs, settings.way.use, winners or {}),
            launches=launches,
            knobs=toolchain.space.switch,
            hot=toolchain.space.hot_environment,
        )


def several(me: spmd.Rank) -> spmd.Waits:
    """All ranks, and rows of three."""
    for _ in range(2):
        yield from broadcasts.linear(me, me.data(1000), 1)
        yield from exchanges.alltoall_pairwise(me, 20)
        yield from reductions.allreduce_doubling(me, me.data(10), np.add)
        row = [rank for rank in range(me.size) if rank % 2 == me.rank % 2]
        yield from broadcasts.binomial(me.among(row), me.data(300), 0)


def test_each_kind_beside_its_collective() -> None:
    recording = spmd.run(6, several)
    found = analysis(recording)
    answer = replayed(recording, found, 2)
    assert answer.failures == []
    made = [each for each in answer.findings if each.category == "collective"]
    assert {"MPI_Bcast", "MPI_Alltoall"} <= {each.function for each in made}
    assert {each.group_size for each in made} == {3, 6}
    for finding in made:
        assert finding.saving is not None and finding.saving.source == "replay"
        for size in finding.saving.sizes:
            assert size.by_hand is not None
            assert size.by_hand.seconds > 0 and size.default.seconds > 0
            assert size.default.low_seconds <= size.default.seconds <= size.default.high_seconds
        assert finding.saving.share == 1.0


def test_a_winner_is_a_third_side() -> None:
    """A variant of ours for all ranks, and a knob for the rows."""
    recording = spmd.run(6, several)
    found = [each for each in analysis(recording) if each.function == "MPI_Bcast"]
    knob = Configuration.of({"coll_tuned_bcast_algorithm": "1"})
    winners = {
        ("MPI_Bcast", 6, 8000): Tuned("bcast_binomial", Configuration()),
        ("MPI_Bcast", 3, 2400): Tuned("default", knob),
    }
    told = {}
    for finding in replayed(recording, found, 2, winners).findings:
        assert finding.saving is not None and finding.saving.tuned is not None
        (size,) = finding.saving.sizes
        assert size.tuned is not None and size.tuned.seconds > 0
        told[finding.group_size] = size.configuration
    assert told == {6: "bcast_binomial", 3: "coll_tuned_bcast_algorithm=1"}


def test_what_was_not_made_by_hand_is_not_played() -> None:
    recording = spmd.run(4, several)
    found = [msgspec.structs.replace(each, category="incomplete") for each in analysis(recording)]
    assert replayed(recording, found, 1).findings == found


SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BYTES = 8000, TIMES = 1000 };
int main(int argc, char **argv)
{
    int me, size, library = argc > 1 && strcmp(argv[1], "library") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *data = malloc(BYTES);
    double begin = 0;
    for (int time = -20; time < TIMES; ++time) {
        if (time == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
        }
        if (me == 0)
            memset(data, time, BYTES);
        if (library)
            MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (me == 0)
            for (int other = 1; other < size; ++other)
                MPI_Send(data, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("took %.9f\n", MPI_Wtime() - begin);
    MPI_Finalize();
    free(data);
    return 0;
}
"""


@pytest.mark.alone
def test_a_rewritten_program_confirms_what_was_predicted(tmp_path: Path) -> None:
    """Linear broadcasts between eight ranks, and the same program with MPI_Bcast. What is asked
    for is a factor of 1.5; a machine with fewer cores than ranks is granted 2.5. Of the programs in
    docs/design/advice.md this one was taken for its clear saving."""
    installed = recorder()
    (tmp_path / "linear.c").write_text(SOURCE)
    program = tmp_path / "linear"
    command = [installed.mpicc, *FLAGS, str(tmp_path / "linear.c"), "-o", str(program)]
    subprocess.run(command, check=True, timeout=120)

    def took(how: str) -> float:
        done = mpirun(8, program, how)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.partition("took ")[2].split()[0])

    def confirmed() -> None:
        record = tmp_path / f"record-{len(list(tmp_path.iterdir()))}"
        record.mkdir()
        variables = {"LD_PRELOAD": str(installed.library), "PLUMBLINE_RECORD": str(record)}
        assert mpirun(8, program, "by hand", env=variables).returncode == 0
        recording = read.read(record)
        found = [each for each in analysis(recording) if each.category == "collective"]
        assert [(each.function, each.bytes, each.instances) for each in found] == [
            ("MPI_Bcast", 8000, 1020)
        ]
        saving = replayed(recording, found, 8).findings[0].saving
        assert saving is not None
        pairs = [took("by hand") - took("library") for _ in range(9)]
        predicted, measured = saving.default.seconds * 1000 / 1020, statistics.median(pairs)
        assert saving.default.low_seconds > 0 and measured > 0, (predicted, measured)
        assert 1 / 2.5 < predicted / measured < 2.5, (predicted, measured)

    busy.patiently(confirmed, attempts=3)
