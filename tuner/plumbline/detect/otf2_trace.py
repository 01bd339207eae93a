"""A recording as an OTF2 trace, for Vampir and other readers, by Debian's python3-otf2. Beside what
OTF2 has for messages, each one carries where it lies, its hash and its call site as attributes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from plumbline.detect.calls import plain_name
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.recording import Recording
from plumbline.detect.steps import TraceCall, steps
from plumbline_db.errors import PlumblineError, UsageError

_DEBIAN = "/usr/lib/python3/dist-packages"
_COLLECTIVES = {
    *("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter"),
    *("Reduce_scatter_block", "Scan", "Exscan"),
}
_COMPLETION = "MPI_Wait"  # of any kind: which one it was is not recorded


class Otf2Archive(msgspec.Struct, frozen=True):
    path: Path
    events: int


def write(recording: Recording, folder: Path) -> Otf2Archive:
    """An archive `traces.otf2` in `folder`, which must not be there. Raises PlumblineError where
    python3-otf2 is missing."""
    if folder.exists():
        raise UsageError(f"{folder} exists already; name another folder")
    otf2 = _module()
    with otf2.writer.open(str(folder), timer_resolution=1_000_000_000) as trace:
        return Otf2Archive(folder / "traces.otf2", _Archive(otf2, trace, recording).write())


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
