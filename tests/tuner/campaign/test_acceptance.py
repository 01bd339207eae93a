"""Winners are tried wherever a user stands: what is kept, cut back, refused, and taken beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from plumbline.campaign.acceptance import LOOKS, Accepted, WinnerAcceptance
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.search.races import Setup
from plumbline.search.space.candidates import CandidateSpace
from plumbline.settings.campaign_file import load
from plumbline_db import runs
from plumbline_db.records import Suite, Winner
from tests.exporters.bundles import tuned, variant
from tests.tuner import simulated
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, SimulatedStarter

SIZES = {
    "MPI_Allreduce": [8, 64, 512, 4096, 32768],
    "MPI_Gather": [64, 512, 4096],
    "MPI_Reduce": [64, 512, 4096],
    "MPI_Reduce_scatter": [8, 64, 512, 4096, 32768],
    "MPI_Scatterv": [64, 512, 4096],
}
RING = ("MPI_Allreduce", "ring")
FAST = {RING: lambda *_: 0.6}


ASKED = {"nprocs": 4, "sizes": [64, 512], "blocks": 2, "reps": 2}


def acceptance_of(
    store: LaunchStore,
    around: dict[str, str] | None = None,
    in_force: Callable[[Sequence[Winner]], dict[str, str]] = lambda *_: {},
    **more: str,
) -> WinnerAcceptance:
    settings, space = load(None, ASKED | more), CandidateSpace(simulated.toolchain(), 4)
    space.hot_environment = around or {}
    setup = Setup(store, settings, space, tables.plan(settings, []), SIZES)
    return WinnerAcceptance(setup, in_force, placement=None, crowded=True)


def judged(
    lab: Lab,
    costs: Costs,
    *winners: Winner,
    type: str = "MPI_BYTE",
    op: str = "MPI_BOR",
    reserves: Sequence[Winner] = (),
    **more: object,
) -> tuple[Accepted, SimulatedStarter]:
    starter = SimulatedStarter(costs, launch_noise=0.02, **more)  # type: ignore[arg-type]
    acceptance = acceptance_of(lab.store(starter), type=type, op=op)
    return acceptance.judge(winners, lambda _: list(reserves)), starter


def ranges(found: list[Winner]) -> list[tuple[int, int]]:
    return [(winner.bytes_from, winner.bytes_to) for winner in found]


def test_a_winner_that_is_fast_everywhere_is_kept_and_says_where(lab: Lab) -> None:
    done, starter = judged(lab, Costs(algorithm=FAST), tuned(*RING, 64, 512))
    assert done.refused == []
    (kept,) = done.winners
    tried = {(one.use, one.type, one.op) for one in kept.tried}
    types = [("MPI_BYTE", "MPI_BOR"), ("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM")]
    own, *others = types
    assert tried == {
        *((use, *own) for use in ("barrier", "loop", "stream")),
        *(("barrier", *type) for type in others),
    }
    assert all(one.speedup == pytest.approx(1 / 0.6, rel=0.05) for one in kept.tried)
    assert all(one.worst_low < one.speedup for one in kept.tried)
    assert {suite for suite, _ in starter.launches} == {"accept-1-first", "accept-1"}


def test_a_rule_of_a_profile_is_for_the_types_that_it_holds_for(lab: Lab) -> None:
    """Sizes at which it is fast for all types are for all."""
    ours = msgspec.structs.replace(variant("MPI_Reduce", "reduce_ring", 64, 4096), removes=[])
    costs = Costs(
        own={"reduce_ring": 0.6},
        where={("reduce_ring", f"MPI_BYTE {size}"): 2.0 for size in (64, 512)},
    )
    done, _ = judged(lab, costs, ours, type="MPI_DOUBLE", op="MPI_SUM")
    assert done.refused == []
    narrow, wide = done.winners
    assert ranges(done.winners) == [(64, 512), (4096, 4096)]
    assert (narrow.restrictions, wide.restrictions) == (["type=floating"], [])
    assert {one.type for one in narrow.tried} == {"MPI_DOUBLE", "MPI_FLOAT"}
    assert {one.type for one in wide.tried} == {"MPI_BYTE", "MPI_DOUBLE", "MPI_FLOAT"}
    ((winner, why),) = done.narrowed
    assert winner == narrow and why.startswith("slower at 64 B (") and "MPI_BYTE" in why


SHAPED = ("MPI_Reduce_scatter", "reduce_scatter_ring")


@pytest.mark.parametrize("shape", ["linear", "last", "half"])
def test_a_rule_of_a_profile_that_is_slower_in_a_count_shape_is_for_equal_counts(
    lab: Lab, shape: str
) -> None:
    """Sizes at which it is fast in all shapes are for all counts."""
    ours = msgspec.structs.replace(variant(*SHAPED, 512, 32768), removes=[])
    costs = Costs(
        own={SHAPED[1]: 0.6}, where={(SHAPED[1], f"{shape} {size}"): 2.0 for size in (512, 4096)}
    )
    done, starter = judged(lab, costs, ours)
    assert done.refused == []
    narrow, wide = done.winners
    assert ranges(done.winners) == [(512, 4096), (32768, 32768)]
    assert (narrow.restrictions, wide.restrictions) == (["counts=equal"], [])
    assert {one.counts for one in narrow.tried} == {"equal"}
    shapes = [one for one in wide.tried if one.counts != "equal"]
    assert {one.counts for one in shapes} == {"linear", "last", "half"}
    assert {(one.use, one.type) for one in shapes} == {("barrier", "MPI_BYTE")}
    ((winner, why),) = done.narrowed
    assert winner == narrow and why.startswith("slower at 512 B (barrier, MPI_BYTE/MPI_BOR, ")
    assert f"counts={shape}): 1." in why
    assert {suite for suite, _ in starter.launches} == {"accept-1-first", "accept-1"}


def test_both_conditions_together(lab: Lab) -> None:
    ours = msgspec.structs.replace(variant(*SHAPED, 512, 4096), removes=[])
    costs = Costs(
        own={SHAPED[1]: 0.6}, where={(SHAPED[1], word): 2.0 for word in ("last", "MPI_BYTE")}
    )
    done, _ = judged(lab, costs, ours, type="MPI_DOUBLE", op="MPI_SUM")
    (kept,) = done.winners
    assert sorted(kept.restrictions) == ["counts=equal", "type=floating"]
    assert {(one.type, one.counts) for one in kept.tried} == {
        *(("MPI_DOUBLE", "equal"), ("MPI_FLOAT", "equal"))
    }


@pytest.mark.parametrize(
    "ours",
    [
        tuned("MPI_Reduce_scatter", "ring", 512, 4096),  # a rules file sees no counts
        variant("MPI_Scatterv", "scatterv_linear", 512, 4096),  # nor does the rank that is no root
        variant(*SHAPED, 8, 64),  # too small to tell shapes apart
    ],
)
def test_what_cannot_be_for_equal_counts_alone_is_refused(lab: Lab, ours: Winner) -> None:
    fast = {("MPI_Reduce_scatter", "ring"): lambda *_: 0.6}
    names = ("ring", "scatterv_linear", SHAPED[1])
    costs = Costs(
        algorithm=fast, own=dict.fromkeys(names, 0.6), where={(name, "last"): 2.0 for name in names}
    )
    done, _ = judged(lab, costs, msgspec.structs.replace(ours, removes=[]))
    assert done.winners == []
    assert "counts=last): 1." in done.refused[0][1]


@pytest.mark.parametrize("word", ["MPI_DOUBLE", "MPI_FLOAT"])
@pytest.mark.parametrize("own", [("MPI_DOUBLE", "MPI_SUM"), ("MPI_BYTE", "MPI_BOR")])
def test_no_condition_saves_what_is_slower_with_types_that_applications_reduce(
    lab: Lab, word: str, own: tuple[str, str]
) -> None:
    ours = variant("MPI_Reduce", "reduce_ring", 64, 512)
    costs = Costs(own={"reduce_ring": 0.6}, where={("reduce_ring", word): 2.0})
    done, _ = judged(lab, costs, ours, type=own[0], op=own[1])
    assert done.winners == [] and word in done.refused[0][1]


@pytest.mark.parametrize("word", ["loop", "stream", "MPI_DOUBLE", "MPI_FLOAT"])
def test_slower_in_one_circumstance_is_refused(lab: Lab, word: str) -> None:
    costs = Costs(algorithm=FAST, where={("ring", word): 2.0})
    done, _ = judged(lab, costs, tuned(*RING, 64, 512))
    assert done.winners == []
    ((lost, why),) = done.refused
    assert (lost.bytes_from, lost.bytes_to) == (64, 512)
    assert why.startswith("seems slower at 64 B (")
    assert word in why


LINEAR = ("MPI_Allreduce", "linear")


@pytest.mark.parametrize(("times", "held"), [(2.0, True), (1.05 / 0.6, False)])
def test_a_reserve_is_tried_where_the_winner_is_given_up(
    lab: Lab, times: float, held: bool
) -> None:
    """In the launches that follow the first ones. What the winner loses by little, after all looks,
    gets a second choice afterwards."""
    costs = Costs(algorithm=FAST | {LINEAR: lambda *_: 0.8}, where={("ring", "stream"): times})
    winner, reserve = (
        msgspec.structs.replace(tuned(*what, 64, 512), removes=[]) for what in (RING, LINEAR)
    )
    done, starter = judged(lab, costs, winner, reserves=[reserve])
    assert done.winners == [] and done.reserves == [reserve] * held
    assert bool(done.held) == held and (len(starter.launches) < 16) == held
    for one in done.held:
        assert (one.bytes_from, one.bytes_to) == (64, 512)
        assert all(tried.speedup == pytest.approx(1 / 0.8, rel=0.05) for tried in one.tried)


def test_a_reserve_costs_nothing_where_the_winner_holds(lab: Lab) -> None:
    winner, reserve = tuned(*RING, 64, 512), tuned(*LINEAR, 64, 512)
    done, starter = judged(lab, Costs(algorithm=FAST), winner, reserves=[reserve])
    assert done.refused == [] and done.held == []
    assert len(starter.launches) == LOOKS.launches[0]
    assert not any("algorithm=linear" in run.plan for run in lab.runs())


def test_what_is_not_known_to_be_no_slower_is_refused(lab: Lab) -> None:
    costs = Costs(algorithm=FAST, where={("ring", "stream"): 1.05 / 0.6})
    done, starter = judged(lab, costs, tuned(*RING, 64, 512))
    assert done.winners == []
    assert done.refused[0][1].startswith("perhaps slower at 64 B (stream")
    assert {suite for suite, _ in starter.launches} == {
        "accept-1-first",
        *(Suite("accept", 1, look=look).name for look in (1, 2, 3, 4, 5)),
    }


@pytest.mark.parametrize(("ratio", "late"), [(0.98, True), (1.07, False)])
def test_what_seems_no_slower_gets_more_launches(lab: Lab, ratio: float, late: bool) -> None:
    """It is a gain everywhere else. Here its launches lie far apart, as on a machine with moods."""
    costs = Costs(algorithm=FAST, where={("ring", "stream"): ratio / 0.6})
    starter = SimulatedStarter(costs, launch_noise=0.02, case_noise=0.08)
    acceptance_of(lab.store(starter)).judge([tuned(*RING, 64, 64)])
    looks = {suite for suite, _ in starter.launches}
    assert "accept-1-look-05" in looks and ("accept-1-look-06" in looks) == late


def test_a_range_keeps_the_sizes_that_hold(lab: Lab) -> None:
    costs = Costs(algorithm={RING: lambda size, _: 0.6 if size > 64 else 1.3})
    removes = [f"GL12@{size}" for size in (64, 512, 4096)]
    wide = msgspec.structs.replace(tuned(*RING, 50, 5000), removes=removes)
    done, _ = judged(lab, costs, wide)
    assert done.winners[0].removes == removes[1:]
    assert ranges(done.winners) == [(512, 32768)]  # and the next size, where it is faster too
    assert ranges([lost for lost, _ in done.refused]) == [(50, 64)]


def test_neighbours_are_taken_as_far_as_it_is_clearly_faster(lab: Lab) -> None:
    costs = Costs(algorithm={RING: lambda size, _: 0.6 if 64 <= size <= 4096 else 0.99})
    done, _ = judged(lab, costs, tuned(*RING, 400, 600))
    assert ranges(done.winners) == [(64, 4096)]


def test_neighbours_of_two_go_to_the_faster_one(lab: Lab) -> None:
    costs = Costs(
        algorithm={RING: lambda *_: 0.6, ("MPI_Allreduce", "recursive_doubling"): lambda *_: 0.7}
    )
    low, high = tuned(*RING, 8, 8), tuned("MPI_Allreduce", "recursive_doubling", 32768, 32768)
    done, _ = judged(lab, costs, low, high)
    assert ranges(done.winners) == [(8, 4096), (32768, 32768)]


def test_one_for_all_sizes_stands_or_falls_as_a_whole(lab: Lab) -> None:
    binomial = ("MPI_Gather", "binomial")
    costs = Costs(algorithm={binomial: lambda size, _: 0.6 if size > 64 else 1.3})
    done, _ = judged(lab, costs, tuned(*binomial))
    assert done.winners == []
    assert "at 64 B" in done.refused[0][1]


def test_what_has_no_upper_end_must_do_no_harm_far_above(lab: Lab) -> None:
    linear = ("MPI_Gather", "linear")
    costs = Costs(algorithm={linear: lambda size, _: 0.6 if size < 1 << 20 else 1.3})
    done, _ = judged(lab, costs, tuned(*linear))
    assert done.winners == []
    assert "at 4194304 B" in done.refused[0][1]


@pytest.mark.parametrize("what", ["unsupported", "wrong"])
def test_of_one_type(lab: Lab, what: str) -> None:
    """What a variant cannot do the library does; a wrong result anywhere is refused."""
    done, _ = judged(
        lab,
        Costs(own={"reduce_ring": 0.5}),
        variant("MPI_Reduce", "reduce_ring", 64, 512),
        corrupt=lambda case: (
            what if (case.variant, case.type) == ("reduce_ring", "MPI_FLOAT") else "ok"
        ),
    )
    if what == "wrong":
        assert done.winners == []
        assert "wrong" in done.refused[0][1]
    else:
        (kept,) = done.winners
        assert "MPI_FLOAT" not in {way.type for way in kept.tried}


@pytest.mark.parametrize(("factor", "kept"), [(0.97, True), (1.0, False)])
def test_a_small_gain_is_measured_until_it_is_seen(lab: Lab, factor: float, kept: bool) -> None:
    costs = Costs(algorithm={RING: lambda *_: factor})
    done, _ = judged(lab, costs, tuned(*RING, 64, 512))
    assert bool(done.winners) is kept
    assert bool(done.refused) is not kept
    assert all(why.startswith("no gain is seen: 1.0") for _, why in done.refused)


def test_what_was_accepted_is_not_tried_again(lab: Lab) -> None:
    starter = SimulatedStarter(Costs(algorithm=FAST), launch_noise=0.02)
    acceptance = acceptance_of(lab.store(starter))
    first = acceptance.judge([tuned(*RING, 64, 512)]).winners
    launches = len(starter.launches)
    part = msgspec.structs.replace(first[0], bytes_to=first[0].bytes_from, removes=["GL12@64"])
    assert acceptance.judge([part]).winners == [part]
    assert len(starter.launches) == launches


@pytest.mark.parametrize(
    ("ours", "turns"),
    [
        (("MPI_Reduce", "reduce_ring"), 1),  # messages alone
        (("MPI_Reduce", "reduce_as_allreduce"), 2),
    ],
)
def test_variants_whose_calls_knobs_are_about_wait_for_these(
    lab: Lab, ours: tuple[str, str], turns: int
) -> None:
    starter = SimulatedStarter(Costs(algorithm=FAST, own={ours[1]: 0.5}), launch_noise=0.02)
    asked: list[list[str]] = []

    def in_force(standing: Sequence[Winner]) -> dict[str, str]:
        asked.append([winner.function for winner in standing])
        return {"IN": "force"}

    store = lab.store(starter)
    acceptance = acceptance_of(store, {"HOT": "1"}, in_force)
    wanted = [tuned(*RING, 64, 512), variant(*ours, 64, 512)]
    done = acceptance.judge(wanted)
    assert (done.suite, asked) == (Suite("accept", 1), [])
    expected = {"accept-1": {"HOT": "1"}}
    if turns == 2:
        done = acceptance.judge(done.winners)
        assert (done.suite, asked) == (Suite("accept", 2), [["MPI_Allreduce"]])
        expected["accept-2"] = {"HOT": "1", "IN": "force"}
    assert acceptance.judge(done.winners).suite is None
    known = runs.suites(lab.db, lab.campaign.id)
    environments = {f"accept-{known[run.suite].round}": run.environment for run in lab.runs()}
    assert environments == expected


def test_ours_are_tried_with_ours_that_they_call_in_force(lab: Lab) -> None:
    """Reduce as Allreduce waits for the Allreduce of ours; Gather calls nobody."""
    names = ("allreduce_ring", "reduce_as_allreduce", "gather_binomial")
    starter = SimulatedStarter(Costs(own=dict.fromkeys(names, 0.5)), launch_noise=0.02)
    asked: list[set[str]] = []

    def in_force(standing: Sequence[Winner]) -> dict[str, str]:
        asked.append({winner.function for winner in standing})
        return {}

    acceptance = acceptance_of(lab.store(starter), {}, in_force)
    functions = ("MPI_Allreduce", "MPI_Reduce", "MPI_Gather")
    wanted = [variant(*one, 64, 512) for one in zip(functions, names, strict=True)]
    done = acceptance.judge(wanted)
    assert (done.suite, asked) == (Suite("accept", 1), [])
    done = acceptance.judge(done.winners)
    assert (done.suite, asked) == (Suite("accept", 2), [{"MPI_Allreduce", "MPI_Gather"}])
