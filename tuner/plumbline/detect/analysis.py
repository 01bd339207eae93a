"""All that is said of a recording: collectives made by hand; exchanges with the same few ranks
again and again, for which MPI has neighbourhood collectives; and mistaken uses of real ones."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.calls import RecordedCalls, collective_calls
from plumbline.detect.core import Indices, Mask, classes, counted, distinct, first_of_each, numbered
from plumbline.detect.detecting import Detected, detect
from plumbline.detect.findings import (
    HandMade,
    ReplaySaving,
    Saved,
    Site,
    described_messages,
    name_of,
    place_of,
    with_instances,
)
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.personal import is_uneven
from plumbline.detect.recording import Recording
from plumbline.detect.traffic import Instance, Traffic, components, described

# The part of what is saved in calls that shows in the run's time. The rest is waited for elsewhere:
# a rank that comes sooner to the next message waits there for one that nothing has made faster.


def lowered(analysed: Analysed, findings: Sequence[HandMade]) -> list[HandMade]:
    """Limit savings to what shortens the run. `findings` are in the order of the analysis."""
    return [
        _lowered(analysed.detected.traffic, finding, instances)
        for finding, instances in zip(findings, analysed.instances, strict=True)
    ]


def _lowered(traffic: Traffic, finding: HandMade, instances: Sequence[Instance]) -> HandMade:
    saving = finding.saving
    if saving is None or saving.best.high_seconds <= 0 or not instances:
        return finding
    share = shown(traffic, instances, finding.work_seconds)
    tuned = None if saving.tuned is None else _at_least(saving.tuned, share)
    lower: ReplaySaving = msgspec.structs.replace(
        saving, shown=share, default=_at_least(saving.default, share), tuned=tuned
    )
    return msgspec.structs.replace(finding, saving=lower)


def _at_least(saved: Saved, share: float) -> Saved:
    low = saved.low_seconds * (share if saved.low_seconds > 0 else 1.0)
    return msgspec.structs.replace(saved, low_seconds=low)


def shown(traffic: Traffic, instances: Sequence[Instance], work_seconds: float) -> float:
    """Return by how much the run is shorter where the instances take no time, over what they take.
    Where they take less time, and not none, as much of that shows, or more: the run's time is the
    longest of many ways through it, each of which is a sum."""
    recording, columns = traffic.recording, traffic.recording.columns
    messages = np.array(
        [message for instance in instances for message in instance.messages], np.int64
    )
    is_gone = np.zeros(len(recording.events), np.int64)
    is_gone[traffic.send_event[messages]] = is_gone[traffic.receive_event[messages]] = 1
    which = np.flatnonzero(columns["flags"] & (Flag.INCOMPLETE | Flag.CANCELLED) == 0)
    times = np.concatenate([columns["post_ns"][which], columns["end_ns"][which]])
    moments = np.concatenate([2 * which, 2 * which + 1])
    # At equal times an end comes before a begin.
    order = np.lexsort((1 - moments % 2, times))
    recorded_run = core.Passed(
        moments=len(moments),
        ranks=recording.nprocs,
        events=len(is_gone),
        at=moments[order],
        rank=columns["rank"],
        post=columns["post_ns"],
        start=columns["start_ns"],
        end=columns["end_ns"],
        behind=_behind(traffic),
        gone=is_gone,
        begins=np.array([rank.begin_ns for rank in recording.ranks], np.int64),
        ends=np.array([rank.end_ns for rank in recording.ranks], np.int64),
    )
    (ends,) = core.call("pl_shortened", recorded_run)
    shorter = int(ends[0] - ends[1]) / 1e9
    return min(1.0, max(0.0, shorter / work_seconds)) if work_seconds > 0 else 0.0


def _behind(traffic: Traffic) -> Indices:
    """Return by event the one that has to have begun before it can end; -1: none. A receive needs
    its send. A send has waited for its receive if that began meanwhile; a rank in a collective for
    the last one that came before it left."""
    recording, columns = traffic.recording, traffic.recording.columns
    behind = recording.partner.copy()
    has_partner = behind >= 0
    partner = np.maximum(behind, 0)
    sends = columns["kind"] == EventKind.SEND
    meanwhile = (columns["post_ns"][partner] > columns["start_ns"]) & (
        columns["post_ns"][partner] <= columns["end_ns"]
    )
    behind[has_partner & sends & ~meanwhile] = -1
    calls = collective_calls(recording)
    if len(calls.times):
        own, rows = calls.times.at, calls.times.owners
        order = np.lexsort((calls.begin_ns[own], rows))
        last = own[order[calls.times.first[1:] - 1]][rows]
        come = calls.begin_ns[last] <= calls.end_ns[own]
        for half in (calls.input, calls.output):
            behind[half[own[come]]] = calls.input[last[come]]
    return np.asarray(behind)


# An exchange that was repeated in so many rounds is a habit.
_ROUNDS = 3
# After these collectives every rank has heard of all other ranks.
_SYNCHRONISE = {
    "MPI_Allreduce",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Barrier",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
}
# An exchange is sparse where at most this share of its blocks has bytes.
_SPARSE = 0.5
_LEAST_RANKS = 4
# So many consecutive broadcasts could be a single call.
_IN_A_ROW = 4
# An output must be overwritten so often, on all ranks but one, and so soon (in ns, and in ns for
# each byte) that nobody can have read it.
_TIMES, _NOT_READ_NS, _NOT_READ_NS_A_BYTE = 10, 400, 0.02


class Analysed(msgspec.Struct, frozen=True, eq=False):
    """`found`: collectives made by hand, mistaken uses of real ones, neighbourhoods, incomplete
    ones; in each the longest first. `instances`: what each is made of; none where it is a use or a
    neighbourhood."""

    detected: Detected
    found: list[HandMade]
    instances: list[list[Instance]]


def analysed(recording: Recording) -> Analysed:
    with _uncollected(), core.memory_kept():
        return _analysed(recording)


@contextmanager
def _uncollected() -> Iterator[None]:
    """An analysis makes many objects that stay, and no circles: to look for these again and again
    is a tenth of the time of a long recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _analysed(recording: Recording) -> Analysed:
    detected = detect(recording)
    ranked = with_instances(detected)
    ranked += [(finding, []) for finding in (*uses(recording), *_neighbourhoods(detected))]
    ranked.sort(key=lambda pair: place_of(pair[0]))
    return Analysed(detected, [pair[0] for pair in ranked], [pair[1] for pair in ranked])


