"""MPICH's tables with winners in them: what meets the winner's branch, and what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import registry
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.family import mpich as mpich_env
from plumbline_exporters.family.mpich import selection as mpich_selection
from tests.db import build
from tests.exporters.bundles import bundle, library
from tests.exporters.bundles import of_mpich as winner
from tests.exporters.mpich_walk import met as end
from tests.tuner.families.installations import write
from tests.tuner.families.recorded.mpich import ALGORITHMS, COMPOSITIONS, FILES


def given(tmp_path: Path, *winners: Winner) -> Bundle:
    prefix = write(tmp_path / "mpich", FILES)
    return bundle(*winners, library=library("5.0.2", "mpich", prefix=str(prefix)))


def met(tree: Any, collective: str, **call: Any) -> str:
    return end(tree, collective, **call)[0]


def tables(tmp_path: Path, *winners: Winner) -> tuple[Any, Any]:
    texts = mpich_selection.files(given(tmp_path, *winners))
    return tuple(
        json.loads(texts.get(name, "{}"))
        for name in (mpich_selection.FILE_NAME, mpich_selection.COMPOSITIONS_FILE_NAME)
    )  # type: ignore[return-value]


def test_a_winner_is_met_at_its_ranks_and_sizes_alone(tmp_path: Path) -> None:
    algorithms, compositions = tables(
        tmp_path,
        winner("MPI_Allreduce", "recexch", 8, 64, RECEXCH_KVAL="4"),
        winner("MPI_Allreduce", "nb", 65, 128),
    )
    for size, ours in ((7, 0), (8, 1), (64, 1), (65, 2), (128, 2), (129, 0)):
        for ranks in (3, 4, 5):
            call = {"comm_size": ranks, "avg_msg_size": size, "is_commutative": "yes"}
            name = met(algorithms, "allreduce", **call)
            own = ours if ranks == 4 else 0
            theirs = met(ALGORITHMS, "allreduce", **call)
            wanted = (theirs, "algorithm=MPIR_Allreduce_intra_recexch", None)[own]
            assert name == (wanted or "algorithm=MPIR_Allreduce_allcomm_nb"), (size, ranks)
            composition = met(compositions, "allreduce", **call)
            assert composition.endswith("beta" if own else "gamma")
    inter = {"comm_type": "inter", "comm_size": 4, "avg_msg_size": 8}
    assert met(algorithms, "allreduce", **inter).endswith("inter_reduce_exchange_bcast")
    text = json.dumps(algorithms)
    assert '"k=4"' in text


def test_ranges_of_ranks_are_branches_beside_each_other(tmp_path: Path) -> None:
    """The rules of a whole site: twenty numbers of ranks and what lies between them."""
    counts = range(2, 62, 3)
    own = [winner("MPI_Allreduce", "recexch", 8, 64, nprocs=number) for number in counts]
    between = [
        msgspec.structs.replace(
            winner("MPI_Allreduce", "nb", 8, 64, nprocs=number + 1),
            restrictions=[f"nprocs={number + 1}-{number + 2}"],
        )
        for number in list(counts)[:-1:2]
    ]
    algorithms, _ = tables(tmp_path, *own, *between)
    for ranks in range(2, 64):
        call = {"comm_size": ranks, "avg_msg_size": 64, "is_commutative": "yes"}
        place = (ranks - 2) % 6
        expected = met(ALGORITHMS, "allreduce", **call)
        if ranks in counts:
            expected = "algorithm=MPIR_Allreduce_intra_recexch"
        elif place in (1, 2) and ranks < 59:
            expected = "algorithm=MPIR_Allreduce_allcomm_nb"
        assert met(algorithms, "allreduce", **call) == expected, ranks
    branches = len(own) + len(between)
    assert len(json.dumps(algorithms)) < 2 * branches * len(json.dumps(ALGORITHMS))


def test_calls_that_an_algorithm_is_wrong_for_are_the_library_s(tmp_path: Path) -> None:
    algorithms, _ = tables(
        tmp_path,
        winner("MPI_Allreduce", "ring", 0, 64),
        winner("MPI_Allreduce", "reduce_scatter_allgather", 65, 128),
        winner("MPI_Alltoall", "pairwise", 8, 64),
    )
    call: dict[str, Any] = {"comm_size": 4, "avg_msg_size": 8, "count": 8}
    assert met(algorithms, "allreduce", **call, is_commutative="yes").endswith("ring")
    assert met(algorithms, "allreduce", **call, is_commutative="no").endswith("recursive_doubling")
    call["avg_msg_size"] = 100
    ours = "algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather"
    assert met(algorithms, "allreduce", **call, is_op_built_in="yes") == ours
    alltoall = {"comm_size": 4, "avg_msg_size": 16}
    assert met(algorithms, "alltoall", **alltoall, is_sendbuf_inplace="no").endswith("pairwise")
    in_place = met(algorithms, "alltoall", **alltoall, is_sendbuf_inplace="yes")
    assert in_place.endswith("pairwise_sendrecv_replace")
    # The library counts the block of one process.
    for block, name in ((1, "scattered"), (2, "pairwise"), (16, "pairwise"), (17, "scattered")):
        call = {"comm_size": 4, "avg_msg_size": block, "is_sendbuf_inplace": "no"}
        assert met(algorithms, "alltoall", **call).endswith(name), block


def test_whole_blocks_are_counted(tmp_path: Path) -> None:
    algorithms, _ = tables(tmp_path, winner("MPI_Allgather", "brucks", 8, 62))
    for total, name in ((7, "ring"), (8, "brucks"), (64, "brucks"), (65, "ring")):
        call = {"comm_size": 4, "total_msg_size": total}
        assert met(algorithms, "allgather", **call).endswith(name), total


def test_one_algorithm_serves_all_sizes_where_the_library_knows_none(tmp_path: Path) -> None:
    everything = winner("MPI_Scan", "recursive_doubling", 0, UNBOUNDED_BYTES)
    algorithms, compositions = tables(tmp_path, everything)
    call = {"comm_size": 4}
    assert met(algorithms, "scan", **call).endswith("intra_recursive_doubling")
    assert met(compositions, "scan", **call).endswith("beta")
    assert met(algorithms, "scan", comm_size=5).endswith("smp")
    with pytest.raises(PlumblineError, match="one algorithm must serve all"):
        tables(tmp_path, winner("MPI_Scan", "recursive_doubling", 8, 64))


def test_other_functions_are_as_they_were(tmp_path: Path) -> None:
    algorithms, compositions = tables(tmp_path, winner("MPI_Allreduce", "ring", 8, 64))
    for key in ALGORITHMS.keys() - {"collective=allreduce"}:
        assert algorithms[key] == ALGORITHMS[key]
    assert compositions["collective=scan"] == COMPOSITIONS["collective=scan"]


def test_each_choice_is_corrupted_alone(tmp_path: Path) -> None:
    chosen = (winner("MPI_Allreduce", "ring", 8, 64), winner("MPI_Allreduce", "nb", 65, 128))
    text = mpich_selection.files(given(tmp_path, *chosen))[mpich_selection.FILE_NAME]
    corrupted = list(mpich_selection.corrupted(text))
    assert {(one.function, one.bytes_from) for one in corrupted} == {
        ("MPI_Allreduce", 8),
        ("MPI_Allreduce", 65),
    }
    for one in corrupted:
        call: dict[str, Any] = {"comm_size": 4, "is_commutative": "yes"}
        for size in (8, 65):
            name = met(json.loads(one.text), "allreduce", **call, avg_msg_size=size)
            assert ("Barrier" in name) == (size == one.bytes_from)


def test_what_no_table_holds_is_of_the_process(tmp_path: Path) -> None:
    threshold = {"MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "4096"}
    plain = build.winner(function="MPI_Bcast", configuration=threshold)
    values = mpich_env.control_variables(
        given(tmp_path, plain, winner("MPI_Allreduce", "ring", 8, 64))
    )
    assert values["MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"] == "4096"
    assert not any("ALLREDUCE" in name or "FALLBACK" in name for name in values)
    other = build.winner(
        function="MPI_Reduce", configuration={"MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "1"}
    )
    with pytest.raises(PlumblineError, match="a process has one value"):
        mpich_env.control_variables(given(tmp_path, plain, other))


def test_a_library_without_tables_is_named(tmp_path: Path) -> None:
    lost = given(tmp_path, winner("MPI_Allreduce", "ring", 8, 64))
    (tmp_path / "mpich" / "lib" / "libmpi.so.12").write_text("ELF")
    with pytest.raises(PlumblineError, match="no tables of algorithms"):
        mpich_selection.files(lost)


def test_each_end_of_ours_says_where_it_comes_from(tmp_path: Path) -> None:
    """Its own winner alone: tables grow with the number of winners, not with its square."""
    made = given(
        tmp_path,
        winner("MPI_Allreduce", "recursive_doubling", 0, 1023),
        winner("MPI_Allreduce", "recursive_doubling", 1024, 4096),
    )
    facts = ("machine   node1", "fingerprint 9d1c5f6a", "campaign  c-20250301-a", "written   2025-",
             "removes: GL12 16384", "(interval 1.90-2.10)")  # fmt: skip
    for text in mpich_selection.files(made).values():
        ends = list(mpich_selection._marks(json.loads(text)))
        assert ends
        for leaf, _ in ends:
            said = [word for word in next(iter(leaf.values())) if word.startswith("written=")]
            assert all(any(fact in line for line in said) for fact in facts)
            assert sum("removes" in line for line in said) == 1


def test_files_without_compositions_are_written_twice(tmp_path: Path) -> None:
    """Each turn of a campaign writes over the files of the last one: each has a winner in it."""
    found = msgspec.structs.replace(
        given(tmp_path, winner("MPI_Allgather", "ring", 8, 64)), directory=tmp_path / "out"
    )
    for _ in range(2):
        written = registry.write(found, ["mpich-env"])
        assert all(registry.is_ours(Path(one.path)) for one in written)
    assert mpich_selection.COMPOSITIONS_VARIABLE not in mpich_env.control_variables(found)
