"""Round trips and fitted lines: what is put comes back, and the last of a machine is found."""

from __future__ import annotations

import statistics

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import hockney, runs
from plumbline_db.connection import Database
from plumbline_db.hockney import Hockney
from plumbline_db.probe_records import Footer, PingPong, ProbeRecord
from tests.db import build, strategies

LINES = st.lists(
    strategies.sized(
        Hockney,
        st.integers(0, 2**40),
        floats=st.floats(0, allow_nan=False, allow_infinity=False),
        piece=st.integers(0, 2),
        launches=st.integers(1, 99),
    ),
    unique_by=lambda one: (one.pair, one.piece),
    max_size=8,
)
LINE = Hockney("same_core", 0, 0, 8, 1e-6, None, None, 1e-10, None, None, 0.01, 6)


@strategies.in_one_database
@given(first=LINES, second=LINES)
def test_what_is_put_comes_back(db: Database, first: list[Hockney], second: list[Hockney]) -> None:
    campaign = build.started(db).id
    for fitted in (first, second):
        hockney.put(db, campaign, fitted)
        wanted = sorted(fitted, key=lambda one: (one.pair, one.piece))
        assert hockney.get(db, campaign) == wanted
        found = hockney.latest(db, build.MACHINE.id, build.LIBRARY.fingerprint)
        assert found == wanted


def another(db: Database, number: int) -> str:
    facts = {"id": f"other-{number}", "key": f"k-{number}"}
    return build.started(db, msgspec.structs.replace(build.CAMPAIGN, **facts)).id


def test_the_last_of_each_class(db: Database) -> None:
    old, new = another(db, 1), another(db, 2)
    far = msgspec.structs.replace(LINE, pair="other_node")
    near = msgspec.structs.replace(LINE, alpha_seconds=2e-6)
    hockney.put(db, new, [near])
    hockney.put(db, old, [LINE, far])
    found = hockney.latest(db, build.MACHINE.id, build.LIBRARY.fingerprint)
    assert found == [far, near]
    assert hockney.latest(db, build.MACHINE.id, "another build") == []


def launch(sequence: int, trips: list[PingPong]) -> list[ProbeRecord]:
    run = build.run("pingpong", sequence)
    return [build.header(run, 1), *trips, Footer(0, 1, 2)]


def test_half_trips(db: Database) -> None:
    """Medians of halves by launch; failed launches left out."""
    campaign = build.started(db).id
    trips = {0: [3000, 1000, 2000], 1: [5000, 5000, 6000, 9000]}
    for sequence, ns in trips.items():
        one = [PingPong(0, 1, "same_socket", 8, ns), PingPong(2, 3, "same_core", 8, [10, 30])]
        runs.put(db, build.run("pingpong", sequence), launch(sequence, one))
    failed = msgspec.structs.replace(build.run("pingpong", 2), failure=build.EXIT)
    runs.put(db, failed, launch(2, [PingPong(0, 1, "same_socket", 8, [7])]))
    core, socket = hockney.half_trips(db, campaign, ["pingpong"])
    assert (core.pair, core.bytes, core.seconds) == ("same_core", 8, [10e-9, 10e-9])
    wanted = [statistics.median(ns) / 2e9 for ns in trips.values()]
    assert (socket.pair, socket.seconds) == ("same_socket", wanted)
    assert socket.runs == core.runs and len(set(core.runs)) == 2
