"""The rules file of Open MPI 6 decides every call as the classic one does for 5.0."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family import openmpi
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from tests.exporters import json_rules_reader, rules_reader
from tests.exporters.bundles import bundle, library, tuned
from tests.exporters.test_ompi_rules import tables


def exported(*winners: Winner) -> str:
    files = ompi_rules.rules_files(bundle(*winners, version="6.0.0"))
    assert list(files) == ["ompi-rules.json"]
    return files["ompi-rules.json"]


def test_one_winner() -> None:
    text = exported(tuned("MPI_Reduce_scatter_block", "butterfly", 8192, 65536))
    assert json.loads(text)["collectives"] == {
        "reduce_scatter_block": [
            {
                "comm_size_min": 4,
                "comm_size_max": 4,
                "comm_rank_distribution": "single-node",
                "rules": [
                    {
                        "msg_size_min": 8192,
                        "msg_size_max": 65536,
                        "alg": 4,
                        "faninout": 4,
                        "seg_size": 0,
                        "reqs": 0,
                    }
                ],
            }
        ]
    }


def test_the_head_stands_where_the_reader_does_not_look() -> None:
    text = exported(tuned("MPI_Bcast", "6", 64))
    head = "\n".join(json.loads(text)["plumbline"])
    for fact in ("node1", "fingerprint 9d1c5f6a", "c-20250301-a", "2025-03-01T12:00:00Z",
                 "2.00 times as long (interval 1.90-2.10)", "GL12 16384"):  # fmt: skip
        assert fact in head


@given(table=tables(), data=st.data())
def test_every_call_is_decided_as_by_the_classic_file(
    table: tuple[str, list[Winner]], data: st.DataObject
) -> None:
    function, winners = table
    if not winners:
        assert ompi_rules.rules_files(bundle(version="6.0.0")) == {}
        return
    new = json_rules_reader.read(exported(*winners))
    (text,) = ompi_rules.rules_files(bundle(*winners, version="5.0.11")).values()
    old = rules_reader.read(text)
    edges = [n for w in winners for n in (w.bytes_from, w.bytes_to)]
    for _ in range(20):
        nprocs = data.draw(st.sampled_from([w.nprocs for w in winners]))
        nprocs = max(nprocs + data.draw(st.sampled_from([0, 0, -1, 1, 7])), 1)
        size = max(data.draw(st.sampled_from([0, *edges])) + data.draw(st.integers(-20, 20)), 0)
        expected = old.decision(COLLECTIVES[function].rule_id, nprocs, size)
        name = function.removeprefix("MPI_").lower()
        assert new.decision(name, nprocs, size) == expected


def test_no_upper_end_is_inf() -> None:
    assert json_rules_reader.read(exported(tuned("MPI_Bcast", "6"))).decision("bcast", 4, 1 << 62)


def test_environment_and_parameters_name_it() -> None:
    given_ = bundle(tuned("MPI_Bcast", "6", 64), version="6.0.1")
    values = mca_params.parameters(given_)
    assert values["coll_tuned_dynamic_rules_filename"] == "/out/ompi-rules.json"
    assert "/out/ompi-rules.json" in openmpi.files(given_)["plumbline.sh"]


def test_algorithms_that_are_new_in_6() -> None:
    allgather, reduce = COLLECTIVES["MPI_Allgather"], COLLECTIVES["MPI_Reduce"]
    assert allgather.id_of("direct-messaging", library("6.0.0")) == 8
    assert allgather.id_of("direct-messaging", library("5.0.11")) is None
    assert allgather.id_of("bruck-k-fanout", library("6.0.0")) == 2
    assert allgather.id_of("bruck-k-fanout", library("5.0.11")) is None
    assert reduce.id_of("8", library("6.0.0")) == 8
    with pytest.raises(PlumblineError, match="do not commute"):
        exported(tuned("MPI_Reduce", "knomial", 1024, 4096))


def test_requests_need_no_other_version() -> None:
    found = json_rules_reader.read(exported(tuned("MPI_Alltoall", "4", 1024, max_requests=8)))
    assert found.decision("alltoall", 4, 2048) == [4, 4, 0, 8]


@pytest.mark.parametrize("function", ["MPI_Gather", "MPI_Scatter"])
def test_one_algorithm_for_gather_and_scatter(function: str) -> None:
    """Ranks compute different sizes there in 6.0 too."""
    with pytest.raises(PlumblineError, match="one algorithm must serve all sizes"):
        exported(tuned(function, "1", 0, 1024))


BUTTERFLY, BINOMIAL = [4, 4, 0, 0], [6, 4, 0, 0]


def on(winner: Winner, nodes: int) -> Winner:
    return msgspec.structs.replace(winner, ppn=-(-winner.nprocs // nodes))


def test_rules_of_one_node_are_for_one_node_alone() -> None:
    rules = json_rules_reader.read(exported(tuned("MPI_Reduce_scatter_block", "butterfly")))
    assert rules.decision("reduce_scatter_block", 4, 64, "single-node") == BUTTERFLY
    for elsewhere in ("one-per-node", ""):
        assert rules.decision("reduce_scatter_block", 4, 64, elsewhere) == [0, 0, 0, 0]


@pytest.mark.parametrize("nodes", [2, 4])
def test_rules_of_several_nodes_are_not_for_one(nodes: int) -> None:
    """A world of one rank on each node is no `one-per-node` to the library."""
    rules = json_rules_reader.read(exported(on(tuned("MPI_Bcast", "6"), nodes)))
    assert rules.decision("bcast", 4, 64, "single-node") == [0, 0, 0, 0]
    assert rules.decision("bcast", 4, 64, "") == BINOMIAL


def test_two_placements_of_as_many_ranks_have_rules_of_their_own() -> None:
    """Blocks of the classic file cannot stand beside each other."""
    one, four = tuned("MPI_Bcast", "1"), on(tuned("MPI_Bcast", "6"), 4)
    rules = json_rules_reader.read(exported(one, four))
    assert rules.decision("bcast", 4, 64, "single-node") == [1, 4, 0, 0]
    assert rules.decision("bcast", 4, 64, "") == BINOMIAL
    with pytest.raises(PlumblineError, match="ranks per node"):
        ompi_rules.rules_files(bundle(one, four, version="5.0.11"))
    with pytest.raises(PlumblineError, match="ranks per node"):
        exported(on(tuned("MPI_Bcast", "1"), 2), four)
