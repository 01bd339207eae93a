"""Winners of a search, together with those that were in force."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.daemon import retuning
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner
from tests.exporters.bundles import tuned

SIZES = {"MPI_Bcast": [64, 1024, 4096, 16384], "MPI_Scan": [64, 1024]}
OLD = tuned("MPI_Bcast", "binomial", 1024, UNBOUNDED_BYTES)
NEW = tuned("MPI_Bcast", "chain", 0, UNBOUNDED_BYTES)
SCAN = tuned("MPI_Scan", "linear", 0, UNBOUNDED_BYTES)


def choice(found: list[Winner], function: str, size: int) -> object:
    winner = deciding(found, Target(function, size))
    return None if winner is None else (winner.variant, winner.configuration)


def test_a_searched_size_takes_what_was_found() -> None:
    found = retuning.merged_winners([OLD, SCAN], [NEW], {"MPI_Bcast": [4096]}, SIZES, beneath=False)
    assert choice(found, "MPI_Bcast", 1024) == choice([OLD], "MPI_Bcast", 1024)
    assert choice(found, "MPI_Bcast", 4096) == choice([NEW], "MPI_Bcast", 4096)
    assert choice(found, "MPI_Bcast", 16383) == choice([NEW], "MPI_Bcast", 4096)
    assert choice(found, "MPI_Bcast", 16384) == choice([OLD], "MPI_Bcast", 16384)
    assert choice(found, "MPI_Bcast", 64) is None
    assert SCAN in found


def test_where_nothing_was_found_the_old_one_goes_unless_it_was_beneath() -> None:
    searched = {"MPI_Bcast": [4096]}
    gone = retuning.merged_winners([OLD], [], searched, SIZES, beneath=False)
    assert choice(gone, "MPI_Bcast", 4096) is None
    assert choice(gone, "MPI_Bcast", 1024) and choice(gone, "MPI_Bcast", 16384)
    assert retuning.merged_winners([OLD], [], searched, SIZES, beneath=True) == [OLD]


def test_a_variant_is_no_part_of_rules_beneath() -> None:
    ours = msgspec.structs.replace(OLD, variant="bcast_chain", configuration={})
    found = retuning.merged_winners([ours], [], {"MPI_Bcast": [4096]}, SIZES, beneath=True)
    assert choice(found, "MPI_Bcast", 4096) is None


def test_what_holds_for_the_process_stays() -> None:
    whole = msgspec.structs.replace(OLD, function=EVERY_FUNCTION, bytes_from=0)
    found = retuning.merged_winners([whole], [NEW], {"MPI_Bcast": [64]}, SIZES, beneath=False)
    assert whole in found


def test_the_same_choice_is_seen() -> None:
    searched = {"MPI_Bcast": [4096]}
    again = msgspec.structs.replace(OLD, speedup=9.0)
    assert retuning.are_same([OLD], [again], searched)
    assert not retuning.are_same([OLD], [NEW], searched)
    assert not retuning.are_same([OLD], [], searched)
    assert retuning.are_same([], [], searched)


@given(
    searched=st.sets(st.sampled_from(SIZES["MPI_Bcast"]), min_size=1),
    low=st.sampled_from([0, 64, 1024, 4096]),
    high=st.sampled_from([1023, 4095, 20000, UNBOUNDED_BYTES]),
    beneath=st.booleans(),
)
def test_each_size_is_decided_once(searched: set[int], low: int, high: int, beneath: bool) -> None:
    if low > high:
        low = 0
    new = [tuned("MPI_Bcast", "chain", low, high)]
    found = retuning.merged_winners(
        [OLD], new, {"MPI_Bcast": sorted(searched)}, SIZES, beneath=beneath
    )
    for size in SIZES["MPI_Bcast"]:
        holding = [one for one in found if one.bytes_from <= size <= one.bytes_to]
        assert len(holding) <= 1
        wanted = new if size in searched else [OLD]
        before = choice(wanted, "MPI_Bcast", size)
        if before is None and beneath and size in searched:
            assert choice(found, "MPI_Bcast", size) in (None, choice([OLD], "MPI_Bcast", size))
        else:
            assert choice(found, "MPI_Bcast", size) == before
