"""A recording as the calls that each rank made, one behind the other, and as traces in formats that
record calls and not messages: OTF2 and SimGrid's."""

from __future__ import annotations

import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from plumbline.detect.calls import plain_name
from plumbline.detect.core import Indices
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.recording import Recording
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError


class TraceCall(NamedTuple):
    """One call. `begun` are events that it began, `completed` those that it completed (a blocking
    one does both); indices into Recording.events. What only begins is of no length."""

    start_ns: int
    end_ns: int
    begun: tuple[int, ...]
    completed: tuple[int, ...]


def steps(recording: Recording, rank: int, thread: int | None = None) -> list[TraceCall]:
    """Return by start, and what begins before what completes. Of all threads, unless one is
    named."""
    calls = [*_blocking(recording, rank, thread), *_nonblocking(recording, rank, thread)]
    return sorted(calls, key=lambda step: (step.start_ns, not step.begun, step.end_ns))


def _indices(recording: Recording, rank: int, thread: int | None, nonblocking: bool) -> list[int]:
    own = recording.of_rank(rank)
    events = recording.events[own]
    is_own = ((events["flags"] & Flag.NONBLOCKING) != 0) == nonblocking
    is_own &= (events["flags"] & Flag.CANCELLED) == 0
    if thread is not None:
        is_own &= events["thread"] == thread
    return [int(index) for index in np.flatnonzero(is_own) + own.start]


def _blocking(recording: Recording, rank: int, thread: int | None) -> Iterator[TraceCall]:
    """The halves of an exchange, or of a collective, are one call."""
    events = recording.events
    indices = _indices(recording, rank, thread, nonblocking=False)
    at = 0
    while at < len(indices):
        first = indices[at]
        together = [first]
        if events["flags"][first] & Flag.EXCHANGE or events["kind"][first] == EventKind.INPUT:
            together += [
                second for second in indices[at + 1 : at + 2] if _same(recording, first, second)
            ]
        at += len(together)
        start, end = int(events["post_ns"][first]), int(events["end_ns"][first])
        done = tuple(i for i in together if not events["flags"][i] & Flag.INCOMPLETE)
        yield TraceCall(start, end, tuple(together), done)


def _same(recording: Recording, first: int, second: int) -> bool:
    start, two = recording.events[first], recording.events[second]
    return bool(
        start["function"] == two["function"]
        and start["end_ns"] == two["end_ns"]
        and start["kind"] != two["kind"]
    )


def _nonblocking(recording: Recording, rank: int, thread: int | None) -> Iterator[TraceCall]:
    events = recording.events
    completions: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index in _indices(recording, rank, thread, nonblocking=True):
        post = int(events["post_ns"][index])
        yield TraceCall(post, post, (index,), ())
        if not events["flags"][index] & Flag.INCOMPLETE:
            key = (int(events["start_ns"][index]), int(events["end_ns"][index]))
            completions[key].append(index)
    for (start, end), completed in completions.items():
        yield TraceCall(start, end, (), tuple(completed))


# A recording as an OTF2 trace, for Vampir and other readers, by Debian's python3-otf2. Beside what
# OTF2 has for messages, each one carries where it lies, its hash and its call site as attributes.

_DEBIAN = "/usr/lib/python3/dist-packages"
_COLLECTIVES = {
    *("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter"),
    *("Reduce_scatter_block", "Scan", "Exscan"),
}
_COMPLETION = "MPI_Wait"  # of any kind: which one it was is not recorded


class _Otf2Archive(msgspec.Struct, frozen=True):
    path: Path
    events: int


def write_otf2(recording: Recording, folder: Path) -> _Otf2Archive:
    """An archive `traces.otf2` in `folder`, which must not be there. Raises PlumblineError where
    python3-otf2 is missing."""
    if folder.exists():
        raise UsageError(f"{folder} exists already; name another folder")
    otf2 = _module()
    with otf2.writer.open(str(folder), timer_resolution=1_000_000_000) as trace:
        return _Otf2Archive(folder / "traces.otf2", _Archive(otf2, trace, recording).write())


