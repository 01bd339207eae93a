"""What an explanation says of records that are in the database: no launch, no probe."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.explain.explain import Explained, Explanation, explain
from plumbline.results import report
from plumbline_db import campaigns, findings, hockney
from plumbline_db.connection import Database
from plumbline_db.hockney import Hockney
from plumbline_db.records import Campaign, Search, Trial
from tests.db import build
from tests.tuner.simulated import SPACE

KNOB = "coll_tuned_allreduce_algorithm"


def trial(name: str, ratio: float | None, width: float = 0.01) -> Trial:
    state = "measured" if ratio else "failed"
    low, high = (ratio - width, ratio + width) if ratio else (None, None)
    return Trial("default", {KNOB: name}, state, ratio, low, high, 12, "")  # type: ignore[arg-type]


TRIALS = [
    trial("basic_linear", 0.5),
    trial("recursive_doubling", 1.005),
    trial("nonoverlapping", 1.002),
    trial("rabenseifner", 1.02),  # near, but not the same
    trial("ring", 1.1, width=0.2),  # not known well enough, and not near
    trial("segmented_ring", None),
    Trial("allreduce_recursive_doubling", {}, "measured", 1.0, 0.99, 1.01, 12, ""),
]


@pytest.fixture
def found(db: Database) -> Campaign:
    campaign = build.finished(db)
    first = Search(1, "MPI_Allreduce", 4, 4, 16384, ["GL12@16384"], "winner", "", TRIALS, ["s"])
    findings.put_search(db, campaign.id, first)
    again = msgspec.structs.replace(first, round=2, trials=[trial("ring", 0.1)])
    findings.put_search(db, campaign.id, again)
    return campaign


def cell_of(explanation: Explanation) -> Explained:
    return next(one for one in explanation.cells if one.bytes == 16384)


def explained(db: Database, campaign: Campaign) -> Explanation:
    return explain(db, report.read(db, campaign.id), SPACE, {})


def test_the_default_is_what_takes_its_time(db: Database, found: Campaign) -> None:
    """Algorithms that have a model first."""
    cell = cell_of(explained(db, found))
    assert cell.default_is == [f"{KNOB}=recursive_doubling", f"{KNOB}=nonoverlapping"]


def test_on_a_simulated_machine_times_are_equal_or_not(db: Database, found: Campaign) -> None:
    read = report.read(db, found.id)
    settings = '{"launches":1,"simulate":{"library":"ompi"}}'
    simulated = msgspec.structs.replace(found, settings=settings)
    read = msgspec.structs.replace(read, campaign=simulated)
    assert cell_of(explain(db, read, SPACE, {})).default_is == []


def test_without_messages_there_are_no_models(db: Database, found: Campaign) -> None:
    explanation = explained(db, found)
    cell = cell_of(explanation)
    assert explanation.basis is None and explanation.predictions == 0
    assert cell.default_seconds == pytest.approx(43e-6, rel=0.03)
    assert cell.floor is None and cell.default_over_floor is None
    assert [one.off for one in cell.candidates] == [None] * len(TRIALS)
    (violated,) = cell.violated
    assert violated.seconds == pytest.approx(cell.default_seconds / 1.84)
    assert cell.winner is not None and cell.winner.seconds == 0.5 * cell.default_seconds
    assert cell.winner.configuration == f"{KNOB}=basic_linear"


def line(pair: str, piece: int, start: int, end: int, alpha: float, beta: float) -> Hockney:
    return Hockney(
        pair,  # type: ignore[arg-type]
        piece,
        start,
        end,
        alpha,
        None,
        None,
        beta,
        None,
        None,
        0.1,
        6,
    )


LINES = [
    line("same_core", 0, 0, 2**20, 9.0, 9.0),
    line("same_socket", 0, 0, 2**20, 8.0, 8.0),
    line("same_socket", 1, 0, 1024, 1e-6, 1e-9),
    line("same_socket", 2, 4096, 2**20, 4e-6, 0.5e-9),
]


def test_messages_of_the_farthest_pair_count(db: Database, found: Campaign) -> None:
    hockney.put(db, found.id, LINES)
    explanation = explained(db, found)
    basis = explanation.basis
    assert basis is not None and basis.pair == "same_socket" and len(basis.missing) == 2
    assert basis.network.message(2000) == pytest.approx(3e-6)
    cell = cell_of(explanation)
    linear, doubling, nonoverlapping, *_ = cell.candidates
    message = 4e-6 + 16384 * 0.5e-9
    assert linear.hockney_seconds == pytest.approx(6 * message)
    assert doubling.hockney_seconds == doubling.loggp_seconds == pytest.approx(2 * message)
    assert doubling.seconds is not None
    assert doubling.off == pytest.approx(2 * message / doubling.seconds - 1)
    assert nonoverlapping.off is None and nonoverlapping.formula is None
    assert cell.floor is not None and cell.floor.term == "bandwidth"
    assert cell.floor_seconds == pytest.approx(2 * 3 / 4 * 16384 * 0.5e-9)
    assert explanation.ranked == 1 and explanation.fastest_named == 0
    assert explanation.predictions == 4  # all that were measured and have a model


def test_another_row_of_ping_pongs_of_the_same_library_does(db: Database, found: Campaign) -> None:
    other = msgspec.structs.replace(found, id="pp", key="pp", settings="{}")
    campaigns.put(db, other)
    hockney.put(db, other.id, LINES)
    basis = explained(db, found).basis
    assert basis is not None and "last plumbline measure pingpong" in basis.source


def test_what_the_probe_does_not_know_has_no_model(db: Database, found: Campaign) -> None:
    """How long a variant's segments are is the probe's to say."""
    hockney.put(db, found.id, LINES)
    tried = Trial("allreduce_segmented_ring", {}, "measured", 1.0, None, None, 12, "")
    search = Search(0, "MPI_Allreduce", 4, 4, 16384, [], "nothing better", "", [tried], [])
    findings.put_search(db, found.id, search)
    read = report.read(db, found.id)
    (unknown,) = cell_of(explain(db, read, SPACE, {})).candidates
    assert unknown.formula is None
    name = "allreduce_segmented_ring"
    (known,) = cell_of(explain(db, read, SPACE, {name: {"segment_bytes": 1024}})).candidates
    assert known.formula == "15 α + 24 KiB·β + 12 KiB·γ"
