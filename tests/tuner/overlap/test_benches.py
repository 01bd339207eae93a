"""What an overlap suite is asked for: benchmarks as people write them, settings of the library, and
where the ranks are."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.overlap import benches, place, suite
from plumbline.overlap.knobs import given, require_in_force
from plumbline.overlap.settings import OverlapSettings
from plumbline.settings import Settings
from plumbline.settings.ranks import Ranks
from plumbline_db.errors import PlumblineError, UsageError
from tests.probes.launch import functions_of_the_probe
from tests.tuner import fake_mpi, simulated

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


# --- settings of the library ----------------------------------------------------------------------


WHERE = Settings(ranks=Ranks(nprocs=2))
BCAST = "coll_tuned_bcast_algorithm"


def test_settings_with_what_they_want_beside_them() -> None:
    bench = simulated.toolchain()
    assert given(bench, [], WHERE) == AS_IT_IS
    found = given(bench, ["btl_vader_eager_limit=8192", f"{BCAST}=chain"], WHERE)
    assert found == given(bench, [f"{BCAST}=chain", "btl_vader_eager_limit=8192"], WHERE)
    assert {("btl_vader_eager_limit", "8192"), (BCAST, "chain")} <= set(found.values)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "NAME=VALUE"),
        (["=4"], "NAME=VALUE"),
        (["btl_vader_eager_limit="], "NAME=VALUE"),
        (["btl_vader_eager_limits=4"], "reports no parameter btl_vader_eager_limits"),
        (["btl_vader_eager_limit=4", "btl_vader_eager_limit=8"], "cannot be 4 and 8"),
    ],
)
def test_what_is_no_setting(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        given(simulated.toolchain(), words, WHERE)


def test_a_setting_under_which_nothing_starts(tmp_path: Path) -> None:
    starter = fake_mpi.starter(tmp_path, "echo out of cells >&2; exit 1")
    require_in_force(starter, AS_IT_IS)
    with pytest.raises(PlumblineError, match=r"launch with cells=0 fails; (.|\n)*out of cells"):
        require_in_force(starter, Configuration.of({"cells": "0"}))


# --- where the ranks are --------------------------------------------------------------------------


def test_this_machine_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ranks bound where each has a processing unit."""
    monkeypatch.setattr(place, "processing_units", lambda: 2)
    found = place.settings(None, {"nprocs": None, "nodes": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        2,
        1,
        120.0,
    )
    assert found.ranks.placement(2).bind == "core" and place.facts(found) != []
    more = place.settings(None, {"nprocs": 4096, "nodes": None})
    assert more.ranks.placement(2).bind == "" and place.facts(more) == []


def test_what_a_campaign_file_says_of_places_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'nprocs = 4\nsizes = [1, 2]\nlaunch_timeout_seconds = 9.0\nbind = "core"\n'
        '[hosts]\nnames = ["one", "two"]\n[environment]\nOMPI_MCA_btl = "self,tcp"\n'
    )
    found = place.settings(file, {"nprocs": None, "bind": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        4,
        2,
        9.0,
    )
    assert found.ranks.placement(None).bind == "core" and found.fixed.environment == {
        "OMPI_MCA_btl": "self,tcp"
    }
    (facts,) = place.facts(found)
    for word in ("one", "two", "core", "self,tcp"):
        assert word in facts
    other = place.settings(file, {"nprocs": 2, "bind": "none"})
    assert other.ranks.nprocs == 2 and place.facts(other) != [facts]


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
        place.settings(file, {})
