"""What is said about a search."""

from __future__ import annotations

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding, holds
from plumbline.search.outcome import decided, label
from plumbline_db.records import UNBOUNDED_BYTES, Search, Trial, Winner
from tests.db import build
from tests.tuner.search.test_select import trial

TARGET = Target("MPI_Allreduce", 16384)


def winner(**changes: object) -> Winner:
    return build.winner(**({"function": "MPI_Allreduce"} | changes))


def test_where_a_winner_holds() -> None:
    one = winner(bytes_from=8192, bytes_to=16384)
    assert [holds(one, Target("MPI_Allreduce", n)) for n in (8191, 8192, 16384, 16385)] == [
        False,
        True,
        True,
        False,
    ]
    assert not holds(one, Target("MPI_Reduce", 16384))


def test_a_variant_of_ours_decides_before_the_library() -> None:
    knob = winner(bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    ours = winner(bytes_from=8192, bytes_to=16384, variant="allreduce_as_reduce_plus_bcast")
    for both in ([knob, ours], [ours, knob]):
        assert deciding(both, TARGET) is ours
        assert deciding(both, Target("MPI_Allreduce", 64)) is knob
    assert deciding([ours], Target("MPI_Allreduce", 64)) is None


def test_labels() -> None:
    assert label("default", {}) == "default"
    assert label("default", {"b": "2", "a": "1"}) == "a=1 b=2"
    assert label("gather_binomial", {}) == "gather_binomial"
    assert label("gather_binomial", {"a": "1"}) == "gather_binomial a=1"


def said(*trials: Trial, winners: list[Winner] | None = None, stopped: str = "") -> Search:
    cell = TARGET.function, 4, 1, TARGET.bytes
    search = Search(2, *cell, [], "nothing better", "", list(trials), [])
    return decided(search, winners or [], stopped)


def test_a_search_that_found_something() -> None:
    """What is chosen need not be the fastest: it has its own numbers."""
    chosen = winner(configuration={"coll_tuned_allreduce_algorithm": "rabenseifner"})
    found = said(trial("basic_linear", 0.49), trial("rabenseifner", 0.5), winners=[chosen])
    assert found.outcome == "winner"
    assert found.reason == (
        "chosen out of 2 candidates: coll_tuned_allreduce_algorithm=rabenseifner, "
        "takes 0.50 [0.48, 0.52] of the default's time"
    )


def test_a_search_says_why_it_ended() -> None:
    found = said(trial("ring", 1.2), stopped="going on is expected to gain 0.2 %")
    assert found.reason.endswith("default's time; going on is expected to gain 0.2 %")


def test_a_search_that_found_nothing_says_how_near_it_came() -> None:
    found = said(
        trial("rabenseifner", 1.20),
        trial("basic_linear", 1.08),
        msgspec.structs.replace(trial("ring", 0.1), state="wrong", ratio=None),
    )
    assert found.outcome == "nothing better"
    assert found.reason == (
        "3 candidates; the fastest, coll_tuned_allreduce_algorithm=basic_linear, "
        "takes 1.08 [1.06, 1.10] of the default's time"
    )
    assert said().reason == "no candidate was tried"
    none = msgspec.structs.replace(trial("ring", 1.0), ratio=None, detail="")
    aborts = msgspec.structs.replace(none, state="failed", detail="SIGABRT, exit status 134")
    wrong = msgspec.structs.replace(none, state="wrong")
    assert said(aborts, aborts, wrong).reason == (
        "no candidate has a time: 2 ended launches, 1 gave wrong results (SIGABRT, exit status 134)"
    )
    few = said(trial("rabenseifner", 1.2, ratio_low=None, ratio_high=None))
    assert few.reason.endswith("takes 1.20 of the default's time")
