"""A program of sends and receives that is run in memory: recordings without MPI, for tests and
examples. What it says of contents is what the recorder says, by hashes.py; XXH3 is replaced by
another hash of 64 bits.

    program = RankProgram(3)
    for rank in (1, 2):
        program.message(0, rank, np.arange(100.0), site="main.c:12")
    recording = program.recording()
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plumbline.detect import read
from plumbline.detect.kinds import Element, EventKind, Flag, Mode, ReductionOperator
from plumbline.detect.recording import (
    EVENT,
    PAYLOAD,
    CallSite,
    Communicator,
    Events,
    Frame,
    RecordedRank,
    Recording,
)
from tests.tuner.detect import hashes

Content = bytes | npt.NDArray[Any]

CALL_NS = 200  # what a call takes that waits for nobody
LATENCY_NS = 1000  # from a send's beginning to its receive's end


class RankProgram:
    """Ranks of MPI_COMM_WORLD with a clock each. Events of a rank happen in the order in which
    methods are called, one behind the other; a receive ends behind its send."""

    def __init__(self, nprocs: int) -> None:
        self._clock = [0] * nprocs
        self._next_address = [0x10_0000] * nprocs
        self._communicators = [Communicator(tuple(range(nprocs)))]
        self._functions: list[str] = []
        self._sites: list[CallSite] = []
        self._events: list[list[dict[str, Any]]] = [[] for _ in range(nprocs)]
        self._sent: dict[tuple[int, int, int, int], list[tuple[bytes, Element, int]]] = {}
        self._collectives: dict[tuple[int, int], int] = {}

    def communicator(self, ranks: Sequence[int]) -> int:
        """A communicator of these world ranks: what `comm=` takes."""
        number = sum(known.ranks == tuple(ranks) for known in self._communicators)
        self._communicators.append(Communicator(tuple(ranks), number=number))
        return len(self._communicators) - 1

    def address(self, rank: int, nbytes: int) -> int:
        """Memory of a rank that nothing else has, aligned to 64 bytes."""
        found = self._next_address[rank]
        self._next_address[rank] = found + (nbytes + 127) // 64 * 64
        return found

    def send(
        self, rank: int, target: int, content: Content, *, tag: int = 0, comm: int = 0, **more: Any
    ) -> None:
        """`more`: address, site ("file:line", innermost first, or several), function, mode, flags,
        element, as the fields of EVENT."""
        data, element = _packed(content, more)
        self._sent.setdefault((comm, rank, target, tag), []).append(
            (data, element, self._clock[rank])
        )
        event = self._event(rank, EventKind.SEND, data, element, more)
        event |= {"peer": target, "tag": tag, "comm": comm}
        event["mode"] = more.get("mode", Mode.STANDARD)
        self._end(rank, event, more, "MPI_Send")

    def receive(self, rank: int, source: int, *, tag: int = 0, comm: int = 0, **more: Any) -> bytes:
        """The content of the next message of its source, communicator and tag, which must have
        been sent. `more`: as of `send`."""
        data, element, sent = self._sent[comm, source, rank, tag].pop(0)
        event = self._event(
            rank, EventKind.RECEIVE, data, Element(more.get("element", element)), more
        )
        event |= {"peer": source, "tag": tag, "comm": comm}
        self._clock[rank] = max(self._clock[rank], sent + LATENCY_NS - CALL_NS)
        self._end(rank, event, more, "MPI_Recv")
        return data

    def message(
        self,
        source: int,
        target: int,
        content: Content,
        *,
        tag: int = 0,
        comm: int = 0,
        **more: Any,
    ) -> None:
        """A send and its receive. `more`: site, mode, flags, element of both; `source_address` and
        `target_address`."""
        here, there = more.pop("source_address", None), more.pop("target_address", None)
        given = {} if here is None else {"address": here}
        self.send(source, target, content, tag=tag, comm=comm, **more, **given)
        more.pop("mode", None)
        given = {} if there is None else {"address": there}
        self.receive(target, source, tag=tag, comm=comm, **more, **given)

    def compute(self, rank: int, ns: int) -> None:
        """Time that passes on a rank."""
        self._clock[rank] += ns

    def collective(
        self,
        function: str,
        inputs: Mapping[int, Content],
        outputs: Mapping[int, Content],
        *,
        comm: int = 0,
        root: int = -1,
        operation: ReductionOperator = ReductionOperator.NONE,
        blocks: Mapping[int, int] | None = None,
        **more: Any,
    ) -> None:
        """A call of `function` ("MPI_Bcast") by all ranks of a communicator, which end together.
        Contents by world rank; `root` is one too; `blocks`: ranks that are sent something."""
        ranks = self._communicators[comm].ranks
        begun = {rank: self._clock[rank] for rank in ranks}
        behind = max(begun.values()) + LATENCY_NS
        for rank in ranks:
            sequence = self._collectives.get((rank, comm), 0)
            self._collectives[rank, comm] = sequence + 1
            for kind, contents in ((EventKind.INPUT, inputs), (EventKind.OUTPUT, outputs)):
                self._clock[rank] = begun[rank]
                own = dict(more)
                data, element = _packed(contents.get(rank, b""), own)
                event = self._event(rank, kind, data, element, own)
                event |= {"comm": comm, "sequence": sequence, "operation": operation, "peer": root}
                event["blocks"] = -1 if blocks is None else blocks[rank]
                self._clock[rank] = behind - CALL_NS
                self._end(rank, event, own, function)

    def recording(self) -> Recording:
        events = self._array()
        return Recording(
            events=events,
            messages=read.match(events),
            communicators=tuple(self._communicators),
            functions=tuple(self._functions),
            call_sites=tuple(self._sites),
            ranks=tuple(
                RecordedRank(rank, "host", True, 0, end) for rank, end in enumerate(self._clock)
            ),
            library="in memory",
        )

    def _event(
        self, rank: int, kind: EventKind, data: bytes, element: Element, more: Mapping[str, Any]
    ) -> dict[str, Any]:
        address = more.get("address") or (self.address(rank, len(data)) if data else 0)
        return {
            "rank": rank,
            "kind": kind,
            "tag": -1,
            "sequence": -1,
            "blocks": -1,
            "address": address,
            "extent": len(data),
            "post_ns": self._clock[rank],
            "start_ns": self._clock[rank],
            **_described(data, element),
        }

    def _end(
        self, rank: int, event: dict[str, Any], more: Mapping[str, Any], function: str
    ) -> None:
        self._clock[rank] += CALL_NS
        event["end_ns"] = self._clock[rank]
        event["function"] = _index(self._functions, more.get("function", function))
        event["flags"] = more.get("flags", Flag(0))
        event["call_site"] = self._site(more.get("site", "program.c:1"))
        event["serial"] = len(self._events[rank])
        self._events[rank].append(event)

    def _site(self, site: str | Sequence[str]) -> int:
        places = [site] if isinstance(site, str) else site
        frames = []
        for place in places:
            file, line, function = (*place.split(":"), "", "")[:3]
            address = int.from_bytes(hashlib.blake2b(place.encode(), digest_size=4).digest())
            name = function or file.partition(".")[0]
            frames.append(Frame("program", address, name, file, int(line or 1)))
        return _index(self._sites, CallSite(tuple(frames)))

    def _array(self) -> Events:
        listed = [event for events in self._events for event in events]
        array = np.zeros(len(listed), EVENT)
        for name in EVENT.names or ():
            if listed:
                missing = np.zeros((), EVENT)[name]
                array[name] = [event.get(name, missing) for event in listed]
        return array


def _packed(content: Content, more: Mapping[str, Any]) -> tuple[bytes, Element]:
    if isinstance(content, bytes):
        return content, Element(more.get("element", Element.BYTE))
    return content.tobytes(), Element(more.get("element", hashes.element_of(content.dtype)))


def _described(data: bytes, element: Element) -> dict[str, Any]:
    """The fields that tell of a content. Where there is none all is 0."""
    signature = f"{int(element)} {len(data)}".encode()
    return {
        "bytes": len(data),
        "signature": _hash(signature),
        "element": element,
        "content": _hash(data),
        "poly": hashes.poly(data, element),
        "sketch": hashes.sketch(data, element),
        "payload": np.frombuffer(data.ljust(PAYLOAD, b"\0"), np.uint8)
        if len(data) <= PAYLOAD
        else np.zeros(PAYLOAD, np.uint8),
        "extremes": hashes.extremes(data, element) if len(data) > PAYLOAD else np.zeros(8),
    }


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _index(known: list[Any], item: Any) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)
