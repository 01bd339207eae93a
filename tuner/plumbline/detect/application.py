"""The calls that `plumbline profile` counts of an application, out of its recording: one run serves
both."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from plumbline.core.application import Application
from plumbline.detect import read
from plumbline.detect.calls import RecordedCalls, collective_calls
from plumbline.detect.columns import Indices, classes, numbered
from plumbline.detect.recording import Communicator, Recording
from plumbline.results import profiling

_OF_INPUT = (
    *("MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan"),
    *("MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
)
_OF_OUTPUT = ("MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv")
_TO_ROOT = ("MPI_Gather", "MPI_Gatherv")
_FROM_ROOT = ("MPI_Scatter", "MPI_Scatterv")
# The functions that the preload library counts.
COUNTED = ("MPI_Barrier", "MPI_Bcast", *_OF_INPUT, *_OF_OUTPUT, *_TO_ROOT, *_FROM_ROOT)


def application(folder: Path) -> Application:
    """Return that of a finished recording. Raises PlumblineError where it is not whole."""
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
    counted = [name in COUNTED for name in recording.functions]
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
