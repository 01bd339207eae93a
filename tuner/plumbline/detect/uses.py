"""Collectives that are called, and whose use is a mistake as far as the recording proves it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plumbline.detect.calls import Calls, collective_calls
from plumbline.detect.columns import Indices, Mask, classes
from plumbline.detect.findings import HandMade, Site, name_of
from plumbline.detect.groups import described
from plumbline.detect.kinds import Kind
from plumbline.detect.recording import Recording

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


def uses(recording: Recording) -> list[HandMade]:
    """All mistakes, each once a call site."""
    calls = collective_calls(recording)
    if not len(calls.times):
        return []
    return [*_sparse(calls), *_barriers(calls), *_rows(calls), *_one_reader(calls)]


def _by_site(calls: Calls, times: Indices, more: Indices | None = None) -> Iterator[Indices]:
    """Times of each call site, and of what else they have to have in common."""
    sites = calls.site[calls.first[times]]
    rows = classes(sites, np.zeros_like(sites) if more is None else more)
    for row in range(len(rows)):
        yield times[rows[row]]


def _sparse(calls: Calls) -> Iterator[HandMade]:
    sizes = calls.times.lengths
    times = np.flatnonzero(calls.named("MPI_Alltoallv", "MPI_Alltoallw") & (sizes >= LEAST_RANKS))
    blocks = np.maximum(calls.recording.columns["blocks"][calls.input], 0)
    for own in _by_site(calls, times):
        members = calls.times.picked(own)
        full = np.add.reduceat(blocks[members.at], members.first[:-1])
        share = float(np.mean(full / members.lengths**2))
        if share <= SPARSE:
            text = (
                f"{1 - share:.0%} of its blocks are empty: a neighbourhood collective, or "
                "messages between those that have something to say"
            )
            yield _finding(calls, own, "MPI_Neighbor_alltoallv", text)


def _barriers(calls: Calls) -> Iterator[HandMade]:
    times = np.flatnonzero(calls.named("MPI_Barrier"))
    following, functions = calls.next, calls.recording.functions
    there = following >= 0
    function = np.where(there, calls.function[following], -1)
    comm = np.where(there, calls.comm[following], -1)
    name, same = calls.alike(times, function)
    on, same_comm = calls.alike(times, comm)
    nbytes = calls.recording.columns["bytes"][calls.input]
    has_data = calls.times.picked(times).with_any(there & (nbytes[following] > 0))
    waits = np.array([each in _SYNCHRONISE for each in functions])[name]
    is_barrier = np.array([each == "MPI_Barrier" for each in functions])[name]
    good = same & same_comm & (name >= 0) & (on == calls.comm[calls.first[times]])
    good &= waits & (is_barrier | has_data)
    for own in _by_site(calls, times[good], name[good]):
        behind = functions[int(function[calls.first[own[0]]])]
        text = (
            f"{behind} is the next thing on every rank, and nobody leaves it before all have come"
        )
        yield _finding(calls, own, "none", text)


def _rows(calls: Calls) -> Iterator[HandMade]:
    """Broadcasts of one root from one call site, with nothing between them on any rank, and on the
    root hardly any time."""
    times = np.flatnonzero(calls.named("MPI_Bcast"))
    next_time = np.where(calls.next >= 0, calls.time_of[calls.next], -1)
    behind, same = calls.alike(times, next_time)
    good = same & (behind >= 0)
    first, other = calls.first[times], calls.first[np.maximum(behind, 0)]
    for column in (calls.comm, calls.function, calls.root, calls.site):
        good &= column[first] == column[other]
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
        if len(row) >= IN_A_ROW and _idle_root(calls, row):
            joined += row
    for own in _by_site(calls, np.array(joined, np.int64)):
        text = (
            "broadcasts of one root follow each other with nothing between them: send all at once"
        )
        yield _finding(calls, own, "MPI_Bcast", text)


def _idle_root(calls: Calls, row: list[int]) -> bool:
    members = calls.times.picked(np.array(row)).at
    of_root = members[calls.rank[members] == calls.root[members]]
    if len(of_root) < len(row):
        return False
    within = calls.spent_ns(of_root)
    between = int(calls.end_ns[of_root[-1]] - calls.begin_ns[of_root[0]]) - within
    return between <= within


def _one_reader(calls: Calls) -> Iterator[HandMade]:
    """Allreduces whose result all ranks but one write over at once, the same one each time."""
    times = np.flatnonzero(calls.named("MPI_Allreduce"))
    # The last thing that a rank did: nobody knows.
    times = times[~calls.times.picked(times).with_any(calls.behind < 0)]
    kept = ~_written_over(calls)
    for own in _by_site(calls, times):
        members = calls.times.picked(own)
        readers = np.unique(calls.rank[members.at[kept[members.at]]])
        if len(own) >= TIMES and len(readers) == 1 and members.with_any(kept).all():
            text = (
                f"only rank {readers[0]} can have read the result: the others write over it at once"
            )
            yield _finding(calls, own, "MPI_Reduce", text)


def _written_over(calls: Calls) -> Mask:
    """By call, where something comes behind it."""
    columns, output = calls.recording.columns, calls.output
    nbytes, start = columns["bytes"][output], columns["address"][output]
    end = start + columns["extent"][output]
    begin = columns["post_ns"][calls.behind]
    soon = begin - calls.end_ns <= NOT_READ_NS + NOT_READ_NS_A_BYTE * nbytes
    over = np.zeros(len(output), bool)
    for later in (0, 1):
        at = np.minimum(calls.behind + later, len(columns["kind"]) - 1)
        here, kind = columns["address"][at], columns["kind"][at]
        writes = (kind == Kind.OUTPUT) | (kind == Kind.RECEIVE)
        writes &= columns["rank"][at] == calls.rank
        over |= writes & (here <= start) & (end <= here + columns["extent"][at])
    return np.asarray(over & soon & (nbytes > 0) & (calls.behind >= 0))


def _finding(calls: Calls, times: Indices, better: str, text: str) -> HandMade:
    recording, members = calls.recording, calls.times.picked(times)
    first = int(members.at[0])
    comm = int(calls.comm[first])
    known = recording.communicators[comm]
    sizes = np.sort(recording.columns["bytes"][calls.input[members.at]]).tolist()
    firsts = members.first[:-1]
    ends = np.maximum.reduceat(calls.end_ns[members.at], firsts)
    begins = np.minimum.reduceat(calls.begin_ns[members.at], firsts)
    last_to_come = np.maximum.reduceat(calls.begin_ns[members.at], firsts)
    site = int(calls.site[first])
    ranks = tuple(sorted(known.ranks))
    return HandMade(
        category="use",
        function=recording.functions[int(calls.function[first])],
        communicator=name_of(recording, comm),
        nprocs=recording.nprocs,
        groups=(described(ranks),),
        group_size=known.size,
        instances=len(times),
        bytes=sizes[len(sizes) // 2],
        bytes_least=sizes[0],
        bytes_most=sizes[-1],
        seconds=int((ends - begins).sum()) / 1e9,
        call_seconds=calls.spent_ns(members.at) / 1e9 / known.size,
        work_seconds=int(np.maximum(ends - last_to_come, 0).sum()) / 1e9,
        messages=0,
        evidence="proved",
        sites=(
            Site(
                "call",
                str(recording.call_sites[site]) if site >= 0 else "?",
                (),
                ranks,
                len(times),
            ),
        ),
        remarks=(text, *(() if better == "none" else (f"better: {better}",))),
    )
