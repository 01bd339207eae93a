"""Names of overlap benchmarks, and the launches of a suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.overlap import benches, suite
from plumbline.overlap.benches import OverlapSettings
from plumbline_db.errors import UsageError
from tests.probes.launch import functions_of_the_probe

FUNCTIONS = functions_of_the_probe()


def test_collectives_are_those_of_the_probe() -> None:
    found = benches.expanded(["sender", "collectives", "collective:MPI_Ibcast"], FUNCTIONS)
    assert found[0] == "sender" and len(found) == len(FUNCTIONS)
    assert "collective:MPI_Ireduce_scatter_block" in found
    named = {benches.of(one).function for one in found[1:]}
    assert named == set(FUNCTIONS) - {"MPI_Reduce_local"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("fan_in:4", benches.Bench("fan_in:4", "fan_in", requests=4)),
        ("ring", benches.Bench("ring", "ring")),
        (
            "collective:MPI_Iallreduce",
            benches.Bench("collective:MPI_Iallreduce", "collective", function="MPI_Allreduce"),
        ),
    ],
)
def test_names(name: str, wanted: benches.Bench) -> None:
    assert benches.of(name) == wanted
    given = benches.names(f"{name},collectives,{name}", groups=True)
    assert given == (name, "collectives")
    with pytest.raises(UsageError, match="name them one by one"):
        benches.names(f"{name},collectives")


def test_one_way_to_write_a_benchmark() -> None:
    given = benches.names("sender:1,sender,multiple,collective:MPI_Iallreduce")
    assert given == ("sender", "multiple:2", "collective:MPI_Iallreduce")


@pytest.mark.parametrize("name", ["collective", "collective:MPI_Bcast", "ring:0", "ring:x", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="and collectives"):
        benches.names(f"sender,{name}")


def test_a_barrier_has_one_size() -> None:
    settings = OverlapSettings(2, sizes=(64, 128), work_ns=(1000,))
    text = suite.plan(settings, "collective:MPI_Ibarrier").text()
    assert text.count("overlap id=") == 1 and "bytes=0" in text and "MPI_Barrier" in text
    assert suite.plan(settings, "ring:2").text().count("requests=2") == 2


def test_this_machine_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks are bound where each has a processing unit."""
    monkeypatch.setattr(benches, "processing_units", lambda: 2)
    found = benches.settings(None, {"nprocs": None, "nodes": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        2,
        1,
        120.0,
    )
    assert found.ranks.placement(2).bind == "core" and benches.facts(found) != []
    more = benches.settings(None, {"nprocs": 4096, "nodes": None})
    assert more.ranks.placement(2).bind == "" and benches.facts(more) == []


def test_what_a_campaign_file_says_of_places_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'nprocs = 4\nsizes = [1, 2]\nlaunch_timeout_seconds = 9.0\nbind = "core"\n'
        '[hosts]\nnames = ["one", "two"]\n[environment]\nOMPI_MCA_btl = "self,tcp"\n'
    )
    found = benches.settings(file, {"nprocs": None, "bind": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        4,
        2,
        9.0,
    )
    assert found.ranks.placement(None).bind == "core" and found.fixed.environment == {
        "OMPI_MCA_btl": "self,tcp"
    }
    (facts,) = benches.facts(found)
    for word in ("one", "two", "core", "self,tcp"):
        assert word in facts
    other = benches.settings(file, {"nprocs": 2, "bind": "none"})
    assert other.ranks.nprocs == 2 and benches.facts(other) != [facts]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[simulate]\nlibrary = "ompi"\n', "takes no time"),
        ('libraries = ["a", "b"]\n', "--mpi"),
        ('layouts = ["1x2"]\n', "--nprocs"),
        ("nprocs = 1\n", "nprocs must be at least 2"),
        ("nodes = 2\n", "several nodes need a table"),
    ],
)
def test_places_where_nothing_can_overlap(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        benches.settings(file, {})
