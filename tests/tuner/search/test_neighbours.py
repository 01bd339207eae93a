"""Which sizes race first, what the others start from, what earlier campaigns of this site left."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.libraries import gate
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.neighbours import SPAN, around, earlier, grid_sizes, unbeaten
from plumbline.search.space.candidates import Candidate
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Case
from plumbline_db.runs import LaunchSamples
from tests.db import build

SIZES = st.lists(st.integers(1, 2**20), unique=True, min_size=1).map(sorted)


@given(SIZES)
def test_grid_sizes_hold_both_ends_and_leave_no_gap(sizes: list[int]) -> None:
    found = grid_sizes(sizes)
    assert found[0] == sizes[0] and found[-1] == sizes[-1]
    for size in set(sizes) - set(found):
        low, high = around(size, found)
        assert low < size < high and size <= low * SPAN


LINES = st.lists(
    st.tuples(st.floats(1e3, 1e5), st.floats(0.1, 10)), min_size=1, max_size=6, unique=True
)


@given(LINES, st.integers(65, 65535))
def test_of_straight_lines_none_is_lost_that_may_win_in_between(
    lines: list[tuple[float, float]], size: int
) -> None:
    """Hockney's model: the best in between is never beaten at both ends."""
    ends = [Target("MPI_Bcast", 64), Target("MPI_Bcast", 65536)]
    found = Evidence(exact=True)

    def ns(line: tuple[float, float], at: int) -> float:
        return line[0] + line[1] * at

    def put(variant: str, line: tuple[float, float]) -> None:
        for end in ends:
            case = Case("MPI_Bcast", variant, {}, "default", end.bytes, "MPI_BYTE", "MPI_BOR", 0)
            found.add([LaunchSamples(case, [1], [np.array([round(ns(line, end.bytes))])])], 1)

    put("default", lines[0])
    names = [Candidate(f"v{number}") for number in range(len(lines))]
    for name, line in zip(names, lines, strict=True):
        put(name.variant, line)
    best = min(zip(names, lines, strict=True), key=lambda one: ns(one[1], size))[0]
    assert best in unbeaten(found, ends, names, 0.0)


def test_earlier_campaigns_with_this_library_the_nearest_number_of_ranks_first(
    db: Database, campaign: Campaign
) -> None:
    def past(name: str, nprocs: int, finished: str, variant: str, host: str = "") -> None:
        key = campaigns.key_from(host, name) if host else name
        one = msgspec.structs.replace(
            campaign, id=name, key=key, nprocs=nprocs, state="running", started="2025-01-01T00:00Z"
        )
        campaigns.put(db, one)
        campaigns.put(db, msgspec.structs.replace(one, state="finished", finished=finished))
        findings.put_winners(
            db, name, [build.winner(nprocs=nprocs, variant=variant, configuration={})]
        )

    past("far", 64, "2025-01-02T00:00Z", "allreduce_far")
    past("near", 8, "2025-01-02T00:00Z", "allreduce_near")
    past("later", 4, "2999-01-01T00:00Z", "allreduce_later")
    past("imported", 4, "2025-01-02T00:00Z", "allreduce_imported", host="node7")
    past("edited", 4, "2025-01-02T00:00Z", "../../edited")
    at = earlier(db, campaign.id, gate.of_library(build.LIBRARY))
    assert at(Target("MPI_Allreduce", 16384)) == [
        Candidate("allreduce_near"),
        Candidate("allreduce_far"),
    ]
    assert at(Target("MPI_Allreduce", 4)) == at(Target("MPI_Bcast", 16384)) == []
