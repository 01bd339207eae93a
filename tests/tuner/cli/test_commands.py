"""What the commands print when all goes well, over one finished campaign."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from plumbline.core.application import Application, Calls
from plumbline.measure import side_by_side
from plumbline.results import profiling
from plumbline.settings import identity
from plumbline.system import paths
from plumbline.system.machine import processing_units
from plumbline_db import campaigns, connection, findings, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Run
from plumbline_exporters.registry import exporters
from tests.tuner import planted
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.cli.conftest import SMALL, install
from tests.tuner.simulated import Costs, SimulatedStarter

Finished = tuple[Path, Result]


@pytest.fixture(autouse=True)
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preload library for the simulated Open MPI 4.1.4."""
    programs = tmp_path / "programs"
    (programs / "openmpi-4.1.4").mkdir(parents=True)
    (programs / "openmpi-4.1.4" / "libplumbline.so").touch()
    here = paths.Layout(programs=programs, search_spaces=paths.layout().search_spaces)
    monkeypatch.setattr(paths, "layout", lambda: here)


# --- campaign and verify ------------------------------------------------------------------------


@pytest.mark.usefixtures("starter")
def test_a_campaign_ends_with_what_to_do_next(finished: Finished) -> None:
    database, said = finished
    lines = said.out.splitlines()
    assert len(lines) <= 60 and all(len(line) <= 120 for line in lines)
    assert re.search(r"^violations: (\d+) removed of \1$", said.out, re.MULTILINE)
    assert "MPI_Allreduce" in said.out
    id = lines[-1].split()[-1]
    assert lines[-1] == f"all tables:  plumbline results --all --campaign {id}"
    assert plumbline("results", "--campaign", id, "--db", database).out == said.out


def test_all_results_have_tables_winners_and_paths(finished: Finished) -> None:
    database, said = finished
    shown = plumbline("results", "--all", "--db", database)
    text = " ".join(shown.out.split())
    for part in (
        "Before",
        "After (",
        "cold, with the exported files in force",
        "Winners",
        "MPI_Allreduce",
        "allreduce_algorithm=rabenseifner",
        "scan_as_exscan_plus_reduce_local",
        "4 ranks (oversubscribed)" if processing_units() < 4 else "4 ranks",
        "launches (0 failed)",
        "inside timed regions",
        "plumbline.sh",
    ):
        assert part in text, part
    assert "measuring the library as it is" in said.err
    with Database.open(database) as db:
        for one in campaigns.exports(db, campaigns.get(db, None).id):
            assert one.path in shown.out


def test_a_campaign_file_and_options_are_one_campaign(
    finished: Finished, starter: SimulatedStarter, tmp_path: Path
) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text('sizes = [1024, 16384]\nlaunches = 12\nguidelines = ["GL12", "GL16"]\n')
    said = plumbline("campaign", file, "--nprocs", "4", "--db", finished[0], "--json")
    assert said.status == 0
    assert starter.launches == []
    assert said.json == plumbline("results", "--json", "--db", finished[0]).json


