"""The way from the files of all ranks to one recording: numbers that each rank gave for itself
become common ones, clocks become one, messages are matched.

The clock of all is rank 0's. Ranks that share a kernel share a clock: the one of them whose round
trip to rank 0 was the shortest compares it, at the beginning and at the end; between the two the
difference changes evenly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core, recording
from plumbline.detect.core import Indices, Mask, by_owner, numbered, ranges, rows, starts
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.recording import (
    EVENT,
    MESSAGE,
    SUFFIX,
    CallSite,
    Communicator,
    Events,
    Frame,
    Members,
    Messages,
    Offset,
    RankFile,
    RecordedRank,
    Recording,
)
from plumbline.system.machine import processing_units
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError, command_name

# Matching of receives and sends: MPI does not let messages overtake, so by communicator, source,
# destination and tag the k-th send belongs to the k-th receive. Contents prove it; where they
# differ (threads that post at the same time) receives look for their content.

_NO_CONTENT = Flag.UNKNOWN_CONTENT | Flag.INCOMPLETE | Flag.CANCELLED | Flag.FAILED

_Columns = dict[str, npt.NDArray[Any]]


def match(events: Events) -> Messages:
    """The messages of `events` (sorted by rank, then serial), sorted by send."""
    columns = _columns(events)
    sends, receives = _sides(columns)
    ranks = int(max(columns["rank"].max(initial=0), columns["peer"].max(initial=0))) + 1
    channels = np.concatenate(
        [
            _channels(columns, sends, "rank", "peer", ranks),
            _channels(columns, receives, "peer", "rank", ranks),
        ]
    )
    tags = np.concatenate([columns["tag"][sends], columns["tag"][receives]]).astype(np.int64)
    group = numbered(channels, tags)
    send_group, receive_group = group[: len(sends)], group[len(sends) :]
    groups = int(group.max(initial=-1)) + 1
    sent, received = by_owner(send_group, groups), by_owner(receive_group, groups)
    both = np.minimum(sent.lengths, received.lengths)
    send = sends[sent.at[ranges(sent.first[:-1], both)]]
    receive = receives[received.at[ranges(received.first[:-1], both)]]
    receive = _mended(columns, send, receive, np.repeat(np.arange(groups), both))
    matched = np.empty(len(send), MESSAGE)
    matched["send"], matched["receive"] = send, receive
    matched["verified"] = _equal(columns, send, receive)
    matched = matched[(columns["flags"][receive] & Flag.INCOMPLETE) == 0]
    return np.asarray(matched[np.argsort(matched["send"], kind="stable")])


def _columns(events: Events) -> _Columns:
    """Return what is looked at here, each field by itself in memory."""
    names = ("rank", "kind", "flags", "comm", "peer", "tag", "bytes", "content")
    return {name: np.ascontiguousarray(events[name]) for name in names}


def _sides(events: _Columns) -> tuple[Indices, Indices]:
    """Sends, and receives that have taken one or hold the place of one."""
    kinds = np.ascontiguousarray(events["kind"])
    real = ((events["flags"] & Flag.CANCELLED) == 0) & (events["peer"] >= 0) & (events["tag"] >= 0)
    sends, receives = (kinds == EventKind.SEND) & real, (kinds == EventKind.RECEIVE) & real
    return np.flatnonzero(sends), np.flatnonzero(receives)


def _channels(events: _Columns, indices: Indices, source: str, target: str, ranks: int) -> Indices:
    """A number for each (communicator, source, target)."""
    comm = events["comm"][indices].astype(np.int64)
    return np.asarray((comm * ranks + events[source][indices]) * ranks + events[target][indices])


def _known(events: _Columns, indices: Indices) -> Mask:
    return np.asarray((events["flags"][indices] & _NO_CONTENT) == 0)


def _equal(events: _Columns, send: Indices, receive: Indices) -> Mask:
    same = (events["content"][send] == events["content"][receive]) & (
        events["bytes"][send] == events["bytes"][receive]
    )
    return np.asarray(same & _known(events, send) & _known(events, receive))


def _mended(events: _Columns, send: Indices, receive: Indices, group: Indices) -> Indices:
    """Receives anew, where pairs whose contents are known and differ can change partners within
    their group."""
    both_known = _known(events, send) & _known(events, receive)
    wrong = np.flatnonzero(both_known & ~_equal(events, send, receive))[::-1].tolist()
    by_content: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for pair in wrong:
        by_content[_key(events, int(group[pair]), int(receive[pair]))].append(int(receive[pair]))
    mended, waiting = receive.copy(), []
    for pair in reversed(wrong):
        candidates = by_content[_key(events, int(group[pair]), int(send[pair]))]
        if candidates:
            mended[pair] = candidates.pop()
        else:
            waiting.append(pair)
    rest: dict[int, list[int]] = defaultdict(list)
    for (number, _content, _bytes), receives in by_content.items():
        rest[number].extend(receives)
    for receives in rest.values():
        receives.sort(reverse=True)
    for pair in waiting:
        mended[pair] = rest[int(group[pair])].pop()
    return mended


def _key(events: _Columns, group: int, index: int) -> tuple[int, int, int]:
    return group, int(events["content"][index]), int(events["bytes"][index])


ABOUT = "recording.json"
_MPI = ("libmpi", "libpmpi", "libopen-", "libmpich")
_START = ("libc.so", "libc-", "ld-linux", "ld-")


class _Clock(msgspec.Struct, frozen=True):
    """Differences of a host's clock to rank 0's, of which none, one or two are known."""

    offsets: tuple[Offset, ...]

    @property
    def error_ns(self) -> int:
        """Half of the longer round trip: messages may have taken all of it one way."""
        return max((offset.round_trip_ns // 2 for offset in self.offsets), default=0)

    def on_rank_0(self, times: Indices) -> Indices:
        if not self.offsets:
            return times
        first, last = self.offsets[0], self.offsets[-1]
        elapsed = last.at_ns - first.at_ns
        if elapsed <= 0:
            return times + first.offset_ns
        drift = (last.offset_ns - first.offset_ns) / elapsed
        drifted = np.rint((times - first.at_ns) * drift).astype(np.int64)
        return np.asarray(times + first.offset_ns + drifted)


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The thing that a folder of files is a recording of: written when the command has ended."""

    schema: int
    version: str
    command: list[str]
    started: str
    status: int


