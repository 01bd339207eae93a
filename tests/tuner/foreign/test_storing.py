"""What other programs have printed, in a database: shown, marked, and compared with nothing."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import quote

import pytest

from plumbline.foreign import storing
from plumbline.results import advice_stored
from plumbline_db import campaigns, connection, coverage, runs, transfer
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline
from tests.tuner.foreign import printed
from tests.tuner.pages import site


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    (tmp_path / "imb.txt").write_text(printed.IMB)
    (tmp_path / "osu.txt").write_text(printed.OSU + printed.OSU)
    storing.take(path, tmp_path / "imb.txt")
    storing.take(path, tmp_path / "osu.txt", [4, 4])
    return path


def names(path: Path) -> list[str]:
    with Database.open(path) as db:
        return [campaign.id for campaign in campaigns.foreign(db)]


def test_it_is_a_run_of_its_own_and_no_campaign(database: Path) -> None:
    imb, osu = names(database)
    assert imb.startswith("imb-imb-") and osu.startswith("osu-osu-")
    with Database.open(database) as db:
        assert campaigns.all_campaigns(db) == [] and coverage.of_campaigns(db) == []
        gathered = runs.medians(db, imb, ["imb-MPI_Gather-4-avg"])
        assert [(each.case.bytes, each.case.ranks) for each in gathered] == [(32, 0), (64, 0)]
        assert gathered[0].seconds == [pytest.approx(0.8e-6)]
        few = runs.medians(db, imb, ["imb-MPI_Gather-2-avg"])
        assert few[0].case.ranks == 2
        twice = runs.medians(db, osu, ["osu-MPI_Gather-4-avg"])
        assert [len(each.runs) for each in twice] == [2, 2]  # two outputs are two launches
        question = advice_stored.AdviceQuestion("MPI_Gather", 32, 4)
        assert advice_stored.read(db, question).best is None
    assert connection.check(database) == []


def test_no_two_columns_share_a_launch(database: Path) -> None:
    with Database.open(database) as db:
        seen: dict[int, tuple[str, str]] = {}
        for name in names(database):
            for suite in {run.suite for run in runs.listing(db, name)}:
                for each in runs.medians(db, name, [suite]):
                    column = (each.case.function, each.case.variant)
                    assert all(seen.setdefault(run, column) == column for run in each.runs)
    assert len(seen) > 15


def test_pages_and_curves_show_it_and_call_nothing_faster(database: Path) -> None:
    imb, osu = names(database)
    client = site.client(database)
    assert imb in client.get("/runs").text
    page = client.get(f"/run/{imb}").text
    assert "Foreign" in page and "Intel MPI Benchmarks 2021.7" in page and "imb.txt" in page
    curves = [f"{imb}/imb-MPI_Gather-4-avg|MPI_Gather|imb-avg",
              f"{osu}/osu-MPI_Gather-4-avg|MPI_Gather|osu-avg"]  # fmt: skip
    query = "&".join(f"curve={quote(name)}" for name in curves)
    assert "none of them is called faster" in client.get(f"/curves?{query}").text
    rows = client.get(f"/curves.csv?{query}").text.splitlines()
    assert len(rows) == 1 + 2 + 2 and rows[-1].startswith(f"{osu}/osu-MPI_Gather-4-avg,MPI_Gather")
    assert client.get(f"/curves.svg?{query}").content.startswith(b"<svg")
    assert client.get(f"/compare?a={imb}&b={osu}").status_code == 400
    for address in (f"/report/{imb}", f"/environment?a={imb}&b={osu}", "/", "/map"):
        assert client.get(address).status_code == 200, address
    for address in (f"/table/before/{imb}", f"/cell/MPI_Gather/32/{imb}", f"/winner/0/{imb}"):
        assert client.get(address).status_code == 404, address


def test_the_command_takes_it_once(database: Path, tmp_path: Path) -> None:
    words = ("db", "import", tmp_path / "imb.txt", "--db", database)
    again = plumbline(*words)
    assert again.status == 0 and "which is there already" in again.out
    found = plumbline(*words, "--json").json
    assert found["run"] == names(database)[0] and not found["new"]
    assert found["tables"] == 4 and found["numbers"] == 2 + 3 + 6 + 3
    refused = plumbline("db", "import", tmp_path / "osu.txt", "--db", database)
    assert refused.status == 2 and "give it with --nprocs" in refused.err
    osu = plumbline("db", "import", tmp_path / "osu.txt", "--nprocs", "4", "--db", database)
    assert "no times of calls: bandwidth" in osu.out
    (tmp_path / "none.txt").write_text("nothing")
    none = plumbline("db", "import", tmp_path / "none.txt", "--db", database)
    assert none.status == 1 and "is neither output of" in none.err


def test_what_a_text_that_is_cut_off_lacks_is_said_and_kept(tmp_path: Path) -> None:
    (tmp_path / "imb.txt").write_text(printed.IMB[: printed.IMB.index("        16     ")])
    words = ("db", "import", tmp_path / "imb.txt", "--db", tmp_path / "new.db")
    taken = plumbline(*words)
    assert taken.status == 0 and "the last of MPI_Gather on 4 ranks, 32 B" in taken.out
    assert "imb.txt lacks the end of the program's output, which breaks off in Gather" in taken.err
    assert "imb.txt lacks all of Barrier" in taken.err
    found = plumbline(*words, "--json").json
    assert found["last"] == "MPI_Gather on 4 ranks, 32 B" and len(found["missing"]) == 2
    page = site.client(tmp_path / "new.db").get(f"/run/{found['run']}").text
    assert "cut off" in page and "it lacks all of Barrier" in page


def test_a_text_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "imb.txt").write_text(printed.IMB.replace("# #processes = 4", "#"))
    said = plumbline("db", "import", tmp_path / "imb.txt", "--db", tmp_path / "new.db")
    assert said.status == 1 and "line " in said.err and not (tmp_path / "new.db").exists()


def test_it_goes_to_another_site(database: Path, tmp_path: Path) -> None:
    transfer.export(database, tmp_path / "sent.plumbline", [], "2026-11-24T12:00:00+00:00")
    there = tmp_path / "there.db"
    assert all(moved.new for moved in transfer.take(there, tmp_path / "sent.plumbline"))
    host = f"{socket.gethostname()}:"
    assert names(there) == [host + name for name in names(database)]
    rows = plumbline("db", "table", "medians", "--db", there).out.replace(host, "")
    assert rows == plumbline("db", "table", "medians", "--db", database).out
