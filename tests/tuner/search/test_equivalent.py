"""What a variant of ours with the same messages says of an option that costs a launch."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.libraries import space_file
from plumbline.search.race.effort import Effort
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.launching import equivalent_variants, passed_over
from plumbline.search.race.neighbours import Past
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings.toolchain import Variant
from plumbline_db.records import Case
from plumbline_db.runs import LaunchSamples
from tests.db import build
from tests.tuner.simulated import ROOT, with_variants

(SPACE,) = space_file.load(ROOT / "search-spaces" / "simgrid.toml")
SMALL, LARGE = Target("MPI_Bcast", 64), Target("MPI_Bcast", 65536)
CONFIRMED = Target("MPI_Bcast", 1024)
OURS = ["bcast_linear", "bcast_binomial", "bcast_scatter_ring_allgather", "bcast_chain"]
FLAT = Candidate(configuration=Configuration.of({"smpi/bcast": "flattree"}))
TREE = Candidate(configuration=Configuration.of({"smpi/bcast": "binomial_tree"}))
CHAIN = Candidate(configuration=Configuration.of({"smpi/bcast": "NTSL"}))
MPICH = Candidate(configuration=Configuration.of({"smpi/bcast": "mpich"}))
COLD = [FLAT, TREE, CHAIN, MPICH]


def candidate_space(sizes: str = "one", selector: str = "") -> CandidateSpace:
    space = SPACE
    if sizes != "one":
        those = [msgspec.structs.replace(one, sizes=sizes) for one in SPACE.function]
        space = msgspec.structs.replace(SPACE, function=those)
    variants = [Variant(name, "MPI_Bcast", "algorithm", [], "") for name in OURS]
    library = msgspec.structs.replace(build.LIBRARY, build={"selector": selector})
    return CandidateSpace(with_variants(variants, space, library), 32)


def samples(times: dict[Target, dict[str, int]]) -> list[LaunchSamples]:
    """Nanoseconds by cell and variant."""
    return [
        LaunchSamples(
            Case(cell.function, name, {}, "default", cell.bytes, "MPI_BYTE", "MPI_BOR", 0),
            [1],
            [np.array([ns], dtype=np.int64)],
        )
        for cell, those in times.items()
        for name, ns in those.items()
    ]


def evidence(times: dict[Target, dict[str, int]]) -> Evidence:
    found = Evidence(exact=True)
    found.add(samples(times), blocks=1)
    return found


def asked(
    times: dict[Target, dict[str, int]],
    cells: list[Target],
    *,
    sizes: str = "one",
    racing: tuple[str, ...] = tuple(OURS),
) -> set[Candidate]:
    cold = {cell: COLD for cell in cells}
    entries = {cell: [*COLD, *map(Candidate, racing)] for cell in cells}
    seen = confirmed(evidence(times))
    return {
        one for _, one in passed_over(candidate_space(sizes), Past(seen), entries, cold, EFFORT)
    }


def confirmed(seen: Evidence, log: float = 0.0) -> Evidence:
    """With options that were measured at a size of their own beside variants with their messages:
    they take exp(log) times as long."""
    seen.add(samples({CONFIRMED: dict.fromkeys(["default", *OURS], 1000)}), blocks=1)
    for one in (FLAT, TREE, CHAIN):
        seen.add_cold(CONFIRMED, one, 1, log)
    return seen


EFFORT = Effort(alike=1.5, tolerance=0.4)
TIMES = {"default": 1000, "bcast_linear": 9000, "bcast_binomial": 1100, "bcast_chain": 1600}


def test_what_is_far_behind_is_passed_over() -> None:
    """binomial is near the default; of mpich nothing is known."""
    assert asked({SMALL: TIMES}, [SMALL]) == {FLAT, CHAIN}


@pytest.mark.parametrize("log", [0.3, -0.7])
def test_a_prediction_that_was_not_confirmed_passes_nothing_over(log: float) -> None:
    """SMPI's own Reduce takes 0.67 of the default's time where a variant with the same messages
    was said to take 1.26 of it."""
    entries = {SMALL: [*COLD, *map(Candidate, OURS)]}
    for seen in (evidence({SMALL: TIMES}), confirmed(evidence({SMALL: TIMES}), log)):
        assert passed_over(candidate_space(), Past(seen), entries, {SMALL: COLD}, EFFORT) == {}


def test_what_was_confirmed_before_winners_were_in_force_counts() -> None:
    entries = {SMALL: [*COLD, *map(Candidate, OURS)]}
    past = Past(evidence({SMALL: TIMES}), before=confirmed(evidence({})))
    found = passed_over(candidate_space(), past, entries, {SMALL: COLD}, EFFORT)
    assert {one for _, one in found} == {FLAT, CHAIN}


def test_the_default_is_the_best_where_nothing_else_is() -> None:
    assert asked({SMALL: TIMES | {"bcast_chain": 1400}}, [SMALL]) == {FLAT}


def test_parameters_may_make_a_twin_better() -> None:
    times = TIMES | {"bcast_chain:segment_bytes=4096": 1200}
    assert asked({SMALL: times}, [SMALL]) == {FLAT}


def test_near_the_best_at_one_size_is_near_enough() -> None:
    """Unless it is far behind the default at another, and holds there too."""
    large = {"default": 1000, "bcast_linear": 9000, "bcast_binomial": 1400, "bcast_chain": 800}
    times = {SMALL: TIMES, LARGE: large}
    assert asked(times, [SMALL, LARGE]) == {FLAT, CHAIN}
    assert asked(times, [SMALL, LARGE], sizes="each") == {FLAT}


def test_what_does_not_race_is_no_rival() -> None:
    """The right-hand side of a guideline stands beside the cell, and nobody gets it."""
    fast = {"bcast_scatter_ring_allgather": 300}
    assert asked({SMALL: TIMES | fast}, [SMALL]) == {FLAT, TREE, CHAIN}
    assert asked({SMALL: TIMES | fast}, [SMALL], racing=()) == {FLAT, CHAIN}


def test_what_it_took_before_winners_were_in_force() -> None:
    """An option that has no equivalent, and one whose equivalent is near."""
    before = evidence({SMALL: {"default": 1000}})
    for one, log in ((MPICH, 0.6), (CHAIN, 0.3)):
        before.add_cold(SMALL, one, 1, log)
    entries = {SMALL: [*COLD, *map(Candidate, OURS)]}
    past = Past(confirmed(evidence({SMALL: TIMES})), before=before)
    found = passed_over(candidate_space(), past, entries, {SMALL: COLD}, EFFORT)
    assert {one for _, one in found} == {FLAT, MPICH}
    assert found["MPI_Bcast", MPICH] == "it took 1.82 times as long as the best at 64 bytes"


@pytest.mark.parametrize(
    ("function", "knob", "selector"),
    [
        # Gather, then Bcast, as they are
        ("MPI_Allgather", ("smpi/allgather", "GB"), "ompi"),
        # Alltoall, then Allgather, which `impi` makes of Gather and Bcast
        ("MPI_Allreduce", ("smpi/allreduce", "rab2"), "impi"),
    ],
)
def test_what_is_made_of_others_that_have_changed_is_measured_again(
    function: str, knob: tuple[str, str], selector: str
) -> None:
    cell = Target(function, 64)
    made = Candidate(configuration=Configuration((knob,)))
    before = Evidence(exact=True)
    default = Case(cell.function, "default", {}, "default", 64, "MPI_BYTE", "MPI_BOR", 0)
    times = LaunchSamples(default, [1], [np.array([1000], dtype=np.int64)])
    before.add([times], blocks=1)
    before.add_cold(cell, made, 1, 1.0)
    now = Evidence(exact=True)
    now.add([times], blocks=1)
    for changed, out in (("MPI_Gather", False), ("MPI_Bcast", False), ("MPI_Scan", True)):
        past = Past(now, in_force=[build.winner(function=changed)], before=before)
        those = candidate_space(selector=selector)
        found = passed_over(those, past, {cell: [made]}, {cell: [made]}, Effort(tolerance=0.05))
        assert bool(found) is out


@pytest.mark.parametrize(("sizes", "out"), [("one", {FLAT, CHAIN}), ("each", set())])
def test_sizes_where_no_variant_raced(sizes: str, out: set[Candidate]) -> None:
    """One choice for all sizes is none where a searched size says so; a choice for each size may
    be good at a size that nobody has asked."""
    assert asked({SMALL: TIMES, LARGE: {"default": 1}}, [SMALL, LARGE], sizes=sizes) == out


def test_what_is_slow_at_one_size_may_serve_in_another_range() -> None:
    """flattree takes nine times as long as the default at 64 B, and is the best at 64 KiB."""
    large = {SMALL: TIMES, LARGE: TIMES | {"bcast_linear": 500}}
    assert FLAT in asked(large, [SMALL, LARGE])
    assert FLAT not in asked(large, [SMALL, LARGE], sizes="ranges")


def test_every_reason_says_how_far() -> None:
    entries = {SMALL: [*COLD, *map(Candidate, OURS)]}
    seen = confirmed(evidence({SMALL: TIMES}))
    found = passed_over(candidate_space(), Past(seen), entries, {SMALL: COLD}, EFFORT)
    assert "takes 9.00 times as long as the best at 64 bytes" in found["MPI_Bcast", FLAT]
    assert DEFAULT not in {one for _, one in found}


def test_sizes_that_must_only_not_get_slower_are_no_reason() -> None:
    """Only options race there, and the default is the best of nothing."""
    before = evidence({SMALL: {"default": 1000, "bcast_binomial": 500}, LARGE: {"default": 1000}})
    before.add_cold(SMALL, MPICH, 1, 0.1)
    before.add_cold(LARGE, MPICH, 1, 0.0)
    past = Past(evidence({SMALL: TIMES}), before=before)
    cold = {SMALL: [MPICH], LARGE: [MPICH]}
    for ours, out in (((), True), (tuple(map(Candidate, OURS)), False)):
        entries = {SMALL: [MPICH, *map(Candidate, OURS)], LARGE: [MPICH, *ours]}
        found = passed_over(candidate_space(), past, entries, cold, EFFORT)
        assert bool(found) is out


def test_who_says_what_a_candidate_without_a_racing_equivalent_is_worth() -> None:
    """bcast_linear does not race; of mpich nobody can say anything; a guard has none."""
    racing = [Candidate("bcast_binomial"), Candidate("bcast_chain:segment_bytes=4096")]
    entries = {SMALL: [*COLD, *racing], LARGE: [*COLD]}
    cold = {SMALL: COLD, LARGE: COLD}
    assert equivalent_variants(candidate_space(), entries, cold) == {SMALL: ["bcast_linear"]}
