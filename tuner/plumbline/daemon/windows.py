"""Moments of the daemon, and the times at which it may measure: windows of the week and blackouts,
in the time of a zone. Pure.

A window is `Mon-Fri 22:00-06:00`, `Sat,Sun`, `01:00-05:00`: days on which it begins, then times of
day; what is left out is every day, or all of it. One that ends before it begins ends on the next
day. A blackout is a window, or dates: `2026-12-24..2026-12-27`, the last one included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from plumbline_db.errors import UsageError

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso(moment: datetime | None) -> str:
    """Return the moment as the database keeps times of day; empty if there is none."""
    return "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")


def moment_of(text: str) -> datetime | None:
    """Return what `iso` has written."""
    return datetime.fromisoformat(text) if text else None


# The time at which the next canary is due. Pure: whoever calls brings the clock.
# Canaries are due at moments a fixed time apart, as far as a window is open then. One that is late
# stands for the last of the moments that have passed; those before it were missed, and are counted,
# and so are those that pass while it is taken.

# At most so many missed moments are counted one by one after the daemon was off.
_MOST_MOMENTS = 100_000


class Due(msgspec.Struct, frozen=True):
    """`at`: when the next canary is due (None: never, as blackouts cover all windows). `missed`:
    moments that have passed without one, beside that which a canary now would stand for."""

    at: datetime | None
    missed: int = 0

    def now(self, moment: datetime) -> bool:
        return self.at is not None and self.at <= moment


def due(stored: datetime | None, every: timedelta, times: OpenTimes, now: datetime) -> Due:
    """`stored`: when it was due, as known (None: nothing was measured, so that it is due as soon
    as it may)."""
    if stored is None or _implausible(stored, every, times, now):
        return Due(times.next_open(now))
    if stored > now:
        return Due(stored if not times.closed(stored) else times.next_open(stored))
    passed = [
        moment
        for number in range(min(_MOST_MOMENTS, (now - stored) // every + 1))
        if not times.closed(moment := stored + number * every)
    ]
    if passed:
        return Due(passed[-1], len(passed) - 1)
    return Due(times.next_open(now))


def after(at: datetime, every: timedelta, times: OpenTimes, now: datetime) -> Due:
    """The moment after that which a canary has just stood for: later than `now`, and open. Those
    that have passed while it was taken were missed."""
    number = max(1, (now - at) // every + 1)
    passed = (at + later * every for later in range(1, min(number, _MOST_MOMENTS)))
    missed = sum(not times.closed(moment) for moment in passed)
    return Due(times.next_open(at + number * every), missed)


def _implausible(stored: datetime, every: timedelta, times: OpenTimes, now: datetime) -> bool:
    """Return whether it lies farther ahead than any canary can be due: the clock was put back."""
    latest = times.next_open(now + every)
    return latest is not None and stored > latest + every


DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATES = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.\.(\d{4}-\d{2}-\d{2}))?\Z")
_WINDOW = re.compile(r"(?:([A-Za-z,-]+))?\s*(?:(\d{2}:\d{2})-(\d{2}:\d{2}))?\Z")
_MINUTES_A_DAY = 24 * 60


class Window(msgspec.Struct, frozen=True):
    """`days` on which it begins, 0 is Monday; from minute `begin` of such a day to before minute
    `end`, of the next day where that is no later."""

    days: frozenset[int]
    begin: int
    end: int

    def holds(self, local: datetime) -> bool:
        minute, day = 60 * local.hour + local.minute, local.weekday()
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        return (day in self.days and minute >= self.begin) or (
            (day - 1) % 7 in self.days and minute < self.end
        )


class Dates(msgspec.Struct, frozen=True):
    """Whole days, `last` included."""

    first: date
    last: date

    def holds(self, local: datetime) -> bool:
        return self.first <= local.date() <= self.last


class OpenTimes(msgspec.Struct, frozen=True):
    """`windows`: none stands for all times. A blackout goes before a window."""

    zone: ZoneInfo
    windows: tuple[Window, ...] = ()
    blackouts: tuple[Window | Dates, ...] = ()

    def closed(self, moment: datetime) -> str:
        """Return why nothing is measured at that moment; "": it may be."""
        local = moment.astimezone(self.zone)
        if any(blackout.holds(local) for blackout in self.blackouts):
            return f"{local:%a %Y-%m-%d %H:%M} ({self.zone.key}) is in a blackout"
        if self.windows and not any(window.holds(local) for window in self.windows):
            return f"no window is open at {local:%a %Y-%m-%d %H:%M} ({self.zone.key})"
        return ""

    def next_open(self, moment: datetime) -> datetime | None:
        """The first moment from `moment` on at which it may measure, in UTC; None: there is
        none in a year, as blackouts cover the windows."""
        if not self.closed(moment):
            return moment
        return next((at for at in sorted(self._edges(moment)) if not self.closed(at)), None)

    def _edges(self, moment: datetime) -> Iterator[datetime]:
        """Later moments at which one of these begins or ends, by day up to a week after the last
        date that is named."""
        day = moment.astimezone(self.zone).date()
        ends = [
            days.last for days in self.blackouts if isinstance(days, Dates) and days.last >= day
        ]
        starts = [day, *(end + timedelta(days=1) for end in ends)]
        weekly = [times for times in (*self.windows, *self.blackouts) if isinstance(times, Window)]
        minutes = {0} | {minute for times in weekly for minute in (times.begin, times.end)}
        for first in starts:
            for later in range(9):
                for minute in minutes:
                    at = self._moment(first + timedelta(days=later), minute)
                    if at > moment:
                        yield at

    def _moment(self, day: date, minute: int) -> datetime:
        day += timedelta(days=minute // _MINUTES_A_DAY)
        minute %= _MINUTES_A_DAY
        local = datetime.combine(day, time(minute // 60, minute % 60), tzinfo=self.zone)
        return local.astimezone(UTC)


def zone(name: str) -> ZoneInfo:
    """Raises UsageError for a name that the system's list of time zones has not."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError) as error:  # ZoneInfoNotFoundError is a KeyError, and below
        raise UsageError(f"time_zone: {name!r} is not a time zone") from error
    except KeyError as error:
        raise UsageError(
            f"time_zone: unknown time zone {name!r}; examples: Europe/Vienna, UTC"
        ) from error


