"""A campaign whose repetitions a stopping rule counts first."""

from __future__ import annotations

import math
import re
from pathlib import Path

from plumbline.measure import repetitions
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

WORDS = ("verify", "--nprocs", "4", "--sizes", "1024,16384", "--guidelines", "GL12")
RULE = ("--set", "nrep=rse:0.025,cov_mean:0.01/20", "--set", "nrep_min=100")


def test_tables_take_what_the_rule_has_counted(starter: SimulatedStarter, tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    said = plumbline(*WORDS, *RULE, "--db", database)
    assert said.status == 3, said.err
    assert "Repetitions by the stopping rule" in said.out
    launched = len(starter.launches)
    with Database.open(database) as db:
        (campaign,) = campaigns.every(db)
        cells = repetitions.stored(db, campaign.id)
        of_one = repetitions.stored_of(db, campaign.id, "MPI_Allreduce", 1024)
        by_suite: dict[str, list[str]] = {}
        for run in runs.listing(db, campaign.id):
            by_suite.setdefault(run.suite, []).append(run.plan)
    needed = repetitions.counts(cells)
    assert [(cell.variant, cell.nrep) for cell in of_one] == [
        (cell.variant, cell.nrep)
        for cell in cells
        if (cell.function, cell.bytes) == ("MPI_Allreduce", 1024)
    ]
    assert len(by_suite["nrep"]) == 3 and needed
    assert all("nrep=rse:0.025,cov_mean:0.01/20" in plan for plan in by_suite["nrep"])
    assert {len(cell.launches) for cell in cells} == {3}
    assert all(cell.nrep == max(launch.nrep for launch in cell.launches) for cell in cells)
    assert {cell.nrep for cell in cells} <= {100, 110, 120, 130}
    for plan in by_suite["before"]:
        assert "blocks=12 " in plan and "nrep=" not in plan
        cases = re.findall(
            r"^case .*function=(\S+) variant=(\S+) .*bytes=(\d+) .*reps=(\d+)", plan, re.MULTILINE
        )
        assert len(cases) == len(needed)
        for function, variant, size, reps in cases:
            (nrep,) = (
                count
                for case, count in needed.items()
                if (case.function, case.variant, case.bytes) == (function, variant, int(size))
            )
            assert int(reps) == math.ceil(nrep / 12)
    again = plumbline("results", "--json", "--db", database).json
    assert [cell["nrep"] for cell in again["repetitions"]] == [cell.nrep for cell in cells]
    assert plumbline(*WORDS, *RULE, "--db", database).status == 3
    assert len(starter.launches) == launched


def test_a_campaign_without_a_rule_counts_nothing(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    said = plumbline(*WORDS, "--json", "--db", tmp_path / "a.db")
    assert said.json["repetitions"] == []


def test_a_simulated_machine_repeats_itself() -> None:
    said = plumbline(*WORDS, "--simulate", "ompi", "--set", "nrep=rse:0.025")
    assert said.status == 2 and "one repetition is enough" in said.err
