"""What takes the place of an option of the library that had to hold for all sizes."""

from __future__ import annotations

import msgspec

from plumbline.core.cell import Target
from plumbline.search.second_choice import RaceKnowledge, SecondChoices, size_by_size
from plumbline.search.space.select import candidate_of
from plumbline_db.records import UNBOUNDED_BYTES, Trial, Winner
from tests.db import build
from tests.tuner.search.test_candidates import candidate_space

SIZES = [777, 3001, 23456]
CELLS = [Target("MPI_Scatter", size) for size in SIZES]


def trial(name: str, ratio: float | None) -> Trial:
    ours = name.startswith("scatter_")
    variant, knobs = (name, {}) if ours else ("default", {"smpi/scatter": name})
    state = "failed" if ratio is None else "measured"
    return Trial(variant, knobs, state, ratio, ratio, ratio, 1, "")


def kept(trials: dict[str, list[float | None]]) -> set[str]:
    tried = {
        cell: [trial(name, ratios[place]) for name, ratios in trials.items()]
        for place, cell in enumerate(CELLS)
    }
    found = size_by_size(tried, CELLS[1:])
    assert {len(those) for those in found.values()} <= {len(trials), len(trials) - 1}
    return {
        candidate_of(one).configuration.get("smpi/scatter") or one.variant
        for those in found.values()
        for one in those
    }


def test_ours_that_are_as_fast_at_single_sizes_take_it() -> None:
    """The library's other linear Scatter would be slower at the same far size."""
    trials = {"linear": [0.9, 0.44, 0.5], "scatter_linear": [0.9, 0.44, 0.5]}
    assert kept(trials) == {"scatter_linear"}


def test_another_option_that_is_faster_takes_it() -> None:
    trials = {"linear": [0.9, 0.44, 0.5], "scatter_linear": [0.9, 0.8, 0.9]}
    assert kept(trials) == {"linear", "scatter_linear"}


def test_an_option_that_fails_at_some_size_is_no_rival() -> None:
    trials = {"linear": [None, 0.1, 0.1], "scatter_linear": [0.9, 0.8, 0.9]}
    assert kept(trials) == {"scatter_linear"}


def test_the_race_counts_that_its_violations_have_opened() -> None:
    """An option for all sizes races again, along with another size: there it removes nothing."""
    gather = {"coll_tuned_gather_algorithm": "basic_linear"}
    knob = Trial("default", gather, "measured", 0.4, 0.4, 0.4, 9, "")
    ours = Trial("gather_as_gatherv", {}, "measured", 0.5, 0.5, 0.5, 9, "")
    small, large = Target("MPI_Gather", 2), Target("MPI_Gather", 16384)
    asked: list[dict[Target, list[str]]] = []

    def select(_: object, trials: object, opened_by: dict[Target, list[str]]) -> list[Winner]:
        asked.append(opened_by)
        return []

    space = candidate_space()
    choices = SecondChoices(space, {"MPI_Gather": [2, 16384]}, select)  # type: ignore[arg-type]
    tried = {small: [knob, ours], large: [knob]}
    for opened in ({small: ["GL22@2"]}, {large: ["GL2@16384"]}):
        choices.add(RaceKnowledge(None, [], space, tried, opened))  # type: ignore[arg-type]
    winner = msgspec.structs.replace(
        build.winner(
            function="MPI_Gather",
            bytes_from=0,
            bytes_to=UNBOUNDED_BYTES,
            variant="default",
            configuration=gather,
        ),
        removes=["GL22@2"],
    )
    choices.reserves([winner])
    assert asked == [{small: ["GL22@2"]}]
