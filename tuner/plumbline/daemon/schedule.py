"""The time at which the next canary is due. Pure: whoever calls brings the clock.

Canaries are due at moments a fixed time apart, as far as a window is open then. One that is late
stands for the last of the moments that have passed; those before it were missed, and are
counted, and so are those that pass while it is taken."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from plumbline.daemon.windows import OpenTimes

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
