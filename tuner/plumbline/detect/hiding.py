"""The part of what is saved in calls that shows in the run's time. The rest is waited for
elsewhere: a rank that comes sooner to the next message waits there for one that nothing has made
faster."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.analysis import Analysed
from plumbline.detect.calls import collective_calls
from plumbline.detect.columns import Indices
from plumbline.detect.findings import HandMade
from plumbline.detect.instances import Instance
from plumbline.detect.kinds import Flag, Kind
from plumbline.detect.savings import Saved, Saving
from plumbline.detect.traffic import Traffic


def lowered(analysed: Analysed, findings: Sequence[HandMade]) -> list[HandMade]:
    """Limit savings to what shortens the run. `findings` are in the order of the analysis."""
    return [
        _lowered(analysed.detected.traffic, finding, instances)
        for finding, instances in zip(findings, analysed.instances, strict=True)
    ]


def _lowered(traffic: Traffic, finding: HandMade, instances: Sequence[Instance]) -> HandMade:
    saving = finding.saving
    if saving is None or saving.best.high_seconds <= 0 or not instances:
        return finding
    share = shown(traffic, instances, finding.work_seconds)
    tuned = None if saving.tuned is None else _at_least(saving.tuned, share)
    lower: Saving = msgspec.structs.replace(
        saving, shown=share, default=_at_least(saving.default, share), tuned=tuned
    )
    return msgspec.structs.replace(finding, saving=lower)


def _at_least(saved: Saved, share: float) -> Saved:
    low = saved.low_seconds * (share if saved.low_seconds > 0 else 1.0)
    return msgspec.structs.replace(saved, low_seconds=low)


def shown(traffic: Traffic, instances: Sequence[Instance], work_seconds: float) -> float:
    """Return by how much the run is shorter where the instances take no time, over what they take.
    Where they take less time, and not none, as much of that shows, or more: the run's time is the
    longest of many ways through it, each of which is a sum."""
    recording, columns = traffic.recording, traffic.recording.columns
    messages = np.array(
        [message for instance in instances for message in instance.messages], np.int64
    )
    is_gone = np.zeros(len(recording.events), np.int64)
    is_gone[traffic.send_event[messages]] = is_gone[traffic.receive_event[messages]] = 1
    which = np.flatnonzero(columns["flags"] & (Flag.INCOMPLETE | Flag.CANCELLED) == 0)
    times = np.concatenate([columns["post_ns"][which], columns["end_ns"][which]])
    moments = np.concatenate([2 * which, 2 * which + 1])
    # At equal times an end comes before a begin.
    order = np.lexsort((1 - moments % 2, times))
    recorded_run = core.Passed(
        moments=len(moments),
        ranks=recording.nprocs,
        events=len(is_gone),
        at=moments[order],
        rank=columns["rank"],
        post=columns["post_ns"],
        start=columns["start_ns"],
        end=columns["end_ns"],
        behind=_behind(traffic),
        gone=is_gone,
        begins=np.array([rank.begin_ns for rank in recording.ranks], np.int64),
        ends=np.array([rank.end_ns for rank in recording.ranks], np.int64),
    )
    (ends,) = core.call("pl_shortened", recorded_run)
    shorter = int(ends[0] - ends[1]) / 1e9
    return min(1.0, max(0.0, shorter / work_seconds)) if work_seconds > 0 else 0.0


def _behind(traffic: Traffic) -> Indices:
    """Return by event the one that has to have begun before it can end; -1: none. A receive needs
    its send. A send has waited for its receive if that began meanwhile; a rank in a collective for
    the last one that came before it left."""
    recording, columns = traffic.recording, traffic.recording.columns
    behind = recording.partner.copy()
    has_partner = behind >= 0
    partner = np.maximum(behind, 0)
    sends = columns["kind"] == Kind.SEND
    meanwhile = (columns["post_ns"][partner] > columns["start_ns"]) & (
        columns["post_ns"][partner] <= columns["end_ns"]
    )
    behind[has_partner & sends & ~meanwhile] = -1
    calls = collective_calls(recording)
    if len(calls.times):
        own, rows = calls.times.at, calls.times.owners
        order = np.lexsort((calls.begin_ns[own], rows))
        last = own[order[calls.times.first[1:] - 1]][rows]
        come = calls.begin_ns[last] <= calls.end_ns[own]
        for half in (calls.input, calls.output):
            behind[half[own[come]]] = calls.input[last[come]]
    return np.asarray(behind)
