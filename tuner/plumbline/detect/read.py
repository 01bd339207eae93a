"""From the files of all ranks to one recording: numbers that each rank gave for itself become
common ones, clocks become one, messages are matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import matching, record_file
from plumbline.detect.clocks import Clock, clocks
from plumbline.detect.kinds import Flag, Kind
from plumbline.detect.record_file import SUFFIX, Members, RankFile
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
from plumbline_db.errors import PlumblineError

ABOUT = "recording.json"
_SAME = (
    *("tag", "bytes", "signature", "element", "operation", "address", "extent", "content", "poly"),
    *("sketch", "kind", "mode", "flags", "function", "thread", "blocks"),
)
_MPI = ("libmpi", "libpmpi", "libopen-", "libmpich")
_AT_ONCE = 1024  # events whose fields stay in a cache
# Plain numbers: NumPy asks members of an enumeration for many things before it takes them for one.
_UNKNOWN = int(Flag.UNKNOWN_CONTENT | Flag.CANCELLED)
_INCOMPLETE, _SEND, _RECEIVE = int(Flag.INCOMPLETE), int(Kind.SEND), int(Kind.RECEIVE)
_START = ("libc.so", "libc-", "ld-linux", "ld-")


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a folder of files is a recording of: written when the command has ended."""

    schema: int
    version: str
    command: list[str]
    started: str
    status: int


def read(folder: Path) -> Recording:
    """Raises PlumblineError where files are missing, do not belong together or are not whole."""
    files = [_read(path) for path in sorted(folder.glob(f"rank-*{SUFFIX}"), key=_number)]
    if not files:
        raise PlumblineError(f"{folder}: no recording: make one with `plumbline record`")
    _require_all(folder, files)
    common = _Common()
    times = clocks(files)
    zero = min(
        int(clock.on_rank_0(np.array([file.begin_ns]))[0])
        for file, clock in zip(files, times, strict=True)
    )
    events = np.zeros(sum(len(file.slots) for file in files), EVENT)
    at = 0
    for file, clock in zip(files, times, strict=True):
        behind = at + len(file.slots)
        _fill(events[at:behind], file, clock, zero, common)
        at = behind
    return Recording(
        events=events,
        messages=matching.match(events),
        communicators=tuple(common.communicators),
        functions=files[0].functions,
        call_sites=tuple(common.sites),
        ranks=tuple(_rank(file, clock, zero) for file, clock in zip(files, times, strict=True)),
        library=files[0].library,
        command=tuple(about(folder).command),
    )


def about(folder: Path) -> About:
    """Of a recording whose command was killed together with Plumbline: that nothing is known."""
    path = folder / ABOUT
    if not path.exists():
        return About(1, "", [], "", -1)
    try:
        return msgspec.json.decode(path.read_bytes(), type=About)
    except (OSError, msgspec.DecodeError) as error:
        raise PlumblineError(f"{path}: {error}; remove it, or record again") from error


def _number(path: Path) -> tuple[int, str]:
    return len(path.name), path.name


def _read(path: Path) -> RankFile:
    try:
        return record_file.read(path)
    except (OSError, ValueError) as error:
        raise PlumblineError(f"{path}: no record of a rank ({error}); record again") from error


def _require_all(folder: Path, files: Sequence[RankFile]) -> None:
    first = files[0]
    for file in files:
        if (file.job, file.nprocs, file.functions) != (first.job, first.nprocs, first.functions):
            raise PlumblineError(
                f"{folder}: rank {file.rank} belongs to another run; record into an empty folder"
            )
    missing = set(range(first.nprocs)) - {file.rank for file in files}
    if missing or len(files) != first.nprocs:
        raise PlumblineError(
            f"{folder}: the files of {len(missing) or len(files) - first.nprocs} of {first.nprocs} "
            f"ranks are missing or there twice; all ranks must write into one folder that all "
            "nodes see"
        )


class _Common:
    """Numbers of communicators and call sites that hold for all ranks."""

    def __init__(self) -> None:
        self.communicators: list[Communicator] = []
        self.sites: list[CallSite] = []
        self._known: dict[Communicator, int] = {}
        self._known_sites: dict[tuple[tuple[str, int], ...], int] = {}

    def communicator(self, members: Members) -> int:
        """The group with the lower first rank is the first one of an inter-communicator."""
        groups = sorted([members.ranks, members.remote]) if members.remote else [members.ranks, ()]
        return _index(
            self._known,
            self.communicators,
            Communicator(groups[0], groups[1], members.number),
        )

    def site(self, frames: tuple[tuple[str, int], ...]) -> int:
        """Without frames of the MPI library and below main."""
        own = _own(frames)
        if own not in self._known_sites:
            self._known_sites[own] = len(self.sites)
            self.sites.append(CallSite(tuple(Frame(module, address) for module, address in own)))
        return self._known_sites[own]


