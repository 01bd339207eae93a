"""Timelines: what happened when in one repetition of an overlap cell, rank by rank, out of the
records of a launch. Pure.

Times are nanoseconds from the moment at which the measured time begins on the rank that takes it.
When a message arrives nobody is told: it is known to lie between two looks at its last byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from plumbline.overlap.metric import Ratio, latency, ratio
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import (
    ClockError,
    ClockSync,
    Overlap,
    OverlapTrace,
    ProbeRecord,
)

Part = Literal["communication", "both"]

COMPUTATION = "computation"
_ARRIVAL, _FULL = "arrival", "full"
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


class Event(msgspec.Struct, frozen=True):
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
    clock. `ratio`: of all triples of the cell in the launch; None where there is none."""

    cell: Overlap
    part: Part
    triple: int
    rank: int
    zero_ns: int
    measured_ns: int
    ratio: Ratio | None
    lanes: dict[int, tuple[Event, ...]]
    messages: tuple[Message, ...]
    clock: StampAgreement


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
    """Return those of each of `parts` the traced repetition whose time is the median (the lower of
    two). Raises PlumblineError where no triple is there as a whole."""
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
    end = max(ns for name, ns in zip(own.names, own.end_ns, strict=True) if name != _ARRIVAL)
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
    )


def events_of(trace: OverlapTrace, zero_ns: int) -> tuple[Event, ...]:
    """Return it without arrivals, in the order in which they begin."""
    events = (
        Event(name, begin - zero_ns, end - zero_ns, peer)
        for name, peer, begin, end in zip(
            trace.names, trace.peers, trace.begin_ns, trace.end_ns, strict=True
        )
        if name not in (_ARRIVAL, _FULL)
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
