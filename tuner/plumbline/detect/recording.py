"""A recording as it is analysed: what all ranks of one MPI_COMM_WORLD sent and received, on one
clock, with messages matched. It reads no files (read.py) and finds nothing (the other modules).

Ranks are ranks in MPI_COMM_WORLD unless a field says otherwise. Times are int64 nanoseconds since
the earliest MPI_Init. Sums, splits and joins of contents: kinds.py."""

from __future__ import annotations

import functools

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core
from plumbline.detect.kinds import EXTREMES, SKETCH, EventKind, Flag
from plumbline.system.placement import PLAIN, Bind

PAYLOAD = 64  # bytes of a message that are kept as they are
_OF_A_CORE = 2  # processing units

EVENT = np.dtype(
    [
        ("post_ns", "<i8"),  # the call that begins it is entered: MPI_Send, MPI_Irecv, MPI_Start
        ("start_ns", "<i8"),  # the call that completes it is entered: MPI_Wait; blocking: post_ns
        ("end_ns", "<i8"),  # that call returns. INCOMPLETE: start_ns and end_ns are post_ns
        ("rank", "<i4"),  # whose event it is
        ("serial", "<i8"),  # its number among this rank's events, in the order of post_ns
        ("kind", "u1"),  # kinds.EventKind
        ("mode", "u1"),  # kinds.Mode
        ("flags", "<u4"),  # kinds.Flag
        ("function", "<u2"),  # index into Recording.functions: of the call that begins it
        ("thread", "<u2"),  # 0, 1, …: which of the rank's threads, by their first event
        ("comm", "<i4"),  # index into Recording.communicators
        (
            "peer",
            "<i4",
        ),  # the other rank, also of wildcards; a collective's root; -1: none, unknown
        ("tag", "<i4"),  # also of wildcards; -1: a collective, unknown
        ("sequence", "<i8"),  # of a collective: its number on its communicator; -1: a message
        ("blocks", "<i4"),  # of a vector collective: ranks whose part is not empty; -1: other
        ("bytes", "<i8"),  # of packed data; of a receive: what came, not what there was room for
        ("signature", "<u8"),  # of the basic types in their order; equal on both sides of a message
        ("element", "u1"),  # kinds.Element
        ("operation", "u1"),  # kinds.ReductionOperator
        ("address", "<u8"),  # of the first byte in this rank's memory; 0: no bytes
        ("extent", "<i8"),  # bytes from there to behind the last one; without gaps: `bytes`
        ("content", "<u8"),  # XXH3-64 of the packed bytes; equal where contents are (seed 0)
        ("poly", "<u8"),  # of the packed bytes (kinds.py), < PRIME
        ("sketch", "<f8", (SKETCH,)),  # of the packed bytes (kinds.py)
        ("payload", "u1", (PAYLOAD,)),  # bytes <= PAYLOAD: the packed bytes, then zeros
        ("extremes", "<f8", (EXTREMES,)),  # bytes > PAYLOAD: of classes; else zeros
        ("call_site", "<i4"),  # index into Recording.call_sites; -1: unknown
    ]
)
"""One event. Sorted in a recording by rank, then serial, so `post_ns` rises within a rank (up to
threads that post at the same time). `peer`, `tag` and `bytes` of an INCOMPLETE receive are what it
asked for: -1 of wildcards, and the room that there was. Messages to and from MPI_PROC_NULL are no
events. Content fields (`content`, `poly`, `sketch`, `payload`, `extremes`) are 0 where flags have
UNKNOWN_CONTENT, INCOMPLETE (receives) or CANCELLED. A send's content is that of the moment when it
was begun, a receive's that of the moment when it was completed."""

MESSAGE = np.dtype(
    [
        ("send", "<i8"),  # index into Recording.events
        ("receive", "<i8"),  # index into Recording.events
        ("verified", "?"),  # bytes and content of both are known and equal
    ]
)
"""A send and the receive that got it. Sorted by `send`."""

Events = npt.NDArray[np.void]  # of EVENT
Messages = npt.NDArray[np.void]  # of MESSAGE


_USUAL = ("post_ns", "start_ns", "end_ns", "rank", "kind", "flags", "bytes", "address")


