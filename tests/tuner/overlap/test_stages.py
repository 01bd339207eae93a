"""An adaptive suite stage by stage, on a library whose overlap is known; killed, it goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline.measure.launches import LaunchStore
from plumbline.overlap import benches, suite
from plumbline.overlap.benches import OverlapSettings, axes
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.records import Run
from tests.db import build
from tests.tuner.overlap.pretended import LARGEST_EAGER, Library, quiet_library
from tests.tuner.simulated import Interrupted

SIZES, WORK = axes(quick=False)
# Where the message is not lost in the scatter of the work.
SETTINGS = OverlapSettings(
    2, ("sender", "receiver"), SIZES[:17], WORK[:9], triples=7, launches=3, adaptive=True
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "plumbline.db", write=True) as found:
        build.started(found)
        yield found


def measure(db: Database, starter: Library, settings: OverlapSettings) -> list[suite.OverlapResult]:
    return suite.run(LaunchStore(db, build.CAMPAIGN.id, starter), build.CAMPAIGN, settings)


def test_every_cell_is_known_and_few_are_measured(db: Database) -> None:
    starter = quiet_library()
    found = measure(db, starter, SETTINGS)
    assert sorted(starter.launches) == sorted(
        (f"overlap-{bench}{stage}", launch)
        for bench in ("sender", "receiver")
        for stage in ("", "-look-02", "-look-03")
        for launch in range(3)
    )
    assert len(found) == 2 * 17 * 9
    measured = [one for one in found if one.measured]
    assert len(measured) < 0.7 * len(found)
    for one in found:
        assert one.ratio is not None and not one.ratio.noisy
        assert one.launches == (3 if one.measured else 0)
        assert one.ratio.value == pytest.approx(0 if one.bytes > LARGEST_EAGER else 1, abs=0.1)
    edge = {one.bytes for one in measured if one.work_ns == WORK[0]}
    below, above = [size for size in SIZES if size <= LARGEST_EAGER][-1], SIZES[13]
    assert above > LARGEST_EAGER and {below, above} <= edge
    assert suite.lines(found).keys() == {one.bytes for one in measured}


def test_cut_off_anywhere_it_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    """The same plans, each launch once, the same cells."""
    ends: list[tuple[list[str], list[suite.OverlapResult]]] = []
    for stop in (None, 1, 7, 13):
        with Database.open(tmp_path / f"{stop}.db", write=True) as db:
            build.started(db)
            first = quiet_library(stop)
            if stop is not None:
                with pytest.raises(Interrupted):
                    measure(db, first, SETTINGS)
            second = quiet_library()
            found = measure(db, second, SETTINGS)
            assert not set(first.launches) & set(second.launches) or stop is None
            ends.append((sorted(one.plan for one in stored(db)), found))
    assert all(one == ends[0] for one in ends)


def stored(db: Database) -> list[Run]:
    return runs.listing(db, build.CAMPAIGN.id)


def test_what_is_left_follows_the_launches(db: Database) -> None:
    """The model is far off here (2 s a launch): the second half is foretold by the first."""
    told: list[float] = []
    settings = OverlapSettings(2, ("sender",), SIZES[:9], WORK[:5], launches=10)
    store = LaunchStore(db, build.CAMPAIGN.id, quiet_library())
    suite.run(store, build.CAMPAIGN, settings, told.append)
    assert told[1:] == pytest.approx([2.0 * left for left in range(9, 0, -1)])


def test_a_model_of_time() -> None:
    """More cells, more work, more bytes, more requests: longer."""
    one = suite.plan(OverlapSettings(2, sizes=(1024,), work_ns=(10_000,)), "sender").overlaps
    least = benches.duration_seconds(one)
    for more in (
        suite.plan(OverlapSettings(2, sizes=(1024, 2048), work_ns=(10_000,)), "sender"),
        suite.plan(OverlapSettings(2, sizes=(1 << 20,), work_ns=(10_000,)), "sender"),
        suite.plan(OverlapSettings(2, sizes=(1024,), work_ns=(20_000,)), "sender"),
        suite.plan(OverlapSettings(2, sizes=(1024,), work_ns=(10_000,)), "sender:16"),
    ):
        assert benches.duration_seconds(more.overlaps) > least
        assert benches.launch_limit([more]) >= 10 * benches.duration_seconds(more.overlaps)
    assert [benches.duration_words(one) for one in (0.2, 89, 120, 3000)] == [
        "1 s",
        "89 s",
        "2 min",
        "50 min",
    ]


def test_what_is_announced() -> None:
    """The cells of `load` are those of three numbers of threads, and all of them come first."""
    whole = OverlapSettings(2, sizes=SIZES, work_ns=WORK, loads=(0, 1, 2))
    assert suite.announced(whole).startswith("3894 cells in 5 launches each: about ")
    text = suite.announced(msgspec.structs.replace(whole, adaptive=True))
    assert text.startswith("654 of 3894 cells first") and " min to " in text


def test_the_axes_are_whole_without_adaptivity() -> None:
    settings = OverlapSettings(2, sizes=(64, 128), work_ns=(2000,))
    (one,) = [suite.plan(settings, "both")]
    found = [(cell.bytes, cell.work_ns) for cell in one.overlaps]
    assert found == list(itertools.product((64, 128), (2000,)))
