"""The time that MPI's own collective would save a run, as it is told: by calls, of a size, of a
finding."""

from __future__ import annotations

from typing import Literal

import msgspec


class Call(msgspec.Struct, frozen=True):
    """The time that a call takes: the middle of launches, and its interval (95 %)."""

    seconds: float
    low_seconds: float
    high_seconds: float


class Saved(msgspec.Struct, frozen=True):
    """Seconds of one run, a group on the average; `low` and `high`: 95 %."""

    seconds: float
    low_seconds: float
    high_seconds: float


class SavedInRun(msgspec.Struct, frozen=True):
    """The time saved by one call in place of one that is made by hand, where calls follow each
    other as in the recording and ranks compute for so long between them: seconds, launch by
    launch."""

    between_seconds: float
    default: tuple[float, ...]
    tuned: tuple[float, ...] = ()


class SizeSaving(msgspec.Struct, frozen=True):
    """The saving of the instances of about one size. `bytes`: as MPI counts them for the function;
    `by_hand`: one of them, replayed (None: not replayed); `default`: the collective, the library as
    it is; `tuned`: the same with a campaign's winner in force (None: there is none), which is
    `configuration`. All of them with nothing between calls; `in_run`: what a call saves in the run,
    where it was replayed."""

    bytes: int
    instances: int
    by_hand: Call | None
    default: Call
    tuned: Call | None = None
    configuration: str = ""
    in_run: SavedInRun | None = None


class ReplaySaving(msgspec.Struct, frozen=True):
    """`source`: where times of calls are from, and `campaign` which one. `replayed_seconds`: what
    the replay takes in place of `HandMade.work_seconds` (None: not replayed). `default`, `tuned`:
    what is saved with the library as it is, and with winners in force. `share`: of the instances,
    those for which a near size was measured; the others save nothing here. `shown`: of what is
    saved in the calls, the share that shows in the run at least (None: not asked); `low_seconds`
    have it in them."""

    source: Literal["campaign", "replay"]
    campaign: str
    replayed_seconds: float | None
    default: Saved
    tuned: Saved | None
    share: float
    sizes: tuple[SizeSaving, ...]
    shown: float | None = None

    @property
    def best(self) -> Saved:
        """The larger one of both."""
        if self.tuned is None or self.tuned.seconds < self.default.seconds:
            return self.default
        return self.tuned
