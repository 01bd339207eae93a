"""What lies where in a rank's memory, as far as messages say: intervals of addresses, and the
message that last wrote or read each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Memory:
    """Intervals that do not overlap, sorted. A new one takes the place of what it covers; what it
    covers in part is cut."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._known: list[tuple[int, int, int]] = []  # end, message, offset in it

    def write(self, start: int, end: int, message: int, offset: int = 0) -> None:
        """`offset`: of `start` in the message."""
        starts, known = self._starts, self._known
        first = bisect_left(starts, start)
        if first < len(starts) and starts[first] == start and known[first][0] == end:
            known[first] = (end, message, offset)
            return
        if first and known[first - 1][0] > start:
            first -= 1
        behind = bisect_left(starts, end, first)
        new_starts, new = [start], [(end, message, offset)]
        if first < behind:
            if starts[first] < start:
                new_starts.insert(0, starts[first])
                new.insert(0, (start, known[first][1], known[first][2]))
            last_end, last_message, last_offset = known[behind - 1]
            if last_end > end:
                new_starts.append(end)
                new.append((last_end, last_message, last_offset + end - starts[behind - 1]))
        starts[first:behind] = new_starts
        known[first:behind] = new

    def read(self, start: int, end: int) -> list[tuple[int, int, int, int]]:
        """(start, end, message, offset of start in the message) of what is known in an interval,
        cut to it, in order."""
        starts, known = self._starts, self._known
        at = bisect_right(starts, start) - 1
        if at < 0 or known[at][0] <= start:
            at += 1
        found = []
        while at < len(starts) and starts[at] < end:
            low, high = max(starts[at], start), min(known[at][0], end)
            found.append((low, high, known[at][1], known[at][2] + low - starts[at]))
            at += 1
        return found
