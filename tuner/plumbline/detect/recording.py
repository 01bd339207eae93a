"""A recording as it is analysed: what all ranks of one MPI_COMM_WORLD sent and received, on one
clock, with messages matched; and the strict reader of what one rank wrote
(probes/recorder/event.h). Files may come from anybody: whatever does not fit is a ValueError that
says what. Ranks are ranks in MPI_COMM_WORLD unless a field says otherwise. Times are int64
nanoseconds since the earliest MPI_Init. Sums, splits and joins of contents: kinds.py."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core
from plumbline.detect.core import Indices
from plumbline.detect.kinds import (
    EXTREMES,
    PRIME,
    SKETCH,
    Element,
    EventKind,
    Flag,
    Mode,
    ReductionOperator,
)
from plumbline.system.placement import PLAIN, Bind
from plumbline_db import user_files

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


SUFFIX = ".record"
FRAMES = 8
_MAGIC = b"PLRECRD2"
_MEMBERS, _REMOTE, _SITE, _MODULE = 1, 2, 3, 4
_MOST_RANKS = 1 << 22
_NAME = 32
_ADDRESS_BITS = 48

SLOT = np.dtype(
    [
        ("post", "=i8"),
        ("start", "=i8"),
        ("end", "=i8"),
        ("address", "=u8"),
        ("extent", "=i8"),
        ("bytes", "=i8"),
        ("content", "=u8"),
        ("poly", "=u8"),
        ("signature", "=u8"),
        ("sketch", "=f8", (SKETCH,)),
        ("peer", "=i4"),
        ("tag", "=i4"),
        ("comm", "=i4"),
        ("site", "=i4"),
        ("flags", "=u4"),
        ("function", "=u2"),
        ("mode", "u1"),
        ("kind", "u1"),
        ("element", "u1"),
        ("operation", "u1"),
        ("thread", "=u2"),
        ("blocks", "=i4"),
        ("payload", "u1", (PAYLOAD,)),
    ]
)
_HEADER = struct.Struct("=8s4I2i4q6q2q2i40s64s256s128s")
_FIELDS = (
    *("kind", "mode", "element", "operation", "function", "flags", "poly", "bytes", "extent"),
    *("peer", "blocks", "in order", "post", "end", "site"),
)


class _Header(NamedTuple):
    """The fields of `struct pl_record_header` before the names of functions, in its order."""

    magic: bytes
    byte_order: int
    header_bytes: int
    slot_bytes: int
    first_slot: int
    rank: int
    nprocs: int
    job: int
    limit: int
    begin: int
    end: int
    begin_at: int
    begin_offset: int
    begin_round_trip: int
    end_at: int
    end_offset: int
    end_round_trip: int
    used: int
    lost: int
    finished: int
    functions: int
    boot: bytes
    host: bytes
    library: bytes
    cpus: bytes


class Offset(msgspec.Struct, frozen=True):
    """Rank 0's clock less this rank's, in ns, when this one showed `at_ns`; from a round trip of
    so many ns."""

    at_ns: int
    offset_ns: int
    round_trip_ns: int


class Members(msgspec.Struct, frozen=True):
    """A communicator as one rank has it: world ranks of its own group, and of the other one."""

    ranks: tuple[int, ...]
    remote: tuple[int, ...]
    number: int


class RankFile(msgspec.Struct, frozen=True, eq=False):
    """The file that one rank wrote. Times are those of its host's clock. `slots`, dtype SLOT, have
    `events` events, whose `comm` and `site` are keys of the tables here."""

    rank: int
    nprocs: int
    job: int
    begin_ns: int
    end_ns: int
    offsets: tuple[Offset, ...]
    boot: str
    host: str
    library: str
    finished: bool
    lost: int
    cpus: tuple[int, ...]  # where it might run; empty: not known
    functions: tuple[str, ...]
    slots: npt.NDArray[np.void]
    events: int
    comms: tuple[int, ...]  # that events are on
    communicators: dict[int, Members]
    sites: dict[int, tuple[tuple[str, int], ...]]  # (module, address), innermost first


class _Survey(msgspec.Struct, frozen=True):
    """A survey of all slots: which are pieces; and of events the communicators, the largest peer on
    each, call sites, and of each of _FIELDS the least and the largest."""

    events: int
    pieces: Indices
    peers: dict[int, int]
    sites: list[int]
    least: dict[str, int]
    most: dict[str, int]


def _survey(slots: npt.NDArray[np.void]) -> _Survey:
    """Survey all slots, by tuner/detection/events.c."""
    pieces, comms, peers, sites, least, most, count = core.call("pl_survey", core.records(slots))
    return _Survey(
        int(count[0]),
        pieces,
        dict(zip(comms.tolist(), peers.tolist(), strict=True)),
        sites.tolist(),
        dict(zip(_FIELDS, least.tolist(), strict=False)),
        dict(zip(_FIELDS, most.tolist(), strict=False)),
    )


def read(path: Path) -> RankFile:
    """Raises OSError and ValueError."""
    with user_files.open_file(path) as file:
        header = _header(file)
        names = _names(file, header)
        available = path.stat().st_size - header.first_slot
        count = min(header.used, header.limit, max(0, available) // SLOT.itemsize)
        file.seek(header.first_slot)
        slots = np.frombuffer(file.read(count * SLOT.itemsize), SLOT)
    survey = _survey(slots)
    pieces = slots[survey.pieces]
    communicators, sites = _communicators(pieces, header), _sites(pieces)
    _check(survey, header, communicators, sites)
    offsets = (
        Offset(header.begin_at, header.begin_offset, header.begin_round_trip),
        Offset(header.end_at, header.end_offset, header.end_round_trip),
    )
    return RankFile(
        rank=header.rank,
        nprocs=header.nprocs,
        job=header.job,
        begin_ns=header.begin,
        end_ns=header.end if header.finished else max(survey.most.get("end", 0), header.begin),
        offsets=tuple(offset for offset in offsets if offset.round_trip_ns > 0),
        boot=_text(header.boot),
        host=_text(header.host),
        library=_text(header.library),
        finished=bool(header.finished),
        lost=header.lost,
        cpus=tuple(np.flatnonzero(_bits(header.cpus)).tolist()),
        functions=names,
        slots=slots,
        events=survey.events,
        comms=tuple(survey.peers),
        communicators=communicators,
        sites=sites,
    )


def _header(file: BinaryIO) -> _Header:
    content = file.read(_HEADER.size)
    if len(content) < _HEADER.size:
        raise ValueError("it ends too early")
    header = _Header._make(_HEADER.unpack(content))
    if header.magic != _MAGIC or header.byte_order != 1 or header.slot_bytes != SLOT.itemsize:
        raise ValueError("written by another version, or on a machine of another kind")
    if not 0 < header.nprocs <= _MOST_RANKS or not 0 <= header.rank < header.nprocs:
        raise ValueError(f"rank {header.rank} of {header.nprocs} does not exist")
    if not 0 < header.functions <= (header.header_bytes - _HEADER.size) // _NAME:
        raise ValueError(f"the names of {header.functions} functions do not fit into the file")
    if not header.header_bytes <= header.first_slot <= 1 << 20:
        raise ValueError("slots begin within the header")
    if min(header.used, header.lost, header.limit, header.begin) < 0:
        raise ValueError("a number in the header is impossible")
    if header.finished and header.end < header.begin:
        raise ValueError("it ends before it begins")
    if max(map(abs, header[11:17])) > 1 << 62:
        raise ValueError("a clock offset is impossible")
    return header


def _names(file: BinaryIO, header: _Header) -> tuple[str, ...]:
    content = file.read(header.functions * _NAME)
    if len(content) < header.functions * _NAME:
        raise ValueError("it ends too early")
    names = tuple(_text(content[at : at + _NAME]) for at in range(0, len(content), _NAME))
    if not all(name.startswith("MPI_") and name.isidentifier() for name in names):
        raise ValueError("a function has no name")
    return names


def _bits(words: bytes) -> npt.NDArray[np.uint8]:
    numbers = np.frombuffer(words, "=u8").astype("<u8")
    return np.unpackbits(numbers.view(np.uint8), bitorder="little")


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")


def _joined(pieces: npt.NDArray[np.void], table: int) -> dict[int, tuple[int, bytes]]:
    """Return by id: number and content of what lies in `table` whole; what is not whole was being
    written when the process ended."""
    parts: dict[int, dict[int, bytes]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for piece in pieces[pieces["function"] == table]:
        key, at = int(piece["site"]), int(piece["extent"])
        parts.setdefault(key, {})[at] = piece["payload"].tobytes()
        sizes[key] = (int(piece["tag"]), int(piece["bytes"]))
    whole = {}
    for key, (number, size) in sizes.items():
        expected = range(0, max(size, 1), PAYLOAD)
        if size >= 0 and len(expected) == len(parts[key]) and parts[key].keys() == set(expected):
            content = b"".join(parts[key][at] for at in expected)
            whole[key] = (number, content[:size])
    return whole


def _communicators(pieces: npt.NDArray[np.void], header: _Header) -> dict[int, Members]:
    remotes = _joined(pieces, _REMOTE)
    communicators = {}
    for key, (number, content) in _joined(pieces, _MEMBERS).items():
        ranks = _ranks(content, header.nprocs)
        remote = _ranks(remotes[key][1], header.nprocs) if key in remotes else ()
        if number < 0 or header.rank not in ranks:
            raise ValueError(f"communicator {key} does not contain rank {header.rank}")
        communicators[key] = Members(ranks, remote, number)
    return communicators


def _ranks(content: bytes, nprocs: int) -> tuple[int, ...]:
    """Ranks of another job are −1."""
    if len(content) % 4:
        raise ValueError("the list of ranks ends in the middle of a rank")
    ranks = np.frombuffer(content, "=i4")
    own = ranks[ranks >= 0]
    if len(ranks) and (ranks.min() < -1 or ranks.max() >= nprocs):
        raise ValueError(f"a communicator contains ranks beyond the {nprocs} processes")
    if len(np.unique(own)) < len(own):
        raise ValueError("a communicator contains a rank twice")
    return tuple(ranks.tolist())


def _sites(pieces: npt.NDArray[np.void]) -> dict[int, tuple[tuple[str, int], ...]]:
    modules = {
        key: content.decode(errors="replace")
        for key, (_, content) in _joined(pieces, _MODULE).items()
    }
    sites = {}
    for key, (_, content) in _joined(pieces, _SITE).items():
        if len(content) % 8 or len(content) > 8 * FRAMES:
            raise ValueError(f"call site {key} ends in the middle of a frame")
        frames = np.frombuffer(content, "=u8").tolist()
        sites[key] = tuple(
            (modules.get(frame >> _ADDRESS_BITS, "?"), frame & ((1 << _ADDRESS_BITS) - 1))
            for frame in frames
        )
    return sites


def _check(
    survey: _Survey,
    header: _Header,
    communicators: dict[int, Members],
    sites: dict[int, tuple[tuple[str, int], ...]],
) -> None:
    least, most = survey.least, survey.most
    for name, bound in (
        ("kind", max(EventKind)),
        ("mode", max(Mode)),
        ("element", max(Element)),
        ("operation", max(ReductionOperator)),
        ("function", header.functions - 1),
        ("poly", PRIME - 1),
        ("flags", (1 << 14) - 1),
        ("bytes", 1 << 50),
        ("extent", 1 << 60),
    ):
        if most.get(name, 0) > bound:
            raise ValueError(f"an event's {name} is {most[name]}")
    for name, bound in (("bytes", 0), ("extent", 0), ("peer", -1), ("blocks", -1)):
        if least.get(name, 0) < bound:
            raise ValueError(f"an event's {name} is {least[name]}")
    if not least.get("in order", 1):
        raise ValueError("an event ends before it begins")
    if least.get("post", header.begin) < header.begin:
        raise ValueError("an event is earlier than MPI_Init")
    if most.get("end", 0) > 1 << 62:
        raise ValueError("the time of an event is impossible")
    unknown = survey.peers.keys() - communicators.keys()
    if unknown:
        raise ValueError(f"communicator {min(unknown)} has no members")
    unknown = set(survey.sites) - sites.keys() - {-1}
    if unknown:
        raise ValueError(f"call site {min(unknown)} has no frames")
    for key, peer in survey.peers.items():
        members = communicators[key]
        if peer >= max(len(members.remote), len(members.ranks)):
            raise ValueError(f"communicator {key} has no rank {peer}")
