"""Tests of what the checks of a site conclude."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.core.plan import Plan
from plumbline.measure.comparison import Arm
from plumbline.measure.launches import Silent
from plumbline.settings import campaign_file
from plumbline.site import checks
from plumbline.site.checks import CheckedLayout, Prover, over_mockups
from plumbline.site.layouts import RankLayout
from plumbline.system import machine
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.connection import Database
from plumbline_db.records import Case, Medians, Suite
from tests import busy
from tests.db import build

SMALL, MIDDLE, LARGE, ALONE = (Target("MPI_Gather", size) for size in (64, 1024, 16384, 65536))


def compared(ratio: float) -> Comparison:
    """Return the time with the files over the time without them."""
    return Comparison(ratio=ratio, low=ratio, high=ratio, p=1.0, n=1, reason="")


def medians(cell: Target, variant: str, *seconds: float) -> Medians:
    case = Case(
        function=cell.function,
        variant=variant,
        knobs={},
        config="",
        bytes=cell.bytes,
        type="MPI_BYTE",
        op="",
        root=0,
    )
    return Medians(case, list(range(len(seconds))), list(seconds))


def test_violations_before_and_after() -> None:
    """The small one is removed, the middle one stays, and the large one never was."""
    checked = CheckedLayout(
        layout=RankLayout(4, 1),
        cells=frozenset([SMALL, MIDDLE, LARGE, ALONE]),
        slower=frozenset(),
        lost=frozenset(),
        ratios={
            SMALL: compared(0.5),
            MIDDLE: compared(0.9),
            LARGE: compared(1.0),
            ALONE: compared(0.5),
        },
        mockups={SMALL: 0.8, MIDDLE: 1.3, LARGE: 1.04},
    )
    assert checked.violated(1.05) == ({SMALL, MIDDLE}, {MIDDLE})


@pytest.mark.mpi
@pytest.mark.slow
def test_a_rule_that_is_slower_in_another_way_of_use_is_harmful(
    mpirun: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams of one function have a planted delay where files are in force. What is called alone
    is as fast as before, and so is the other function."""

    def slowed(suite: Suite, plan: Plan, environment: Mapping[str, str] = {}) -> Arm:
        del environment
        cases = [
            msgspec.structs.replace(case, delay_ns=200_000)
            if (case.function, case.use, suite.arm) == ("MPI_Gather", "stream", "")
            else case
            for case in plan.cases
        ]
        return Arm(suite, msgspec.structs.replace(plan, cases=tuple(cases)))

    monkeypatch.setattr(checks, "Arm", slowed)
    nprocs = machine.processing_units() + 1
    asked = {"nprocs": nprocs, "sizes": [64, 4096], "guidelines": ["GL3", "GL12"]}
    asked |= {"blocks": 4, "reps": 2}
    (task,) = campaign_file.tasks(None, asked, None)
    rules = [
        build.winner(
            function=function, nprocs=nprocs, ppn=nprocs, variant="default", configuration={},
            bytes_from=1, bytes_to=8192, restrictions=[],
        )
        for function in ("MPI_Gather", "MPI_Allreduce")
    ]  # fmt: skip
    with Database.open(tmp_path / "a.db", write=True) as db:
        prover = Prover(db, RankLayout(1, nprocs), task, Silent())
        cells = [cell for cell in prover.cells(rules) if cell.bytes]
        checked = prover.check("between", sorted(cells), rules, {}, math.inf)
        again = prover.check("between", sorted(cells), rules, {}, math.inf)
    assert {cell.function for cell in cells} == {"MPI_Gather", "MPI_Allreduce"}
    assert {cell for cell in cells if cell.function == "MPI_Gather"} <= checked.slower
    assert again == checked
    others = [cell for cell in checked.slower if cell.function != "MPI_Gather"]
    if others:
        busy.undecided(f"also slower, without a delay: {others}")


def test_the_fastest_right_hand_side_counts_in_launches_that_have_both() -> None:
    times = [
        medians(SMALL, "default", 2.0, 4.0, 9.0),
        medians(SMALL, "gather_as_gatherv", 1.0, 2.0),
        medians(SMALL, "gather_as_reduce", 4.0, 8.0),
        medians(LARGE, "default", 1.0),
    ]
    assert over_mockups(times) == {SMALL: 2.0}