def window(text: str) -> Window:
    """Raises UsageError."""
    match = _WINDOW.match(text.strip())
    if not text.strip() or match is None:
        raise UsageError(f"{text!r} is not a window such as `Mon-Fri 22:00-06:00` or `Sat,Sun`")
    days, begin, end = match.groups()
    first, last = _minute(text, begin or "00:00"), _minute(text, end or "24:00")
    if first in (last, _MINUTES_A_DAY):
        raise UsageError(f"{text!r}: this window is empty; a whole day is 00:00-24:00")
    return Window(_days(text, days) if days else frozenset(range(7)), first, last)


def blackout(text: str) -> Window | Dates:
    """Raises UsageError."""
    match = _DATES.match(text.strip())
    if match is None:
        return window(text)
    try:
        first = date.fromisoformat(match[1])
        last = date.fromisoformat(match[2] or match[1])
    except ValueError as error:
        raise UsageError(f"{text!r}: {error}") from error
    if last < first:
        raise UsageError(f"{text!r}: the last day lies before the first")
    return Dates(first, last)


def times(zone_name: str, windows: Sequence[str], blackouts: Sequence[str]) -> OpenTimes:
    """Raises UsageError."""
    return OpenTimes(
        zone(zone_name), tuple(map(window, windows)), tuple(blackout(text) for text in blackouts)
    )


def _minute(text: str, word: str) -> int:
    hours, minutes = map(int, word.split(":"))
    if minutes > 59 or 60 * hours + minutes > _MINUTES_A_DAY:
        raise UsageError(f"{text!r}: {word} is not a time of day")
    return 60 * hours + minutes


def _days(text: str, words: str) -> frozenset[int]:
    days: set[int] = set()
    for part in words.split(","):
        first, _, last = part.partition("-")
        names = [name.capitalize() for name in (first, last or first)]
        if any(name not in DAYS for name in names):
            raise UsageError(f"{text!r}: days are {', '.join(DAYS)}, as in Mon-Fri or Sat,Sun")
        begin, end = (DAYS.index(name) for name in names)
        days |= {day % 7 for day in range(begin, end + 1 + (7 if end < begin else 0))}
    return frozenset(days)