def _module() -> Any:
    """Debian's package serves its own Python; it is of no binary kind, so any other can load it."""
    try:
        return importlib.import_module("otf2")
    except ImportError:
        sys.path.append(_DEBIAN)
        try:
            return importlib.import_module("otf2")
        except ImportError as error:
            raise PlumblineError(
                "OTF2 is written by Debian's python3-otf2: apt-get install python3-otf2"
            ) from error
        finally:
            sys.path.remove(_DEBIAN)


class _Archive:
    """One archive: locations are threads of ranks, regions the functions of MPI."""

    def __init__(self, otf2: Any, trace: Any, recording: Recording) -> None:
        self._otf2, self._trace, self._recording = otf2, trace, recording
        define, enums = trace.definitions, otf2.enums
        machine = define.system_tree_node("machine")
        hosts: dict[str, Any] = {}
        for rank in recording.ranks:
            if rank.host not in hosts:
                hosts[rank.host] = define.system_tree_node(rank.host, "node", parent=machine)
        self._processes = [
            define.location_group(f"MPI Rank {rank.rank}", system_tree_parent=hosts[rank.host])
            for rank in recording.ranks
        ]
        locations = [define.location("thread 0", group=process) for process in self._processes]
        self._writers = {
            (rank, 0): trace.event_writer_from_location(location)
            for rank, location in enumerate(locations)
        }
        names = [*recording.functions, _COMPLETION]
        mpi = enums.Paradigm.MPI
        self._regions = [define.region(name, paradigm=mpi) for name in names]
        define.group(
            "MPI", group_type=enums.GroupType.COMM_LOCATIONS, paradigm=mpi, members=locations
        )
        self._comms = []
        for number, communicator in enumerate(recording.communicators):
            members = [rank for rank in communicator.ranks + communicator.remote if rank >= 0]
            group = define.group(
                f"group {number}",
                group_type=enums.GroupType.COMM_GROUP,
                paradigm=mpi,
                members=[locations[rank] for rank in members],
            )
            self._comms.append(define.comm(communicator.name or f"comm {number}", group))
        text, number = enums.Type.STRING, enums.Type.UINT64
        self._content = define.attribute("content", "XXH3-64 of the bytes", number)
        self._address = define.attribute("address", "of the first byte", number)
        self._site = define.attribute("call site", "", text)
        self._positions = [
            {rank: place for place, rank in enumerate(communicator.ranks + communicator.remote)}
            for communicator in recording.communicators
        ]

    def write(self) -> int:
        count = 0
        threads = self._recording.events["thread"]
        for rank in range(self._recording.nprocs):
            for thread in sorted({0, *threads[self._recording.of_rank(rank)].tolist()}):
                writer = self._writer(rank, thread)
                for step in steps(self._recording, rank, thread):
                    count += self._call(writer, step)
        return count

    def _writer(self, rank: int, thread: int) -> Any:
        if (rank, thread) not in self._writers:
            self._writers[rank, thread] = self._trace.event_writer(
                f"thread {thread}", group=self._processes[rank]
            )
        return self._writers[rank, thread]

    def _call(self, writer: Any, step: TraceCall) -> int:
        events = self._recording.events
        number = events["function"][step.begun[0]] if step.begun else len(self._regions) - 1
        region = self._regions[number]
        writer.enter(step.start_ns, region)
        written = 2
        for index in step.begun:
            written += self._begin(writer, step.start_ns, index)
        for index in step.completed:
            written += self._complete(writer, step.end_ns, index)
        writer.leave(step.end_ns, region)
        return written

    def _attributes(self, index: int) -> dict[Any, Any]:
        event = self._recording.events[index]
        site = event["call_site"]
        return {
            self._content: int(event["content"]),
            self._address: int(event["address"]),
            self._site: str(self._recording.call_sites[site]) if site >= 0 else "",
        }

    def _peer(self, index: int) -> tuple[int, Any, int, int]:
        event = self._recording.events[index]
        place = self._positions[event["comm"]].get(int(event["peer"]), 0)
        return place, self._comms[event["comm"]], max(int(event["tag"]), 0), int(event["bytes"])

    def _begin(self, writer: Any, time: int, index: int) -> int:
        event = self._recording.events[index]
        nonblocking = bool(event["flags"] & Flag.NONBLOCKING)
        more = {"attributes": self._attributes(index)}
        if event["kind"] == EventKind.SEND and nonblocking:
            writer.mpi_isend(time, *self._peer(index), index, **more)
        elif event["kind"] == EventKind.SEND:
            writer.mpi_send(time, *self._peer(index), **more)
        elif event["kind"] == EventKind.RECEIVE and nonblocking:
            writer.mpi_irecv_request(time, index)
        elif event["kind"] == EventKind.INPUT:
            writer.mpi_collective_begin(time)
        else:
            return 0
        return 1

    def _complete(self, writer: Any, time: int, index: int) -> int:
        event = self._recording.events[index]
        nonblocking = bool(event["flags"] & Flag.NONBLOCKING)
        more = {"attributes": self._attributes(index)}
        if event["kind"] == EventKind.RECEIVE and nonblocking:
            writer.mpi_irecv(time, *self._peer(index), index, **more)
        elif event["kind"] == EventKind.RECEIVE:
            writer.mpi_recv(time, *self._peer(index), **more)
        elif event["kind"] == EventKind.SEND and nonblocking:
            writer.mpi_isend_complete(time, index)
        elif event["kind"] == EventKind.OUTPUT:
            self._collective(writer, time, index)
        else:
            return 0
        return 1

    def _collective(self, writer: Any, time: int, index: int) -> None:
        event = self._recording.events[index]
        plain = plain_name(self._recording.functions[event["function"]])
        kinds = self._otf2.enums.CollectiveOp
        kind = getattr(kinds, plain.upper() if plain in _COLLECTIVES else "BARRIER")
        communicator = self._comms[event["comm"]]
        root = self._positions[event["comm"]].get(int(event["peer"]), _NO_ROOT)
        sent = self._sent(index)
        writer.mpi_collective_end(time, kind, communicator, root, sent, int(event["bytes"]))

    def _sent(self, index: int) -> int:
        """Bytes of the input that an output belongs to: the event before it, where one is."""
        events = self._recording.events
        before = events[max(0, index - 1)]
        fits = before["kind"] == EventKind.INPUT and before["sequence"] == events[index]["sequence"]
        return int(before["bytes"]) if fits else 0


