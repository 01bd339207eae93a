"""Collectives that are called, and whose use is a mistake as far as the recording proves it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from plumbline.detect.findings import HandMade, Site
from plumbline.detect.groups import described
from plumbline.detect.kinds import Kind
from plumbline.detect.recording import Events, Recording

# After these everybody has heard of everybody else.
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
SPARSE = 0.5
LEAST_RANKS = 4
# So many broadcasts behind each other could be one.
IN_A_ROW = 4
# So often an output must be lost, on all ranks but one, before it was there for so short a time
# that nobody can have read it: ns, and ns a byte.
TIMES, NOT_READ_NS, NOT_READ_NS_A_BYTE = 10, 400, 0.02


class Call(msgspec.Struct, frozen=True, eq=False):
    """A call of a collective on one rank: its input's and output's event, and its place among
    the rank's events; `number` is its place among the communicator's calls."""

    rank: int
    function: str
    comm: int
    number: int
    root: int
    site: int
    input: int
    output: int
    begin_ns: int
    end_ns: int


def uses(recording: Recording) -> list[HandMade]:
    """All mistakes, each once a call site."""
    calls = _calls(recording)
    by_time: dict[tuple[int, int], list[Call]] = defaultdict(list)
    for listed in calls.values():
        for call in listed:
            by_time[call.comm, call.number].append(call)
    whole = {
        key: members
        for key, members in by_time.items()
        if len(members) == recording.communicators[key[0]].size > 1
    }
    found = [*_sparse(recording, whole), *_barriers(recording, calls, whole)]
    return [*found, *_rows(recording, calls, whole), *_one_reader(recording, calls, whole)]


def _calls(recording: Recording) -> dict[int, list[Call]]:
    """By rank, in order."""
    events = recording.events
    kinds = events["kind"]
    inputs = np.flatnonzero(kinds == Kind.INPUT)
    outputs = {
        (int(events["rank"][at]), int(events["comm"][at]), int(events["sequence"][at])): int(at)
        for at in np.flatnonzero(kinds == Kind.OUTPUT)
    }
    found: dict[int, list[Call]] = defaultdict(list)
    for at in inputs.tolist():
        event = events[at]
        key = (int(event["rank"]), int(event["comm"]), int(event["sequence"]))
        output = outputs.get(key, at)
        found[key[0]].append(
            Call(
                rank=key[0],
                function=recording.functions[int(event["function"])],
                comm=key[1],
                number=key[2],
                root=int(event["peer"]),
                site=int(event["call_site"]),
                input=at,
                output=output,
                begin_ns=int(event["post_ns"]),
                end_ns=int(max(event["end_ns"], events["end_ns"][output])),
            )
        )
    return found


Times = dict[tuple[int, int], list[Call]]


def _sparse(recording: Recording, whole: Times) -> Iterator[HandMade]:
    events = recording.events
    by_site: dict[int, list[list[Call]]] = defaultdict(list)
    shares: dict[int, list[float]] = defaultdict(list)
    for (comm, _), members in whole.items():
        size = recording.communicators[comm].size
        if members[0].function not in ("MPI_Alltoallv", "MPI_Alltoallw") or size < LEAST_RANKS:
            continue
        blocks = sum(max(0, int(events["blocks"][call.input])) for call in members)
        by_site[members[0].site].append(members)
        shares[members[0].site].append(blocks / size**2)
    for site, times in by_site.items():
        share = float(np.mean(shares[site]))
        if share <= SPARSE:
            text = (
                f"{1 - share:.0%} of its blocks are empty: a neighbourhood collective, or "
                "messages between those that have something to say"
            )
            yield _finding(recording, times, "MPI_Neighbor_alltoallv", text)


def _next_of(events: Events, call: Call) -> int:
    """The event behind a call on the same rank; -1: there is none."""
    at = max(call.input, call.output) + 1
    return at if at < len(events) and int(events["rank"][at]) == call.rank else -1


def _barriers(
    recording: Recording, calls: dict[int, list[Call]], whole: Times
) -> Iterator[HandMade]:
    following: dict[tuple[int, int, int], Call] = {}
    for listed in calls.values():
        for left, right in itertools.pairwise(listed):
            if _next_of(recording.events, left) in (right.input, right.output):
                following[left.rank, left.comm, left.number] = right
    by_site: dict[tuple[int, str], list[list[Call]]] = defaultdict(list)
    for members in whole.values():
        if members[0].function != "MPI_Barrier":
            continue
        behind = [following.get((each.rank, each.comm, each.number)) for each in members]
        names = {"" if each is None else each.function for each in behind}
        comms = {-1 if each is None else each.comm for each in behind}
        name = next(iter(names))
        data = [recording.events["bytes"][each.input] for each in behind if each is not None]
        says = name in _SYNCHRONISE and (name == "MPI_Barrier" or any(data))
        if len(names) == 1 and comms == {members[0].comm} and says:
            by_site[members[0].site, name].append(members)
    for (_, name), times in by_site.items():
        text = f"{name} is the next thing on every rank, and nobody leaves it before all have come"
        yield _finding(recording, times, "none", text)


def _rows(recording: Recording, calls: dict[int, list[Call]], whole: Times) -> Iterator[HandMade]:
    """Broadcasts of one root from one call site, with nothing between them on any rank, and on the
    root hardly any time."""
    alone: dict[int, dict[tuple[int, int], tuple[int, int]]] = {}
    for rank, listed in calls.items():
        alone[rank] = {}
        for left, right in itertools.pairwise(listed):
            if _next_of(recording.events, left) in (right.input, right.output):
                alone[rank][left.comm, left.number] = (right.comm, right.number)
    by_site: dict[int, list[list[Call]]] = defaultdict(list)
    done: set[tuple[int, int]] = set()
    for key in sorted(whole):
        if key in done or whole[key][0].function != "MPI_Bcast":
            continue
        row = [key]
        while (behind := _joined(whole, alone, row[-1])) is not None:
            row.append(behind)
        done.update(row)
        if len(row) >= IN_A_ROW and _idle_root(whole, row):
            by_site[whole[key][0].site] += [whole[each] for each in row]
    for times in by_site.values():
        text = (
            "broadcasts of one root follow each other with nothing between them: send all at once"
        )
        yield _finding(recording, times, "MPI_Bcast", text)


def _joined(
    whole: Times, alone: dict[int, dict[tuple[int, int], tuple[int, int]]], key: tuple[int, int]
) -> tuple[int, int] | None:
    """The next broadcast, where on all ranks it is the next thing that they do."""
    first = whole[key][0]
    behind = {alone[call.rank].get(key) for call in whole[key]}
    if len(behind) != 1:
        return None
    other = next(iter(behind))
    if other is None or other not in whole or other[0] != key[0]:
        return None
    call = whole[other][0]
    same = (call.function, call.root, call.site) == (first.function, first.root, first.site)
    return other if same else None


def _idle_root(whole: Times, row: Sequence[tuple[int, int]]) -> bool:
    of_root = [next(call for call in whole[key] if call.rank == call.root) for key in row]
    within = sum(call.end_ns - call.begin_ns for call in of_root)
    between = of_root[-1].end_ns - of_root[0].begin_ns - within
    return between <= within


def _one_reader(
    recording: Recording, calls: dict[int, list[Call]], whole: Times
) -> Iterator[HandMade]:
    """Allreduces whose result all ranks but one write over at once, the same one each time."""
    lost: dict[tuple[int, int, int], bool | None] = {}
    for listed in calls.values():
        for call in listed:
            if call.function == "MPI_Allreduce":
                lost[call.rank, call.comm, call.number] = _written_over(recording.events, call)
    by_site: dict[int, list[list[Call]]] = defaultdict(list)
    readers: dict[int, set[int]] = defaultdict(set)
    for members in whole.values():
        if members[0].function != "MPI_Allreduce":
            continue
        seen = {each.rank: lost[each.rank, each.comm, each.number] for each in members}
        if None in seen.values():
            continue  # the last thing that a rank did: nobody knows
        kept = {rank for rank, is_lost in seen.items() if not is_lost}
        by_site[members[0].site].append(members)
        readers[members[0].site] |= kept if kept else {-1}
    for site, times in by_site.items():
        if len(times) >= TIMES and len(readers[site]) == 1 and -1 not in readers[site]:
            reader = next(iter(readers[site]))
            text = f"only rank {reader} can have read the result: the others write over it at once"
            yield _finding(recording, times, "MPI_Reduce", text)


def _written_over(events: Events, call: Call) -> bool | None:
    """None: nothing comes behind it."""
    output = events[call.output]
    at = _next_of(events, call)
    if at < 0:
        return None
    if not output["bytes"]:
        return False
    begin = int(events["post_ns"][at])
    limit = NOT_READ_NS + NOT_READ_NS_A_BYTE * int(output["bytes"])
    start, end = int(output["address"]), int(output["address"]) + int(output["extent"])
    for event in events[at : at + 2]:
        writes = event["kind"] in (Kind.OUTPUT, Kind.RECEIVE) and event["rank"] == call.rank
        there = int(event["address"])
        if writes and there <= start and end <= there + int(event["extent"]):
            return begin - call.end_ns <= limit
    return False


def _finding(
    recording: Recording, times: Sequence[Sequence[Call]], better: str, text: str
) -> HandMade:
    events = recording.events
    first = times[0][0]
    known = recording.communicators[first.comm]
    sizes = sorted(int(events["bytes"][call.input]) for members in times for call in members)
    seconds = [
        (max(call.end_ns for call in members) - min(call.begin_ns for call in members)) / 1e9
        for members in times
    ]
    spent = sum(call.end_ns - call.begin_ns for members in times for call in members) / 1e9
    work = sum(
        max(0, max(call.end_ns for call in members) - max(call.begin_ns for call in members))
        for members in times
    )
    place = str(recording.call_sites[first.site]) if first.site >= 0 else "?"
    ranks = tuple(sorted(known.ranks))
    return HandMade(
        category="use",
        function=first.function,
        communicator=known.name or ("MPI_COMM_WORLD" if first.comm == 0 else f"{known.size} ranks"),
        nprocs=recording.nprocs,
        groups=(described(ranks),),
        group_size=known.size,
        instances=len(times),
        bytes=sizes[len(sizes) // 2],
        bytes_least=sizes[0],
        bytes_most=sizes[-1],
        seconds=sum(seconds),
        call_seconds=spent / known.size,
        work_seconds=work / 1e9,
        messages=0,
        evidence="proved",
        sites=(Site("call", place, (), ranks, len(times)),),
        remarks=(text, *(() if better == "none" else (f"better: {better}",))),
    )
