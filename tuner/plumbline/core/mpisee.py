"""A profile that mpisee has written, as an application's use of collectives. Pure.

mpisee knows communicators and classes of sizes, and of each the time in all, not that of single
calls: of the ranks the one that took least is taken for one that did not wait."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline.core.application import Application, Calls
from plumbline.core.forms import is_form
from plumbline.core.plan import IN_BLOCKS, REDUCTIONS
from plumbline_db.errors import UsageError
from plumbline_db.mpisee import Seen, SeenCalls

_NAMES = IN_BLOCKS | REDUCTIONS | {"MPI_Bcast"}
COLLECTIVES = frozenset(name for name in _NAMES if not is_form(name))


def application(profile_read: Seen) -> Application:
    """Raises UsageError where it has no collective with a size."""
    nprocs = len(profile_read.machines)
    by_machine = {name: profile_read.machines.count(name) for name in set(profile_read.machines)}
    groups: dict[tuple[str, int, int], list[SeenCalls]] = {}
    for each in profile_read.calls:
        function = f"MPI_{each.function.removeprefix('MPI_')}"
        if function in COLLECTIVES and each.calls > 0 and 0 < each.size <= nprocs:
            groups.setdefault((function, each.size, each.least_bytes), []).append(each)
    calls = list(_calls(groups, nprocs, len(by_machine), max(by_machine.values(), default=0)))
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


def _calls(
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
