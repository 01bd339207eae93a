"""Verdicts: what the comparisons of PGMPI (R) and PGChecker (C++) find, miss, or make up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.probes.launch import ROOT
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.cli.conftest import install
from tests.tuner.simulated import Costs, SimulatedStarter
from tests.verify.simulated import gl12, pair, verified

# --- 3b: PGMPI ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("MPI_Bcast", ("--guidelines", "GL10")),
        ("MPI_Alltoall", ("--guidelines", "GL12", "--functions", "MPI_Alltoall")),
        ("MPI_Alltoall", ("--guidelines", "GL1", "--functions", "MPI_Alltoall")),
        ("MPI_Gatherv", ("--guidelines", "GL1", "--functions", "MPI_Alltoall,MPI_Gatherv")),
    ],
)
def test_a_thousandfold_fall_is_seen_in_every_function(
    function: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """3b-2 [run]: functions without a pattern are skipped, so a broadcast that takes 1000 times as
    long for fewer bytes is not reported; ours reports monotony and split-robustness of every
    function that is measured, and measures those that have no pattern when asked."""
    monkeypatch.setitem(simulated.LATENCY, function, 2.0)
    costs = Costs(everything={(function, 1024): 1000.0})
    install(monkeypatch, SimulatedStarter(costs))
    said = plumbline(
        *("verify", "--nprocs", 4, "--sizes", "256,1024,4096", "--json", *options),
        *("--db", tmp_path / "plumbline.db"),
    )
    assert said.status == 3, said.err
    violated = {
        (one["kind"], one["function"], one["bytes"]): one
        for one in said.json["before"]["violations"]
    }
    assert {("monotony", function, 1024), ("split", function, 1024)} <= violated.keys()
    assert violated["monotony", function, 1024]["ratio"] > 300


def test_a_function_without_a_pattern_is_searched_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """3b-2 [run]: as above; a campaign searches its violated cells, also where there is no
    candidate, and comes to its end."""
    monkeypatch.setitem(simulated.LATENCY, "MPI_Gatherv", 2.0)
    costs = Costs(
        default={"MPI_Alltoall": lambda size: 9.0 if size == 1024 else 1.0},
        algorithm={("MPI_Alltoall", "pairwise"): lambda *_: 0.9},
        everything={("MPI_Gatherv", 1024): 1000.0},
    )
    install(monkeypatch, SimulatedStarter(costs))
    path = tmp_path / "plumbline.db"
    said = plumbline(
        *("campaign", "--nprocs", 4, "--sizes", "256,1024,4096", "--guidelines", "GL1"),
        *("--functions", "MPI_Gatherv,MPI_Alltoall", "--db", path),
    )
    assert said.status == 0, said.err
    found = plumbline("results", "--json", "--db", path).json
    left = {(one["function"], one["bytes"]) for one in found["after"]["violations"]}
    assert left == {("MPI_Gatherv", 1024)}
    assert {one["function"] for one in found["winners"]} == {"MPI_Alltoall"}


# --- 3c: PGChecker ------------------------------------------------------------------------------


SCRIPT = """
import json, sys
from plumbline.core.guidelines import load
from plumbline.verify.verify import Look, Verification
from plumbline_db.records import Case, Medians
import msgspec
left, right = json.loads(sys.argv[1])
case = lambda variant: Case("MPI_Allreduce", variant, {}, "default", 8, "MPI_BYTE", "MPI_BOR", 0)
data = [Medians(case("default"), list(range(len(left))), left),
        Medians(case("allreduce_as_reduce_plus_bcast"), list(range(len(right))), right)]
found = Verification(load(), stage="before", nprocs=4, ppn=4)
found.look(Look(data, []))
print(msgspec.json.encode(found.verdicts()).decode())
"""


def test_verdicts_do_not_depend_on_how_they_are_run(tmp_path: Path) -> None:
    """3c-2 [run]: configured as its README says the tool aborts at the first evaluation, and
    identical data of 5 against 5 give z = -1.46 or -3.55 depending on flags; ours gives the same
    numbers with assertions, without them, and with every check of the interpreter."""
    times = [1.0e-5, 1.1e-5, 1.2e-5, 1.3e-5, 1.4e-5]
    folders = os.pathsep.join(str(ROOT / one) for one in ("tuner", "db", "exporters"))
    said = set()
    for flags in ([], ["-O"], ["-X", "dev"]):
        argv = [sys.executable, *flags, "-c", SCRIPT, json.dumps([times, times])]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": folders}
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path, check=True
        )
        said.add(done.stdout)
    (text,) = said
    (found,) = [one for one in json.loads(text) if one["guideline"] == "GL12"]
    assert (found["ratio"], found["p"], found["verdict"]) == (1.0, 1.0, "undecided")


def test_ties_speak_for_neither_side() -> None:
    """3c-4 [run]: ties go to the default, so that samples which are all equal give z = 6.7; ours
    gives p = 1 from either side, and the ratio 1 holds."""
    found = gl12(verified(pair([1e-5] * 12, [1e-5] * 12)))
    assert (found.verdict, found.ratio, found.p) == ("holds", 1.0, 1.0)
    assert (found.ratio_low, found.ratio_high) == (1.0, 1.0)
    # Half of the launches equal, the others one way, then the other way round.
    mixed = [1e-5] * 6 + [1.001e-5, 0.999e-5] * 3
    one, other = (
        gl12(verified(pair(*both), tolerance=0.0))
        for both in ((mixed, [1e-5] * 12), ([1e-5] * 12, mixed))
    )
    assert one.p is not None and one.p > 0.3
    assert other.p is not None and other.p > 0.3
    assert "violated" not in (one.verdict, other.verdict)
