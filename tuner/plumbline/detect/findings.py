"""Findings, as they are told of a recording: instances of one collective from the same call sites,
as one finding each, the longest first. Its work is what instances take when nobody is late: MPI's
own collective waits for a late rank as well, so only what goes on after the last rank has come can
be saved."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from plumbline.detect import operators
from plumbline.detect.core import (
    Indices,
    Rows,
    classes,
    distinct,
    first_of_each,
    numbered,
    rows,
    starts,
)
from plumbline.detect.detecting import Detected
from plumbline.detect.kinds import Flag
from plumbline.detect.patterns import HandPattern, patterns
from plumbline.detect.recording import Frame, Recording
from plumbline.detect.traffic import Instance, Traffic, components, described, split
from plumbline.settings.identity import now
from plumbline_db.findings import Detection


class Call(msgspec.Struct, frozen=True):
    """The time that a call takes: the middle of launches, and its interval (95 %)."""

    seconds: float
    low_seconds: float
    high_seconds: float


class Saved(msgspec.Struct, frozen=True):
    """Seconds of one run, a group on the average; `low` and `high`: 95 %."""

    seconds: float
    low_seconds: float
    high_seconds: float


class SavedInRun(msgspec.Struct, frozen=True):
    """The time saved by one call in place of one that is made by hand, where calls follow each
    other as in the recording and ranks compute for so long between them: seconds, launch by
    launch."""

    between_seconds: float
    default: tuple[float, ...]
    tuned: tuple[float, ...] = ()


class SizeSaving(msgspec.Struct, frozen=True):
    """The saving of the instances of about one size. `bytes`: as MPI counts them for the function;
    `by_hand`: one of them, replayed (None: not replayed); `default`: the collective, the library as
    it is; `tuned`: the same with a campaign's winner in force (None: there is none), which is
    `configuration`. All of them with nothing between calls; `in_run`: what a call saves in the run,
    where it was replayed."""

    bytes: int
    instances: int
    by_hand: Call | None
    default: Call
    tuned: Call | None = None
    configuration: str = ""
    in_run: SavedInRun | None = None


class ReplaySaving(msgspec.Struct, frozen=True):
    """`source`: where times of calls are from, and `campaign` which one. `replayed_seconds`: what
    the replay takes in place of `HandMade.work_seconds` (None: not replayed). `default`, `tuned`:
    what is saved with the library as it is, and with winners in force. `share`: of the instances,
    those for which a near size was measured; the others save nothing here. `shown`: of what is
    saved in the calls, the share that shows in the run at least (None: not asked); `low_seconds`
    have it in them."""

    source: Literal["campaign", "replay"]
    campaign: str
    replayed_seconds: float | None
    default: Saved
    tuned: Saved | None
    share: float
    sizes: tuple[SizeSaving, ...]
    shown: float | None = None

    @property
    def best(self) -> Saved:
        """The larger one of both."""
        if self.tuned is None or self.tuned.seconds < self.default.seconds:
            return self.default
        return self.tuned


def kept(
    recording: Recording, folder: Path, found: Sequence[HandMade], *, replayed: bool
) -> Detection:
    begin = min(rank.begin_ns for rank in recording.ranks)
    end = max(rank.end_ns for rank in recording.ranks)
    return Detection(
        id=_id(recording),
        recording=str(folder.absolute()),
        command=shlex.join(recording.command),
        library=recording.library,
        nprocs=recording.nprocs,
        seconds=max(0, end - begin) / 1e9,
        looked=now(),
        replayed=replayed,
        findings=msgspec.json.encode(found).decode(),
    )


def _id(recording: Recording) -> str:
    """No two runs have the same times."""
    digest = hashlib.sha256(shlex.join(recording.command).encode())
    for rank in recording.ranks:
        digest.update(f"{rank.rank} {rank.host} {rank.begin_ns} {rank.end_ns}\n".encode())
    digest.update(recording.events["end_ns"].tobytes())
    return digest.hexdigest()[:12]


def findings(detection: Detection) -> list[HandMade]:
    """Raises ValueError where they are of another version."""
    return msgspec.json.decode(detection.findings, type=list[HandMade])


Category = Literal["collective", "incomplete", "neighbourhood", "use"]

_CATEGORIES = ("collective", "use", "neighbourhood", "incomplete")
MOST_EDGES = 4096
_NEAR = 32  # instances on each side of the middle one


class Site(msgspec.Struct, frozen=True):
    """A line of the application. `role`: send, receive, both, call; `stack`: all frames that are
    known, the innermost first; `ranks` have been there."""

    role: str
    place: str
    stack: tuple[str, ...]
    ranks: tuple[int, ...]
    messages: int


class Edge(msgspec.Struct, frozen=True):
    """The messages that one rank sent another one, in all instances."""

    source: int
    target: int
    messages: int
    bytes: int


class HandMade(msgspec.Struct, frozen=True):
    """`groups`: the groups that did it, as start:stride:count of world ranks; `roots`: how often a
    rank was the root; `ambiguous_roots`: ranks any of which may have been it, in one instance.
    `bytes`: as MPI counts them for `function`, the middle of all instances; `instances`: their
    times. `seconds`: of each from the first post to the last completion, added up;
    `call_seconds`: those that a rank spent in these calls, on the average. `instance_bytes`,
    `instance_seconds`: by instance. `work_seconds`: what all take when nobody is late, of
    a group on the average; `between_seconds`: what a rank does from one to the next; `patterns`:
    some of them, to be played again; `saving`: what MPI's own collective would save a run, where
    that is known."""

    category: Category
    function: str
    communicator: str
    nprocs: int
    groups: tuple[str, ...]
    group_size: int
    instances: int
    bytes: int
    bytes_least: int
    bytes_most: int
    seconds: float
    call_seconds: float
    messages: int
    evidence: str
    operation: str = ""
    roots: dict[int, int] = {}
    ambiguous_roots: tuple[int, ...] = ()
    split: str = ""
    coverage: float = 1.0
    missing: tuple[int, ...] = ()
    sites: tuple[Site, ...] = ()
    remarks: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    instance_bytes: tuple[int, ...] = ()
    instance_seconds: tuple[float, ...] = ()
    work_seconds: float = 0.0
    between_seconds: float = 0.0
    patterns: tuple[HandPattern, ...] = ()
    saving: ReplaySaving | None = None


def with_instances(detected: Detected) -> list[tuple[HandMade, list[Instance]]]:
    """Return the findings of all instances, folded by call sites, each with its instances; in no
    order."""
    if not detected.instances:
        return []
    messages = rows(instance.messages for instance in detected.instances)
    begins, ends = (times.tolist() for times in detected.traffic.spans_ns(messages))
    findings = []
    for places in _folded(detected, messages):
        instances = [detected.instances[at] for at in places]
        spans = [(begins[at], ends[at]) for at in places]
        own = messages.picked(np.array(places))
        findings.append((_finding(detected.traffic, instances, own, spans), instances))
    return findings


def ordered(findings: Iterable[HandMade]) -> list[HandMade]:
    return sorted(findings, key=place_of)


def place_of(finding: HandMade) -> tuple[int, float, float]:
    """Return by category; what saves most first, then what takes longest."""
    saved = finding.saving.best.seconds if finding.saving else 0.0
    return _CATEGORIES.index(finding.category), -saved, -finding.seconds


def _folded(detected: Detected, messages: Rows) -> list[list[int]]:
    """Instances of a collective that have a call site in common are from one place."""
    sites = Rows(messages.first, detected.traffic.send_site[messages.at] + 1).tuples()
    kinds: dict[tuple[object, ...], dict[tuple[int, ...], list[int]]] = defaultdict(dict)
    for at, (instance, own) in enumerate(zip(detected.instances, sites, strict=True)):
        kind = (instance.collective, instance.irregular, bool(instance.missing))
        kinds[kind].setdefault(own, []).append(at)
    folded: list[list[int]] = []
    for by_sites in kinds.values():
        joined = components((own[0], site) for own in by_sites for site in own)
        place = {site: number for number, group in enumerate(joined) for site in group}
        of_place: dict[int, list[int]] = defaultdict(list)
        for own, instances in by_sites.items():
            of_place[place[own[0]]] += instances
        folded += [sorted(instances) for instances in of_place.values()]
    return folded


def function_of(instance: Instance) -> str:
    vector = {"gather", "scatter", "allgather", "alltoall"}
    name = instance.collective.capitalize()
    if instance.collective == "reduce_scatter" and not instance.irregular:
        name = "Reduce_scatter_block"
    return f"MPI_{name}{'v' if instance.irregular and instance.collective in vector else ''}"


def _finding(
    traffic: Traffic, folded: Sequence[Instance], rows_of: Rows, spans: Sequence[tuple[int, int]]
) -> HandMade:
    first, messages = folded[0], rows_of.at
    comm = traffic.recording.communicators[first.comm]
    groups = sorted({instance.group for instance in folded})
    sizes = sorted(instance.bytes for instance in folded)
    seconds = tuple((end - begin) / 1e9 for begin, end in spans)
    certain = [instance.roots[0] for instance in folded if len(instance.roots) == 1]
    ambiguous = {rank for instance in folded if len(instance.roots) > 1 for rank in instance.roots}
    comms = {instance.comm for instance in folded}
    return HandMade(
        category="incomplete" if first.missing else "collective",
        function=function_of(first),
        communicator=name_of(traffic.recording, first.comm),
        nprocs=traffic.recording.nprocs,
        groups=tuple(described(group) for group in groups),
        group_size=len(first.group),
        instances=len(folded),
        bytes=sizes[len(sizes) // 2],
        bytes_least=sizes[0],
        bytes_most=sizes[-1],
        seconds=sum(seconds),
        call_seconds=_in_calls(traffic, messages) / max(1, len({r for g in groups for r in g})),
        messages=len(messages),
        evidence="proved"
        if all(instance.evidence == "proved" for instance in folded)
        else "assumed",
        operation=_operation(folded),
        roots=dict(sorted(Counter(certain).items())),
        ambiguous_roots=tuple(sorted(ambiguous)),
        split=split(groups, comm.ranks) if len(comms) == 1 and not first.missing else "",
        coverage=min(instance.coverage for instance in folded) if first.missing else 1.0,
        missing=tuple(sorted({rank for instance in folded for rank in instance.missing}))
        if first.missing
        else (),
        sites=_sites(traffic, messages),
        remarks=_remarks(traffic, folded, rows_of),
        edges=_edges(traffic, messages),
        instance_bytes=tuple(instance.bytes for instance in folded),
        instance_seconds=seconds,
        work_seconds=work_seconds(traffic, folded, rows_of),
        between_seconds=_between_ns(traffic, folded) / 1e9,
        patterns=patterns(traffic, folded),
    )


def described_messages(
    traffic: Traffic, messages: Indices, function: str, *, instances: int, remarks: tuple[str, ...]
) -> HandMade:
    """Return a neighbourhood: a finding of messages of one communicator that are no instances."""
    group = tuple(np.unique(traffic.source[messages]).tolist())
    sizes = np.sort(traffic.bytes[messages]).tolist()
    called = _in_calls(traffic, messages) / max(1, len(group))
    return HandMade(
        category="neighbourhood",
        function=function,
        communicator=name_of(traffic.recording, int(traffic.comm[messages[0]])),
        nprocs=traffic.recording.nprocs,
        groups=(described(group),),
        group_size=len(group),
        instances=instances,
        bytes=sizes[len(sizes) // 2],
        bytes_least=sizes[0],
        bytes_most=sizes[-1],
        seconds=called,
        call_seconds=called,
        messages=len(messages),
        evidence="proved",
        sites=_sites(traffic, messages),
        remarks=remarks,
        edges=_edges(traffic, messages),
    )


def name_of(recording: Recording, comm: int) -> str:
    """Return the name of a communicator."""
    communicator = recording.communicators[comm]
    return communicator.name or ("MPI_COMM_WORLD" if comm == 0 else f"{communicator.size} ranks")


def _operation(folded: Sequence[Instance]) -> str:
    names = Counter(instance.operation for instance in folded if instance.operation)
    return names.most_common(1)[0][0] if names else ""


def _in_calls(traffic: Traffic, messages: Indices) -> float:
    """Seconds in the calls that begin and complete messages, of all ranks."""
    columns, total = traffic.recording.columns, 0
    for indices in (traffic.send_event[messages], traffic.receive_event[messages]):
        total += int((columns["end_ns"][indices] - columns["start_ns"][indices]).sum())
    return total / 1e9


def _sites(traffic: Traffic, messages: Indices) -> tuple[Site, ...]:
    sites = [
        *_of_role(traffic, "send", traffic.send_site[messages], traffic.source[messages]),
        *_of_role(traffic, "receive", traffic.receive_site[messages], traffic.target[messages]),
    ]
    return tuple(sorted(sites, key=lambda site: (site.role != "send", -site.messages)))


def _of_role(traffic: Traffic, role: str, sites: Indices, ranks: Indices) -> Iterator[Site]:
    """Return by call site: who was there how often."""
    rows_of = classes(sites, np.zeros(len(sites), np.int64))
    for row in range(len(rows_of)):
        site = int(sites[rows_of[row][0]])
        own_ranks = tuple(distinct(ranks[rows_of[row]], traffic.nprocs).tolist())
        if site < 0:
            yield Site(role, "?", (), own_ranks, len(rows_of[row]))
            continue
        call_site = traffic.recording.call_sites[site]
        stack = tuple(f"{frame.function or '?'} at {_place(frame)}" for frame in call_site.frames)
        yield Site(role, str(call_site), stack, own_ranks, len(rows_of[row]))


def _place(frame: Frame) -> str:
    return f"{frame.file}:{frame.line}" if frame.file else f"{frame.module}+{frame.address:#x}"


def _edges(traffic: Traffic, messages: Indices) -> tuple[Edge, ...]:
    named = numbered(traffic.source[messages], traffic.target[messages])
    counts = np.bincount(named).tolist()
    sizes = np.bincount(named, traffic.bytes[messages]).astype(np.int64).tolist()
    pairs = traffic.pairs(messages[first_of_each(named)]).tolist()
    listed = sorted(zip(pairs, counts, sizes, strict=True))
    return tuple(
        Edge(pair // traffic.nprocs, pair % traffic.nprocs, count, size)
        for pair, count, size in listed[:MOST_EDGES]
    )


def _remarks(traffic: Traffic, folded: Sequence[Instance], rows_of: Rows) -> tuple[str, ...]:
    messages = rows_of.at
    flags_of = traffic.recording.columns["flags"]
    flags = flags_of[traffic.receive_event[messages]]
    both = flags | flags_of[traffic.send_event[messages]]
    name = function_of(folded[0])
    remarks = list(dict.fromkeys(remark for instance in folded for remark in instance.remarks))
    if (both & Flag.NONBLOCKING).any():
        better = f"MPI_I{name[4:].lower()}"
        remarks.append(
            f"calls are non-blocking: if ranks compute before they complete, take {better}"
        )
    if (flags & Flag.ANY_SOURCE).any():
        remarks.append("messages are received from any source: the order of ranks does not matter")
    elements = set(np.unique(traffic.element[messages]).tolist())
    if "educe" in name and elements & operators.FLOATS:
        remarks.append("floating numbers are combined in another order: results differ by rounding")
    if folded[0].irregular:
        remarks.append(
            "blocks differ in size: counts and displacements have to be known beforehand"
        )
    if any(len(instance.roots) > 1 for instance in folded):
        remarks.append("more messages than it takes: several ranks may have been the root")
    if name == "MPI_Bcast":
        again = len(folded) - len(set(Rows(rows_of.first, traffic.content[rows_of.at]).tuples()))
        if again:
            remarks.append(
                f"{again} of {len(folded)} broadcasts carry the same content as one before: "
                "once is enough"
            )
    if len({instance.roots for instance in folded if instance.roots}) > 1:
        remarks.append("the root changes")
    return tuple(remarks)


def work_seconds(traffic: Traffic, instances: Sequence[Instance], messages: Rows) -> float:
    """Seconds in which ranks are in calls of the instances and all have come to them, of a group on
    the average. Times that two instances of a group share count once. `messages`: by instance."""
    number = np.tile(messages.owners, 2)
    indices = np.concatenate([traffic.send_event[messages.at], traffic.receive_event[messages.at]])
    fields = traffic.recording.columns
    rank = np.concatenate([traffic.source[messages.at], traffic.target[messages.at]])
    come = _last_to_come(number, rank, fields["post_ns"][indices])
    begin = np.maximum(fields["start_ns"][indices], come[number])
    end = fields["end_ns"][indices]
    place = {
        group: at for at, group in enumerate(sorted({instance.group for instance in instances}))
    }
    group = np.array([place[instance.group] for instance in instances], np.int64)[number]
    # Groups are placed one after the other: times of different groups do not overlap.
    first = min(int(begin.min()), int(end.min()))
    apart = group * (max(int(begin.max()), int(end.max())) - first + 1)
    return _covered(begin - first + apart, end - first + apart) / len(place) / 1e9


def _last_to_come(number: Indices, rank: Indices, post_ns: Indices) -> Indices:
    """Return by instance: when the last of its ranks had begun its first call."""
    calls = classes(number, rank)
    firsts = np.minimum.reduceat(post_ns[calls.at], calls.first[:-1])
    owner = number[calls.at[calls.first[:-1]]]
    order = np.argsort(owner, kind="stable")
    begins = starts(np.bincount(owner))[:-1]
    return np.maximum.reduceat(firsts[order], begins)


def _covered(begin: Indices, end: Indices) -> int:
    """The length of the union of intervals; empty ones have their end before their begin."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    reached = np.maximum.accumulate(end)
    reached[1:] = reached[:-1]
    reached[:1] = np.iinfo(np.int64).min
    return int(np.maximum(end - np.maximum(begin, reached), 0).sum())


def _between_ns(traffic: Traffic, instances: Sequence[Instance]) -> int:
    """Return what a rank does from one instance of its group to the next: the middle of some from
    the middle of the run; 0 where they overlap."""
    half = len(instances) // 2
    group = instances[half].group
    near = [
        instance
        for instance in instances[max(0, half - _NEAR) : half + _NEAR]
        if instance.group == group
    ]
    messages = rows(instance.messages for instance in near)
    number = np.tile(messages.owners, 2)
    indices = np.concatenate([traffic.send_event[messages.at], traffic.receive_event[messages.at]])
    columns = traffic.recording.columns
    first = np.full((traffic.nprocs, len(near)), np.iinfo(np.int64).max)
    last = np.full((traffic.nprocs, len(near)), np.iinfo(np.int64).min)
    place = columns["rank"][indices], number
    np.minimum.at(first, place, columns["post_ns"][indices])
    np.maximum.at(last, place, columns["end_ns"][indices])
    is_present = first < np.iinfo(np.int64).max
    both = is_present[:, 1:] & is_present[:, :-1]
    gaps = first[:, 1:][both] - last[:, :-1][both]
    return max(0, int(np.median(gaps))) if len(gaps) else 0