_NO_ROOT = 0xFFFFFFFF  # OTF2_UNDEFINED_UINT32


# A recording as SimGrid's time-independent trace (`smpirun -replay`): what each rank does, with
# computation in flop. Ranks send as they have sent; waiting is the simulator's.

_LIST = "simgrid.txt"
_TAGS = 1 << 20
_FLOPS = 1e9  # a second of computation, on a host of 1 Gf/s

# Actions in terms of the bytes of a rank's input and output, and of each rank's part of these.
_ACTIONS = {
    "Barrier": "barrier",
    "Bcast": "bcast {got} {root}",
    "Reduce": "reduce {given} 0 {root}",
    "Allreduce": "allreduce {given} 0",
    "Scan": "scan {given} 0",
    "Exscan": "exscan {given} 0",
    "Gather": "gather {given} {gathered} {root}",
    "Scatter": "scatter {scattered} {got} {root}",
    "Allgather": "allgather {given} {part_got}",
    "Alltoall": "alltoall {part_given} {part_got}",
}


class _SimgridTrace(msgspec.Struct, frozen=True):
    """`left_out`: calls that the format has no action for, by function: collectives of some ranks,
    and with different amounts."""

    path: Path
    actions: int
    left_out: dict[str, int]


class _Rank(msgspec.Struct):
    """The things needed to write a rank's actions."""

    recording: Recording
    rank: int
    tags: Indices
    left_out: dict[str, int]


