"""What winners miss of what was measured, and what --all would gain."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.results.remaining import behind, whole_functions
from plumbline.search.outcome import decided
from plumbline_db.records import Search, Trial, Winner
from tests.db import build

CELL = Target("MPI_Gather", 4096)


def trial(ratio: float, variant: str = "default", **knobs: str) -> Trial:
    return Trial(variant, knobs, "measured", ratio, None, None, 1, "")


def winner(**more: Any) -> Winner:
    plain = {"function": CELL.function, "bytes_from": 0, "bytes_to": 8192, "configuration": {}}
    return msgspec.structs.replace(build.winner(), **plain | {"variant": "default"} | more)


FAST, BASE = trial(0.4, alg="fast"), trial(0.8, alg="base")
OURS, NEAR = trial(0.5, "gather_binomial"), trial(0.49, "gather_knomial")


def searched(trials: list[Trial], chosen: list[Winner]) -> Search:
    cell = CELL.function, 4, 4, CELL.bytes
    return decided(Search(1, *cell, [], "nothing better", "", trials, []), chosen)


@pytest.mark.parametrize(
    ("trials", "won", "whole", "factor", "why"),
    [
        ([FAST, BASE], {"configuration": {"alg": "base"}}, True, 2.0, "one option for all sizes"),
        ([FAST, BASE], None, True, 2.5, "one option for all sizes"),
        ([OURS, BASE], None, False, 2.0, "no candidate is clearly faster"),
        ([OURS, NEAR], {"variant": "gather_binomial"}, False, 0.5 / 0.49, "fewer rules"),
        ([FAST, BASE], {"configuration": {"alg": "fast"}}, True, None, ""),
    ],
)
def test_who_is_behind_and_why(
    trials: list[Trial], won: dict[str, Any] | None, whole: bool, factor: float | None, why: str
) -> None:
    chosen = [] if won is None else [winner(**won)]
    search = searched(trials, chosen)
    found = behind([search], chosen, {CELL.function} if whole else set())
    assert [one.factor for one in found] == ([] if factor is None else [pytest.approx(factor)])
    assert all(why in one.why for one in found)


def test_a_winner_that_was_dropped_is_told_from_one_that_never_was() -> None:
    search = searched([OURS, BASE], [winner(variant="gather_binomial")])
    (found,) = behind([search], [], set())
    assert "dropped later (see the notes)" in found.why


def test_where_one_choice_holds_is_known_of_the_library() -> None:
    assert "MPI_Gather" in whole_functions(build.LIBRARY)
    odd = msgspec.structs.replace(build.LIBRARY, version="0.1")
    assert whole_functions(odd) == set()
