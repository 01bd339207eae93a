"""The cases of a violation table, its looks, and why a cell has no time; what a turn has decided
stands in the next one where no winner that has changed reaches."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.guidelines import load as load_guidelines
from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.comparison import claim_of
from plumbline.measure.launches import Series
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Verdict
from tests.tuner.lab import Lab
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter

FEW = msgspec.structs.replace(
    GUIDELINES, patterns=[one for one in GUIDELINES.patterns if one.id in ("GL3", "GL12")]
)


def settings(**changes: object) -> Settings:
    chosen = {"nprocs": 4, "sizes": [1, 64, 16384], "launches": 12, "blocks": 1, "reps": 2}
    return load(None, chosen | changes)


def test_every_left_side_and_the_right_sides_of_patterns() -> None:
    found = tables.cases(FEW, settings())
    assert found == [
        PlanCase("MPI_Gather", 64),
        PlanCase("MPI_Gather", 16384),
        PlanCase("MPI_Allreduce", 4),
        PlanCase("MPI_Allreduce", 64),
        PlanCase("MPI_Allreduce", 16384),
        PlanCase("MPI_Gather", 64, "gather_as_allgather"),
        PlanCase("MPI_Gather", 16384, "gather_as_allgather"),
        PlanCase("MPI_Allreduce", 4, "allreduce_as_reduce_plus_bcast"),
        PlanCase("MPI_Allreduce", 64, "allreduce_as_reduce_plus_bcast"),
        PlanCase("MPI_Allreduce", 16384, "allreduce_as_reduce_plus_bcast"),
    ]


def test_cases_warm_up_shortly_unless_the_library_learns() -> None:
    plan = tables.plan(settings(), [PlanCase("MPI_Gather", 64)])
    text = msgspec.structs.replace(plan, name="before-000").text()
    assert " warmup=4 " in text and f" settle={plan.settle}" in text and plan.settle > 16


def test_messages_in_pieces_and_on_fewer_ranks() -> None:
    """Pieces of at least `least_bytes`; on half of the ranks, blocks as long as on all of them."""
    every = load_guidelines()
    assert every.rank is not None
    cut = msgspec.structs.replace(every.split, pieces=[2, 4])
    chosen = msgspec.structs.replace(every.selected(["GL3", every.rank.id]), split=cut)
    least = cut.least_bytes
    found = tables.cases(chosen, settings(sizes=[64, 2 * least, 4 * least]))
    plain = [PlanCase("MPI_Gather", size) for size in (64, 2 * least, 4 * least)]
    assert [one for one in found if one.ranks] == [
        PlanCase("MPI_Gather", one.bytes // 2, ranks=2) for one in plain
    ]
    assert [(one.bytes, one.variant) for one in found if "split" in one.variant] == [
        (2 * least, "gather_as_split:pieces=2"),
        (4 * least, "gather_as_split:pieces=2"),
        (4 * least, "gather_as_split:pieces=4"),
    ]
    assert found[:3] == plain
    assert not any(one.ranks for one in tables.cases(chosen, settings(root=2)))


def test_both_sides_of_a_pattern_are_planned_once() -> None:
    chosen = load_guidelines().selected(["PL15", "PL31"])
    assert [one.lhs for one in chosen.patterns] == ["MPI_Bcast", "MPI_Ibcast"]
    found = tables.cases(chosen, settings(sizes=[1, 64]))
    assert [(one.function, one.variant, one.bytes) for one in found] == [
        ("MPI_Bcast", "default", 1),
        ("MPI_Bcast", "default", 64),
        ("MPI_Ibcast", "default", 1),
        ("MPI_Ibcast", "default", 64),
        ("MPI_Bcast", "bcast_as_ibcast_plus_wait", 1),
        ("MPI_Bcast", "bcast_as_ibcast_plus_wait", 64),
        ("MPI_Ibcast", "ibcast_as_bcast", 1),
        ("MPI_Ibcast", "ibcast_as_bcast", 64),
    ]


def test_the_plan_carries_the_settings() -> None:
    wanted = settings(type="MPI_DOUBLE", op="MPI_SUM", root=3, seed=9, blocks=4, reps=7)
    plan = tables.plan(wanted, [])
    assert (plan.data.type, plan.data.op, plan.data.root) == ("MPI_DOUBLE", "MPI_SUM", 3)
    assert (plan.seed, plan.blocks, plan.reps) == (9, 4, 7)


def begun(lab: Lab, starter: SimulatedStarter, wanted: Settings):  # type: ignore[no-untyped-def]
    """A laboratory with the launches of the first look."""
    store = lab.store(starter)
    first = tables.plan(wanted, tables.cases(FEW, wanted))
    Series(store, Suite("before"), first, {}).advance(wanted.sampling.launches)
    return store


def decided(lab: Lab, starter: SimulatedStarter, wanted: Settings):  # type: ignore[no-untyped-def]
    store = begun(lab, starter, wanted)
    return tables.ViolationTable(store, "before", FEW, wanted, Suite("before")).decide()


def by_suite(lab: Lab) -> dict[str, list[str]]:
    """The plans of each suite's launches."""
    found: dict[str, list[str]] = {}
    for run in lab.runs():
        found.setdefault(run.suite, []).append(run.plan)
    return found


