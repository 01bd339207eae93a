"""Is B slower than A: verdicts of cells, and how often they are wrong; sides of the library that is
there, in turn: what a preloaded tool slows down is slower, and is faster again without it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from plumbline.results.compared_now import RegressionClaim, decided
from plumbline.verify import decision
from plumbline.verify.decision import CellDecision
from tests.tuner import shim
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.pages import site

CLAIM = RegressionClaim(alpha=0.05, tolerance=0.05, design=decision.design_over(10, 40))


def decisions(logs: list[float], cells: int = 12) -> CellDecision[int]:
    """Return the verdict on a cell among others that are alike."""
    return decided(dict.fromkeys(range(cells), logs), CLAIM)[0]


def test_a_cell_is_decided_at_the_first_look_that_can() -> None:
    logs = [math.log(1.12) + 0.001 * (number % 5) for number in range(40)]
    decision = decisions(logs)
    first = next(
        look
        for look, launches in enumerate(CLAIM.design.launches)
        if decisions(logs[:launches]).word == "slower"
    )
    assert (decision.word, decision.look) == ("slower", first)
    assert decision.told.low and decision.told.low > 1.11


def test_too_few_launches_say_nothing() -> None:
    assert decisions([0.5] * 8, cells=1).comparison is None


def test_equal_sides_have_no_other_verdict_in_as_many_families_as_promised() -> None:
    """400 families of 12 equal cells, noise of 8 %: at most 5 % have a cell that is called slower
    or faster, by far more than chance allows (9 % would have p < 0.001)."""
    chance = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        cells = decided({n: list(chance.normal(0, 0.08, 40)) for n in range(12)}, CLAIM)
        wrong += any(cell.word in ("slower", "faster") for cell in cells)
    assert wrong <= 0.09 * 400


def test_a_tenth_slower_is_seen() -> None:
    """Noise of 8 %, 12 cells: in 95 of 100 cells at least."""
    chance = np.random.default_rng(2)
    seen = [
        cell.word
        for _ in range(20)
        for cell in decided(
            {n: list(chance.normal(math.log(1.1), 0.08, 40)) for n in range(12)}, CLAIM
        )
    ]
    assert seen.count("slower") >= 0.95 * len(seen)


@pytest.mark.mpi
def test_a_build_of_three_that_is_slower(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("no mpirun or mpicc on PATH")
    tool = shim.build(tmp_path, "mpicc", {"MPI_Allreduce": (4096, 4096, 300_000)})
    slow = f"LD_PRELOAD={tool}"
    database = tmp_path / "plumbline.db"

    def compared(a: str, b: str) -> Result:
        return plumbline(
            *("compare", "--measure", a, b, "-n", "2", "--launches", "7", "--db", database),
            *("--functions", "MPI_Allreduce", "--sizes", "8,4096", "--json"),
        )

    found = [compared("default", slow), compared(slow, "default")]
    tried = [{line["bytes"]: line for line in said.json["cells"]} for said in found]
    if "not shown" in (cells[4096]["verdict"] for cells in tried):
        pytest.skip("others have the machine, and seven pairs do not decide")
    assert [said.status for said in found] == [3, 0], found[0].err + found[1].err
    slower, faster = tried
    assert slower[4096]["verdict"] == "slower" and slower[4096]["change"] > 1
    assert slower[8]["pairs"] == 7 and slower[8]["change"] < slower[4096]["change"] / 2
    assert faster[4096]["verdict"] == "faster"
    history = plumbline("compare", "--history", "--json", "--db", database)
    assert history.status == 0
    told = [(each["b"]["name"], each["summary"]["slower"]) for each in history.json]
    # What stands before each call may be seen at 8 B too.
    count = sum(line["verdict"] == "slower" for line in slower.values())
    assert told == [(slow, count), ("default", 0)]
    with site.client(database) as client:
        page = client.get("/history").text
    assert "MPI_Allreduce 4096 B: slower by" in page
