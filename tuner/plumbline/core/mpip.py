"""A profile that mpiP has written, as an application's use of collectives. Pure.

mpiP knows call sites and ranks, not communicators: all calls are taken for calls of all ranks. Of a
site it knows the mean size, so that calls of several sizes there count as calls of that one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from plumbline.core.application import Application, Calls, joined
from plumbline.core.mpisee import COLLECTIVES
from plumbline.core.plan import IN_BLOCKS
from plumbline_db.errors import UsageError

MARK = "@ mpiP"
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


def read(text: str) -> Application:
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
    if function not in COLLECTIVES:
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