def test_new_starts_afresh(starter: SimulatedStarter, tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    words = ("verify", *SMALL, "--db", database)
    first = plumbline(*words)
    launched = len(starter.launches)
    assert plumbline(*words).out == first.out
    assert len(starter.launches) == launched > 0
    plumbline(*words, "--new")
    assert len(starter.launches) == 2 * launched
    said = plumbline("results", "--list", "--db", database)
    assert len(said.out.splitlines()) == 2


def test_verify_exits_with_3_where_something_is_violated(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    words = ["--nprocs", "4", "--sizes", "1024,16384", "--db", tmp_path / "plumbline.db"]
    said = plumbline("verify", "--guidelines", "GL12", *words, "--launches", "12")
    assert said.status == 3
    assert "Allreduce ⪯ Reduce+Bcast" in said.out
    assert "Winners" not in said.out
    fine = plumbline("verify", "--guidelines", "GL7", *words, "--launches", "12", "--all", "--json")
    assert fine.status == 0
    cells = fine.json["before"]["cells_all"]
    assert {one["verdict"] for one in cells} == {"holds"}
    assert fine.json["before"]["cells"] == len(cells) > 0
    assert fine.json["before"]["violations"] == []


def test_what_people_write(starter: SimulatedStarter, tmp_path: Path) -> None:
    """Functions and guidelines as they are spoken of, bytes as tables show them."""
    shown = plumbline("variants", "MPI_Allreduce").out
    for name in ("allreduce", "Allreduce", "mpi_allreduce"):
        assert plumbline("variants", name).out == shown != ""
    assert plumbline("measure", "bcast", "--sizes", "1k", "--launches", "2").status == 0
    assert plumbline("measure", "bcsat").status == 2
    words = ["verify", "-n", "4", "--guidelines", "GL7", "--db", tmp_path / "plumbline.db"]
    as_told = plumbline(*words, "--functions", "MPI_Bcast", "--sizes", "1024,16384").out
    launched = len(starter.launches)
    assert plumbline(*words, "--functions", "bcast", "--sizes", "1k,16KiB").out == as_told
    assert len(starter.launches) == launched > 0
    two = plumbline("verify", "--list", "--guidelines", "GL12,GL3").out
    assert plumbline("verify", "--list", "--guidelines", "gl12,GL3").out == two
    asked = ["advise", "bcast", "--np", "4", "--db", tmp_path / "plumbline.db", "--bytes"]
    assert plumbline(*asked, "16k").out == plumbline(*asked, "16384").out != ""
    for wrong in ("16x", "k", "-1", "1.5k"):
        said = plumbline(*asked, wrong)
        assert said.status == 2 and f"{wrong} is not a number of bytes" in said.err


def test_a_guideline_of_another_function_is_told(starter: SimulatedStarter, tmp_path: Path) -> None:
    """`functions` adds functions: who names one expects that no other is measured."""
    words = ["--nprocs", "4", "--sizes", "1024,16384", "--db", tmp_path / "plumbline.db"]
    named = ["--functions", "MPI_Scatter", "--guidelines", "GL12,GL7"]
    said = plumbline("verify", *named, *words)
    told = [line for line in said.err.splitlines() if "as well" in line]
    assert told == [
        "plumbline: MPI_Allreduce is measured as well: GL12 is about it, and `functions` adds to "
        "what `guidelines` name"
    ]
    assert "as well" not in plumbline("verify", "--guidelines", "GL12,GL7", *words).err


def test_sizes_that_are_rounded_up_are_told_once(starter: SimulatedStarter, tmp_path: Path) -> None:
    """Elements of reductions are whole; a size that nobody has asked for is no news."""
    path = tmp_path / "a.db"
    words = ["verify", "--nprocs", "4", "--guidelines", "GL12,GL3", "--db", path]
    said = plumbline(*words, "--sizes", "1022,16384", "--all")
    told = [line for line in said.err.splitlines() if "rounded up" in line]
    assert told == [
        "plumbline: sizes of reductions are multiples of the element (MPI_FLOAT): rounded up "
        "1022 B to 1024 B for MPI_Allreduce; --type MPI_BYTE measures every size"
    ]
    with Database.open(path) as db:
        (campaign,) = campaigns.every(db)
        cases = [median.case for median in runs.medians(db, campaign.id, ["before"])]
    measured = {(case.function, case.bytes, case.type) for case in cases}
    assert ("MPI_Allreduce", 1024, "MPI_FLOAT") in measured
    assert ("MPI_Gather", 1022, "MPI_BYTE") in measured
    assert "rounded" not in plumbline(*words).err
    bytes_ = ["--type", "MPI_BYTE", "--op", "MPI_BOR"]
    assert "rounded" not in plumbline(*words, "--sizes", "1022,16384", *bytes_).err


# --- results ------------------------------------------------------------------------------------

CELL = {"guideline", "kind", "function", "nprocs", "ppn", "bytes", "ratio", "ratio_low"}
CELL |= {"ratio_high", "p", "p_adjusted", "launches"}
WINNER = {"function", "nprocs", "ppn", "bytes_from", "bytes_to", "variant", "configuration"}
WINNER |= {"speedup", "speedup_low", "speedup_high"}


def contract(found: dict) -> None:  # type: ignore[type-arg]
    """architecture.md, "Command line": the fields that scripts may rely on."""
    assert found.keys() >= {"campaign", "machine", "library", "before", "after", "winners", "cost"}
    assert found["library"].keys() >= {"id", "version"}
    for stage in ("before", "after"):
        assert found[stage].keys() >= {"cells", "undecided", "violations"}
        for one in found[stage]["violations"]:
            assert one.keys() >= CELL
            assert one["ratio"] > 1 and one["p_adjusted"] < 0.05 and one["launches"] >= 6
    for one in found["winners"]:
        assert one.keys() >= WINNER
        assert one["speedup_low"] <= one["speedup"] <= one["speedup_high"]
        assert one["bytes_to"] is None or one["bytes_from"] <= one["bytes_to"]
    assert found["cost"].keys() >= {"launches", "seconds", "timed_seconds"}
    assert found["cost"]["timed_share"] == pytest.approx(
        found["cost"]["timed_seconds"] / found["cost"]["seconds"]
    )
    spent = found["cost"]["spent"]
    assert spent["launches"] == found["cost"]["launches"] - found["cost"]["failed"]
    parts = ("start_seconds", "check_seconds", "timed_seconds", "synchronisation_seconds")
    assert all(spent[name] > 0 for name in (*parts, "warmup_seconds"))
    if not found["cost"]["failed"]:
        assert sum(spent[name] for name in parts) == pytest.approx(found["cost"]["seconds"])


def test_results_as_json(finished: Finished) -> None:
    found = plumbline("results", "--json", "--db", finished[0]).json
    contract(found)
    assert found["state"] == "finished"
    assert {one["function"] for one in found["before"]["violations"]} >= {"MPI_Allreduce"}
    assert found["after"]["violations"] == found["remaining"] == []
    assert {one["function"] for one in found["winners"]} == {"MPI_Allreduce", "MPI_Scan"}
    assert "cells_all" not in found["before"]
    every = plumbline("results", "--json", "--all", "--db", finished[0]).json
    assert len(every["before"]["cells_all"]) == every["before"]["cells"]


def test_the_list_of_campaigns(finished: Finished) -> None:
    (line,) = plumbline("results", "--list", "--db", finished[0]).out.splitlines()
    assert "finished  4 ranks  started" in line
    (one,) = plumbline("results", "--list", "--json", "--db", finished[0]).json
    assert line.startswith(one["id"])


# --- export and run -----------------------------------------------------------------------------


def test_formats_are_listed(finished: Finished) -> None:
    said = plumbline("export", "--list", "--db", finished[0])
    names = [line.split()[0] for line in said.out.splitlines()]
    assert names == list(exporters())
    assert any(
        line.startswith("impi-env ") and "(intelmpi)" in line for line in said.out.splitlines()
    )


def test_export_writes_what_is_asked_for_and_what_that_needs(
    finished: Finished, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    said = plumbline("export", "env", "--output", out, "--db", finished[0])
    assert said.status == 0
    assert [Path(line) for line in said.out.splitlines()] == [
        out / "ompi-rules.conf",
        out / "plumbline.profile",
        out / "plumbline.sh",
    ]
    assert sorted(out.iterdir()) == sorted(map(Path, said.out.splitlines()))
    found = plumbline("export", "json", "--output", out, "--db", finished[0], "--json").json
    (one,) = found
    assert hashlib.sha256(Path(one["path"]).read_bytes()).hexdigest() == one["sha256"]


def test_export_leaves_a_file_of_the_users_alone(finished: Finished, tmp_path: Path) -> None:
    mine = tmp_path / ".openmpi" / "mca-params.conf"
    mine.parent.mkdir()
    mine.write_text("btl = self,vader\n")
    words = ("export", "mca-params", "--output", mine.parent, "--db", finished[0])
    said = plumbline(*words)
    assert said.status == 1 and said.out == ""
    assert str(mine) in said.err and "plumbline apply" in said.err and "--force" in said.err
    assert mine.read_text() == "btl = self,vader\n" and list(mine.parent.iterdir()) == [mine]
    assert plumbline(*words, "--force").status == 0
    assert "btl" not in mine.read_text()


def test_a_lost_file_can_be_written_again(
    finished: Finished, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the message of `plumbline run` says: the very bytes that were confirmed, at any time."""
    monkeypatch.setattr(identity, "now", lambda: "2031-01-01T00:00:00+00:00")
    database, _ = finished
    with Database.open(database) as db:
        written = campaigns.exports(db, campaigns.get(db, None).id)
    for one in written:
        if one.format not in ("ompi-rules", "profile"):
            continue
        path = Path(one.path)
        confirmed = path.read_bytes()
        path.unlink()
        said = plumbline("run", "--db", database, "--no-proof", "--", "true")
        assert said.status == 1
        assert f"`plumbline export {one.format} --output {path.parent} --campaign " in said.err
        plumbline("export", one.format, "--output", path.parent, "--db", database)
        assert path.read_bytes() == confirmed


def test_run_becomes_the_application_with_everything_in_force(
    finished: Finished, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    became: list[tuple[str, list[str], dict[str, str]]] = []

    def execve(program: str, words: list[str], environment: dict[str, str]) -> None:
        became.append((program, words, environment))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", execve)
    words = ["run", "--db", finished[0], "--", "sh", "-c", "exit 5", "--json"]
    said = plumbline(*words)
    ((program, arguments, environment),) = became
    assert Path(program).name == "sh"
    assert arguments == ["sh", "-c", "exit 5", "--json"]
    assert environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert environment["PATH"] == os.environ["PATH"]
    assert said.out == ""
    assert "ompi-rules.conf decides (a canary in its place is refused)" in said.err
    assert "plumbline.profile decides (a canary in its place is refused)" in said.err
    assert "in force" in said.err.splitlines()[-1]
    for line in said.err.splitlines():  # a function stands once, with all its sizes
        names = re.findall(r"(MPI_\w+) at ", line)
        assert len(names) == len(set(names)), line
    assert len(starter.launches) == 2
    said = plumbline("run", "--no-proof", *words[1:])
    assert len(starter.launches) == 2 and "canary" not in said.err


@pytest.mark.usefixtures("starter")
def test_run_says_what_was_saved(
    finished: Finished, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Calls of a size that was measured, of one that nothing near was, and of a function that no
    winner is for; what is saved has the interval of the campaign's paired launches."""
    database, _ = finished
    with Database.open(database) as db:
        campaign = campaigns.get(db, None)
        assert "MPI_Allreduce" in {
            winner.function for winner in findings.get_winners(db, campaign.id)
        }

    def calls(function: str, size: int) -> Calls:
        return Calls(function, campaign.nprocs, 1, 4, size, 1000.0, 0.1, 1e-5, 0.05)

    def run(*_: object) -> Application:
        kinds = [calls("MPI_Allreduce", 16384), calls("MPI_Barrier", 0)]
        kinds += [calls("MPI_Bcast", 16384)]
        return Application(1, "", ["app"], "", 7, "", 4, 4, 4, 2.0, 0, kinds)

    monkeypatch.setattr(profiling, "profile_with", run)
    output = tmp_path / "calls.json"
    words = ["run", "--no-proof", "--db", database, "--output", output]
    said = plumbline(*words, "--json", "--", "true")
    assert said.status == 7 and output.is_file()
    saved = json.loads(said.out)
    (row,) = [row for row in saved["rows"] if row["function"] == "MPI_Allreduce"]
    assert 0 < row["saving_seconds"] < 1000 * row["default_seconds"]
    low, high = saved["saving_low_seconds"], saved["saving_high_seconds"]
    assert 0 < low <= saved["saving_seconds"] <= high
    line = said.err.splitlines()[-1]
    assert line.startswith("plumbline: saved, a rank on the average: ")
    assert line.endswith("MPI_Allreduce " + f"{row['saving_seconds']:.3g} s in 1000 calls")


# --- measure ------------------------------------------------------------------------------------


def test_measure(starter: SimulatedStarter, tmp_path: Path) -> None:
    words = ["measure", "MPI_Allreduce", "--sizes", "1024,16384", "--launches", "8"]
    words += ["--variants", "all", "--knob", "coll_tuned_allreduce_algorithm=rabenseifner"]
    said = plumbline(*words)
    assert said.status == 0
    rows = [line.split() for line in said.out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["1024"] * 4 + ["16384"] * 4
    assert "coll_tuned_allreduce_algorithm=rabenseifner" in said.out
    found = plumbline(*words, "--json", "--output", tmp_path / "raw").json
    knob = next(one for one in found if one["knobs"] and one["bytes"] == 16384)
    assert knob["ratio"]["ratio"] == pytest.approx(0.5, rel=0.05)
    assert len(knob["seconds"]) == 8
    assert len(list((tmp_path / "raw").glob("measure-*.ndjson"))) == 8


def test_one_size_is_refined_over_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """On fewer ranks each has the counts that it has on all; ratios are of the same ranks."""
    costs = Costs(default={"MPI_Gather": lambda size: 4.0 if size > 4096 else 1.0})
    install(monkeypatch, SimulatedStarter(costs))
    words = ("measure", "MPI_Gather", "-n", "16", "--variants", "gather_binomial")
    found = plumbline(*words, "--sizes", "16384", "--refine", "--json").json
    places = [(case["ranks"] or 16, case["bytes"]) for case in found]
    assert places == sorted(places) and {16 * bytes // 16384 for _, bytes in places} <= set(
        range(2, 17)
    )
    assert all(bytes == 1024 * ranks for ranks, bytes in places)
    added = {case["added"]["place"] for case in found if case["added"]}
    assert 5 in added  # from 5 ranks on it takes longer
    assert all(case["ratio"] is not None for case in found if case["variant"] != "default")
    table = plumbline(*words, "--sizes", "16384", "--refine").out
    assert table.split()[:2] == ["ranks", "bytes"] and "5 ranks, look" in table
    said = plumbline("measure", "MPI_Gather", "-n", "2", "--sizes", "16384", "--refine")
    assert said.status == 2 and "raise --nprocs" in said.err


def test_sizes_are_refined_where_there_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = Costs(default={"MPI_Bcast": lambda size: 4.0 if size >= 5000 else 1.0})
    install(monkeypatch, SimulatedStarter(costs))
    words = ("measure", "MPI_Bcast", "--sizes", "16,256,4096,16384,65536", "--refine", "--json")
    found = plumbline(*words).json
    assert {case["ranks"] for case in found} == {0}
    added = [case["bytes"] for case in found if case["added"]]
    assert min(abs(size / 5000 - 1) for size in added) < 0.05


class SlowerLater(SimulatedStarter):
    """A machine that takes 1.3 times as long after the first look, and three times as long from
    5000 B on."""

    def start(self, campaign: str, suite: str, *rest: Any) -> tuple[Run, Sequence[ProbeRecord]]:
        factor = 1.3 if "look" in suite else 1.0
        default = {"MPI_Bcast": lambda size: factor * (3.0 if size >= 5000 else 1.0)}
        self._costs = Costs(default=default)
        return super().start(campaign, suite, *rest)


def test_a_drift_between_looks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, SlowerLater(Costs(), launch_noise=0.02))
    words = ("measure", "MPI_Bcast", "--sizes", "16,256,4096,16384,65536", "--refine", "--json")
    shown = plumbline(*words)
    drifts = [drift for case in shown.json for drift in case["drifts"]]
    assert drifts and all(drift["factor"] == pytest.approx(1.3, rel=0.1) for drift in drifts)
    assert {drift["place"] for drift in drifts} <= {16, 256, 4096, 16384, 65536}
    assert {2} <= {drift["look"] for drift in drifts}
    assert "times as long in look 2 as in the first one" in shown.err
    # The repeated places have their line once: its time is that of the first look.
    places = [case["bytes"] for case in shown.json]
    assert len(places) == len(set(places))
    few = plumbline(*words, "--launches", "4")
    assert [drift for case in few.json for drift in case["drifts"]] == []


def test_reasons_stand_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with a refusal in it stays as wide as one without."""
    sorry = "refused: no repetition was valid: 48 were late, 0 overran; " + "choose another " * 9
    lines = [
        side_by_side.MeasuredCase("MPI_Bcast", "default", {}, size, outcome, seconds, None)
        for size, outcome, seconds in ((8, sorry, []), (64, sorry, []), (512, "ok", [1e-6, 2e-6]))
    ]
    monkeypatch.setattr(side_by_side, "run", lambda *_, **__: lines)
    install(monkeypatch, SimulatedStarter(planted.costs()))
    said = plumbline("measure", "MPI_Bcast", "--sizes", "8,64,512")
    head, first, second, fine, reason, *rest = said.out.splitlines()
    assert said.status == 1 and rest == []
    assert first.split() == ["8", "default", "refused", "[1]"]
    assert second.split()[2:] == first.split()[2:]
    assert fine.split()[:3] == ["512", "default", "1.50"]
    assert max(map(len, (head, first, second, fine))) <= 100
    assert reason == f"[1] {sorry}"


# --- variants -----------------------------------------------------------------------------------


def test_the_catalogue(starter: SimulatedStarter) -> None:
    said = plumbline("variants", "MPI_Gather")
    assert said.status == 0
    assert "gather_binomial" in said.out and "allreduce" not in said.out
    assert starter.launches == []
    mockups = plumbline("variants", "MPI_Gather", "--kind", "mockup", "--json").json
    assert {one["kind"] for one in mockups} == {"mockup"}
    assert {"name", "function", "parameters", "restrictions", "scratch_volumes"} <= set(mockups[0])


def test_the_best_variants(starter: SimulatedStarter) -> None:
    words = ("variants", "--best", "MPI_Allreduce", "--sizes", "16384", "--launches", "4")
    said = plumbline(*words, "--json")
    assert said.status == 0
    (cell,) = said.json
    assert cell["function"] == "MPI_Allreduce" and cell["ours"]["ratio"]["ratio"] < 1
    assert len(starter.launches) == 3 + 4
    assert plumbline(*words, "--nprocs", "some").status == 2


# --- advise -------------------------------------------------------------------------------------


def test_advise_races_what_is_made_by_hand_beside_the_winner(
    finished: Finished, starter: SimulatedStarter
) -> None:
    words = ("advise", "allreduce", "--bytes", "16384", "-n", "4", "--db", finished[0])
    known = plumbline(*words, "--json").json
    assert known["known"][0]["winners_from"]
    before = len(starter.launches)
    said = plumbline(*words, "--measure", "--json")
    assert len(starter.launches) == before + 13 and said.status == 3
    raced = said.json["measured_now"]
    ways = [choice["way"] for choice in raced["answer"]["choices"]]
    assert ways == ["library", "tuned", "hand-made"] and said.json["way"] == raced["answer"]["way"]
    assert "measured now" in plumbline(*words, "--measure").out


def test_advise_races_without_a_database(starter: SimulatedStarter, tmp_path: Path) -> None:
    nothing = tmp_path / "none.db"
    words = ("advise", "--bytes", "16384", "-n", "4", "--measure", "--db", nothing)
    assert plumbline(*words, "allreduce").status in (0, 3)
    said = plumbline(*words, "nothing")
    assert said.status == 2 and "there is nothing to choose from for MPI_Nothing" in said.err
    assert not nothing.exists()


# --- the database -------------------------------------------------------------------------------


def test_db(finished: Finished, tmp_path: Path) -> None:
    database, _ = finished
    said = plumbline("db", "check", "--db", database)
    assert (said.status, said.out) == (0, f"{database}: whole\n")
    assert plumbline("db", "check", "--json", "--db", database).json == {
        "path": str(database),
        "problems": [],
        "remedy": "",
    }
    copy = tmp_path / "copy.db"
    shutil.copy(database, copy)
    with Database.open(copy, write=True) as db:
        db.rows("ALTER TABLE winner RENAME TO winner_of_old")
    said = plumbline("db", "check", "--db", copy)
    assert said.status == 1 and "table winner is missing\n" in said.out
    assert f"{copy} was made by an older Plumbline (schema 4" in said.out
    assert "backup" not in said.out
    copy.unlink()
    said = plumbline("db", "backup", copy, "--db", database)
    assert (said.status, said.out) == (0, f"{copy}\n")
    assert connection.check(copy) == []
    copied = plumbline("results", "--json", "--db", copy).json
    assert copied == plumbline("results", "--json", "--db", database).json
