"""A look at whether what was measured is the state that calls come to when they are repeated: what
is to be said where it is not, or where the first call was another. Pure.

The probe lets a case settle before it takes samples, and says which samples are from before a later
change (docs/measurement.md, "Until times settle")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from plumbline.core.plan import Plan
from plumbline.system.words import counted
from plumbline_db.probe_records import CaseRecord, ProbeRecord, Samples, Transit

# Calls at most that let a case settle; repetitions at most until a simulated machine repeats
# itself.
SETTLE = 256
CYCLE = 10

FIRST = 0.01  # a first call that differs by more is worth a word
_NAMED = 5


class FirstBlockTimes(msgspec.Struct, frozen=True):
    """The times that a case, `label`, took in the first block of one of so many `launches`;
    `transit`: how many blocks of it are no results."""

    label: str
    warmup_ns: Sequence[int]
    ns: Sequence[int]
    settled: bool
    launches: int = 1
    transit: int = 0


def named(function: str, how: str, bytes: int, ranks: int) -> str:
    """A case in a few words; `ranks` 0: on all."""
    return f"{function} {how} at {bytes} B" + (f" on {ranks} ranks" if ranks else "")


def start_of(
    label: str, record: Samples | None, transit: int, launches: int = 1
) -> FirstBlockTimes:
    """Return the start of a case from the first block that it has; None: it had settled."""
    if record is None:
        return FirstBlockTimes(label, (), (), True, launches, transit)
    warmup_ns = record.warmup_ns[: record.warmups[0]]
    ns = record.ns[: record.samples[0]]
    return FirstBlockTimes(label, warmup_ns, ns, all(record.settled[:1]), launches, transit)


def starts(raw: Iterable[Sequence[ProbeRecord]]) -> list[FirstBlockTimes]:
    """Return the starts in the records of launches."""
    first_blocks = []
    for records in raw:
        cases = {record.case: record for record in records if isinstance(record, CaseRecord)}
        later = {record.case: record.blocks for record in records if isinstance(record, Transit)}
        for record in records:
            if isinstance(record, Samples) and record.blocks[:1] == [0]:
                case = cases[record.case]
                how = case.variant if case.config == "default" else f"{case.variant} {case.config}"
                label = named(case.function, how, case.bytes, case.ranks)
                transit = later.get(record.case, 0)
                first_blocks.append(start_of(label, record, transit))
    launches = Counter(start.label for start in first_blocks)
    return [
        msgspec.structs.replace(start, launches=launches[start.label]) for start in first_blocks
    ]


def until_settled(plan: Plan, *, simulated: bool) -> Plan:
    """A simulated machine repeats itself, so that one cycle says all; warm-up is part of it."""
    if simulated:
        return msgspec.structs.replace(plan, reps=1, warmup=0, cycle=CYCLE)
    return msgspec.structs.replace(plan, settle=SETTLE if plan.warmup < SETTLE else 0)


def unsettled(starts: Iterable[FirstBlockTimes], *, simulated: bool) -> str:
    """Empty where all have settled."""
    launches_by_label: dict[str, int] = {}
    for start in starts:
        if not start.settled:
            launches_by_label[start.label] = launches_by_label.get(start.label, 0) + 1
    if not launches_by_label:
        return ""
    names = [
        f"{label} ({counted(launches, 'launch')})" for label, launches in launches_by_label.items()
    ]
    if simulated:
        return (
            f"{counted(len(launches_by_label), 'case')} found no cycle in {CYCLE} repetitions, and "
            f"the mean of the second half of them is what is reported: {some(names)}"
        )
    return (
        f"the times of {counted(len(launches_by_label), 'case')} still fell when their samples "
        f"were taken, after up to {SETTLE} calls: {some(names)}; these samples are of a library "
        "that is still changing how it does it"
    )


def first_calls(starts: Iterable[FirstBlockTimes]) -> str:
    """Return the cases of a simulated machine whose first call takes another time than those it
    settles at."""
    far: dict[str, tuple[float, float, float]] = {}
    for start in starts:
        if start.warmup_ns and start.ns and start.ns[0] > 0:
            first, settled = start.warmup_ns[0], start.ns[0]
            far[start.label] = (abs(first / settled - 1), first, settled)
    worst = sorted(
        ((label, *times) for label, times in far.items() if times[0] > FIRST),
        key=lambda one: -one[1],
    )
    if not worst:
        return ""
    names = [f"{label} {first / 1e3:g} µs, then {ns / 1e3:g}" for label, _, first, ns in worst]
    return (
        f"the first call of {counted(len(worst), 'case')} of {len(far)} takes another time, by "
        f"more than {100 * FIRST:g} %, than the calls that follow, which are what is reported: "
        f"{some(names)}"
    )


def in_transit(starts: Iterable[FirstBlockTimes]) -> str:
    """Whose first blocks are no results, in more launches than not and in two at least. Where ranks
    share cores, blocks differ by chance in some launches of any case."""
    by_label: dict[str, list[FirstBlockTimes]] = {}
    for start in starts:
        if start.transit:
            by_label.setdefault(start.label, []).append(start)
    names = [
        f"{label} (up to {counted(max(start.transit for start in in_launches), 'block')} "
        f"of {len(in_launches)} of {counted(in_launches[0].launches, 'launch')})"
        for label, in_launches in by_label.items()
        if len(in_launches) > max(1, in_launches[0].launches / 2)
    ]
    if not names:
        return ""
    return (
        f"{counted(len(names), 'case')} became faster while launches went on, and what was taken "
        f"before that is left out: {some(names)}; what a program sees depends on how often it "
        "calls"
    )


def some(names: Sequence[str]) -> str:
    """The first of them, and how many there are besides."""
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])
