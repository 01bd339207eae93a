"""What campaigns know of the collectives that would take the place of those made by hand."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from plumbline.detect import savings
from plumbline.detect.analysis import analysis
from plumbline.detect.findings import Call, HandMade, SavedInRun, SizeSaving
from plumbline.detect.recording import Recording
from plumbline_db import findings, runs
from plumbline_db.connection import Database
from tests.bench.detection import broadcasts, spmd
from tests.db import build

MICRO = 1_000  # ns


def bcasts(me: spmd.Rank) -> spmd.Waits:
    for _ in range(5):
        yield from broadcasts.linear(me, me.data(500), 0)


@pytest.fixture(scope="module")
def recording() -> Recording:
    found = spmd.run(4, bcasts)
    ranks = tuple(msgspec.structs.replace(rank, host=build.MACHINE.host) for rank in found.ranks)
    # The library says it with a line break on some machines.
    library = build.LIBRARY.version_string.replace(", ident", ",\n ident")
    return msgspec.structs.replace(found, ranks=ranks, library=library)


@pytest.fixture
def db() -> Iterator[Database]:
    """Broadcasts of 2000 and of 8000 bytes take 10 and 40 µs."""
    with Database.in_memory() as db:
        build.started(db)
        for sequence in range(8):
            launch = build.run(sequence=sequence)
            cases = [
                build.Timed("MPI_Bcast", bytes=2000, median_ns=10 * MICRO),
                build.Timed("MPI_Bcast", bytes=8000, median_ns=40 * MICRO),
            ]
            runs.put(db, launch, build.records(launch, cases))
        findings.put_verdicts(db, build.CAMPAIGN.id, "before", [build.verdict("before")])
        yield db


def predicted(db: Database, recording: Recording) -> HandMade:
    (finding,) = savings.predicted(db, recording, analysis(recording))
    return finding


def test_between_two_measured_sizes(db: Database, recording: Recording) -> None:
    """4000 bytes are a third of the way."""
    finding = predicted(db, recording)
    assert finding.saving is not None
    (size,) = finding.saving.sizes
    assert (size.bytes, size.instances, size.by_hand, size.tuned) == (4000, 5, None, None)
    assert size.default.seconds == pytest.approx(20e-6, rel=0.02)
    assert size.default.low_seconds < size.default.seconds < size.default.high_seconds
    assert finding.saving.campaign == build.CAMPAIGN.id
    assert finding.saving.default.seconds == pytest.approx(
        finding.work_seconds - 5 * size.default.seconds
    )


@pytest.mark.parametrize("in_run", [True, False])
def test_nothing_saves_more_than_was_replayed(recording: Recording, in_run: bool) -> None:
    """Four of eight launches were interrupted while ranks made the broadcast by hand, and what the
    collective takes is known badly."""
    (finding,) = analysis(recording)
    call = Call(1e-6, 0.5e-6, 2e-6)
    saved = SavedInRun(0.0, (0.5e-6,) * 4 + (900e-6,) * 4)
    size = SizeSaving(4000, 5, call, Call(0.2e-6, -3e-6, 9e-6), in_run=saved if in_run else None)
    found = savings.saving(finding, "replay", "", [size])
    assert found is not None and found.replayed_seconds == pytest.approx(5e-6)
    assert finding.work_seconds < found.replayed_seconds
    assert found.default.seconds <= found.default.high_seconds <= found.replayed_seconds * 1.0001
    assert found.default.low_seconds < found.default.seconds


def test_beyond_the_last_size_nothing_far_is_told(db: Database, recording: Recording) -> None:
    (finding,) = analysis(recording)
    near = msgspec.structs.replace(finding, instance_bytes=(16_000,) * 5)
    far = msgspec.structs.replace(finding, instance_bytes=(16_001, 16_001, 8000, 8000, 8000))
    first, second = savings.predicted(db, recording, [near, far])
    assert first.saving is not None and first.saving.share == 1.0
    assert second.saving is not None and second.saving.share == pytest.approx(0.6)


@pytest.mark.parametrize("other", ["host", "library", "nprocs"])
def test_what_was_measured_elsewhere_says_nothing(
    db: Database, recording: Recording, other: str
) -> None:
    if other == "host":
        ranks = tuple(msgspec.structs.replace(rank, host="node9") for rank in recording.ranks)
        recording = msgspec.structs.replace(recording, ranks=ranks)
    elif other == "library":
        recording = msgspec.structs.replace(recording, library="MPICH 5.0.2")
    finding = analysis(recording)[0]
    if other == "nprocs":
        finding = msgspec.structs.replace(finding, group_size=3)
    (told,) = savings.predicted(db, recording, [finding])
    assert told.saving is None


def test_a_winner_for_a_replay(recording: Recording) -> None:
    (finding,) = analysis(recording)
    pattern = msgspec.structs.replace(finding.patterns[0], bytes=16384)
    finding = msgspec.structs.replace(finding, function="MPI_Allreduce", patterns=(pattern,))
    with Database.in_memory() as db:
        build.done(db)
        found = savings.chosen(db, recording, [finding], lambda knob: True)
        assert list(found) == [("MPI_Allreduce", 4, 16384)]
        (tuned,) = found.values()
        assert tuned.configuration.as_dict() == {"coll_tuned_allreduce_algorithm": "basic_linear"}
        assert savings.chosen(db, recording, [finding], lambda knob: False) == {}
