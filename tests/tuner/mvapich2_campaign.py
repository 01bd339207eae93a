"""A campaign with MVAPICH2's variables, from finding the library to files in force, with what
test_mvapich2_end_to_end.py pretends to be that library.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db import campaigns, runs, winners
from plumbline_db.connection import Database
from tests.tuner.test_mvapich2_end_to_end import launches, plumbline, prefix  # noqa: F401

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(600)]

CAMPAIGN = """nprocs = 2
sizes = [64, 1024]
guidelines = ["GL3"]
launches = 6
launches_max = 6
blocks = 4
reps = 3
rounds = 1
variants = []
"""


def test_a_campaign_finds_the_variable_and_puts_it_in_force(
    prefix: Path,  # noqa: F811
) -> None:
    (prefix / "campaign.toml").write_text(CAMPAIGN)
    (prefix / "seen").unlink(missing_ok=True)
    done = plumbline(prefix, "campaign", prefix / "campaign.toml")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    with Database.open(prefix / "plumbline.db") as db:
        campaign = campaigns.get(db, None)
        (winner,) = winners.get(db, campaign.id)
        suites = {one.suite for one in runs.listing(db, campaign.id)}
    assert winner.function == "MPI_Gather" and winner.bytes_from == 0
    assert winner.configuration == {"MV2_INTER_GATHER_TUNING": "1", "MV2_USE_DIRECT_GATHER": "0"}
    assert any("cold" in one for one in suites), suites
    script = next(prefix.rglob("plumbline.sh"))
    exported = [line for line in script.read_text().splitlines() if line.startswith("export")]
    assert exported == ["export MV2_INTER_GATHER_TUNING=1", "export MV2_USE_DIRECT_GATHER=0"]
    seen = launches(prefix)
    assert {} in seen  # the library as it is
    tried = {one.get("MV2_INTER_GATHER_TUNING") for one in seen}
    assert {"1", "2", "3"} <= tried
    assert all(
        one.get("MV2_USE_DIRECT_GATHER") == ("0" if one["MV2_INTER_GATHER_TUNING"] == "1" else None)
        for one in seen
        if "MV2_INTER_GATHER_TUNING" in one
    )