class EventColumns:
    """Fields of all events as int64, each by itself in memory: made when they are first asked for;
    the usual ones together."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._made: dict[str, npt.NDArray[np.int64]] = {}

    def __getitem__(self, name: str) -> npt.NDArray[np.int64]:
        if name not in self._made and name in _USUAL:
            columns = core.call("pl_event_columns", core.records(self._events))
            self._made |= zip(_USUAL, columns, strict=True)
        elif name not in self._made:
            self._made[name] = self._events[name].astype(np.int64)
        return self._made[name]


class Communicator(msgspec.Struct, frozen=True):
    """One communicator, the same on all its ranks. `ranks[i]` is the world rank of its rank i. Of
    an inter-communicator `ranks` are the one group and `remote` the other; else `remote` is
    empty. `number` tells communicators of the same ranks apart: 0 is the first one."""

    ranks: tuple[int, ...]
    remote: tuple[int, ...] = ()
    number: int = 0
    name: str = ""

    @property
    def size(self) -> int:
        return len(self.ranks)


class Frame(msgspec.Struct, frozen=True):
    """One call. `address` is that of the instruction behind the call, as the file of `module` has
    it. The source is known once record.py has looked it up: "" and 0 where it is not."""

    module: str
    address: int
    function: str = ""
    file: str = ""
    line: int = 0


class CallSite(msgspec.Struct, frozen=True):
    """The place where an MPI function was called: frames of the application, the innermost first,
    at most eight. Equal call sites of different ranks are one."""

    frames: tuple[Frame, ...]

    def __str__(self) -> str:
        if not self.frames:
            return "?"
        frame = self.frames[0]
        if frame.file:
            return f"{frame.file}:{frame.line} ({frame.function})"
        name = f" ({frame.function})" if frame.function else ""
        return f"{frame.module}+{frame.address:#x}{name}"


class RecordedRank(msgspec.Struct, frozen=True):
    """The things that are known of a rank besides its events. `lost`: events behind the recording's
    limit, for which there was no room; all of them are later than those that are here. `error_ns`:
    by how much its times may be off against those of other hosts. `cpus`: the processing units of
    its host that it was allowed; empty: not known."""

    rank: int
    host: str
    finished: bool  # reached MPI_Finalize
    begin_ns: int
    end_ns: int
    lost: int = 0
    error_ns: int = 0
    cpus: tuple[int, ...] = ()


class Recording(msgspec.Struct, frozen=True, eq=False, weakref=True, dict=True):
    """All that is known of one run. Arrays must not be changed."""

    events: Events  # shape (n,), dtype EVENT
    messages: Messages  # shape (m,), dtype MESSAGE
    communicators: tuple[Communicator, ...]  # 0 is MPI_COMM_WORLD
    functions: tuple[str, ...]  # "MPI_Send", …
    call_sites: tuple[CallSite, ...]
    ranks: tuple[RecordedRank, ...]  # all of MPI_COMM_WORLD, by rank
    library: str = ""
    command: tuple[str, ...] = ()

    @property
    def nprocs(self) -> int:
        return len(self.ranks)

    @property
    def bind(self) -> Bind:
        """Return how a launch has to bind ranks that are to be where these were: to a core (its one
        or two processing units) each, not at all, or, where neither fits, as a plain mpirun
        does."""
        if not all(rank.cpus for rank in self.ranks):
            return PLAIN
        if max(len(rank.cpus) for rank in self.ranks) <= _OF_A_CORE and self._spread_out():
            return "core"
        return "none" if not self._spread_out() else PLAIN

    def _spread_out(self) -> bool:
        """Return whether ranks of one host were allowed different processing units."""
        return len({(rank.host, rank.cpus) for rank in self.ranks}) > len(
            {rank.host for rank in self.ranks}
        )

    @functools.cached_property
    def partner(self) -> npt.NDArray[np.int64]:
        """Shape (n,): by event the other event of its message; -1 where it has none: collectives,
        what was cancelled, and messages whose other side was not recorded."""
        partners = np.full(len(self.events), -1, np.int64)
        partners[self.messages["send"]] = self.messages["receive"]
        partners[self.messages["receive"]] = self.messages["send"]
        return partners

    @functools.cached_property
    def columns(self) -> EventColumns:
        return EventColumns(self.events)

    def of_rank(self, rank: int) -> slice:
        """Return where a rank's events lie in `events`."""
        first, behind = np.searchsorted(self.events["rank"], [rank, rank + 1])
        return slice(int(first), int(behind))

    def unmatched(self) -> npt.NDArray[np.int64]:
        """Indices of sends and receives that should have another side and have none."""
        kinds, flags = self.events["kind"], self.events["flags"]
        message = (kinds == EventKind.SEND) | (kinds == EventKind.RECEIVE)
        return np.flatnonzero(message & ((flags & Flag.CANCELLED) == 0) & (self.partner < 0))
