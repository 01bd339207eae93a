"""Work on several cores gives what it gives on one."""

from __future__ import annotations

import os

import numpy as np
import pytest

from plumbline.detect import parallel
from plumbline.detect.analysis import analysed
from plumbline.detect.detecting import detect
from plumbline.detect.program import RankProgram
from tests.bench.detection import suite

CORES = 3


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "processing_units", lambda: CORES)
    monkeypatch.setattr(parallel, "SHARE", 1)


def test_results_are_in_the_order_of_items(cores: None) -> None:
    by_process = parallel.mapped(lambda item: (item, os.getpid()), range(10), [1] * 10)
    assert [item for item, _ in by_process] == list(range(10))
    assert len({process for _, process in by_process}) == CORES


def test_little_work_is_done_here() -> None:
    assert set(parallel.mapped(lambda _: os.getpid(), range(10), [1] * 10)) == {os.getpid()}
    assert parallel.mapped(abs, [], []) == []


def test_what_a_process_leaves_undone_is_done_here(cores: None) -> None:
    here = os.getpid()

    def work(item: int) -> int:
        if os.getpid() != here:
            os._exit(1)
        return item

    assert parallel.mapped(work, range(7), [1] * 7) == list(range(7))


@pytest.mark.parametrize("nprocs", [4, 5])
def test_the_ground_truth_is_found_alike(nprocs: int, cores: None) -> None:
    recordings = [case.recording() for case in suite.cases([nprocs])]
    found = [detect(each).instances for each in recordings]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "processing_units", lambda: 1)
        assert found == [detect(each).instances for each in recordings]


def test_findings_of_several_communicators_are_alike(cores: None) -> None:
    program, random = RankProgram(6), np.random.default_rng(1)
    for group in ((0, 1, 2), (3, 4, 5), (0, 2, 4), (1, 3, 5)):
        comm = program.communicator(group)
        for line in range(12):
            content = random.normal(size=40)
            for rank in group[1:]:
                program.message(group[0], rank, content, comm=comm, site=f"a.c:{line + 1}")
    found = analysed(program.recording())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "processing_units", lambda: 1)
        alone = analysed(program.recording())
    assert len(found.found) == 12
    assert (found.found, found.instances) == (alone.found, alone.instances)
