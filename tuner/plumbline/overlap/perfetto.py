"""Timelines as a trace file: the JSON of Chrome's tracing, which Perfetto reads too. Pure.

Timestamps are microseconds with three decimals, so that nanoseconds are kept. A process is a rank,
with a thread for what it does, and one for messages that arrive: an arrival is as long as it is not
known. Flow arrows lead from the send of a message to its arrival. All traced triples are in it, one
after the other as they were played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.overlap.timeline import Message, events_of, messages_of
from plumbline_db.probe_records import OverlapTrace

_DOES, _ARRIVES = 1, 2  # threads
_THREADS = {_DOES: "calls and computation", _ARRIVES: "messages that arrive"}


def document(name: str, traces: Sequence[OverlapTrace]) -> dict[str, Any]:
    """`traces`: of one cell. Raises ValueError where there is none."""
    zero = min(ns for trace in traces for ns in trace.begin_ns)
    ranks = sorted({trace.rank for trace in traces})
    events = [row for rank in ranks for row in _names(rank)]
    repetitions: dict[tuple[int, str], dict[int, OverlapTrace]] = {}
    for overlap_trace in traces:
        repetitions.setdefault((overlap_trace.triple, overlap_trace.part), {})[
            overlap_trace.rank
        ] = overlap_trace
    flows = 0
    for (triple, part), by_rank in repetitions.items():
        arguments = {"triple": triple, "part": part}
        for rank, trace in by_rank.items():
            events += [
                _slice(
                    rank,
                    _DOES,
                    event.name,
                    event.begin_ns,
                    event.end_ns,
                    arguments | _peer(event.peer),
                )
                for event in events_of(trace, zero)
            ]
        for message in messages_of(by_rank, zero):
            flows += 1
            events += _flow(flows, message, arguments)
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"cell": name}}


def _names(rank: int) -> list[dict[str, Any]]:
    process = {"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}}
    return [process] + [
        {"name": "thread_name", "ph": "M", "pid": rank, "tid": thread, "args": {"name": name}}
        for thread, name in _THREADS.items()
    ]


def _slice(
    rank: int, thread: int, name: str, begin: int, end: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "ph": "X",
        "pid": rank,
        "tid": thread,
        "ts": begin / 1000,
        "dur": (end - begin) / 1000,
        "args": arguments,
    }


def _flow(number: int, message: Message, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The ends of an arrow lie inside of the slices that they belong to."""
    common = {"name": "message", "cat": "message", "id": number}
    begin = {"ph": "s", "pid": message.sender, "tid": _DOES, "ts": message.begin_ns / 1000}
    end = {"ph": "f", "bp": "e", "pid": message.receiver, "tid": _ARRIVES}
    arguments = arguments | _peer(message.sender)
    return [
        _slice(
            message.receiver, _ARRIVES, "arrival", message.earliest_ns, message.latest_ns, arguments
        ),
        common | begin,
        common | end | {"ts": max(message.earliest_ns, message.latest_ns - 1) / 1000},
    ]


def _peer(rank: int) -> dict[str, int]:
    return {"peer": rank} if rank >= 0 else {}