def read(folder: Path) -> Recording:
    """Raises PlumblineError where files are missing, do not belong together or are not whole."""
    paths = sorted(folder.glob(f"rank-*{SUFFIX}"), key=_number)
    with ThreadPoolExecutor(processing_units()) as pool:  # what is long holds no lock of Python
        files = list(pool.map(_read, paths))
    if not files:
        raise PlumblineError(
            f"{folder} contains no recording: make one with `{command_name()} record`"
        )
    _require_all(folder, files)
    common = _Common()
    times = _clocks(files)
    zero = min(
        int(clock.on_rank_0(np.array([file.begin_ns]))[0])
        for file, clock in zip(files, times, strict=True)
    )
    numbers = [_Numbers(common, file) for file in files]
    firsts = starts(np.array([file.events for file in files])).tolist()
    events = np.empty(firsts[-1], EVENT)

    def fill(at: int) -> None:
        _fill(events[firsts[at] : firsts[at + 1]], files[at], numbers[at], times[at], zero)

    with ThreadPoolExecutor(processing_units()) as pool:
        list(pool.map(fill, range(len(files))))
    return Recording(
        events=events,
        messages=match(events),
        communicators=tuple(common.communicators),
        functions=files[0].functions,
        call_sites=tuple(CallSite(tuple(Frame(*frame) for frame in own)) for own in common.sites),
        ranks=tuple(_rank(file, clock, zero) for file, clock in zip(files, times, strict=True)),
        library=files[0].library,
        command=tuple(about(folder).command),
    )