def analysis(recording: Recording) -> list[HandMade]:
    return analysed(recording).found


def _neighbourhoods(detected: Detected) -> list[HandMade]:
    """Return the neighbourhoods of messages that belong to no collective, by communicator: each
    edge of the graph is used equally often, in both directions, and nobody is the centre of it."""
    traffic = detected.traffic
    messages = np.array(detected.unclaimed, np.int64)
    messages = messages[traffic.bytes[messages] > 0]
    rows = classes(traffic.comm[messages], traffic.functions[messages])
    neighbourhoods = (_neighbourhood(traffic, messages[rows[row]]) for row in range(len(rows)))
    return [neighbourhood for neighbourhood in neighbourhoods if neighbourhood is not None]


def _neighbourhood(traffic: Traffic, messages: Indices) -> HandMade | None:
    comm = int(traffic.comm[messages[0]])
    pairs, counts = counted(traffic.pairs(messages), traffic.nprocs**2)
    named = [divmod(pair, traffic.nprocs) for pair in pairs.tolist()]
    edges = {
        pair: count
        for pair, count in zip(named, counts.tolist(), strict=True)
        if pair[0] != pair[1]
    }
    if not edges or components(edges) != [tuple(sorted({r for pair in edges for r in pair}))]:
        return None
    degrees = Counter(source for source, _ in edges)
    ranks = traffic.recording.communicators[comm].size
    times = Counter(edges.values()).most_common(1)[0][0]
    symmetric = all((target, source) in edges for source, target in edges)
    even = all(count % min(edges.values()) == 0 for count in edges.values())
    sparse = max(degrees.values()) < max(3, ranks - 1) and len(edges) < ranks * (ranks - 1)
    uneven = bool(is_uneven(np.bincount(traffic.pairs(messages), traffic.bytes[messages])[pairs]))
    several = sum(degrees.values()) >= 1.3 * len(degrees)
    if not (
        symmetric and even and (sparse or uneven) and several and min(edges.values()) >= _ROUNDS
    ):
        return None
    if len(degrees) < ranks:
        return None
    alike = _same_to_all(traffic, messages)
    name = "MPI_Neighbor_allgather" if alike else "MPI_Neighbor_alltoall"
    sizes = traffic.bytes[messages]
    return described_messages(
        traffic,
        messages,
        name + ("v" if (sizes != sizes[0]).any() else ""),
        instances=times,
        remarks=(
            f"each rank has {_range(degrees.values())} neighbours, always the same: "
            "MPI_Dist_graph_create_adjacent, once",
        ),
    )


