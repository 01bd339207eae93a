"""What is known beyond the launches of one campaign: relatives in the database, intervals that are
widened by them, the sentence, and launches that depend on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from plumbline.measure import conditions
from plumbline.results import report, spread
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict
from tests.db import build
from tests.db.build import REDUCE_PLUS_BCAST, Timed

SIZES = [2**n for n in range(30)]


def begun(db: Database, key: str, day: int, **changes: object) -> Campaign:
    """A campaign with one launch, on March `day`."""
    found = build.later(db, f"c-{key}", day, key=key, **changes)
    launch = msgspec.structs.replace(
        build.run(campaign=found), started=f"2025-03-{day:02}T10:00:01Z", seconds=150.0
    )
    runs.put(db, launch, build.records(launch, [Timed()]))
    return found


def table(ratio: Sequence[float], half: float) -> list[Verdict]:
    return [
        build.verdict(
            "before",
            bytes=size,
            other_bytes=size,
            ratio=one,
            ratio_low=one * math.exp(-half),
            ratio_high=one * math.exp(half),
            launches=12,
        )
        for size, one in zip(SIZES, ratio, strict=True)
    ]


@pytest.fixture
def apart(db: Database) -> Campaign:
    """Two campaigns whose ratios lie twice as far apart as their intervals say; of 12 launches at
    the second look of 12 to 30."""
    rng = np.random.default_rng(1)
    first, second = begun(db, "abc-1", 1), begun(db, "abc-2", 3)
    for one in (first, second):
        ratio = np.exp(2 * 0.01 * rng.standard_normal(len(SIZES)))
        findings.put_verdicts(db, one.id, "before", table(ratio.tolist(), 0.01 * 3.497))
    return second


def test_relatives_have_the_same_settings(db: Database) -> None:
    first, other, second = (begun(db, "abc-1", 1), begun(db, "abd-1", 2), begun(db, "abc-2", 3))
    assert [one.id for one in spread.relatives(db, second)] == [first.id, second.id]
    assert [one.id for one in spread.relatives(db, other)] == [other.id]


def test_the_newest_relatives_are_enough(db: Database) -> None:
    """Else a page of one campaign would take the longer, the more of them there are."""
    every = [begun(db, f"abc-{number}", number) for number in range(1, 12)]
    for number, one in enumerate(every):
        findings.put_verdicts(db, one.id, "before", table([1 + 0.01 * number] * len(SIZES), 0.01))
    found = spread.hours(db, every[-1])
    assert found is not None and found.spread.campaigns == spread.MOST_RELATIVES
    assert found.begun.startswith("2025-03-04") and found.ended.startswith("2025-03-11")


def test_one_campaign_is_of_one_hour(db: Database) -> None:
    found = spread.hours(db, begun(db, "abc-1", 1))
    assert found is not None and found.factor == 1
    assert found.text().startswith(
        "the numbers are of one hour: all launches ran on 2025-03-01 from 10:00 to 10:02 UTC "
        "(2 minutes), and intervals say how far these lie apart; "
    )
    assert "`--new`" in found.text()


def test_two_campaigns_say_how_much_wider(db: Database, apart: Campaign) -> None:
    found = spread.hours(db, apart)
    assert found is not None
    assert (found.spread.campaigns, found.spread.cells) == (2, len(SIZES))
    assert 1.3 < found.factor < 3
    assert found.text() == (
        f"intervals of winners are {found.factor:.2f} times as wide as launches of one campaign "
        "say: so far do 2 campaigns lie apart, in 30 cells, "
        "from 2025-03-01 10:00 to 2025-03-03 10:02 UTC (48 hours)"
    )


def test_a_report_promises_the_wide_intervals(db: Database, apart: Campaign) -> None:
    findings.put_winners(
        db, apart.id, [build.winner(speedup=2.0, speedup_low=1.9, speedup_high=2.1)]
    )
    read = report.read(db, apart.id)
    assert read.hours is not None
    factor = read.hours.factor
    (winner,) = read.winners
    assert winner.speedup == 2.0
    assert winner.speedup_low == pytest.approx(2 * (1.9 / 2) ** factor)
    assert winner.speedup_high == pytest.approx(2 * (2.1 / 2) ** factor)
    document = report.document(read)
    assert document["winners"][0]["speedup_low"] == winner.speedup_low
    assert document["hours"]["factor"] == factor and document["hours"]["campaigns"] == 2
    assert document["hours"]["text"] == read.hours.text()
    assert findings.get_winners(db, apart.id)[0].speedup_low == 1.9  # what is stored stays


def test_a_simulated_machine_has_no_hours(db: Database) -> None:
    assert spread.hours(db, begun(db, "abc-1", 1, settings='{"simulate":{"nodes":2}}')) is None


def test_a_campaign_without_launches_says_nothing(db: Database) -> None:
    assert spread.hours(db, build.started(db)) is None


def serial(db: Database, rho: float) -> Campaign:
    """30 launches of a table of 30 cells, in which each log ratio is an AR(1) series."""
    found = campaigns.get(db, build.started(db).id)
    rng = np.random.default_rng(2)
    state = rng.standard_normal(len(SIZES))
    for sequence in range(30):
        launch = build.run(sequence=sequence)
        cases = [
            Timed(variant=variant, bytes=size, median_ns=ns)
            for size, log in zip(SIZES, state.tolist(), strict=True)
            for variant, ns in (
                ("default", round(1e6 * math.exp(0.1 * log))),
                (REDUCE_PLUS_BCAST, 1_000_000),
            )
        ]
        runs.put(db, launch, build.records(launch, cases, blocks=1, reps=3))
        state = rho * state + math.sqrt(1 - rho**2) * rng.standard_normal(len(SIZES))
    findings.put_verdicts(db, found.id, "before", table([1.0] * len(SIZES), 0.1))
    return found


def test_launches_that_depend_on_each_other_are_a_warning(db: Database) -> None:
    found = report.read(db, serial(db, 0.6).id)
    known = found.conditions.dependence["before"]
    assert known.launches == 30 and 4 <= known.cells <= 6
    assert known.value == pytest.approx(0.6, abs=0.2)
    (said,) = [one for one in found.conditions.warnings if one.name == "dependence"]
    assert said.text.startswith("30 launches of the table `before` depend on each other: ")
    assert "measure again at another time (--new)" in said.text
    shown = report.document(found)["conditions"]["dependence"]["before"]
    assert shown["value"] == known.value


def test_independent_launches_are_none(db: Database) -> None:
    found = report.read(db, serial(db, 0.0).id)
    known = found.conditions.dependence["before"]
    assert known.value is not None and abs(known.value) < 0.3
    assert not [one for one in found.conditions.warnings if one.name == "dependence"]


def test_a_table_that_stands_for_two_stages_is_named_once(db: Database) -> None:
    found = serial(db, 0.6)
    before = findings.get_verdicts(db, found.id, "before")
    known = spread.dependence(db, found, {"before": before, "after": before})
    assert list(known) == ["before"]
    few = [msgspec.structs.replace(one, launches=3) for one in before]
    assert spread.dependence(db, found, {"before": few, "after": []}) == {}
    assert conditions.of_tables({}) == []