def key(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.guideline, verdict.function, verdict.bytes


def noisy() -> SimulatedStarter:
    """Allreduce at 16 KiB is 2 % slower than its mock-up; the noise takes long to see through."""
    costs = Costs(default={"MPI_Allreduce": lambda size: 1.14 if size == 16384 else 1.0})
    return SimulatedStarter(costs, case_noise=0.05)


def test_each_look_measures_what_is_undecided_alone(lab: Lab) -> None:
    wanted = settings(launches=9)
    store = begun(lab, noisy(), wanted)
    table = tables.ViolationTable(store, "before", FEW, wanted, Suite("before"))
    first = table.look()
    undecided = {key(one) for one in first if one.verdict == "undecided"}
    assert ("GL12", "MPI_Allreduce", 16384) in undecided
    assert 0 < len(undecided) == table.open_cells() < len(first)
    found = {
        key(one): one
        for one in tables.ViolationTable(store, "before", FEW, wanted, Suite("before")).decide()
    }
    for one in first:
        final = found[key(one)]
        if one.verdict == "undecided":
            assert final.launches > 9 and final.suites[:2] == ["before", "before-look-02"]
        else:
            assert (final.verdict, final.launches) == (one.verdict, 9)
            assert (final.ratio, final.ratio_high) == (one.ratio, one.ratio_high)
            assert final.suites == ["before"]
    design = claim_of(wanted).design
    plans = by_suite(lab)
    cases = {
        suite: {line for line in texts[0].splitlines() if line.startswith("case")}
        for suite, texts in plans.items()
    }
    sizes = [len(cases[suite]) for suite in plans]
    assert sizes == sorted(sizes, reverse=True) and sizes[1] < sizes[0]
    assert list(plans) == [Suite("before", look=look + 1).name for look in range(len(plans))]
    for look, texts in enumerate(plans.values()):
        assert len(texts) == design.new_launches(look)
    assert {one.launches for one in found.values()} <= set(design.launches)


def test_no_two_launches_of_a_table_have_the_same_seed(lab: Lab) -> None:
    decided(lab, noisy(), settings(launches=9))
    texts = [text for plans in by_suite(lab).values() for text in plans]
    seeds = [word for text in texts for word in text.split() if word.startswith("seed=")]
    assert len(seeds) == len(texts) > 9
    assert len(set(seeds)) == len(seeds)


def test_a_table_is_decided_again_from_what_is_stored(lab: Lab) -> None:
    wanted = settings(launches=9)
    found = decided(lab, noisy(), wanted)
    launches = lab.runs()
    assert decided(lab, SimulatedStarter(Costs(), stop_after=0), wanted) == found
    assert lab.runs() == launches


def test_nothing_undecided_nothing_more(lab: Lab) -> None:
    found = decided(lab, SimulatedStarter(Costs(), case_noise=0.001), settings())
    assert {one.verdict for one in found} == {"holds"}
    assert list(by_suite(lab)) == ["before"]


def test_what_launches_cannot_decide_gets_none(lab: Lab) -> None:
    """A mock-up whose result is wrong has no time, however often it is launched."""
    starter = SimulatedStarter(
        Costs(),
        case_noise=0.001,
        corrupt=lambda case: "wrong" if case.variant == "gather_as_allgather" else "ok",
    )
    found = decided(lab, starter, settings())
    assert {one.guideline for one in found if one.verdict == "undecided"} == {"GL3"}
    assert list(by_suite(lab)) == ["before"]


def test_one_look_at_most(lab: Lab) -> None:
    found = decided(lab, noisy(), settings(launches=9, launches_max=9))
    assert list(by_suite(lab)) == ["before"]
    assert "undecided" in {one.verdict for one in found}


def test_looks_are_paid_for(lab: Lab) -> None:
    """p is divided by the share of the first look, a quarter at half of the launches."""
    costs = Costs(default={"MPI_Allreduce": lambda _: 3.0})
    wanted = settings(launches=6, launches_max=12, sizes=[64, 16384])
    store = begun(lab, SimulatedStarter(costs), wanted)
    found = tables.ViolationTable(store, "before", FEW, wanted, Suite("before")).look()
    cell = next(one for one in found if (one.guideline, one.bytes) == ("GL12", 64))
    assert cell.p == pytest.approx(2**-6)
    assert cell.p_adjusted is not None and cell.p_adjusted >= 4 * 2**-6


@pytest.mark.parametrize("kind", ["monotony", "split", "pattern"])
def test_open_cases_are_both_sides_of_what_is_undecided(lab: Lab, kind: str) -> None:
    """Of all tests of a cell: a size of a split cell may be compared with every smaller one."""
    wanted = settings(launches=6)
    store = begun(lab, SimulatedStarter(Costs(), case_noise=2.0), wanted)
    table = tables.ViolationTable(store, "before", FEW, wanted, Suite("before"))
    undecided = [one for one in table.look() if one.verdict == "undecided"]
    of_kind = [one for one in undecided if one.kind == kind]
    assert of_kind
    open_cases = table.open_cases()
    assert set(open_cases) <= set(tables.cases(FEW, wanted))
    for one in of_kind:
        right = PlanCase(one.function, one.other_bytes)
        if kind == "pattern":
            right = PlanCase(one.function, one.bytes, one.rhs)
        assert PlanCase(one.function, one.bytes) in open_cases
        assert right in open_cases


def test_a_mock_up_that_is_wrong_leaves_its_cells_undecided(lab: Lab) -> None:
    starter = SimulatedStarter(
        Costs(), corrupt=lambda case: "wrong" if case.variant == "gather_as_allgather" else "ok"
    )
    found = decided(lab, starter, settings())
    cells = [one for one in found if one.guideline == "GL3"]
    assert len(cells) == 2
    for one in cells:
        assert one.verdict == "undecided"
        assert one.reason == "right side gather_as_allgather: wrong: simulated"
        assert one.ratio is None
