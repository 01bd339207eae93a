"""A profile that Score-P has written, as an application's use of collectives. Pure.

Score-P knows where calls stand and which ranks made them, not on which communicators: all calls are
taken for calls of all ranks. Of a place it knows the bytes of all calls there, so that calls of
several sizes count as calls of their mean size."""

from __future__ import annotations

from collections.abc import Iterator

from plumbline.core import cubex
from plumbline.core.application import Application, Calls, joined
from plumbline.core.cubex import CubeProfile, Values
from plumbline.core.mpisee import COLLECTIVES
from plumbline_db.errors import UsageError

_METRICS = ("visits", "time", "min_time", "bytes_sent", "bytes_received")
_MOST = 1e15


def read(data: bytes) -> Application:
    """Raises UsageError where it is none, or has no collectives with sizes."""
    profile = cubex.read(data, _METRICS, COLLECTIVES)
    nprocs = len(profile.nodes)
    if nprocs < 1:
        raise UsageError("the profile has no processes")
    calls = joined(_calls(profile))
    if not any(call.bytes for call in calls):
        raise UsageError(
            "it has no collective with a size: run the application with SCOREP_ENABLE_PROFILING "
            "and the groups coll of SCOREP_MPI_ENABLE_GROUPS, as is the default"
        )
    version = profile.creator or "Score-P"
    return Application.profiled(nprocs, profile.seconds, calls, version)


def _calls(profile: CubeProfile) -> Iterator[Calls]:
    import numpy as np

    nprocs = len(profile.nodes)
    hosts = {name: profile.nodes.count(name) for name in profile.nodes}
    inside = np.array([process is not None for process in profile.process])
    for site in profile.sites:
        if any(len(values) != len(inside) for values in site.values.values()):
            raise UsageError("a call does not have a value for each place")
        values = {name: np.where(inside, of, 0.0) for name, of in site.values.items()}
        visits = values.get("visits", np.zeros(len(inside)))
        if not all(np.all((of >= 0) & (of <= _MOST)) for of in values.values()):
            # The least time of a place without calls is meaningless.
            values = {name: _possible(of, visits) for name, of in values.items()}
            visits = values.get("visits", visits)
        if not visits.sum() > 0:
            continue
        calls = float(visits.sum()) / nprocs
        seconds = float(values["time"].sum()) / nprocs if "time" in values else 0.0
        fastest = seconds / calls
        if "min_time" in values:
            fastest = float(values["min_time"][visits > 0].max())
        moved = max(
            (float(values[name].sum()) for name in _METRICS[3:] if name in values), default=0.0
        )
        yield Calls(
            function=site.region,
            nprocs=nprocs,
            nodes=len(hosts),
            ppn=max(hosts.values()),
            bytes=round(moved / calls / _times(site.region, nprocs)) or None,
            calls=calls,
            seconds=seconds,
            fastest_seconds=fastest,
            # No call took less than the fastest call, and no place took more than its seconds.
            work_seconds=min(calls * fastest, seconds),
        )


def _possible(of: Values, visits: Values) -> Values:
    import numpy as np

    values = np.where(visits > 0, of, 0.0)
    if not np.all((values >= 0) & (values <= _MOST)):
        raise UsageError("a number of calls, bytes or seconds is impossible")
    return values


def _times(function: str, nprocs: int) -> float:
    """Return how many times the volume of a call Score-P counts over all ranks: it takes each call
    for messages between all pairs that have to do with each other, a rank with itself too."""
    if function.removesuffix("v") in ("MPI_Gather", "MPI_Scatter"):
        return 1
    if function == "MPI_Allreduce":
        return nprocs**2
    if function in ("MPI_Scan", "MPI_Exscan"):
        return max(1.0, nprocs * (nprocs + (1 if function == "MPI_Scan" else -1)) / 2)
    return nprocs
