"""What helps messages on, and what it needs; threads of the suite."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.libraries import space_file
from plumbline.libraries.space import ProgressThread, Space
from plumbline.overlap import benches, suite
from plumbline.overlap.benches import Aid, OverlapSettings
from plumbline.system.machine import processing_units
from plumbline_db.errors import UsageError
from tests.probes.launch import ROOT
from tests.tuner.cli.command import plumbline

SETTINGS = OverlapSettings(2, sizes=(64, 4096), work_ns=(1000,), loads=(0, 1, 2))


@pytest.mark.parametrize(
    ("bench", "aid", "level"),
    [
        ("sender", "none", None),
        ("sender", "test", None),
        ("sender", "library", None),
        ("load", "none", "funneled"),
        ("multiple:3", "none", "multiple"),
        ("receiver", "helper", "multiple"),
        ("receiver", "spare", "multiple"),
        ("load", "helper", "multiple"),
    ],
)
def test_mpi_starts_with_the_threads_that_cells_need(
    bench: str, aid: Aid, level: str | None
) -> None:
    settings = msgspec.structs.replace(SETTINGS, aid=aid)
    found = benches.aid_environment(suite.plan(settings, bench))
    assert found == ({} if level is None else {"PLUMBLINE_THREADS": level})


def test_plans_say_who_helps() -> None:
    for aid, words in (("none", ""), ("helper", " helper=1"), ("spare", " helper=1 spare=1")):
        settings = msgspec.structs.replace(SETTINGS, aid=aid)
        lines = suite.plan(settings, "sender").text().splitlines()[-2:]
        assert all(line.endswith(f"triples=50 requests=1{words}") for line in lines)


@pytest.mark.parametrize(
    ("units", "expected"),
    [(1, (0, 1)), (2, (0, 1, 2)), (6, (0, 1, 2, 4, 6)), (64, (0, 1, 2, 4, 8, 16, 32, 64))],
)
def test_threads_are_the_other_axis_of_load(units: int, expected: tuple[int, ...]) -> None:
    assert suite.loads(units) == expected


def test_load_has_no_axis_of_work() -> None:
    cells = suite.plan(msgspec.structs.replace(SETTINGS, work_ns=(1, 2, 3)), "load").overlaps
    assert [one.threads for one in cells] == [0, 1, 2, 0, 1, 2]
    assert {one.work_ns for one in cells} == {100_000}


def test_who_never_sleeps_wants_a_processing_unit() -> None:
    benches.require_spare(2, 2, 4)
    with pytest.raises(UsageError, match="want 4 processing units; there are 3"):
        benches.require_spare(2, 2, 3)


SPINS = ProgressThread(knobs={"ASYNC": "1"})
OVER_TCP = ProgressThread(knobs={"thread": "1"}, where={"btl": ["tcp,self"]}, spins=False)


def test_threads_of_the_library() -> None:
    assert benches.aids_of_library(SPINS, "a", {}, 4, 8) == {"ASYNC": "1"}
    assert benches.aids_of_library(OVER_TCP, "b", {"btl": "tcp,self"}, 2, 2) == {"thread": "1"}
    with pytest.raises(UsageError, match=r"4 ranks and 4 threads .* there are 7"):
        benches.aids_of_library(SPINS, "a", {}, 4, 7)
    for values in ({"btl": "vader,self"}, {}):
        with pytest.raises(UsageError, match=r"no messages with btl .* only with tcp,self"):
            benches.aids_of_library(OVER_TCP, "b", values, 2, 8)
    with pytest.raises(UsageError, match="c has no progress thread of its own: it is small"):
        benches.aids_of_library(ProgressThread(none="it is small"), "c", {}, 2, 8)


def every_space() -> list[Space]:
    paths = sorted((ROOT / "search-spaces").glob("*.toml"))
    return [space for path in paths for space in space_file.load(path)]


@pytest.mark.parametrize("space", every_space(), ids=lambda one: f"{one.family}-{one.min_version}")
def test_each_family_says_what_it_has(space: Space) -> None:
    """Knobs that the family puts into the environment, or why there are none. A space that says
    nothing has none."""
    assert Space("x", "1", "2", prefixes=[], function=[]).progress.none
    assert bool(space.progress.knobs) != bool(space.progress.none)
    family = libraries.families()[space.family]
    environment = family.in_environment(space.progress.knobs) if space.progress.knobs else {}
    assert len(environment) >= len(space.progress.knobs)
    known = space.knobs()
    assert all(
        name in known for name in space.progress.knobs if name.startswith(tuple(space.prefixes))
    )


def refused(*words: str, tmp_path: Path) -> str:
    database = tmp_path / "plumbline.db"
    done = plumbline("overlap", *words, "--db", str(database))
    assert done.status == 2 and not database.exists()
    return done.err


@pytest.mark.mpi
def test_aids_that_this_machine_or_library_does_not_have(tmp_path: Path, mpirun: None) -> None:
    """As many ranks as processing units: no core is left."""
    units = str(max(2, processing_units()))
    said = refused("-n", units, "--aid", "spare", tmp_path=tmp_path)
    assert "never sleep" in said and "--aid helper" in said
    _, installation = libraries.find()
    if installation.library.family == "openmpi" and "OMPI_MCA_btl" not in os.environ:
        said = refused("--aid", "library", tmp_path=tmp_path)
        assert "btl" in said and "tcp,self" in said
    for aid in ("test", "test:", "test:0", "helper:5"):
        refused("--aid", aid, tmp_path=tmp_path)
    said = refused("--benches", "sender,load", "--aid", "test:5", tmp_path=tmp_path)
    assert "load" in said and "test_ns" in said


def test_the_default_is_the_six_of_the_paper() -> None:
    """Denis and Trahay, ICPP 2016, III.D: sender, receiver, both, non-contiguous, CPU overhead, N
    threads load. In `load` no aid has anything to do that takes its cores or asks in its work."""
    assert benches.usual("none") == ("sender", "receiver", "both", "vector", "overhead", "load")
    assert "load" not in benches.usual("test") and "load" not in benches.usual("spare")


@pytest.mark.mpi
def test_threads_on_the_real_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpirun: None
) -> None:
    """What the shell says of threads does not count."""
    words = [
        "overlap",
        "--benches",
        "load,multiple:2,openmp,sender",
        "--sizes",
        "64",
        "--work",
        "20",
    ]
    words += ["--triples", "5", "--launches", "1", "--json", "--db", str(tmp_path / "plumbline.db")]
    monkeypatch.setenv("PLUMBLINE_THREADS", "nonsense")
    said = plumbline(*words)
    assert said.status == 0, said.err
    found = said.json["cells"]
    loads = [one for one in found if one["bench"] == "load"]
    assert [one["threads"] for one in loads] == list(suite.loads(processing_units()))
    for one in loads:
        told = one["ratio"]
        assert told["value"] == pytest.approx(told["both"] / told["communication"])
        assert told["low"] <= told["value"] <= told["high"]
    for name in ("multiple:2", "openmp:2"):
        assert [one["threads"] for one in found if one["bench"] == name] == [2]
    said = plumbline(*words, "--aid", "helper")
    assert said.status == 0, said.err
