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


def application(seen: Seen) -> Application:
    """Raises UsageError where it has no collective with a size."""
    nprocs = len(seen.machines)
    by_machine = {name: seen.machines.count(name) for name in set(seen.machines)}
    groups: dict[tuple[str, int, int], list[SeenCalls]] = {}
    for each in seen.calls:
        function = f"MPI_{each.function.removeprefix('MPI_')}"
        if function in COLLECTIVES and each.calls > 0 and 0 < each.size <= nprocs:
            groups.setdefault((function, each.size, each.least_bytes), []).append(each)
    calls = list(_calls(groups, nprocs, len(by_machine), max(by_machine.values(), default=0)))
    if not any(call.bytes for call in calls):
        raise UsageError("the profile of mpisee has no collective with a size")
    facts = seen.facts
    profile = Application.profiled(
        nprocs,
        max(seen.seconds, default=0.0),
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
    for (function, size, _), those in groups.items():
        count = sum(each.calls for each in those)
        sent = sum(each.bytes for each in those) / count
        whole = size == nprocs
        calls = count / nprocs
        fastest = min(each.seconds / each.calls for each in those)
        yield Calls(
            function=function,
            nprocs=size,
            nodes=nodes if whole else None,
            ppn=ppn if whole else None,
            bytes=round(sent * size if function in IN_BLOCKS else sent) or None,
            calls=calls,
            seconds=sum(each.seconds for each in those) / nprocs,
            fastest_seconds=fastest,
            work_seconds=calls * fastest,
        )