def write_simgrid(recording: Recording, folder: Path, flops: float = _FLOPS) -> _SimgridTrace:
    """Write files `rank-N.trace` and the list of them, `simgrid.txt`, to `folder`. `flops`: how
    many a rank computes in a second between its calls."""
    folder.mkdir(parents=True, exist_ok=True)
    tags, left_out, count = _numbers(recording), dict[str, int](), 0
    names = []
    for rank in range(recording.nprocs):
        lines = list(_lines(_Rank(recording, rank, tags, left_out), flops))
        count += len(lines)
        names.append(f"rank-{rank}.trace")
        with scratch.replacing(folder / names[-1]) as path:
            path.write_text("\n".join(lines) + "\n")
    with scratch.replacing(folder / _LIST) as path:
        path.write_text("".join(f"{(folder / name).absolute()}\n" for name in names))
    return _SimgridTrace(folder / _LIST, count, left_out)


def _numbers(recording: Recording) -> Indices:
    """Return by event the number of its message among those of its source and target: what stands
    as tag, as `wait` knows a request by source, target and tag alone. -1: no message."""
    events, messages = recording.events, recording.messages
    sends, receives = messages["send"], messages["receive"]
    channels = events["rank"][sends].astype(np.int64) * recording.nprocs + events["peer"][sends]
    order = np.argsort(channels, kind="stable")
    firsts = np.searchsorted(channels[order], channels[order])
    numbers = np.full(len(events), -1, np.int64)
    numbers[sends[order]] = numbers[receives[order]] = (np.arange(len(order)) - firsts) % _TAGS
    return numbers


def _lines(own: _Rank, flops: float) -> Iterator[str]:
    recording, rank = own.recording, own.rank
    recorded = recording.ranks[rank]
    yield f"{rank} init"
    last = recorded.begin_ns
    for step in steps(recording, rank):
        if step.start_ns > last:
            yield f"{rank} compute {(step.start_ns - last) * 1e-9 * flops:.0f}"
        last = max(last, step.end_ns)
        yield from _actions(own, step)
    if recorded.end_ns > last:
        yield f"{rank} compute {(recorded.end_ns - last) * 1e-9 * flops:.0f}"
    yield f"{rank} finalize"


def _actions(own: _Rank, step: TraceCall) -> Iterator[str]:
    recording, rank, tags = own.recording, own.rank, own.tags
    events = recording.events
    both = len(step.begun) == 2
    for index in step.begun:
        event = events[index]
        if event["kind"] == EventKind.INPUT:
            yield from _collective(own, index)
        elif event["kind"] != EventKind.OUTPUT and tags[index] >= 0:
            apart = both or event["flags"] & Flag.NONBLOCKING
            word = "send" if event["kind"] == EventKind.SEND else "recv"
            name = f"i{word}" if apart else word
            yield f"{rank} {name} {event['peer']} {tags[index]} {event['bytes']}"
    for index in step.completed:
        event = events[index]
        message = event["kind"] in (EventKind.SEND, EventKind.RECEIVE) and tags[index] >= 0
        if message and (both or not step.begun):
            source, target = rank, int(event["peer"])
            if event["kind"] == EventKind.RECEIVE:
                source, target = target, source
            yield f"{rank} wait {source} {target} {tags[index]}"


def _collective(own: _Rank, index: int) -> Iterator[str]:
    recording, event = own.recording, own.recording.events[index]
    name = recording.functions[event["function"]]
    action = _ACTIONS.get(plain_name(name))
    if action is None or event["comm"] != 0:
        own.left_out[name] = own.left_out.get(name, 0) + 1
        return
    sent, got = int(event["bytes"]), _output_bytes(recording, index)
    part_given, part_got = sent // recording.nprocs, got // recording.nprocs
    sizes = {"given": sent, "got": got, "part_given": part_given, "part_got": part_got}
    # Only the root has all blocks.
    sizes |= {"gathered": part_got or sent, "scattered": part_given or got}
    yield f"{own.rank} {action.format(root=max(int(event['peer']), 0), **sizes)}"


def _output_bytes(recording: Recording, index: int) -> int:
    """Return the bytes of the output that belongs to an input: the next event of the rank on its
    communicator."""
    event, events = recording.events[index], recording.events
    own = events[index + 1 : recording.of_rank(int(event["rank"])).stop]
    fits = (own["kind"] == EventKind.OUTPUT) & (own["comm"] == event["comm"])
    places = np.flatnonzero(fits[:64] & (own["sequence"][:64] == event["sequence"]))
    return int(own["bytes"][places[0]]) if len(places) else 0
