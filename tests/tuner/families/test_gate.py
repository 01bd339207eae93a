"""What may leave in a file: of every family what its search space tunes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import gate, space_file
from plumbline.libraries.space import Space
from plumbline_db.records import EVERY_FUNCTION, Winner
from tests.db import build
from tests.exporters.bundles import library, tuned, variant, winner

SPACES = sorted((Path(__file__).parents[3] / "search-spaces").glob("*.toml"))
EVERY = [space for path in SPACES for space in space_file.load(path)]


def whole(name: str, value: str) -> Winner:
    return winner(EVERY_FUNCTION, {name: value})


@pytest.mark.parametrize("space", EVERY, ids=lambda one: f"{one.family}-{one.min_version}")
def test_all_that_is_searched_may_leave(space: Space) -> None:
    refusal = gate.of_space(space)
    for entry in space.function:
        for algorithm in entry.algorithms:
            if not algorithm.left_out:
                knobs = space.with_needs(entry.knob, algorithm.name) | entry.needs_nodes
                assert refusal(winner(entry.name, knobs)) == ""
        for parameter in entry.parameters:
            for value in (*parameter.values, parameter.least, parameter.most):
                assert refusal(winner(entry.name, {parameter.knob: str(value)})) == ""
    for setting in space.setting:
        for value in setting.values:
            assert refusal(winner(EVERY_FUNCTION, setting.at(str(value)))) == ""


ATTACKS = [
    whole("mca_base_env_list", "LD_PRELOAD=/tmp/evil.so"),
    whole("orte_launch_agent", "/tmp/evil"),
    whole("mca_component_path", "/tmp"),
    whole("mca_base_component_path", "/tmp"),
    whole("coll_tuned_bcast_algorithm", "basic_linear\nmca_component_path = /tmp"),
    winner("MPI_Bcast", {"LD_PRELOAD": "/tmp/evil.so"}),
    winner("MPI_Bcast", {"mca_base_env_list": "LD_PRELOAD=/tmp/evil.so"}),
    winner("MPI_Bcast", {"coll_tuned_bcast_algorithm": "999"}),
    winner("MPI_Bcast", {"coll_tuned_bcast_algorithm_segmentsize": "1 -x LD_PRELOAD=/tmp/a"}),
    winner("MPI_Bcast", {"coll_tuned_bcast_algorithm_segmentsize": "-1"}),
    winner("MPI_Bcast; touch x", {}),
    variant("MPI_Gather", "canary", 0, 8),
    variant("MPI_Gather", "../../evil", 0, 8),
    variant(EVERY_FUNCTION, "gather_binomial", 0, 8),
    msgspec.structs.replace(variant("MPI_Gather", "gather_binomial", 0, 8), restrictions=["a=b c"]),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: f"{one.function}-{one.configuration}")
def test_nothing_else_may(attack: Winner) -> None:
    assert gate.of_library(library("4.1.4"))(attack) != ""


def test_a_value_for_ranges_of_sizes_names_algorithms_of_its_knob() -> None:
    refusal = gate.of_library(library("2.3.7", "mvapich2"))
    knob = "MV2_INTER_BCAST_TUNING"
    assert refusal(winner("MPI_Bcast", {knob: "2:0-8192,5:8193-+"})) == ""
    assert "does not allow" in refusal(winner("MPI_Bcast", {knob: "77:0-8192,5:8193-+"}))
    assert "does not allow" in refusal(winner("MPI_Bcast", {knob: "2:0-8192;touch x"}))


def test_what_the_tests_take_for_winners_may_leave() -> None:
    refusal = gate.of_library(build.LIBRARY)
    assert refusal(build.WINNER) == "" == refusal(tuned("MPI_Bcast", "binomial", segmentsize=1024))
