"""Groups of ranks that measure parts of one plan at the same time: which parts, and their records
as those of one launch (docs/design/campaign.md). Pure.

All cases of a function are in one part, so that what is compared in a launch is measured by the
same ranks. The groups change places from launch to launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from plumbline.core.plan import Plan
from plumbline.system.placement import Placement
from plumbline_db.probe_records import (
    CaseRecord,
    ClockError,
    ConfigRecord,
    Footer,
    Header,
    Load,
    Order,
    ProbeRecord,
    UnderWay,
)


class PlanPart(msgspec.Struct, frozen=True):
    """The cases of a plan that one group measures, as a plan; `cases` are their numbers in the
    whole plan, `configs` the names there of its configurations."""

    plan: Plan
    cases: list[int]
    configs: dict[str, str]


PartsOf = Callable[[int], list[PlanPart]]
"""The parts of a plan for so many groups (`parts`)."""


def groups_of(whole: Placement, own: Placement) -> int:
    """Return how many groups with this placement, one behind the other, are in ranks whose first
    ones may stand for it (Panel.serves)."""
    if own.ppn == whole.ppn:
        return whole.nodes // own.nodes
    return (whole.nprocs if whole.ppn % own.ppn == 0 else whole.ppn) // own.ppn


def parts(plan: Plan, groups: int, launch: int) -> list[PlanPart]:
    """Return the parts of a plan for so many groups, at most; none where it has no two parts.
    `launch`: its number, which says who measures what."""
    by_function: dict[str, list[int]] = {}
    for number, case in enumerate(plan.cases):
        by_function.setdefault(case.function, []).append(number)
    if plan.pingpongs or plan.overlaps or plan.patterns or min(groups, len(by_function)) < 2:
        return []
    shares: list[list[int]] = [[] for _ in range(min(groups, len(by_function)))]
    for numbers in sorted(by_function.values(), key=len, reverse=True):
        min(shares, key=len).extend(numbers)
    first = launch % len(shares)
    return [_part(plan, sorted(share)) for share in (*shares[first:], *shares[:first])]


def _part(plan: Plan, numbers: list[int]) -> PlanPart:
    own = msgspec.structs.replace(plan, cases=tuple(plan.cases[number] for number in numbers))
    names = plan.configs()
    return PlanPart(own, numbers, {name: names[knobs] for knobs, name in own.configs().items()})


def joined(
    own_parts: Sequence[PlanPart], records: Sequence[Sequence[ProbeRecord]]
) -> list[ProbeRecord]:
    """Return the records of all groups as those of one launch of the whole plan. The header, the
    clock and the load are those of the first group, the error of the clock is the largest one."""
    every = list(
        chain.from_iterable(
            _renumbered(part, of_group) for part, of_group in zip(own_parts, records, strict=True)
        )
    )
    first, *others = (list(of_group) for of_group in records)
    of_launch = [record for record in first if not _is_of_cases(record)]
    before = [record for record in of_launch if isinstance(record, Header)]
    after = [record for record in of_launch if isinstance(record, Load)]
    between = [
        _largest(record, others) if isinstance(record, ClockError) else record
        for record in of_launch
        if not isinstance(record, Header | Load | Footer)
    ]
    cases = sorted(
        (record for record in every if isinstance(record, CaseRecord)),
        key=lambda record: record.case,
    )
    rest = [record for record in every if not isinstance(record, CaseRecord | ConfigRecord | Order)]
    footers = [record for group in records for record in group if isinstance(record, Footer)]
    return [
        *before,
        *_configs(record for record in every if isinstance(record, ConfigRecord)),
        *cases,
        *_orders(record for record in every if isinstance(record, Order)),
        *rest,
        *between,
        *after,
        *_footer(footers),
    ]


def _is_of_cases(record: ProbeRecord) -> bool:
    if isinstance(record, UnderWay):
        return False  # it tells of no case in a launch that came to its end
    return isinstance(record, ConfigRecord | Order) or hasattr(record, "case")


def _renumbered(part: PlanPart, records: Iterable[ProbeRecord]) -> Iterator[ProbeRecord]:
    """Yield what belongs to cases, with their numbers in the whole plan."""
    for record in records:
        if isinstance(record, Order):
            own = [part.cases[case] for case in record.cases]
            yield msgspec.structs.replace(record, cases=own)
        elif isinstance(record, ConfigRecord):
            yield msgspec.structs.replace(record, id=part.configs[record.id])
        elif isinstance(record, CaseRecord):
            case, config = part.cases[record.case], part.configs[record.config]
            yield msgspec.structs.replace(record, case=case, config=config)
        elif _is_of_cases(record):
            case = part.cases[getattr(record, "case")]  # noqa: B009 - it has one
            yield msgspec.structs.replace(record, case=case)


def _configs(records: Iterable[ConfigRecord]) -> list[ConfigRecord]:
    """Return one record a configuration: that of a group in which it is not in force, if any."""
    by_id: dict[str, ConfigRecord] = {}
    for record in records:
        if record.id not in by_id or not record.in_force:
            by_id[record.id] = record
    return list(by_id.values())


def _orders(records: Iterable[Order]) -> list[Order]:
    cases: dict[int, list[int]] = {}
    for record in records:
        cases.setdefault(record.block, []).extend(record.cases)
    return [Order(block, numbers) for block, numbers in sorted(cases.items())]


def _largest(error: ClockError, others: Iterable[Sequence[ProbeRecord]]) -> ClockError:
    alike = [
        record
        for of_group in others
        for record in of_group
        if isinstance(record, ClockError) and record.when == error.when
    ]
    return max([error, *alike], key=lambda each: max(each.errors_ns, default=0))


def _footer(footers: Sequence[Footer]) -> list[Footer]:
    """Return the footer of the group that took longest, with the cases of all."""
    longest = max(footers, key=lambda footer: footer.wall_ns)
    return [msgspec.structs.replace(longest, cases=sum(each.cases for each in footers))]
