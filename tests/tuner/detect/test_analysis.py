"""Collectives whose use is a mistake: what the recording proves, and what it does not."""

from __future__ import annotations

import numpy as np

from plumbline.detect.analysis import uses
from plumbline.detect.findings import HandMade
from plumbline.detect.kinds import ReductionOperator
from tests.tuner.detect.program import RankProgram

DATA = np.arange(8.0)


def everywhere(nprocs: int) -> dict[int, np.ndarray]:
    return dict.fromkeys(range(nprocs), DATA)


def told(program: RankProgram) -> list[HandMade]:
    return uses(program.recording())


def test_an_exchange_of_nearly_nothing() -> None:
    program = RankProgram(6)
    for _ in range(3):
        blocks = dict.fromkeys(range(6), 2)
        program.collective("MPI_Alltoallv", everywhere(6), everywhere(6), blocks=blocks)
    (finding,) = told(program)
    assert (finding.function, finding.instances) == ("MPI_Alltoallv", 3)
    assert finding.remarks[0].startswith("67% of its blocks are empty")


def test_an_exchange_of_much() -> None:
    program = RankProgram(6)
    blocks = dict.fromkeys(range(6), 5)
    program.collective("MPI_Alltoallv", everywhere(6), everywhere(6), blocks=blocks)
    assert told(program) == []


def test_a_barrier_before_what_synchronises() -> None:
    program = RankProgram(4)
    for _ in range(2):
        program.collective("MPI_Barrier", {}, {}, site="main.c:4")
        program.collective("MPI_Allreduce", everywhere(4), everywhere(4), site="main.c:5")
        program.compute(0, 100)
    (finding,) = told(program)
    assert (finding.function, finding.instances) == ("MPI_Barrier", 2)
    assert finding.sites[0].place == "main.c:4 (main)"


def test_a_barrier_that_orders_messages() -> None:
    """One rank has something else to do between; and a broadcast lets ranks go on."""
    program = RankProgram(4)
    program.collective("MPI_Barrier", {}, {})
    program.message(0, 1, b"x")
    program.collective("MPI_Allreduce", everywhere(4), everywhere(4))
    program.collective("MPI_Barrier", {}, {})
    program.collective("MPI_Bcast", {0: DATA}, everywhere(4), root=0)
    assert told(program) == []


def test_broadcasts_that_could_be_one() -> None:
    program = RankProgram(4)
    for number in range(6):
        content = np.full(3, number)
        outputs = dict.fromkeys(range(4), content)
        program.collective("MPI_Bcast", {0: content}, outputs, root=0, site="input.c:7")
    (finding,) = told(program)
    assert (finding.function, finding.instances) == ("MPI_Bcast", 6)


def test_broadcasts_of_what_has_to_be_computed() -> None:
    program = RankProgram(4)
    for _ in range(6):
        program.compute(0, 10_000_000)
        program.collective("MPI_Bcast", {0: DATA}, everywhere(4), root=0)
    assert told(program) == []


def sums(program: RankProgram, times: int, kept: int) -> None:
    """Allreduces into one place, which rank `kept` alone looks at."""
    for _ in range(times):
        more = {"operation": ReductionOperator.SUM, "site": "main.c:9", "address": 0x5000}
        program.collective("MPI_Allreduce", everywhere(4), everywhere(4), **more)
        program.compute(kept, 100_000)


def test_a_result_that_one_rank_can_have_read() -> None:
    program = RankProgram(4)
    sums(program, 12, 2)
    (finding,) = told(program)
    assert (finding.function, finding.remarks[1]) == ("MPI_Allreduce", "better: MPI_Reduce")
    assert finding.remarks[0].startswith("only rank 2 can have read the result")


def test_a_result_that_was_there_for_a_while() -> None:
    program = RankProgram(4)
    for _ in range(12):
        sums(program, 1, 0)
        program.compute(1, 100_000)
    assert told(program) == []
