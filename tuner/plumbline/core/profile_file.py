"""A profile of an application, whoever wrote it: `plumbline profile`, mpiP, mpisee, or Score-P."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline.core import application, cubex, printed_text
from plumbline.core.application import Application, Calls, joined
from plumbline.core.cubex import CubeProfile, Values
from plumbline.core.plan import IN_BLOCKS, REDUCTIONS, WITHOUT_SIZE, is_form
from plumbline.core.printed_text import Line
from plumbline_db import mpisee as seen
from plumbline_db import schema, user_files
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.mpisee import Seen, SeenCalls

# A profile that mpisee has written, as an application's use of collectives. Pure.
# mpisee knows communicators and classes of sizes, and of each the time in all, not that of single
# calls: of the ranks the one that took least is taken for one that did not wait.

_NAMES = IN_BLOCKS | REDUCTIONS | WITHOUT_SIZE | {"MPI_Bcast"}
_COLLECTIVES = frozenset(name for name in _NAMES if not is_form(name))
# Functions of whose calls mpisee counts the bytes of all blocks, not of one.
_SUMMED = frozenset({"MPI_Allgatherv", "MPI_Alltoallv", "MPI_Gatherv", "MPI_Scatterv"})
# Functions of whose calls it counts bytes at the root alone.
_AT_ROOT = frozenset({"MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"})


class ReadProfile(NamedTuple):
    """A profile, and a sentence for each kind of what could not be read of it."""

    application: Application
    left_out: list[str]


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
    for (function, size, _), calls_of_group in _with_ranks_that_do_not_count(groups).items():
        count = sum(call.calls for call in calls_of_group)
        bytes = sum(call.bytes for call in calls_of_group)
        at_root = function in _AT_ROOT and bytes > 0
        sent = bytes / sum(call.calls for call in calls_of_group if call.bytes or not at_root)
        whole = size == nprocs
        calls = count / nprocs
        fastest = min(call.seconds / call.calls for call in calls_of_group)
        in_blocks = function in IN_BLOCKS and function not in _SUMMED
        yield Calls(
            function=function,
            nprocs=size,
            nodes=nodes if whole else None,
            ppn=ppn if whole else None,
            bytes=_sized(function, round(sent * size if in_blocks else sent)),
            calls=calls,
            seconds=sum(call.seconds for call in calls_of_group) / nprocs,
            fastest_seconds=fastest,
            work_seconds=calls * fastest,
        )


def _with_ranks_that_do_not_count(
    groups: dict[tuple[str, int, int], list[SeenCalls]],
) -> dict[tuple[str, int, int], list[SeenCalls]]:
    """Return the groups, with the calls of ranks other than the root, which have no bytes and stand
    in the class of the smallest sizes, divided among the classes of the root's calls."""
    joined_groups: dict[tuple[str, int, int], list[SeenCalls]] = {}
    others: dict[tuple[str, int], list[SeenCalls]] = {}
    for (function, size, least), calls in groups.items():
        for call in calls:
            if function in _AT_ROOT and not call.bytes:
                others.setdefault((function, size), []).append(call)
            else:
                joined_groups.setdefault((function, size, least), []).append(call)
    roots: Counter[tuple[str, int]] = Counter()
    for (function, size, _), calls in joined_groups.items():
        roots[function, size] += sum(call.calls for call in calls)
    for (function, size, _), calls in joined_groups.items():
        share = sum(call.calls for call in calls) / roots[function, size]
        calls += [_part(call, share) for call in others.get((function, size), ())]
    for place, calls in others.items():
        if place not in roots:
            joined_groups[(*place, 0)] = calls
    return {key: [call for call in calls if call.calls > 0] for key, calls in joined_groups.items()}


def _part(call: SeenCalls, share: float) -> SeenCalls:
    return msgspec.structs.replace(
        call, calls=round(call.calls * share), seconds=call.seconds * share
    )


def _sized(function: str, volume: int) -> int | None:
    """Return the volume of a call; None where it is not known."""
    return 0 if function in WITHOUT_SIZE else volume or None


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
            bytes=_sized(site.region, round(moved / calls / _times(site.region, nprocs))),
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

_FACT = re.compile(r"\s*@ (Command|Version|Start time|MPI Task Assignment) *: *(.*)")
_SECTION = re.compile(r"\s*@--- (.*)")
# The sections of all ranks: `(all callsites, …)` is a shorter report.
_TIMES, _SENT = "Callsite Time statistics (all,", "Callsite Message Sent statistics (all,"
_APPLICATION = "MPI Time (seconds)"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?\Z", re.IGNORECASE)
_MOST = 1e15
_MARK, _HEAD = b"@ mpiP", 65536  # which stands among so many bytes of a report
_ALL_RANKS = "*"


