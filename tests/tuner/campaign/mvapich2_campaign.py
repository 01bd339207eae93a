"""A campaign with MVAPICH2's variables, from finding the library to files in force, with what
test_mvapich2_end_to_end.py pretends to be that library.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from tests.tuner.campaign.test_mvapich2_end_to_end import launches, plumbline, prefix  # noqa: F401

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(600)]

CAMPAIGN = """nprocs = 2
sizes = [64, 1024, 16384, 65536]
guidelines = ["GL8"]
launches = 10
launches_max = 20
blocks = 4
reps = 3
rounds = 1
variants = []
"""


def test_a_campaign_finds_an_algorithm_for_each_range_and_puts_it_in_force(
    prefix: Path,  # noqa: F811
) -> None:
    (prefix / "campaign.toml").write_text(CAMPAIGN)
    (prefix / "seen").unlink(missing_ok=True)
    done = plumbline(prefix, "campaign", prefix / "campaign.toml")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    with Database.open(prefix / "plumbline.db") as db:
        campaign = campaigns.get(db, None)
        (winner,) = findings.get_winners(db, campaign.id)
        suites = {one.suite for one in runs.listing(db, campaign.id)}
    ranges = "1:0-4096,5:4097-+"
    assert (winner.function, winner.bytes_from) == ("MPI_Reduce", 0)
    assert winner.configuration == {"MV2_INTER_REDUCE_TUNING": ranges}
    assert any("cold" in one for one in suites), suites
    assert {"proof-1-library-0", "proof-1-library-1"} <= suites
    script = next(prefix.rglob("plumbline.sh"))
    exported = [line for line in script.read_text().splitlines() if line.startswith("export")]
    assert [line.replace("'", "") for line in exported] == [
        f"export MV2_INTER_REDUCE_TUNING={ranges}",
        "export MV2_USE_INDEXED_REDUCE_TUNING=0",
        "export MV2_USE_INDEXED_TUNING=0",
    ]
    seen = launches(prefix)
    assert {} in seen  # the library as it is
    tried = {one.get("MV2_INTER_REDUCE_TUNING") for one in seen}
    assert {"1", "2", "5", "6", "8", ranges} <= tried
