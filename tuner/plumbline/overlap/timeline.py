"""Timelines: what happened when in one repetition of an overlap cell, rank by rank, out of the
records of a launch. Pure.

Times are nanoseconds from the moment at which the measured time begins on the rank that takes it.
When a message arrives nobody is told: it is known to lie between two looks at its last byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import msgspec

from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore, Series
from plumbline.overlap import metric, suite
from plumbline.overlap.benches import OverlapSettings
from plumbline.overlap.metric import Ratio, latency, ratio
from plumbline.settings import identity
from plumbline_db import launch_records, runs
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ClockError, ClockSync, Overlap, OverlapTrace, ProbeRecord
from plumbline_db.records import Campaign

_TRACED = 11  # triples, the last ones


def plan(settings: OverlapSettings, bench: str) -> Plan:
    whole = suite.plan(settings, bench)
    cells = tuple(msgspec.structs.replace(overlap, traced=_TRACED) for overlap in whole.overlaps)
    return msgspec.structs.replace(whole, overlaps=cells)


def run(
    store: LaunchStore, campaign: Campaign, settings: OverlapSettings
) -> dict[str, list[ProbeRecord]]:
    """The records of a launch by benchmark. Raises PlumblineError where launches fail, or data do
    not come as they were sent."""
    environment = store.starter.family.in_environment(settings.knobs.as_dict())
    records_by_bench = {}
    for bench in settings.benches:
        store.progress.step(f"timeline: {bench}")
        Series(store, suite.suite_of(bench), plan(settings, bench), environment).advance()
        launched = [
            run
            for run in runs.listing(store.db, campaign.id, [suite.suite_of(bench).name])
            if run.finished
        ]
        records_by_bench[bench] = launch_records.of_run(store.db, launched[-1].id)
        metric.require_data(records_by_bench[bench])
    identity.finish(store.db, campaign)
    return records_by_bench


# Timelines as a trace file: the JSON of Chrome's tracing, which Perfetto reads too. Pure.
# Timestamps are microseconds with three decimals, so that nanoseconds are kept. A process is a
# rank, with a thread for what it does, and one for messages that arrive: an arrival is as long as
# it is not known. Flow arrows lead from the send of a message to its arrival. All traced triples
# are in it, one after the other as they were played.

_DOES, _ARRIVES = 1, 2  # threads
_THREADS = {_DOES: "calls and computation", _ARRIVES: "messages that arrive"}


def trace_document(name: str, traces: Sequence[OverlapTrace]) -> dict[str, Any]:
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


Part = Literal["communication", "both"]

COMPUTATION = "computation"
_ARRIVAL, _FULL = "arrival", "full"
# What a library asks the kernel for inside an MPI call (probes/overlap/system_calls.c).
COPIES = frozenset({"process_vm_readv", "process_vm_writev"})
SOCKETS = frozenset({"readv", "writev", "recvmsg", "sendmsg"})
_SYSTEM_CALLS = COPIES | SOCKETS
_SENDS = frozenset({"MPI_Send", "MPI_Isend"})
# Where the time of a rank goes, by the names of events; to begin are all calls MPI_I… too.
KINDS = {
    "begin": frozenset({"MPI_Isend", "MPI_Irecv"}),
    COMPUTATION: frozenset({COMPUTATION}),
    "test": frozenset({"MPI_Test", "MPI_Testall"}),
    "wait": frozenset({"MPI_Wait", "MPI_Waitall"}),
    "send": frozenset({"MPI_Send"}),
    "words": frozenset({"await", "signal"}),
}


class TimelineEvent(msgspec.Struct, frozen=True):
    """A call, a block of computation, or an empty word of the probe (`await`, `signal`)."""

    name: str
    begin_ns: int
    end_ns: int
    peer: int


class Message(msgspec.Struct, frozen=True):
    """Begun by a send at `begin_ns`; its last byte was not there at `earliest_ns`, and was at
    `latest_ns`."""

    sender: int
    receiver: int
    begin_ns: int
    earliest_ns: int
    latest_ns: int


class StampAgreement(msgspec.Struct, frozen=True):
    """The agreement of stamps of different ranks: of one `domain` they are of one counter. Else the
    largest deviation seen, and the largest that unequal ways of messages could hide."""

    domains: int
    error_ns: int
    bound_ns: int


class Timeline(msgspec.Struct, frozen=True):
    """One repetition, of `measured_ns` on the `rank` that took the time. `zero_ns`: on the global
    clock. `ratio`: of all triples of the cell in the launch; None where there is none. `inside`:
    the system calls of the library on each rank, inside the events of the lanes."""

    cell: Overlap
    part: Part
    triple: int
    rank: int
    zero_ns: int
    measured_ns: int
    ratio: Ratio | None
    lanes: dict[int, tuple[TimelineEvent, ...]]
    messages: tuple[Message, ...]
    clock: StampAgreement
    inside: dict[int, tuple[TimelineEvent, ...]] = {}


def clock_of(records: Iterable[ProbeRecord]) -> StampAgreement:
    domains, errors, bounds = 1, [0], [0]
    for record in records:
        if isinstance(record, ClockSync):
            domains = record.domains
        if isinstance(record, ClockError):
            errors += record.errors_ns
            bounds += record.bounds_ns
    return StampAgreement(domains, max(errors), max(bounds))


def timelines(records: Sequence[ProbeRecord], parts: Sequence[Part]) -> list[Timeline]:
    """Return the traced repetition whose time is the median (the lower of two), for each of
    `parts`. Raises PlumblineError where no triple is there as a whole."""
    cell = next((record for record in records if isinstance(record, Overlap)), None)
    traces = [record for record in records if isinstance(record, OverlapTrace)]
    end = min((trace.triple for trace in traces if _FULL in trace.names), default=None)
    whole = {trace.triple for trace in traces if end is None or trace.triple < end}
    if cell is None or not whole:
        raise PlumblineError(
            "there was no room for the events of a whole triple; ask the library less often "
            "(--aid test:US), or for fewer requests"
        )
    cell_facts = (ratio([(cell, latency(records))]), clock_of(records))
    return [_timeline(cell, part, whole, traces, *cell_facts) for part in parts]


def _timeline(
    cell: Overlap,
    part: Part,
    whole: set[int],
    traces: Sequence[OverlapTrace],
    ratio: Ratio | None,
    clock: StampAgreement,
) -> Timeline:
    times = {"communication": cell.communication_ns, "both": cell.both_ns}[part]
    triple = sorted(sorted(whole), key=lambda triple_index: times[triple_index])[
        (len(whole) - 1) // 2
    ]
    of = {trace.rank: trace for trace in traces if trace.triple == triple and trace.part == part}
    own = of[cell.rank]
    end = max(
        ns
        for name, ns in zip(own.names, own.end_ns, strict=True)
        if name != _ARRIVAL and name not in _SYSTEM_CALLS
    )
    zero = end - times[triple]
    return Timeline(
        cell=cell,
        part=part,
        triple=triple,
        rank=cell.rank,
        zero_ns=zero,
        measured_ns=times[triple],
        ratio=ratio,
        lanes={rank: events_of(trace, zero) for rank, trace in sorted(of.items())},
        messages=messages_of(of, zero),
        clock=clock,
        inside={rank: events_of(trace, zero, _SYSTEM_CALLS) for rank, trace in sorted(of.items())},
    )


def events_of(
    trace: OverlapTrace, zero_ns: int, chosen: Collection[str] = ()
) -> tuple[TimelineEvent, ...]:
    """Return the events of a trace without arrivals and system calls, or those of the `chosen`
    names, in the order in which they begin."""
    events = (
        TimelineEvent(name, begin - zero_ns, end - zero_ns, peer)
        for name, peer, begin, end in zip(
            trace.names, trace.peers, trace.begin_ns, trace.end_ns, strict=True
        )
        if (name in chosen if chosen else name not in {_ARRIVAL, _FULL, *_SYSTEM_CALLS})
    )
    return tuple(sorted(events, key=lambda event: event.begin_ns))


def messages_of(traces: dict[int, OverlapTrace], zero_ns: int) -> tuple[Message, ...]:
    """Arrivals with the sends that they come from: messages between two ranks do not overtake one
    another, so the n-th receive takes the n-th send."""
    sends: dict[tuple[int, int], list[int]] = {}
    for rank, trace in traces.items():
        for event in events_of(trace, zero_ns):
            if event.name in _SENDS:
                sends.setdefault((rank, event.peer), []).append(event.begin_ns)
    messages = [
        _message(peer, rank, sends[peer, rank][number], low - zero_ns, high - zero_ns)
        for rank, trace in traces.items()
        for name, peer, number, low, high in zip(
            trace.names, trace.peers, trace.numbers, trace.begin_ns, trace.end_ns, strict=True
        )
        if name == _ARRIVAL and number < len(sends.get((peer, rank), []))
    ]
    return tuple(sorted(messages, key=lambda message: (message.begin_ns, message.latest_ns)))


def _message(sender: int, receiver: int, begin: int, low: int, high: int) -> Message:
    """Nothing arrives before it is sent."""
    return Message(sender, receiver, begin, min(max(low, begin), high), high)


def split(timeline: Timeline, rank: int) -> dict[str, int]:
    """Nanoseconds by KINDS, of the measured time, on a rank; "between" is what no event covers."""
    inside = {
        kind: sum(
            _common(event.begin_ns, event.end_ns, 0, timeline.measured_ns)
            for event in timeline.lanes[rank]
            if event.name in names or (kind == "begin" and event.name.startswith("MPI_I"))
        )
        for kind, names in KINDS.items()
    }
    return inside | {"between": timeline.measured_ns - sum(inside.values())}


def beside(timeline: Timeline, message: Message, rank: int) -> int:
    """Nanoseconds of a message, from its send to when it surely was there, in which the rank
    computed."""
    return sum(
        _common(event.begin_ns, event.end_ns, message.begin_ns, message.latest_ns)
        for event in timeline.lanes[rank]
        if event.name == COMPUTATION
    )


def _common(begin: int, end: int, low: int, high: int) -> int:
    return max(0, min(end, high) - max(begin, low))
