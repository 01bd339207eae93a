"""The profile names a variant for each range of calls, and no call twice."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Tried, Winner
from plumbline_exporters import profile
from plumbline_exporters.bundle import Bundle
from tests.exporters.bundles import bundle, library, tuned, variant

RULE = re.compile(
    r"rule function=(MPI_\w+) nprocs=(\d+)-(\d+) nodes=\d+-\d+(?: ppn=\d+-\d+)? "
    r"bytes=(\d+)-(\d+|inf) variant=([a-z0-9_:=]+)"
)


def rules(*winners: Winner) -> list[str]:
    (text,) = profile.files(bundle(*winners)).values()
    first, *lines = text.splitlines()
    assert first == "plumbline-profile 1"
    library, *kept = [line for line in lines if not line.startswith("#")]
    assert library == 'library version="Open MPI v4.1.4"'
    assert all(RULE.fullmatch(line) for line in kept)
    return kept


def test_variants_alone() -> None:
    winners = (
        tuned("MPI_Bcast", "1", 0, 64),
        variant("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", 8192, 65536),
        variant("MPI_Gather", "gather_binomial", 0, UNBOUNDED_BYTES, 8),
    )
    assert rules(*winners) == [
        "rule function=MPI_Allreduce nprocs=4-4 nodes=1-1 ppn=4-4 bytes=8192-65536 "
        "variant=allreduce_as_reduce_plus_bcast",
        "rule function=MPI_Gather nprocs=8-8 nodes=1-1 ppn=8-8 bytes=0-inf variant=gather_binomial",
    ]
    assert profile.files(bundle(winners[0])) == {}


def test_padded_volumes_are_served() -> None:
    """4096 bytes on 3 ranks are measured as 4098 where blocks are equal, or, of doubles, 4104."""
    for function, end in (
        ("MPI_Gather", 4098),
        ("MPI_Reduce_scatter_block", 4104),
        ("MPI_Allgatherv", 4096),
        ("MPI_Reduce", 4096),
    ):
        (rule,) = rules(variant(function, "v", 1024, 4096, 3))
        assert f"bytes=1024-{end} " in rule


def test_functions_without_a_volume() -> None:
    with pytest.raises(PlumblineError, match="not all ranks know the volume"):
        rules(variant("MPI_Alltoallv", "v", 0, 64))
    (rule,) = rules(variant("MPI_Alltoallv", "v", 0, UNBOUNDED_BYTES))
    assert " bytes=0-inf " in rule


def test_nodes() -> None:
    """Winners for the same ranks on other nodes stand beside each other."""

    def on(nprocs: int, ppn: int) -> Winner:
        return msgspec.structs.replace(variant("MPI_Reduce", "v:a=1", 0, 64, nprocs), ppn=ppn)

    assert [re.findall(r"(?:nodes|ppn)=\S+", rule) for rule in rules(on(8, 8), on(8, 2))] == [
        ["nodes=4-4", "ppn=2-2"],
        ["nodes=1-1", "ppn=8-8"],
    ]
    assert "nodes=3-3 bytes" in rules(on(10, 4))[0]


def test_a_class_of_types() -> None:
    """In the rule and in the head; what the rules file is told in other words is not."""
    winner = variant("MPI_Allreduce", "allreduce_ring", 8, 64)
    narrow = msgspec.structs.replace(winner, restrictions=["commutative", "type=floating"])
    text = profile.files(bundle(narrow))["plumbline.profile"]
    assert " bytes=8-64 type=floating variant=allreduce_ring\n" in text
    assert ", 8-64 bytes, only type=floating: variant allreduce_ring" in text
    assert (
        "commutative" not in text
        and "only" not in profile.files(bundle(winner))["plumbline.profile"]
    )


def test_equal_counts() -> None:
    """The rule says it, and the head says in which count shapes a winner was tried."""
    winner = variant("MPI_Reduce_scatter", "reduce_scatter_ring", 512, 4096)
    shapes = [
        Tried("loop", "MPI_BYTE", "MPI_BOR", "", 2, 1.5, 1.4, 1.3, counts)
        for counts in ("equal", "last")
    ]
    narrow = msgspec.structs.replace(winner, restrictions=["counts=equal"], tried=shapes[:1])
    wide = msgspec.structs.replace(winner, tried=shapes)
    text = profile.files(bundle(narrow))["plumbline.profile"]
    assert " bytes=512-4096 counts=equal variant=reduce_scatter_ring\n" in text
    assert ", 512-4096 bytes, only counts=equal: variant reduce_scatter_ring" in text
    assert "#     with MPI_BYTE/MPI_BOR: loop 1.50 (1.30 at least)\n" in text
    text = profile.files(bundle(wide))["plumbline.profile"]
    assert "#     with MPI_BYTE/MPI_BOR counts=last: loop 1.50 (1.30 at least)\n" in text
    assert "counts=equal" not in text


def test_winners_that_claim_the_same_call() -> None:
    with pytest.raises(PlumblineError, match="overlap"):
        rules(variant("MPI_Reduce", "v", 0, 64), variant("MPI_Reduce", "w", 64, 128))


def named(version_string: str) -> Bundle:
    """For a library that calls itself so."""
    one = library(version_string=version_string)
    return bundle(variant("MPI_Reduce", "v", 0, 64), library=one)


def test_a_library_that_names_itself_with_a_tab() -> None:
    (text,) = profile.files(named("MVAPICH2 Version :\t2.3.7")).values()
    assert 'library version="MVAPICH2 Version :\t2.3.7"\n' in text


@pytest.mark.parametrize("text", ["", ", package", 'Open "MPI"', "Open\nMPI"])
def test_library_that_cannot_be_named(text: str) -> None:
    with pytest.raises(PlumblineError, match="cannot be named"):
        profile.files(named(text))


@given(
    function=st.sampled_from(["MPI_Gather", "MPI_Reduce", "MPI_Allgather"]),
    nprocs=st.integers(1, 9),
    bounds=st.lists(st.integers(0, 200), unique=True, min_size=2).map(sorted),
)
def test_ranges_ascend_and_hold_their_winners(
    function: str, nprocs: int, bounds: list[int]
) -> None:
    pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
    winners = [variant(function, f"v{low}", low, high, nprocs) for low, high in pairs]
    last = -1
    for rule, (low, high) in zip(rules(*winners), pairs, strict=True):
        match = RULE.fullmatch(rule)
        assert match is not None and match[6] == f"v{low}"
        assert last < int(match[4]) == low <= high <= int(match[5]) < high + nprocs
        last = int(match[5])
