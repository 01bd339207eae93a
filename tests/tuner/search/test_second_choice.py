"""What takes the place of an option of the library that had to hold for all sizes."""

from __future__ import annotations

from plumbline.search.second_choice import size_by_size
from plumbline.search.space.cells import Target
from plumbline.search.space.select import candidate_of
from plumbline_db.records import Trial

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
