"""Tests that exported files decide for a call what their readers decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import profile
from plumbline_exporters.bundle import MpiCall
from plumbline_exporters.family.openmpi import mca_params, tuned
from tests.exporters import json_rules_reader, rules_reader
from tests.exporters.bundles import bundle, library, variant
from tests.exporters.test_ompi_rules import tables

READERS = {"4.1.4": rules_reader, "5.0.11": rules_reader, "6.0.0": json_rules_reader}


def profile_of(*winners: Winner, added: str = "") -> str:
    (text,) = profile.files(bundle(*winners, directory=Path("/out"))).values()
    return text + added


def call(size: int, nprocs: int = 4, nodes: int = 1, function: str = "MPI_Allreduce") -> MpiCall:
    return MpiCall(function, size, nprocs, nodes, -(-nprocs // nodes))


def variants(text: str, asked: MpiCall) -> list[str]:
    return [decided.variant for decided in profile.decisions(text, asked)]


RING = variant("MPI_Allreduce", "allreduce_ring", 1024, 65536)
FLOATS = variant("MPI_Allreduce", "allreduce_tree", 65537, UNBOUNDED_BYTES)


def test_a_rule_of_a_profile_is_for_its_sizes_ranks_and_nodes() -> None:
    text = profile_of(RING)
    assert variants(text, call(1024)) == variants(text, call(65536)) == ["allreduce_ring"]
    for other in (call(1023), call(65537), call(1024, 5), call(1024, nodes=4)):
        assert variants(text, other) == []
    assert variants(text, call(1024, function="MPI_Bcast")) == []


def test_the_ranks_of_the_emptiest_node_count_too() -> None:
    """Five ranks on two nodes are three and two."""
    spread = profile_of(variant("MPI_Allreduce", "v", 0, UNBOUNDED_BYTES, 4)).replace(
        "nprocs=4-4 nodes=1-1 ppn=4-4", "nprocs=5-5 nodes=2-2 ppn=3-3"
    )
    assert variants(spread, call(8, 5, 2)) == []
    assert variants(spread.replace("ppn=3-3", "ppn=2-3"), call(8, 5, 2)) == ["v"]


def test_conditions_are_said() -> None:
    text = profile_of(variant("MPI_Allreduce", "v", 0, 64)).replace(
        " variant=", " type=floating variant="
    )
    assert [decided.conditions for decided in profile.decisions(text, call(8))] == [
        ["type=floating"]
    ]


@pytest.mark.parametrize(
    ("nprocs", "expected"),
    [(4, ["allreduce_ring"]), (6, ["allreduce_ring"]), (8, ["allreduce_ring"]), (9, []), (2, [])],
)
def test_the_nearest_number_of_ranks_stands_in(nprocs: int, expected: list[str]) -> None:
    """As collectives-alt/preload/communicator.c: up to the factor, 8 over 4 but not 9 over 4; of 2
    and 6 ranks, 2 is as far from 4 as the factor allows, where the rule's nodes let it."""
    text = profile_of(RING, added="nearest nprocs factor=2\n")
    wide = text.replace("nodes=1-1 ppn=4-4", "nodes=1-1 ppn=3-9")
    assert variants(wide, call(4096, nprocs)) == expected


@pytest.mark.parametrize("version", READERS)
@given(table=tables(), data=st.data())
def test_rules_are_read_as_the_library_reads_them(
    version: str, table: tuple[str, list[Winner]], data: st.DataObject
) -> None:
    function, winners = table
    collective = tuned.COLLECTIVES[function]
    files = mca_params.rules_files(bundle(*winners, version=version))
    edges = [0, *(end for winner in winners for end in (winner.bytes_from, winner.bytes_to))]
    for _ in range(10):
        nprocs = data.draw(st.integers(2, 10))
        size = max(0, data.draw(st.sampled_from(edges)) + data.draw(st.integers(-20, 20)))
        asked = call(size, nprocs, function=function)
        decided = mca_params.decision(files, asked, library(version))
        if not files:
            assert decided is None
            continue
        (text,) = files.values()
        key = function.removeprefix("MPI_").lower() if version == "6.0.0" else collective.rule_id
        looked_up = {"average": size // nprocs, "blocks": -(-size // nprocs) * nprocs}
        numbers = (
            READERS[version].read(text).decision(key, nprocs, looked_up.get(collective.size, size))
        )
        if not numbers[0]:
            assert decided is None
            continue
        assert decided is not None and decided.file == next(iter(files))
        chosen = decided.configuration[tuned.parameter_prefix(function)]
        assert collective.id_of(chosen, library(version)) == numbers[0]
        segment = decided.configuration.get(f"{tuned.parameter_prefix(function)}_segmentsize", "0")
        assert int(segment) == numbers[2]


def test_functions_without_rules_are_left_to_the_library() -> None:
    files = mca_params.rules_files(bundle(RING))
    assert mca_params.decision(files, call(8, function="MPI_Neighbor_alltoall"), library()) is None
