"""Calls of collectives in a recording: a column a field, and which calls of all ranks are one
collective; and the application profile that they amount to."""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

import msgspec
import numpy as np

from plumbline.core.application import Application
from plumbline.detect import read
from plumbline.detect.core import Indices, Mask, Rows, classes, numbered
from plumbline.detect.kinds import EventKind
from plumbline.detect.recording import Communicator, Recording
from plumbline.results import profiling


def plain_name(function: str) -> str:
    """Bcast of MPI_Bcast, MPI_Ibcast and MPI_Bcast_init."""
    name = function.removeprefix("MPI_").removesuffix("_init")
    return name[1:].capitalize() if name.startswith("I") else name


class RecordedCalls(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Calls of collectives by all ranks, a number each, by rank and in order. `number` is its place
    among the communicator's calls; `input` and `output` are events. `times`: calls that are one
    collective, of which all ranks are there."""

    recording: Recording
    rank: Indices
    function: Indices
    comm: Indices
    number: Indices
    root: Indices
    site: Indices
    input: Indices
    output: Indices
    begin_ns: Indices
    end_ns: Indices

    @functools.cached_property
    def times(self) -> Rows:
        """Return the rows of calls in the order of communicators, then of calls."""
        every = classes(self.comm, self.number)
        heads = every.at[every.first[:-1]]
        sizes = np.array([comm.size for comm in self.recording.communicators], np.int64)
        order = np.lexsort((self.number[heads], self.comm[heads]))
        comm_sizes = sizes[self.comm[heads[order]]]
        return every.picked(order[(every.lengths[order] == comm_sizes) & (comm_sizes > 1)])

    @functools.cached_property
    def first(self) -> Indices:
        """Return by time: the call of its first rank."""
        return self.times.at[self.times.first[:-1]]

    @functools.cached_property
    def behind(self) -> Indices:
        """The event behind a call on the same rank; -1: there is none."""
        ranks = self.recording.columns["rank"]
        behind = np.maximum(self.input, self.output) + 1
        inside = np.minimum(behind, len(ranks) - 1)
        return np.where((behind < len(ranks)) & (ranks[inside] == self.rank), behind, -1)

    @functools.cached_property
    def next(self) -> Indices:
        """The call that is the next thing on the same rank; -1: there is none, or a message."""
        following = np.full(len(self.rank), -1, np.int64)
        behind = self.behind[:-1]
        follows = (behind == self.input[1:]) | (behind == self.output[1:])
        follows &= (behind >= 0) & (self.rank[1:] == self.rank[:-1])
        following[:-1][follows] = np.flatnonzero(follows) + 1
        return following

    @functools.cached_property
    def time_of(self) -> Indices:
        """The time that a call belongs to; -1: not all ranks are there."""
        owners = np.full(len(self.rank), -1, np.int64)
        owners[self.times.at] = self.times.owners
        return owners

    def named(self, *names: str) -> Mask:
        """Return by time: whether its function is one of these."""
        numbers = [at for at, name in enumerate(self.recording.functions) if name in names]
        return np.asarray(np.isin(self.function[self.first], numbers))

    def alike(self, times: Indices, values: Indices) -> tuple[Indices, Mask]:
        """The value of the first call of each time, and whether it is that of all."""
        members = self.times.picked(times)
        of_first = values[members.at[members.first[:-1]]]
        same = values[members.at] == np.repeat(of_first, members.lengths)
        return of_first, ~members.with_any(_at(values, members.at[~same]))

    def spent_ns(self, calls: Indices) -> int:
        return int((self.end_ns[calls] - self.begin_ns[calls]).sum())


def _at(values: Indices, places: Indices) -> Mask:
    mask = np.zeros(len(values), bool)
    mask[places] = True
    return mask


def collective_calls(recording: Recording) -> RecordedCalls:
    events, kinds = recording.events, recording.columns["kind"]
    inputs, outputs = (
        np.flatnonzero(kinds == EventKind.INPUT),
        np.flatnonzero(kinds == EventKind.OUTPUT),
    )

    def of(name: str, at: Indices) -> Indices:
        return events[name][at].astype(np.int64)

    both = np.concatenate([inputs, outputs])
    comms = of("rank", both) * len(recording.communicators) + of("comm", both)
    numbers = numbered(comms, of("sequence", both))
    output_of = np.full(len(both), -1, np.int64)
    output_of[numbers[len(inputs) :]] = outputs
    output = output_of[numbers[: len(inputs)]]
    output = np.where(output < 0, inputs, output)
    return RecordedCalls(
        recording=recording,
        rank=of("rank", inputs),
        function=of("function", inputs),
        comm=of("comm", inputs),
        number=of("sequence", inputs),
        root=of("peer", inputs),
        site=of("call_site", inputs),
        input=inputs,
        output=output,
        begin_ns=of("post_ns", inputs),
        end_ns=np.maximum(of("end_ns", inputs), of("end_ns", output)),
    )


_OF_INPUT = (
    *("MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan"),
    *("MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
)
_OF_OUTPUT = ("MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv")
_TO_ROOT = ("MPI_Gather", "MPI_Gatherv")
_FROM_ROOT = ("MPI_Scatter", "MPI_Scatterv")
# The functions that the preload library counts.
_COUNTED = ("MPI_Barrier", "MPI_Bcast", *_OF_INPUT, *_OF_OUTPUT, *_TO_ROOT, *_FROM_ROOT)


def application(folder: Path) -> Application:
    """Return the application of a finished recording. Raises PlumblineError where it is not
    whole."""
    about = read.about(folder)
    return profiling.application(
        ranks(read.read(folder)),
        version=about.version,
        command=about.command,
        started=about.started,
        status=about.status,
    )


def ranks(recording: Recording) -> list[profiling.ProfiledRank]:
    """Blocking collectives by rank, function, shape of the communicator and volume."""
    calls = collective_calls(recording)
    counted = [name in _COUNTED for name in recording.functions]
    which = np.flatnonzero(np.array(counted, bool)[calls.function])
    volumes = _volumes(calls)
    taken = calls.end_ns - calls.begin_ns
    keys = numbered(calls.function[which], volumes[which])
    alike = classes(keys, calls.comm[which] * recording.nprocs + calls.rank[which])
    calls_by_rank: dict[int, dict[tuple[str, int, int, int, int], tuple[int, int, int]]] = (
        defaultdict(dict)
    )
    shapes = [_shape(recording, comm) for comm in recording.communicators]
    for row in range(len(alike)):
        own = which[alike[row]]
        first = own[0]
        shape = shapes[int(calls.comm[first])]
        key = (recording.functions[int(calls.function[first])], *shape, int(volumes[first]))
        before = calls_by_rank[int(calls.rank[first])].get(key, (0, 0, 1 << 62))
        calls_by_rank[int(calls.rank[first])][key] = (
            before[0] + len(own),
            before[1] + int(taken[own].sum()),
            min(before[2], int(taken[own].min())),
        )
    return [
        profiling.ProfiledRank(
            job=0,
            rank=rank.rank,
            nprocs=recording.nprocs,
            finished=rank.finished,
            elapsed_ns=rank.end_ns - rank.begin_ns,
            lost=rank.lost,
            library=recording.library,
            calls=calls_by_rank[rank.rank],
        )
        for rank in recording.ranks
    ]


def _shape(recording: Recording, comm: Communicator) -> tuple[int, int, int]:
    """Ranks, nodes, and ranks of the fullest node; 0, 0 where there are two groups."""
    if comm.remote or min(comm.ranks, default=-1) < 0:
        return comm.size, 0, 0
    hosts = [recording.ranks[rank].host for rank in comm.ranks]
    return comm.size, len(set(hosts)), max(hosts.count(host) for host in set(hosts))


def _volumes(calls: RecordedCalls) -> Indices:
    """Return by call: as docs/plan-and-records.md defines it, by what its rank knows; -1: nobody
    does."""
    columns = calls.recording.columns
    sent, got = columns["bytes"][calls.input], columns["bytes"][calls.output]
    comms = calls.recording.communicators
    sizes = np.array([comm.size for comm in comms], np.int64)[calls.comm]
    names = np.array([*calls.recording.functions, ""])[calls.function]
    is_root = calls.rank == calls.root
    volumes = np.where(names == "MPI_Bcast", np.maximum(sent, got), 0)
    volumes = np.where(np.isin(names, _OF_INPUT), sent, volumes)
    volumes = np.where(np.isin(names, _OF_OUTPUT), got, volumes)
    to_root = np.where(is_root, got, sent * sizes)
    volumes = np.where(np.isin(names, _TO_ROOT), to_root, volumes)
    from_root = np.where(is_root, sent, got * sizes)
    volumes = np.where(np.isin(names, _FROM_ROOT), from_root, volumes)
    inter = np.array([bool(comm.remote) for comm in comms], bool)[calls.comm]
    return np.asarray(np.where(inter, -1, volumes))
