"""How new winners join standing ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plumbline.search.rounds import cut_back
from plumbline_db.records import Winner
from tests.db import build

BOUND = 40
RANGES = st.tuples(st.integers(0, BOUND), st.integers(0, BOUND)).map(sorted)


def winner(low: int, high: int, variant: str = "allreduce_as_one", **more: object) -> Winner:
    return build.winner(bytes_from=low, bytes_to=high, variant=variant, **more)


def held(winners: list[Winner]) -> list[int]:
    return sorted(n for one in winners for n in range(one.bytes_from, one.bytes_to + 1))


@given(RANGES, st.lists(RANGES, max_size=4))
def test_what_is_taken_over_is_given_up_and_nothing_else(
    own: list[int], taken: list[list[int]]
) -> None:
    new = [winner(low, high, "allreduce_as_other") for low, high in taken]
    kept = held(cut_back([winner(*own)], new))
    assert kept == sorted(set(held([winner(*own)])) - set(held(new)))


def test_a_knob_and_other_functions_keep_their_range() -> None:
    new = [winner(10, 20)]
    standing = [winner(0, 40, "default"), winner(0, 40, function="MPI_Reduce")]
    assert cut_back(standing, new) == standing
