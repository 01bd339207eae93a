"""Who shares a cold launch: what is called underneath, and what is seen where nobody says so; what
is found out where the library's own call ends launches."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries.space_file import for_library
from plumbline.measure import tables
from plumbline.search.race.cold_launches import AGREE, Company, settings_of
from plumbline.search.race.effort import Effort
from plumbline.search.race.entering import Lineup
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.neighbours import Past
from plumbline.search.rounds import Around
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.settings.campaign_file import load
from plumbline.system import paths
from plumbline_db.records import Trial
from tests.db import build
from tests.tuner.cold_machine import ColdStarter, candidate_space, forced
from tests.tuner.lab import Lab
from tests.tuner.search.racing import EVERY, race_in, rounds_for
from tests.tuner.simulated import Costs, Rules, with_variants

BCAST = Target("MPI_Bcast", 65536)
REDUCE = Target("MPI_Reduce", 4096)
BARRIER = Target("MPI_Barrier", 0)


@functools.cache
def of_simgrid(selector: str) -> CandidateSpace:
    library = msgspec.structs.replace(
        build.LIBRARY,
        id=f"simgrid-3.32-{selector}",
        family="simgrid",
        version="3.32",
        build={"selector": selector},
    )
    space = for_library(paths.layout().search_spaces, library)
    return CandidateSpace(with_variants([], space, library), 12)


def chosen(**options: str) -> dict[str, Candidate]:
    """Candidates of SimGrid by function."""
    return {
        f"MPI_{name.capitalize()}": Candidate(
            configuration=Configuration.of({f"smpi/{name}": value})
        )
        for name, value in options.items()
    }


# --- the rule -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "agree"),
    [
        ({"allgather": "ring", "gather": "ompi_binomial", "bcast": "NTSL"}, True),
        ({"allgather": "GB", "gather": "ompi_binomial"}, False),
        ({"allgather": "GB", "scatter": "ompi_binomial"}, True),
        ({"alltoall": "ring_mpi_barrier", "barrier": "ompi_tree"}, False),
        ({"barrier": "ompi_tree", "scatter": "ompi_binomial"}, True),
        # By way of the Allgather of impi, which is Gather and Bcast.
        ({"allreduce": "rab2", "gather": "ompi_binomial"}, False),
    ],
)
def test_what_is_called_underneath_is_nobody_s_candidate(
    options: Mapping[str, str], agree: bool
) -> None:
    assert Company(of_simgrid("impi")).agree(chosen(**options)) == agree


def test_on_the_way_of_another_library_s_decisions_nothing_is_called() -> None:
    assert Company(of_simgrid("ompi")).agree(chosen(allreduce="rab2", gather="ompi_binomial"))


def test_a_candidate_of_what_ranks_start_from_is_alone() -> None:
    company = Company(of_simgrid("ompi"), ["MPI_Barrier"])
    assert company.agree(chosen(barrier="ompi_tree"))
    assert not company.agree(chosen(barrier="ompi_tree", scatter="ompi_binomial"))
    assert not company.unchanged("MPI_Scatter", chosen(barrier="ompi_tree"))
    assert company.unchanged("MPI_Scatter", chosen(gather="ompi_binomial"))


def test_what_may_not_share_a_launch_has_launches_of_its_own() -> None:
    one = of_simgrid("ompi")
    entries = {
        Target(name, size): [each for each in one.first(name) if each.is_knobs]
        for name, size in (("MPI_Barrier", 0), ("MPI_Scatter", 64), ("MPI_Gather", 64))
    }
    company = Company(one, ["MPI_Barrier"])
    found = settings_of(entries, company)
    for those, _ in found:
        assert len(those) == 1 or "MPI_Barrier" not in those
    barriers = len(entries[BARRIER])
    # Gather and Scatter go on to share theirs.
    assert len(found) == barriers + max(len(entries[one]) for one in entries if one != BARRIER)


@pytest.mark.parametrize(
    ("keys", "harness"),
    [
        ({}, ("MPI_Barrier",)),
        ({"sync": "window"}, ()),
        ({"sync": "dissemination"}, ()),
        ({"sync": "window", "use": "loop"}, ("MPI_Barrier",)),
        ({"use": "synchronised"}, ()),
        ({"plain": "each", "sync": "none"}, ("MPI_Barrier",)),
    ],
)
def test_a_plan_says_what_its_harness_calls(keys: dict[str, Any], harness: tuple[str, ...]) -> None:
    assert Plan("p", 1, (PlanCase("MPI_Bcast", 64),), **keys).harness == harness
    assert Plan("p", 1, (), **keys).harness == harness


def test_the_harness_of_a_simulated_campaign_calls_nothing() -> None:
    """Barriers are under search there like everything else."""
    assert tables.plan(load(None, {"simulate": "ompi"}), []).harness == ()


# --- what is seen -------------------------------------------------------------------------------


class Touching(ColdStarter):
    """Reduce takes three times as long where Bcast has `guilty` in force, though nothing says that
    it calls it; `touched`: only as it is, or also with a candidate."""

    guilty, touched = "pipeline", "any"

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        seconds, what = super()._library(function, size, knobs, rules)
        own = forced(self.extra)
        hit = self.guilty in own.get("bcast", {}).values() and function == "MPI_Reduce"
        if hit and self.touched in ("any", "default" if "reduce" not in own else ""):
            seconds *= 3.0
        return seconds, what


BESIDE = "rabenseifner"  # what Reduce has in force in that launch


def race(
    lab: Lab, starter: ColdStarter, effort: Effort, company: Company
) -> dict[Target, list[Trial]]:
    store = lab.store(starter)
    past = Past(Evidence(exact=effort.repeats), company=company)
    return race_in(store, effort, past=past).run(Lineup([BCAST, REDUCE]), refine=False)


def exact(costs: Costs) -> Touching:
    return Touching(costs, launch_noise=0.0, case_noise=0.0, sample_noise=0.0)


def test_what_is_touched_is_found_in_a_sample_and_measured_alone(lab: Lab) -> None:
    """The fastest of Reduce seems to be slow, but not the slowest."""
    costs = Costs(algorithm={("MPI_Reduce", BESIDE): lambda *_: 0.2})
    company = Company(candidate_space())
    trials = race(lab, exact(costs), EVERY, company)
    (found,) = [one for one in trials[REDUCE] if BESIDE in one.knobs.values()]
    assert found.ratio == pytest.approx(0.2, rel=0.02)
    assert list(company.apart) == ["MPI_Reduce"]
    assert "took 3.00 times as long in company" in company.apart["MPI_Reduce"]
    again = [one for one in lab.runs() if "-apart-cold-" in one.suite]
    assert len(again) == len([one for one in candidate_space().first("MPI_Reduce") if one.is_knobs])
    assert all(len(forced(one.environment)) == 1 for one in again)


def test_a_default_that_is_touched_shows_it(lab: Lab) -> None:
    """Where Bcast alone has something in force, Reduce is as it is."""
    starter = exact(Costs())
    starter.touched, starter.guilty = "default", "knomial"
    company = Company(candidate_space())
    race(lab, starter, EVERY, company)
    assert company.apart == {"MPI_Reduce": "the default took 3.00 times as long in company"}


def test_on_a_machine_with_noise_what_is_clear_is_seen(lab: Lab) -> None:
    costs = Costs(algorithm={("MPI_Reduce", BESIDE): lambda *_: 0.2})
    company = Company(candidate_space())
    trials = race(lab, Touching(costs), Effort(), company)
    (found,) = [one for one in trials[REDUCE] if BESIDE in one.knobs.values()]
    assert found.ratio == pytest.approx(0.2, rel=0.1)
    assert list(company.apart) == ["MPI_Reduce"]


def test_where_nothing_is_touched_a_tenth_more_launches_say_so(lab: Lab) -> None:
    company = Company(candidate_space())
    race(lab, ColdStarter(Costs()), Effort(), company)
    assert company.apart == {}
    cold = [one for one in lab.runs() if one.environment]
    alone = {one.suite.partition("-alone")[0] for one in cold if "-alone-cold-" in one.suite}
    shared = {one.suite.partition("-cold-")[0] for one in cold if len(forced(one.environment)) > 1}
    assert alone == shared
    assert len([one for one in cold if "-alone-cold-" in one.suite]) == len(shared)


def test_searches_among_cold_knobs_start_by_our_own_barrier_and_say_who_is_measured_alone(
    lab: Lab,
) -> None:
    settings = load(None, {"nprocs": 4, "blocks": 1, "reps": 2, "use": "after_barrier"})
    costs = Costs(algorithm={("MPI_Reduce", BESIDE): lambda *_: 0.2})
    store = lab.store(Touching(costs))
    sizes = {one.function: [one.bytes] for one in (BCAST, REDUCE)}
    rounds = rounds_for(store, sizes, settings, candidate_space())
    table = [
        build.verdict("before", function=one.function, bytes=one.bytes, verdict="violated")
        for one in (BCAST, REDUCE)
    ]
    rounds.first(Around(1, {}, [], lambda *_: {}), table, refine=lambda: False)
    plans = [one.plan for one in lab.runs()]
    assert tables.plan(settings, []).harness == ("MPI_Barrier",)
    assert plans and all(" sync=dissemination" in one for one in plans)
    said = [one.said for one in lab.events() if one.kind == "measured alone"]
    assert len(said) == 1 and said[0].startswith("search-1: MPI_Reduce: coll_tuned_reduce")


def test_a_little_is_no_touch() -> None:
    company = Company(candidate_space())
    assert not company.learn("MPI_Bcast", "x", [0.5 * AGREE, -0.9 * AGREE])
    assert company.learn("MPI_Bcast", "x", [0.0, -1.1 * AGREE])
    assert not company.learn("MPI_Bcast", "x", [1.0])  # it stands alone already


def test_launches_that_differ_are_heard_together() -> None:
    company = Company(candidate_space())
    looks = [company.learn("MPI_Bcast", "x", [0.2], 0.1) for _ in range(9)]
    assert looks.index(True) == 2  # 0.2 > 0.02 + 3 × 0.1 / √3
