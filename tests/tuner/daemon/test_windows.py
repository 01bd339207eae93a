"""When it may measure, in the time of a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.daemon import windows
from plumbline_db.errors import UsageError
from tests.tuner.daemon.test_schedule import at

NIGHT_TABLE = windows.times("Europe/Vienna", ["Mon-Fri 22:00-06:00", "Sat,Sun"], [])


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2026-11-24T12:00", False),  # a Tuesday
        ("2026-11-24T20:59", False),
        ("2026-11-24T21:00", True),  # 22:00 in Vienna
        ("2026-11-25T04:59", True),
        ("2026-11-25T05:00", False),
        ("2026-11-28T12:00", True),  # Saturday
        ("2026-11-30T02:00", False),  # Monday before six, as no window begins on Sunday night
        ("2026-07-07T20:00", True),  # 22:00 in Vienna, in summer
    ],
)
def test_windows_are_in_the_time_of_their_zone(moment: str, is_open: bool) -> None:
    assert (NIGHT_TABLE.closed(at(moment)) == "") is is_open


def test_the_next_moment_that_is_open() -> None:
    assert NIGHT_TABLE.next_open(at("2026-11-24T12:00")) == at("2026-11-24T21:00")
    assert NIGHT_TABLE.next_open(at("2026-11-24T23:00")) == at("2026-11-24T23:00")
    assert NIGHT_TABLE.next_open(at("2026-11-30T00:00")) == at("2026-11-30T21:00")


def test_a_blackout_goes_before_a_window() -> None:
    times = windows.times("UTC", ["Sat,Sun"], ["2026-11-28..2026-12-06", "Sat 00:00-12:00"])
    assert "Sat 2026-11-28 13:00 (UTC) is in a blackout" in times.closed(at("2026-11-28T13:00"))
    assert times.next_open(at("2026-11-24T12:00")) == at("2026-12-12T12:00")


def test_no_window_is_always_and_all_blackouts_never() -> None:
    assert windows.times("UTC", [], []).closed(at("2026-11-24T12:00")) == ""
    assert windows.times("UTC", ["Mon"], ["Mon"]).next_open(at("2026-11-24T12:00")) is None


def test_the_hour_that_a_change_of_time_leaves_out() -> None:
    times = windows.times("Europe/Vienna", ["02:30-02:45"], [])
    found = times.next_open(at("2026-03-29T00:00"))  # 02:30 is not there on that day
    assert found == at("2026-03-30T00:30")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mo 10:00-11:00",
        "Mon 25:00-26:00",
        "10:00-10:00",
        "24:00-06:00",
        "Mon 10-11",
        "10:61-11:00",
    ],
)
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        windows.window(text)


@pytest.mark.parametrize("text", ["2026-12-27..2026-12-24", "2026-13-01", "2026-02-30"])
def test_what_is_no_blackout_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        windows.blackout(text)


@pytest.mark.parametrize("name", ["Vienna", "", "../etc/passwd", "/etc/passwd", "Europe"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="time_zone"):
        windows.zone(name)


moments = st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1)).map(
    lambda one: one.replace(tzinfo=UTC)
)


@given(moment=moments)
def test_what_is_next_is_open_and_nothing_is_before_it(moment: datetime) -> None:
    found = NIGHT_TABLE.next_open(moment)
    assert found is not None and found >= moment and not NIGHT_TABLE.closed(found)
    probe = moment
    while probe < found:
        assert NIGHT_TABLE.closed(probe)
        probe += timedelta(minutes=17)