class _Site(msgspec.Struct):
    """The numbers of one call site, by rank (-1: of all ranks together): calls, milliseconds in
    all, milliseconds of the fastest call; and the bytes that a call sent."""

    calls: dict[int, float] = {}
    total: dict[int, float] = {}
    fastest: dict[int, float] = {}
    sent: dict[int, float] = {}

    def of_ranks(self) -> _Site:
        """Return the numbers of each rank, or of all together where the report leaves out ranks
        below its threshold."""
        calls_of_ranks = sum(count for rank, count in self.calls.items() if rank >= 0)
        whole = self.calls.get(-1, 0.0) > calls_of_ranks
        ranks_taken = [rank for rank in self.calls if (rank < 0) == whole]
        return _Site(
            {rank: self.calls[rank] for rank in ranks_taken},
            {rank: self.total[rank] for rank in ranks_taken},
            {rank: self.fastest[rank] for rank in ranks_taken},
            {rank: sent for rank, sent in self.sent.items() if rank >= 0} or self.sent,
        )


def read_mpip(lines: Sequence[Line]) -> ReadProfile:
    """Raises UsageError where it is none, or has no collectives with sizes."""
    facts: dict[str, list[str]] = {}
    sites: dict[tuple[str, int], _Site] = {}
    broken: list[int] = []
    seconds = 0.0
    section = ""
    for line in lines:
        begun, fact = _SECTION.match(line.text), _FACT.match(line.text)
        words = line.text.split()
        try:
            if begun:
                section = begun[1]
            elif fact:
                facts.setdefault(fact[1], []).append(fact[2].strip())
            elif section.startswith((_TIMES, _SENT)):
                _row(words, sites, times=section.startswith(_TIMES))
            elif section.startswith(_APPLICATION) and len(words) == 4 and words[0].isdigit():
                seconds = max(seconds, _value(words[1]))
        except ValueError:
            broken.append(line.number)
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
    started = facts.get("Start time", [""])[0]
    return ReadProfile(msgspec.structs.replace(profile, started=started), _broken(broken))


def _broken(lines: Sequence[int]) -> list[str]:
    if not lines:
        return []
    named = ", ".join(str(number) for number in lines[:5])
    more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
    return [f"rows that cannot be read: line {named}{more}"]


def _row(words: list[str], sites: dict[tuple[str, int], _Site], *, times: bool) -> None:
    """Take `Allreduce 1 0 100 0.10 0.05 0.01 …`: name, site, rank, count, largest, mean, least.
    Raises ValueError where a number is none."""
    if len(words) < 7 or not (
        words[1].isdigit() and (words[2].isdigit() or words[2] == _ALL_RANKS)
    ):
        return  # a heading
    function = f"MPI_{words[0]}"
    if function not in _COLLECTIVES:
        return
    rank = -1 if words[2] == _ALL_RANKS else int(words[2][:10])
    count, _, mean, least = (_value(word) for word in words[3:7])
    site = sites.setdefault((function, int(words[1][:10])), _Site({}, {}, {}, {}))
    if times:
        site.calls[rank] = site.calls.get(rank, 0.0) + count
        site.total[rank] = site.total.get(rank, 0.0) + count * mean
        site.fastest[rank] = min(site.fastest.get(rank, math.inf), least)
    else:
        site.sent[rank] = mean


def _value(word: str) -> float:
    """Raises ValueError where a word is no number that is possible."""
    value = float(word) if _NUMBER.match(word) else math.nan
    if not 0 <= value <= _MOST:
        raise ValueError(word[:40])
    return value


def _calls(
    sites: dict[tuple[str, int], _Site], nprocs: int, nodes: int, ppn: int
) -> Iterator[Calls]:
    for (function, _), all_rows in sites.items():
        site = all_rows.of_ranks()
        if not site.calls:
            continue
        calls = sum(site.calls.values()) / nprocs
        fastest = max(site.fastest.values()) / 1e3
        seconds = sum(site.total.values()) / 1e3 / nprocs
        sent = max(site.sent.values(), default=0.0)
        yield Calls(
            function=function,
            nprocs=nprocs,
            nodes=nodes,
            ppn=ppn,
            # mpiP counts the block that a rank has for another.
            bytes=_sized(function, round(sent * nprocs if function in IN_BLOCKS else sent)),
            calls=calls,
            seconds=seconds,
            fastest_seconds=fastest,
            # No call took less than the fastest call, and no site took more than its seconds.
            work_seconds=min(calls * fastest, seconds),
        )


MOST_BYTES = 256 * 2**20


def read(path: Path) -> Application:
    """Raises UsageError where the file is none of them."""
    return read_with_remarks(path).application


def read_with_remarks(path: Path) -> ReadProfile:
    """Return the profile of a file, whoever has written it, and what could not be read. Raises
    UsageError where the file is none."""
    try:
        is_of_mpisee = schema.is_database(path)
    except PlumblineError as error:
        raise UsageError(str(error)) from error
    if is_of_mpisee:
        profile_read = seen.read(path)
        broken = [f"rows that cannot be read: {profile_read.broken}"] * bool(profile_read.broken)
        return ReadProfile(_read_mpisee(profile_read), broken)
    try:
        data = user_files.read(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read the profile {path}: {error.strerror}") from error
    try:
        unpacked = printed_text.unpacked(data, MOST_BYTES)
        if unpacked[257:262] == cubex.TAR:
            return ReadProfile(read_scorep(data), [])
        if _MARK in unpacked[:_HEAD].replace(b"\0", b""):
            return read_mpip(printed_text.lines(unpacked))
    except PlumblineError as error:
        raise UsageError(f"profile {path}: {error}") from error
    return ReadProfile(application.decoded(unpacked, path), [])