def _range(degrees: Iterable[int]) -> str:
    values = sorted(degrees)
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _same_to_all(traffic: Traffic, messages: Indices) -> bool:
    """Return whether each rank sends each content to all of its neighbours."""
    sources, targets = traffic.source[messages], traffic.target[messages]
    content_of = numbered(sources, traffic.content[messages])
    heads = first_of_each(numbered(content_of, targets))  # a message for each content and neighbour
    reached = np.bincount(content_of[heads])
    pairs = distinct(traffic.pairs(messages), traffic.nprocs**2)
    degrees = np.bincount(pairs // traffic.nprocs, minlength=traffic.nprocs)
    return bool((reached[content_of] == degrees[sources]).all())


def uses(recording: Recording) -> list[HandMade]:
    """All mistakes, each once a call site."""
    calls = collective_calls(recording)
    if not len(calls.times):
        return []
    return [*_sparse(calls), *_barriers(calls), *_rows(calls), *_one_reader(calls)]


def _by_site(
    calls: RecordedCalls, times: Indices, more: Indices | None = None
) -> Iterator[Indices]:
    """Times of each call site, and of what else they have to have in common."""
    sites = calls.site[calls.first[times]]
    rows = classes(sites, np.zeros_like(sites) if more is None else more)
    for row in range(len(rows)):
        yield times[rows[row]]


def _sparse(calls: RecordedCalls) -> Iterator[HandMade]:
    sizes = calls.times.lengths
    times = np.flatnonzero(calls.named("MPI_Alltoallv", "MPI_Alltoallw") & (sizes >= _LEAST_RANKS))
    blocks = np.maximum(calls.recording.columns["blocks"][calls.input], 0)
    for own in _by_site(calls, times):
        members = calls.times.picked(own)
        full = np.add.reduceat(blocks[members.at], members.first[:-1])
        share = float(np.mean(full / members.lengths**2))
        if share <= _SPARSE:
            text = (
                f"{1 - share:.0%} of its blocks are empty: a neighbourhood collective, or "
                "messages between those that have something to say"
            )
            yield _finding(calls, own, "MPI_Neighbor_alltoallv", text)


def _barriers(calls: RecordedCalls) -> Iterator[HandMade]:
    times = np.flatnonzero(calls.named("MPI_Barrier"))
    following, functions = calls.next, calls.recording.functions
    is_followed = following >= 0
    function = np.where(is_followed, calls.function[following], -1)
    comm = np.where(is_followed, calls.comm[following], -1)
    name, same = calls.alike(times, function)
    on, same_comm = calls.alike(times, comm)
    nbytes = calls.recording.columns["bytes"][calls.input]
    has_data = calls.times.picked(times).with_any(is_followed & (nbytes[following] > 0))
    waits = np.array([function_name in _SYNCHRONISE for function_name in functions])[name]
    is_barrier = np.array([function_name == "MPI_Barrier" for function_name in functions])[name]
    good = same & same_comm & (name >= 0) & (on == calls.comm[calls.first[times]])
    good &= waits & (is_barrier | has_data)
    for own in _by_site(calls, times[good], name[good]):
        behind = functions[int(function[calls.first[own[0]]])]
        text = (
            f"{behind} is the next thing on every rank, and nobody leaves it before all have come"
        )
        yield _finding(calls, own, "none", text)


def _rows(calls: RecordedCalls) -> Iterator[HandMade]:
    """Broadcasts of one root from one call site, with nothing between them on any rank, and on the
    root hardly any time."""
    times = np.flatnonzero(calls.named("MPI_Bcast"))
    next_time = np.where(calls.next >= 0, calls.time_of[calls.next], -1)
    behind, same = calls.alike(times, next_time)
    good = same & (behind >= 0)
    first, other_first = calls.first[times], calls.first[np.maximum(behind, 0)]
    for column in (calls.comm, calls.function, calls.root, calls.site):
        good &= column[first] == column[other_first]
    following = dict(zip(times[good].tolist(), behind[good].tolist(), strict=True))
    joined: list[int] = []
    done: set[int] = set()
    for time in times.tolist():
        if time in done:
            continue
        row = [time]
        while row[-1] in following:
            row.append(following[row[-1]])
        done.update(row)
        if len(row) >= _IN_A_ROW and _idle_root(calls, row):
            joined += row
    for own in _by_site(calls, np.array(joined, np.int64)):
        text = (
            "broadcasts of one root follow each other with nothing between them: send all at once"
        )
        yield _finding(calls, own, "MPI_Bcast", text)


def _idle_root(calls: RecordedCalls, row: list[int]) -> bool:
    members = calls.times.picked(np.array(row)).at
    of_root = members[calls.rank[members] == calls.root[members]]
    if len(of_root) < len(row):
        return False
    within = calls.spent_ns(of_root)
    between = int(calls.end_ns[of_root[-1]] - calls.begin_ns[of_root[0]]) - within
    return between <= within


def _one_reader(calls: RecordedCalls) -> Iterator[HandMade]:
    """Allreduces whose result all ranks but one write over at once, the same one each time."""
    times = np.flatnonzero(calls.named("MPI_Allreduce"))
    # This was the last event of the rank, so nothing is known about later reads.
    times = times[~calls.times.picked(times).with_any(calls.behind < 0)]
    kept = ~_written_over(calls)
    for own in _by_site(calls, times):
        members = calls.times.picked(own)
        readers = np.unique(calls.rank[members.at[kept[members.at]]])
        if len(own) >= _TIMES and len(readers) == 1 and members.with_any(kept).all():
            text = (
                f"only rank {readers[0]} can have read the result: the others write over it at once"
            )
            yield _finding(calls, own, "MPI_Reduce", text)


def _written_over(calls: RecordedCalls) -> Mask:
    """Return by call, where something comes behind it."""
    columns, output = calls.recording.columns, calls.output
    nbytes, start = columns["bytes"][output], columns["address"][output]
    end = start + columns["extent"][output]
    begin = columns["post_ns"][calls.behind]
    soon = begin - calls.end_ns <= _NOT_READ_NS + _NOT_READ_NS_A_BYTE * nbytes
    over = np.zeros(len(output), bool)
    for later in (0, 1):
        at = np.minimum(calls.behind + later, len(columns["kind"]) - 1)
        address, kind = columns["address"][at], columns["kind"][at]
        writes = (kind == EventKind.OUTPUT) | (kind == EventKind.RECEIVE)
        writes &= columns["rank"][at] == calls.rank
        over |= writes & (address <= start) & (end <= address + columns["extent"][at])
    return np.asarray(over & soon & (nbytes > 0) & (calls.behind >= 0))


def _finding(calls: RecordedCalls, times: Indices, better: str, text: str) -> HandMade:
    recording, members = calls.recording, calls.times.picked(times)
    first = int(members.at[0])
    comm = int(calls.comm[first])
    communicator = recording.communicators[comm]
    sizes = np.sort(recording.columns["bytes"][calls.input[members.at]]).tolist()
    firsts = members.first[:-1]
    ends = np.maximum.reduceat(calls.end_ns[members.at], firsts)
    begins = np.minimum.reduceat(calls.begin_ns[members.at], firsts)
    last_to_come = np.maximum.reduceat(calls.begin_ns[members.at], firsts)
    site = int(calls.site[first])
    ranks = tuple(sorted(communicator.ranks))
    return HandMade(
        category="use",
        function=recording.functions[int(calls.function[first])],
        communicator=name_of(recording, comm),
        nprocs=recording.nprocs,
        groups=(described(ranks),),
        group_size=communicator.size,
        instances=len(times),
        bytes=sizes[len(sizes) // 2],
        bytes_least=sizes[0],
        bytes_most=sizes[-1],
        seconds=int((ends - begins).sum()) / 1e9,
        call_seconds=calls.spent_ns(members.at) / 1e9 / communicator.size,
        work_seconds=int(np.maximum(ends - last_to_come, 0).sum()) / 1e9,
        messages=0,
        evidence="proved",
        sites=(
            Site(
                "call", str(recording.call_sites[site]) if site >= 0 else "?", (), ranks, len(times)
            ),
        ),
        remarks=(text, *(() if better == "none" else (f"better: {better}",))),
    )