def about(folder: Path) -> About:
    """Return the facts about a recording; if its command was killed together with Plumbline,
    nothing is known."""
    path = folder / ABOUT
    if not path.exists():
        return About(1, "", [], "", -1)
    try:
        return msgspec.json.decode(user_files.read(path), type=About)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise PlumblineError(f"{path}: {error}; remove it, or record again") from error


def _number(path: Path) -> tuple[int, str]:
    return len(path.name), path.name


def _read(path: Path) -> RankFile:
    try:
        return recording.read(path)
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
        self.communicators: dict[Communicator, int] = {}
        self.sites: dict[tuple[tuple[str, int], ...], int] = {}

    def communicator(self, members: Members) -> int:
        """The group with the lower first rank is the first one of an inter-communicator."""
        groups = sorted([members.ranks, members.remote]) if members.remote else [members.ranks, ()]
        communicator = Communicator(groups[0], groups[1], members.number)
        return self.communicators.setdefault(communicator, len(self.communicators))

    def site(self, frames: tuple[tuple[str, int], ...]) -> int:
        """Return the number of a call site without frames of the MPI library and below main."""
        return self.sites.setdefault(_own(frames), len(self.sites))


def _own(frames: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    own: list[tuple[str, int]] = []
    for module, address in frames:
        name = module.rpartition("/")[2]
        if name.startswith(_START):
            break
        if not name.startswith(_MPI):
            own.append((module, address))
    return tuple(own)


class _Numbers:
    """The numbers that a rank gives to communicators and call sites, and what all ranks do."""

    def __init__(self, common: _Common, file: RankFile) -> None:
        """MPI_COMM_WORLD has a number also where nothing is on it."""
        self.comms = sorted({*file.comms, 0} & file.communicators.keys())
        members = [file.communicators[key] for key in self.comms]
        self.common_comms = [common.communicator(member) for member in members]
        self.peers = rows(_targets(member) for member in members)
        self.is_inter = [bool(member.remote) for member in members]
        self.sites = [-1, *sorted(file.sites)]
        self.common_sites = [-1, *(common.site(file.sites[key]) for key in self.sites[1:])]

    def passed(self, file: RankFile, zero: int, events: Events) -> core.Passed:
        """`struct conversion` (tuner/detection/events.c)."""
        names = ("comms", "common_comms", "is_inter", "sites", "common_sites")
        return core.Passed(
            rank=file.rank,
            zero=zero,
            comms_count=len(self.comms),
            sites_count=len(self.sites),
            **{name: np.array(getattr(self, name), np.int64) for name in names},
            events=events.view(np.uint8),
            slots=core.records(file.slots),
            peers=self.peers.passed,
        )


def _targets(members: Members) -> list[int]:
    """World ranks. The other side of a message on an inter-communicator is in its other group."""
    targets = members.remote or members.ranks
    return [*targets, *[-1] * (len(members.ranks) - len(targets))]


def _fill(events: Events, file: RankFile, numbers: _Numbers, clock: _Clock, zero: int) -> None:
    core.call("pl_events", numbers.passed(file, 0 if clock.offsets else zero, events))
    if clock.offsets:
        for name in ("post_ns", "start_ns", "end_ns"):
            events[name] = clock.on_rank_0(events[name]) - zero


def _rank(file: RankFile, clock: _Clock, zero: int) -> RecordedRank:
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


def _clocks(files: Sequence[RankFile]) -> list[_Clock]:
    """One a file. Where rank 0's own file is missing times stay as they are."""
    reference = next((file.boot for file in files if file.rank == 0), "")
    clock_by_boot: dict[str, _Clock] = {reference: _Clock(())}
    for boot in {file.boot for file in files} - {reference}:
        same = [file for file in files if file.boot == boot]
        chosen: list[Offset] = []
        for at in (0, 1):
            candidates = [file.offsets[at] for file in same if len(file.offsets) > at]
            if candidates:
                chosen.append(min(candidates, key=attrgetter("round_trip_ns")))
        clock_by_boot[boot] = _Clock(tuple(chosen))
    return [clock_by_boot[file.boot] for file in files]
