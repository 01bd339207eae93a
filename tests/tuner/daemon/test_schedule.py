"""When the next canary is due, by an injected clock, and when it may be measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from plumbline.daemon import windows

HOUR = timedelta(hours=1)
ALWAYS = windows.times("UTC", [], [])
NIGHTS = windows.times("UTC", ["22:00-06:00"], [])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NOON = at("2026-11-24T12:00")


def test_the_first_one_is_due_at_once() -> None:
    assert windows.due(None, HOUR, ALWAYS, NOON) == windows.Due(NOON)
    assert windows.due(None, HOUR, NIGHTS, NOON) == windows.Due(at("2026-11-24T22:00"))


def test_one_that_is_late_stands_for_the_last_moment() -> None:
    found = windows.due(at("2026-11-24T09:10"), HOUR, ALWAYS, NOON)
    assert found == windows.Due(at("2026-11-24T11:10"), missed=2)
    assert found.now(NOON)
    assert windows.after(found.at, HOUR, ALWAYS, NOON) == windows.Due(at("2026-11-24T12:10"))


def test_moments_outside_of_windows_are_not_missed() -> None:
    found = windows.due(at("2026-11-24T03:00"), HOUR, NIGHTS, NOON)
    assert found == windows.Due(at("2026-11-24T05:00"), missed=2)
    late = windows.after(found.at, HOUR, NIGHTS, NOON)
    assert late == windows.Due(at("2026-11-24T22:00"))


def test_moments_that_pass_while_one_is_taken_are_missed() -> None:
    ended = at("2026-11-24T07:30")
    late = windows.after(at("2026-11-24T03:00"), HOUR, NIGHTS, ended)
    assert late == windows.Due(at("2026-11-24T22:00"), missed=2)


def test_it_waits_for_what_is_ahead() -> None:
    ahead = at("2026-11-24T12:30")
    assert windows.due(ahead, HOUR, ALWAYS, NOON) == windows.Due(ahead)
    assert not windows.due(ahead, HOUR, ALWAYS, NOON).now(NOON)
    assert windows.due(ahead, HOUR, NIGHTS, NOON).at == at("2026-11-24T22:00")


def test_a_clock_that_was_put_back_stops_nothing() -> None:
    assert windows.due(at("2027-11-24T12:00"), HOUR, ALWAYS, NOON) == windows.Due(NOON)


def test_a_clock_that_was_put_forward_counts_and_goes_on() -> None:
    found = windows.due(NOON, HOUR, ALWAYS, at("2076-11-24T12:00"))
    assert found.missed == 100_000 - 1
    following = windows.after(found.at, HOUR, ALWAYS, at("2076-11-24T12:00"))
    assert following.at == at("2076-11-24T13:00")


def test_a_year_of_hours_in_windows() -> None:
    """Every moment is met, or counted as missed where the daemon was away."""
    now, due, taken, missed = NOON, None, 0, 0
    for _ in range(365 * 8):
        found = windows.due(due, HOUR, NIGHTS, now)
        if not found.now(now):
            now = found.at
            continue
        later = windows.after(found.at, HOUR, NIGHTS, now)
        taken, missed = taken + 1, missed + found.missed + later.missed
        due = later.at
        if taken % 100 == 0:
            now += timedelta(hours=30)  # it was away
    assert missed > 0
    hours = (now - NOON) // HOUR
    assert abs((taken + missed) - hours * 8 / 24) < 12
