"""The overlap suite on the real library, and its pictures."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.overlap.benches import axes
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Run
from tests import busy
from tests.tuner import started
from tests.tuner.campaign.test_end_to_end import kill
from tests.tuner.cli.command import plumbline


def test_the_axes_go_by_roots_of_two() -> None:
    sizes, work = axes(quick=False)
    assert (sizes[0], sizes[-1], len(sizes)) == (64, 4 << 20, 33)
    assert (work[0], work[-1], len(work)) == (2_000, 4_096_000, 23)
    for axis in (sizes, work):
        steps = [high / low for low, high in itertools.pairwise(axis)]
        assert all(1.38 < step < 1.45 for step in steps)
    quick, less = axes(quick=True)
    assert set(quick) <= set(sizes) and set(less) <= set(work) and len(quick) == 17


@pytest.mark.mpi
def test_overlap_on_the_real_library(tmp_path: Path, mpirun: None) -> None:
    """Two launches of two benchmarks; asked again, nothing is launched."""
    words = ["overlap", "--benches", "sender,receiver", "--sizes", "1024,65536", "--work", "20,200"]
    words += ["--triples", "9", "--launches", "2", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words, "--json", "--picture", str(tmp_path / "maps.svg"))
    assert said.status == 0, said.err
    found = said.json
    assert len(found["cells"]) == 8
    assert [one["bench"] for one in found["classes"]["benches"]] == ["sender", "receiver"]
    for one in found["cells"]:
        assert one["launches"] == 2
        ratio = one["ratio"]
        assert ratio["low"] <= ratio["value"] <= ratio["high"]
        if ratio["both"] <= 0.4 * max(ratio["communication"], ratio["computation"]):
            busy.undecided(f"both are done before either alone: {ratio}")
    assert (tmp_path / "maps.svg").read_text().startswith("<svg")
    again = plumbline(*words, "--json")
    assert again.json == found
    table = plumbline(*words)
    assert "receiver" in table.out and "64k" in table.out
    assert all(line in table.out.splitlines() for line in found["words"])


@pytest.mark.mpi
def test_a_setting_is_in_force_in_every_launch(tmp_path: Path) -> None:
    """It is read back, and measurements under it are others than those without."""
    _, installation = libraries.find()
    if installation.library.id != "openmpi-4.1.4":
        pytest.skip("a parameter of Open MPI 4.1")
    database = tmp_path / "plumbline.db"
    words = ["overlap", "--benches", "sender", "--sizes", "1024", "--work", "20", "--json"]
    words += ["--triples", "5", "--launches", "1", "--db", str(database)]
    plain = plumbline(*words)
    set_ = plumbline(*words, "--knob", "btl_vader_eager_limit=8192")
    assert set_.status == 0, set_.err
    found = set_.json
    assert found["settings"]["btl_vader_eager_limit"] == "8192"
    assert found["id"] != plain.json["id"]
    with Database.open(database) as db:
        for launch in runs.listing(db, found["id"]):
            assert launch.environment["OMPI_MCA_btl_vader_eager_limit"] == "8192"
    refused = plumbline(*words, "--knob", "btl_vader_eager_limit=8k")
    assert refused.status == 2 and "'8k', '" in refused.err


def launches(database: Path) -> list[Run]:
    if not database.exists():
        return []
    try:
        with Database.open(database) as db:
            return [one for row in campaigns.every(db) for one in runs.listing(db, row.id)]
    except PlumblineError:  # the first moments of a database
        return []


@pytest.mark.mpi
def test_killed_it_goes_on_and_repeats_nothing(tmp_path: Path, mpirun: None) -> None:
    database = tmp_path / "plumbline.db"
    words = ["overlap", "--benches", "sender", "--sizes", "64", "--work", "500"]
    words += ["--triples", "9", "--launches", "4", "--db", str(database)]
    first = started.start(*words)
    limit = time.monotonic() + 60
    while not launches(database) and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    assert first.poll() is None, first.communicate()[1].decode()
    kill(first)
    before = launches(database)
    said = started.plumbline(*words, "--json")  # on the processor of the first one
    assert said.returncode == 0, said.stderr
    after = launches(database)
    assert after[: len(before)] == before
    assert [one.sequence for one in after] == list(range(4))
    assert all(one["launches"] == 4 for one in json.loads(said.stdout)["cells"])


@pytest.mark.mpi
def test_patterns_and_collectives_on_the_real_library(tmp_path: Path, mpirun: None) -> None:
    """Every rank of a ring and of a collective has a ratio; rank 0 alone where all send to it."""
    benches = "collective:MPI_Iallreduce,fan_in:4,ring"
    words = ["overlap", "--benches", benches, "-n", "3", "--sizes", "4096", "--work", "20"]
    words += ["--triples", "5", "--launches", "1", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words, "--json")
    assert said.status == 0, said.err
    found = said.json["cells"]
    assert sorted((one["bench"], one["rank"]) for one in found) == [
        *(("collective:MPI_Iallreduce", rank) for rank in range(3)),
        ("fan_in:4", 0),
        *(("ring", rank) for rank in range(3)),
    ]
    assert all(one["ratio"]["communication"] > 0 for one in found)
    table = plumbline(*words)
    assert "collective:MPI_Iallreduce" in table.out, table.err
    local = plumbline("overlap", "--benches", "ring,collective:MPI_Ireduce_local", *words[3:])
    assert local.status == 2 and "no non-blocking form" in local.err


@pytest.mark.mpi
def test_all_collectives(tmp_path: Path, mpirun: None) -> None:
    words = ["overlap", "--benches", "collectives", "--sizes", "64", "--work", "5", "--json"]
    words += ["--triples", "2", "--launches", "1", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words)
    assert said.status == 0, said.err
    cells = said.json["cells"]
    assert len({one["bench"] for one in cells}) == 16 and len(cells) == 32
