"""A profile of an application, whoever wrote it: `plumbline profile`, mpiP, mpisee, or Score-P."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from plumbline.core import application, cubex
from plumbline.core.application import Application, Calls, joined
from plumbline.core.cubex import CubeProfile, Values
from plumbline.core.plan import IN_BLOCKS, REDUCTIONS, is_form
from plumbline_db import mpisee as seen
from plumbline_db import schema, user_files
from plumbline_db.errors import UsageError
from plumbline_db.mpisee import Seen, SeenCalls

# A profile that mpisee has written, as an application's use of collectives. Pure.
# mpisee knows communicators and classes of sizes, and of each the time in all, not that of single
# calls: of the ranks the one that took least is taken for one that did not wait.

_NAMES = IN_BLOCKS | REDUCTIONS | {"MPI_Bcast"}
_COLLECTIVES = frozenset(name for name in _NAMES if not is_form(name))


def _read_mpisee(profile_read: Seen) -> Application:
    """Raises UsageError where it has no collective with a size."""
    nprocs = len(profile_read.machines)
    by_machine = {name: profile_read.machines.count(name) for name in set(profile_read.machines)}
    groups: dict[tuple[str, int, int], list[SeenCalls]] = {}
    for each in profile_read.calls:
        function = f"MPI_{each.function.removeprefix('MPI_')}"
        if function in _COLLECTIVES and each.calls > 0 and 0 < each.size <= nprocs:
            groups.setdefault((function, each.size, each.least_bytes), []).append(each)
    calls = list(
        _mpisee_calls(groups, nprocs, len(by_machine), max(by_machine.values(), default=0))
    )
    if not any(call.bytes for call in calls):
        raise UsageError("the profile of mpisee has no collective with a size")
    facts = profile_read.facts
    profile = Application.profiled(
        nprocs,
        max(profile_read.seconds, default=0.0),
        calls,
        version=f"mpisee {facts.get('mpisee version', '')}",
        command=facts.get("Run command", ""),
    )
    return msgspec.structs.replace(
        profile,
        started=facts.get("Profile date", "").strip(),
        library=facts.get("MPI Library", "not known"),
    )


def _mpisee_calls(
    groups: dict[tuple[str, int, int], list[SeenCalls]], nprocs: int, nodes: int, ppn: int
) -> Iterator[Calls]:
    for (function, size, _), calls_of_group in groups.items():
        count = sum(call.calls for call in calls_of_group)
        sent = sum(call.bytes for call in calls_of_group) / count
        whole = size == nprocs
        calls = count / nprocs
        fastest = min(call.seconds / call.calls for call in calls_of_group)
        yield Calls(
            function=function,
            nprocs=size,
            nodes=nodes if whole else None,
            ppn=ppn if whole else None,
            bytes=round(sent * size if function in IN_BLOCKS else sent) or None,
            calls=calls,
            seconds=sum(call.seconds for call in calls_of_group) / nprocs,
            fastest_seconds=fastest,
            work_seconds=calls * fastest,
        )


# A profile that Score-P has written, as an application's use of collectives. Pure.
# Score-P knows where calls stand and which ranks made them, not on which communicators: all calls
# are taken for calls of all ranks. Of a place it knows the bytes of all calls there, so that calls
# of several sizes count as calls of their mean size.

_METRICS = ("visits", "time", "min_time", "bytes_sent", "bytes_received")


def read_scorep(data: bytes) -> Application:
    """Raises UsageError where it is none, or has no collectives with sizes."""
    profile = cubex.read(data, _METRICS, _COLLECTIVES)
    nprocs = len(profile.nodes)
    if nprocs < 1:
        raise UsageError("the profile has no processes")
    calls = joined(_scorep_calls(profile))
    if not any(call.bytes for call in calls):
        raise UsageError(
            "it has no collective with a size: run the application with SCOREP_ENABLE_PROFILING "
            "and the groups coll of SCOREP_MPI_ENABLE_GROUPS, as is the default"
        )
    version = profile.creator or "Score-P"
    return Application.profiled(nprocs, profile.seconds, calls, version)


def _scorep_calls(profile: CubeProfile) -> Iterator[Calls]:
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


# A profile that mpiP has written, as an application's use of collectives. Pure.
# mpiP knows call sites and ranks, not communicators: all calls are taken for calls of all ranks. Of
# a site it knows the mean size, so that calls of several sizes there count as calls of that one.

_MARK = "@ mpiP"
_FACT = re.compile(r"@ (Command|Version|Start time|MPI Task Assignment) *: *(.*)")
_SECTION = re.compile(r"@--- (.*)")
_TIMES, _SENT = "Callsite Time statistics", "Callsite Message Sent statistics"
_APPLICATION = "MPI Time (seconds)"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?\Z", re.IGNORECASE)
_MOST = 1e15


class _Site(msgspec.Struct):
    """The numbers of one call site, by rank: calls, milliseconds in all, milliseconds of the
    fastest call; and the bytes that a call sent."""

    calls: dict[int, float] = {}
    total: dict[int, float] = {}
    fastest: dict[int, float] = {}
    sent: dict[int, float] = {}


def read_mpip(text: str) -> Application:
    """Raises UsageError where it is none, or has no collectives with sizes."""
    facts: dict[str, list[str]] = {}
    sites: dict[tuple[str, int], _Site] = {}
    seconds = 0.0
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        begun, fact = _SECTION.match(line), _FACT.match(line)
        words = line.split()
        if begun:
            section = begun[1]
        elif fact:
            facts.setdefault(fact[1], []).append(fact[2].strip())
        elif section.startswith((_TIMES, _SENT)):
            _row(words, number, sites, times=section.startswith(_TIMES))
        elif section.startswith(_APPLICATION) and len(words) == 4 and words[0].isdigit():
            seconds = max(seconds, _value(words[1], number))
    nodes = Counter(task.split()[-1] for task in facts.get("MPI Task Assignment", []) if task)
    nprocs = sum(nodes.values())
    if nprocs < 1:
        raise UsageError("the mpiP profile lacks the hosts of its tasks: use the whole file")
    calls = joined(_calls(sites, nprocs, len(nodes), max(nodes.values())))
    if not any(call.bytes for call in calls):
        raise UsageError(
            "the mpiP profile has no collective with a size: run the application with the report "
            "of all call sites (MPIP without -c)"
        )
    version = facts.get("Version", [""])[0]
    profile = Application.profiled(
        nprocs,
        seconds,
        calls,
        version=f"mpiP {version}",
        command=facts.get("Command", [""])[0],
    )
    return msgspec.structs.replace(profile, started=facts.get("Start time", [""])[0])


def _row(
    words: list[str], number: int, sites: dict[tuple[str, int], _Site], *, times: bool
) -> None:
    """`Allreduce 1 0 100 0.10 0.05 0.01 …`: name, site, rank, count, largest, mean, least."""
    if len(words) < 7 or not (words[1].isdigit() and words[2].isdigit()):
        return  # a heading, or the sum over ranks
    function = f"MPI_{words[0]}"
    if function not in _COLLECTIVES:
        return
    rank = int(words[2][:10])
    count, _, mean, least = (_value(word, number) for word in words[3:7])
    site = sites.setdefault((function, int(words[1][:10])), _Site({}, {}, {}, {}))
    if times:
        site.calls[rank] = site.calls.get(rank, 0.0) + count
        site.total[rank] = site.total.get(rank, 0.0) + count * mean
        site.fastest[rank] = min(site.fastest.get(rank, math.inf), least)
    else:
        site.sent[rank] = mean


def _value(word: str, number: int) -> float:
    value = float(word) if _NUMBER.match(word) else math.nan
    if not 0 <= value <= _MOST:
        raise UsageError(f"the mpiP profile, line {number}: {word[:40]!r} is not a number of calls")
    return value


def _calls(
    sites: dict[tuple[str, int], _Site], nprocs: int, nodes: int, ppn: int
) -> Iterator[Calls]:
    for (function, _), site in sites.items():
        if not site.calls:
            continue
        calls = sum(site.calls.values()) / nprocs
        fastest = max(site.fastest.values()) / 1e3
        seconds = sum(site.total.values()) / 1e3 / nprocs
        yield Calls(
            function=function,
            nprocs=nprocs,
            nodes=nodes,
            ppn=ppn,
            bytes=_volume(function, max(site.sent.values(), default=0.0), nprocs),
            calls=calls,
            seconds=seconds,
            fastest_seconds=fastest,
            # No call took less than the fastest call, and no site took more than its seconds.
            work_seconds=min(calls * fastest, seconds),
        )


def _volume(function: str, sent: float, nprocs: int) -> int | None:
    """mpiP counts the block that a rank has for another. None: it does not say."""
    if sent <= 0:
        return None
    divided = function in IN_BLOCKS
    return round(sent * nprocs if divided else sent)


MOST_BYTES = 256 * 2**20


def read(path: Path) -> Application:
    """Raises UsageError where the file is none of them."""
    try:
        with user_files.open_file(path) as file:
            first = file.read(4096)
            head = first.lstrip()
            is_cube = first.startswith(cubex.GZIP) or first[257:262] == cubex.TAR
            whole = is_cube or head.startswith(_MARK.encode())
            rest = file.read(MOST_BYTES) if whole else b""
            beyond = file.read(1)
    except OSError as error:
        raise UsageError(f"cannot read the profile {path}: {error.strerror}") from error
    if schema.is_database(path):
        return _read_mpisee(seen.read(path))
    if not whole:
        return application.read(path)
    if rest and beyond:
        raise UsageError(f"profile {path}: larger than {MOST_BYTES // 2**20} MiB")
    try:
        if is_cube:
            return read_scorep(first + rest)
        return read_mpip((head + rest).decode("utf-8", errors="replace"))
    except UsageError as error:
        raise UsageError(f"profile {path}: {error}") from error
