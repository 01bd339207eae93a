"""What an overlap suite is asked for: benchmarks as people write them, settings of the library, and
where the ranks are."""

from __future__ import annotations

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
