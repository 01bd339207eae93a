"""Groups of ranks that measure parts of a plan at the same time, without ranks."""

from __future__ import annotations

import pytest

from plumbline.core.plan import Configuration, Plan, PlanCase, RoundTrips
from plumbline.launch.groups import groups_of, joined, parts
from plumbline.system.placement import Placement
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    ClockError,
    ConfigRecord,
    Footer,
    KnobReading,
    Order,
    ProbeRecord,
    Samples,
    UnderWay,
)
from tests.db import build

RING, TREE = Configuration((("algorithm", "ring"),)), Configuration((("algorithm", "tree"),))
CASES = (
    PlanCase("MPI_Gather", 64),
    PlanCase("MPI_Allreduce", 64, configuration=RING),
    PlanCase("MPI_Allreduce", 64),
    PlanCase("MPI_Bcast", 64, configuration=TREE),
    PlanCase("MPI_Gather", 64, variant="gather_binomial"),
    PlanCase("MPI_Bcast", 64, configuration=RING),
)
PLAN = Plan("launch", 1, CASES)


def placement(nodes: int, ppn: int) -> Placement:
    return Placement(nodes=nodes, ppn=ppn)


@pytest.mark.parametrize(
    ("whole", "own", "groups"),
    [((1, 8), (1, 4), 2), ((1, 8), (1, 3), 2), ((4, 4), (1, 2), 8), ((4, 4), (1, 3), 1),
     ((8, 4), (2, 4), 4), ((8, 4), (8, 4), 1)],
)  # fmt: skip
def test_groups_have_nodes_or_parts_of_a_node_of_their_own(
    whole: tuple[int, int], own: tuple[int, int], groups: int
) -> None:
    assert groups_of(placement(*whole), placement(*own)) == groups


def test_a_function_is_measured_by_one_group() -> None:
    for groups, expected in ((2, 2), (3, 3), (9, 3)):
        found = parts(PLAN, groups, 0)
        assert len(found) == expected
        assert sorted(case for part in found for case in part.cases) == list(range(len(CASES)))
        functions = [{case.function for case in part.plan.cases} for part in found]
        assert sum(map(len, functions)) == len(set().union(*functions))
        for part in found:
            assert [CASES[number] for number in part.cases] == list(part.plan.cases)


def test_groups_change_places() -> None:
    first, second = (parts(PLAN, 2, launch) for launch in (0, 1))
    assert first == second[::-1] != second and parts(PLAN, 2, 2) == first


def test_some_plans_have_no_parts() -> None:
    assert parts(PLAN, 1, 0) == []
    assert parts(Plan("launch", 1, CASES[1:3]), 4, 0) == []
    assert parts(Plan("launch", 1, CASES, pingpongs=(RoundTrips(8, 10),)), 2, 0) == []


def records(plan: Plan, wall_ns: int, error_ns: int) -> list[ProbeRecord]:
    """Return what a group writes for a plan: each case takes its own bytes in nanoseconds."""
    names = plan.configs()
    return [
        build.header(build.run(), 1),
        *(
            ConfigRecord(name, True, "", {key: KnobReading(value, value) for key, value in knobs})
            for configuration, name in names.items()
            if name != "default"
            for knobs in [configuration.values if configuration else ()]
        ),
        *(
            CaseRecord(number, case.function, case.variant, names[case.configuration], case.bytes,
                       case.bytes, "MPI_BYTE", "", 0, 1)
            for number, case in enumerate(plan.cases)
        ),
        *(
            record
            for number in range(len(plan.cases))
            for record in (Begin(number), Check(number, "ok", ""))
        ),
        Order(0, list(range(len(plan.cases)))[::-1]),
        *(
            Samples(number, [0], [0], [1], [], [1000 + CASES.index(case)])
            for number, case in enumerate(plan.cases)
        ),
        UnderWay(None, None),
        ClockError("end", 5, [error_ns], [error_ns]),
        Footer(len(plan.cases), wall_ns // 2, wall_ns),
    ]  # fmt: skip


def test_records_of_all_groups_are_those_of_one_launch() -> None:
    own = parts(PLAN, 3, 1)
    found = joined(
        own, [records(part.plan, 100 * (number + 1), 9 - number) for number, part in enumerate(own)]
    )
    cases = [record for record in found if isinstance(record, CaseRecord)]
    assert [(each.function, each.variant, each.bytes) for each in cases] == [
        (case.function, case.variant, case.bytes) for case in CASES
    ]
    assert [each.config for each in cases] == [PLAN.configs()[case.configuration] for case in CASES]
    configs = {record.id: record for record in found if isinstance(record, ConfigRecord)}
    assert {name: each.knobs["algorithm"].read for name, each in configs.items()} == {
        PLAN.configs()[RING]: "ring",
        PLAN.configs()[TREE]: "tree",
    }
    samples = {record.case: record.ns for record in found if isinstance(record, Samples)}
    assert samples == {number: [1000 + number] for number in range(len(CASES))}
    (order,) = [record for record in found if isinstance(record, Order)]
    assert sorted(order.cases) == list(range(len(CASES)))
    (error,) = [record for record in found if isinstance(record, ClockError)]
    assert error.errors_ns == [9]
    assert found[-1] == Footer(len(CASES), 150, 300)
    checked = [record for record in found if isinstance(record, Begin | Check)]
    assert all(
        first.case == second.case for first, second in zip(*[iter(checked)] * 2, strict=True)
    )


def test_a_configuration_that_a_group_does_not_see_in_force_is_not() -> None:
    own = parts(PLAN, 2, 0)
    of_groups = [records(part.plan, 100, 1) for part in own]
    for group in of_groups:
        for number, record in enumerate(group):
            if isinstance(record, ConfigRecord) and group is of_groups[1]:
                group[number] = ConfigRecord(record.id, False, "no such component", record.knobs)
    configs = [record for record in joined(own, of_groups) if isinstance(record, ConfigRecord)]
    assert len(configs) == 2
    lost = {
        own[1].configs[record.id] for record in of_groups[1] if isinstance(record, ConfigRecord)
    }
    assert {record.id for record in configs if not record.in_force} == lost