def _index(
    known: dict[Communicator, int], listed: list[Communicator], communicator: Communicator
) -> int:
    if communicator not in known:
        known[communicator] = len(listed)
        listed.append(communicator)
    return known[communicator]


def _own(frames: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    own: list[tuple[str, int]] = []
    for module, address in frames:
        name = module.rpartition("/")[2]
        if name.startswith(_START):
            break
        if not name.startswith(_MPI):
            own.append((module, address))
    return tuple(own)


def _fill(events: Events, file: RankFile, clock: Clock, zero: int, common: _Common) -> None:
    slots = file.slots
    communicators = {key: common.communicator(one) for key, one in sorted(_used(file))}
    sites = {key: common.site(frames) for key, frames in sorted(file.sites.items())}
    for at in range(0, len(slots), _AT_ONCE):
        part = slice(at, at + _AT_ONCE)
        _fill_part(events[part], slots[part], file, clock, zero)
        events["comm"][part] = _renumbered(slots["comm"][part], communicators)
        events["call_site"][part] = _renumbered(slots["site"][part], sites | {-1: -1})
    events["rank"] = file.rank
    events["serial"] = np.arange(len(slots))
    events["sequence"] = _sequence(events)


def _fill_part(
    events: Events, slots: npt.NDArray[np.void], file: RankFile, clock: Clock, zero: int
) -> None:
    for name in _SAME:
        events[name] = slots[name]
    for name in ("post", "start", "end"):
        events[f"{name}_ns"] = clock.on_rank_0(slots[name]) - zero
    events["peer"] = _peers(slots, file.communicators)
    small = events["bytes"] <= PAYLOAD
    known = (events["flags"] & _UNKNOWN) == 0
    known &= ((events["flags"] & _INCOMPLETE) == 0) | (events["kind"] == _SEND)
    for name in ("content", "poly", "sketch"):
        events[name][~known] = 0
    events["payload"] = slots["payload"]
    events["payload"][~(small & known)] = 0
    if not small.all():
        events["extremes"] = np.ascontiguousarray(slots["payload"]).view("=f8")
        events["extremes"][small | ~known] = 0


def _used(file: RankFile) -> Iterable[tuple[int, Members]]:
    """MPI_COMM_WORLD, and what events are on."""
    used = set(np.unique(file.slots["comm"]).tolist())
    return [(key, one) for key, one in file.communicators.items() if key == 0 or key in used]


def _renumbered(numbers: npt.NDArray[np.int32], common: Mapping[int, int]) -> npt.NDArray[np.int32]:
    keys = np.array(sorted(common), np.int64)
    values = np.array([common[key] for key in keys.tolist()], np.int32)
    return values[np.searchsorted(keys, numbers)]


def _peers(
    slots: npt.NDArray[np.void], communicators: Mapping[int, Members]
) -> npt.NDArray[np.int32]:
    """World ranks. The other side of a message on an inter-communicator is in its other group; a
    collective's root there is not known."""
    peers = np.full(len(slots), -1, np.int32)
    message = (slots["kind"] == _SEND) | (slots["kind"] == _RECEIVE)
    for key, members in communicators.items():
        table = np.array([*(members.remote or members.ranks), -1], np.int32)
        here = slots["comm"] == key
        if members.remote:
            here &= message
        peers[here] = table[slots["peer"][here]]
    return peers


def _sequence(events: Events) -> npt.NDArray[np.int64]:
    """Of collectives: the how manieth on its communicator, inputs and outputs apart."""
    sequence = np.full(len(events), -1, np.int64)
    for kind in (Kind.INPUT, Kind.OUTPUT):
        indices = np.flatnonzero(events["kind"] == kind)
        comms = events["comm"][indices]
        order = np.argsort(comms, kind="stable")
        firsts = np.searchsorted(comms[order], comms[order])
        sequence[indices[order]] = np.arange(len(order)) - firsts
    return sequence


def _rank(file: RankFile, clock: Clock, zero: int) -> RecordedRank:
    begin, end = (clock.on_rank_0(np.array([file.begin_ns, file.end_ns])) - zero).tolist()
    return RecordedRank(
        rank=file.rank,
        host=file.host,
        finished=file.finished,
        begin_ns=begin,
        end_ns=end,
        lost=file.lost,
        error_ns=clock.error_ns,
        cpus=file.cpus,
    )
