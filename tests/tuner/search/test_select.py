"""From trials to winners: ranges, preferences, and one choice where there must be one, or one value
with ranges."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.search.space.select import Selection, Weights, by_benefit
from plumbline_db.records import UNBOUNDED_BYTES, Trial, Winner
from plumbline_exporters.bundle import groups, is_profile
from plumbline_exporters.family.openmpi.tuned import is_rule
from tests.tuner.search.test_candidates import candidate_space

FAST, OTHER = ("MPI_Allreduce", "rabenseifner"), ("MPI_Allreduce", "basic_linear")
OURS = "allreduce_as_reduce_plus_bcast"
SIZES = [256, 1024, 4096, 16384, 65536]


def trial(
    name: str,
    ratio: float,
    spread: float = 0.02,
    *,
    function: str = "MPI_Allreduce",
    **more: object,
) -> Trial:
    """`name` is an algorithm of the library, or a variant of ours."""
    ours = "_as_" in name or name.endswith(("_ring", "_binomial"))
    knob = f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"
    values: dict[str, object] = {
        "variant": name if ours else "default",
        "knobs": {} if ours else {knob: name},
        "state": "measured",
        "ratio": ratio,
        "ratio_low": ratio - spread,
        "ratio_high": ratio + spread,
        "launches": 11,
        "detail": "",
    }
    return Trial(**(values | more))  # type: ignore[arg-type]


def chosen(
    trials: Mapping[int, Sequence[Trial]],
    opened: Mapping[int, Sequence[str]] | None = None,
    function: str = "MPI_Allreduce",
    sizes: Sequence[int] = SIZES,
    between: Mapping[int, Sequence[Trial]] | None = None,
    weights: Weights | None = None,
) -> list[Winner]:
    opened = {size: [f"GL12@{size}"] for size in trials} if opened is None else opened
    selection = Selection(candidate_space(), {function: list(sizes)}, 4, 4, 0.05, weights)
    return selection.winners(
        {Target(function, size): those for size, those in trials.items()},
        {Target(function, size): names for size, names in opened.items()},
        {Target(function, size): those for size, those in (between or {}).items()},
    )


def test_the_fastest_that_is_faster_beyond_doubt() -> None:
    (found,) = chosen(
        {
            4096: [
                trial("rabenseifner", 0.7),
                trial("basic_linear", 0.5, spread=0.6),
                trial("nonoverlapping", 0.8),
                trial("recursive_doubling", 0.1, state="wrong"),
            ]
        }
    )
    assert found.configuration == {"coll_tuned_allreduce_algorithm": "rabenseifner"}
    assert found.search_speedup == found.speedup == pytest.approx(1 / 0.7)
    assert found.speedup_low == pytest.approx(1 / 0.72)
    assert found.speedup_high == pytest.approx(1 / 0.68)
    assert found.removes == ["GL12@4096"]


@pytest.mark.parametrize(
    "candidate",
    [
        trial("rabenseifner", 0.99, spread=0.02),
        trial("rabenseifner", 0.5, ratio_low=None, ratio_high=None),
        trial("rabenseifner", 0.5, state="failed"),
    ],
)
def test_nothing_is_chosen_without_evidence(candidate: Trial) -> None:
    assert chosen({4096: [candidate]}) == []


@pytest.mark.parametrize(("ours", "expected"), [(0.69, "default"), (0.6, OURS)])
def test_a_knob_is_preferred_to_a_variant_that_is_hardly_faster(ours: float, expected: str) -> None:
    (found,) = chosen({4096: [trial("rabenseifner", 0.7), trial(OURS, ours)]})
    assert found.variant == expected


@pytest.mark.parametrize(("ours", "expected"), [(0.77, OURS), (0.8, "default")])
def test_no_knob_is_chosen_where_the_preload_library_is_needed_and_does_as_well(
    ours: float, expected: str
) -> None:
    """A knob of this library makes its other calls slower; another size needs a variant."""
    needed = {256: [trial(OURS, 0.5)]}
    at = [trial("rabenseifner", 0.71), trial(OURS, ours)]
    assert [one.variant for one in chosen(needed | {65536: at})] == [OURS, expected]
    assert [one.variant for one in chosen({65536: at})] == ["default"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ([256], (256, 512)),  # not below the smallest; to the geometric middle
        ([4096], (2049, 8192)),
        ([65536], (32769, 65536)),  # not above the largest
        ([1024, 4096, 16384], (513, 32768)),
    ],
)
def test_bounds(at: list[int], expected: tuple[int, int]) -> None:
    (found,) = chosen({size: [trial("rabenseifner", 0.5)] for size in at})
    assert (found.bytes_from, found.bytes_to) == expected


def test_what_lies_far_between_measured_sizes_is_left_to_the_library() -> None:
    fast = [trial("rabenseifner", 0.5)]
    found = chosen({4: fast, 16384: fast}, sizes=[4, 16384])
    assert [(one.bytes_from, one.bytes_to) for one in found] == [(4, 8), (8192, 16384)]


def test_a_gap_is_left_to_the_library() -> None:
    fast, none = [trial("rabenseifner", 0.5)], [trial("rabenseifner", 1.2)]
    found = chosen({256: fast, 1024: none, 4096: fast})
    assert [(one.bytes_from, one.bytes_to) for one in found] == [(256, 512), (2049, 8192)]


def test_a_neighbour_s_choice_is_kept_where_it_is_as_good() -> None:
    nearly = [trial("rabenseifner", 0.51), trial("basic_linear", 0.50)]
    (found,) = chosen({4096: [trial("rabenseifner", 0.5)], 16384: nearly})
    assert (found.bytes_from, found.bytes_to) == (2049, 32768)
    assert found.removes == ["GL12@16384", "GL12@4096"]
    assert found.search_speedup == pytest.approx(math.sqrt(1 / 0.5 / 0.51))
    clearly = [trial("rabenseifner", 0.6), trial("basic_linear", 0.50)]
    assert len(chosen({4096: [trial("rabenseifner", 0.5)], 16384: clearly})) == 2


def test_the_gain_of_an_algorithm_for_all_sizes_is_over_all_its_cells() -> None:
    """As that of a range: the geometric mean, and not the best cell."""
    (found,) = whole({"binomial": (1.0, 0.5, 0.98)}, spread=0.0)
    assert found.search_speedup == found.speedup == pytest.approx((0.5 * 0.98) ** (-1 / 3))
    of = {"binomial": (1.0, 0.5, 0.9), "gather_as_allgather": (1.5, 0.2, 1.5)}
    base, ours = whole(of, wanted=(1024, 4096))
    assert base.search_speedup == pytest.approx(0.9 ** (-1 / 2))  # one cell is not its own
    assert ours.search_speedup == pytest.approx(1 / 0.2)


def test_what_lies_between_the_cells_does_not_count() -> None:
    fast, half = [trial("rabenseifner", 0.5)], [trial("rabenseifner", 0.8)]
    (found,) = chosen({256: fast, 1024: half}, between={512: [trial("rabenseifner", 0.1)]})
    assert found.search_speedup == pytest.approx(math.sqrt(1 / 0.5 / 0.8))
    assert found.speedup_low == pytest.approx(math.sqrt(1 / 0.52 / 0.82))
    assert found.speedup_high == pytest.approx(math.sqrt(1 / 0.48 / 0.78))


def test_what_is_slower_beyond_doubt_is_not_as_good() -> None:
    clearly = [trial("rabenseifner", 0.51, 0.001), trial("basic_linear", 0.50, 0.001)]
    found = chosen({4096: [trial("rabenseifner", 0.5)], 16384: clearly})
    assert [one.configuration["coll_tuned_allreduce_algorithm"] for one in found] == [
        "rabenseifner",
        "basic_linear",
    ]


@pytest.mark.parametrize(
    ("ratio", "spread", "knob"), [(0.513, 0.02, True), (0.513, 0.0, False), (0.504, 0.0, True)]
)
def test_a_knob_is_taken_where_ours_is_hardly_faster(
    ratio: float, spread: float, knob: bool
) -> None:
    """3 % are little where launches differ by as much; where they repeat each other, 1 %."""
    two = [trial("rabenseifner", ratio, spread), trial("allreduce_ring", 0.5, spread)]
    (found,) = chosen({4096: two})
    assert (found.variant == "default") is knob


def test_as_few_rules_as_there_can_be() -> None:
    """The smaller size would do with either: what the larger one wants is taken for both."""
    either = [trial("rabenseifner", 0.50), trial("basic_linear", 0.51)]
    (found,) = chosen({4096: either, 16384: [trial("basic_linear", 0.5)]})
    assert found.configuration == {"coll_tuned_allreduce_algorithm": "basic_linear"}
    assert (found.bytes_from, found.bytes_to) == (2049, 32768)


def test_what_is_known_between_measured_sizes_is_where_a_range_ends() -> None:
    fast, none = [trial("rabenseifner", 0.5)], [trial("rabenseifner", 1.2)]
    (found,) = chosen({4096: fast}, between={6000: fast, 8000: none, 2048: fast, 1500: none})
    assert (found.bytes_from, found.bytes_to) == (math.isqrt(1500 * 2048) + 1, 6928)
    assert found.removes == ["GL12@4096"]


def test_a_range_that_no_cell_of_the_table_confirms_is_left_out() -> None:
    fast, none = [trial("rabenseifner", 0.5)], [trial("rabenseifner", 1.2)]
    found = chosen({256: none, 4096: fast}, between={600: fast, 2048: none})
    assert [(one.bytes_from, one.bytes_to) for one in found] == [(2897, 8192)]


def test_only_what_was_asked_for_is_chosen() -> None:
    fast = [trial("rabenseifner", 0.5)]
    found = chosen({4096: fast, 16384: fast}, {16384: ["GL12@16384"]})
    assert [(one.bytes_from, one.bytes_to) for one in found] == [(8193, 32768)]


# --- one choice for all sizes -------------------------------------------------------------------


def gather(name: str, ratio: float, **more: object) -> Trial:
    return trial(name, ratio, function="MPI_Gather", **more)  # type: ignore[arg-type]


def whole(
    of: Mapping[str, Sequence[float]],
    wanted: Sequence[int] = (1024,),
    weights: Weights | None = None,
    **more: object,
) -> list[Winner]:
    """Ratios of each candidate at 256, 1024 and 4096 bytes."""
    at = [256, 1024, 4096]
    trials = {
        size: [gather(name, ratios[index], **more) for name, ratios in of.items()]
        for index, size in enumerate(at)
    }
    opened = {size: [f"GL3@{size}"] for size in wanted}
    return chosen(trials, opened, "MPI_Gather", at, weights=weights)


def test_an_algorithm_must_not_be_slower_at_any_size() -> None:
    (found,) = whole({"binomial": (1.0, 0.8, 0.99), "linear_sync": (0.5, 0.5, 1.2)})
    assert (found.bytes_from, found.bytes_to) == (0, UNBOUNDED_BYTES)
    assert found.configuration == {"coll_tuned_gather_algorithm": "binomial"}
    assert found.removes == ["GL3@1024"]
    assert whole({"linear_sync": (0.5, 0.5, 1.2)}) == []


def test_slower_beyond_doubt_counts_below_the_tolerance_too() -> None:
    assert whole({"binomial": (1.03, 0.8, 1.0)}, spread=0.05) != []
    assert whole({"binomial": (1.03, 0.8, 1.0)}, spread=0.01) == []


@pytest.mark.parametrize(("ours", "knob"), [(0.52, False), (0.6, True)])
def test_no_option_for_all_sizes_where_variants_do_as_well(ours: float, knob: bool) -> None:
    """At 4096 bytes a variant is needed in any case."""
    of = {"binomial": (1.0, 0.5, 0.98), "gather_as_allgather": (1.5, ours, 0.3)}
    found = whole(of, wanted=(1024, 4096))
    assert any(one.variant == "default" for one in found) == knob


def test_an_algorithm_that_helps_no_wanted_size_is_not_chosen() -> None:
    assert whole({"binomial": (0.5, 1.0, 0.5)}) == []


def test_the_one_that_saves_most_where_it_counts() -> None:
    """As a program spends its time: at 256 bytes hardly any, at 4096 most."""
    of = {"binomial": (0.5, 0.8, 1.0), "linear_sync": (1.0, 0.8, 0.9)}
    names = {"binomial": {}, "linear_sync": {("MPI_Gather", 256): 0.1}}
    for expected, weights in names.items():
        (found,) = whole(of, weights=weights)
        assert found.configuration == {"coll_tuned_gather_algorithm": expected}


def test_of_winners_the_one_that_saves_most_comes_first() -> None:
    low, high = chosen({256: [trial("rabenseifner", 0.5)], 16384: [trial("rabenseifner", 0.8)]})
    sizes = {"MPI_Allreduce": SIZES}
    assert by_benefit([high, low], sizes, {}) == [low, high]
    assert by_benefit([high, low], sizes, {("MPI_Allreduce", 16384): 3.0}) == [high, low]


def test_an_algorithm_must_be_known_at_every_size() -> None:
    trials = {256: [], 1024: [gather("binomial", 0.5)]}
    assert chosen(trials, {1024: ["GL3@1024"]}, "MPI_Gather", [256, 1024]) == []


def test_a_variant_is_chosen_by_size_and_must_beat_the_algorithm() -> None:
    of = {"binomial": (0.9, 0.8, 0.9), "gather_as_allgather": (1.5, 0.5, 0.995)}
    base, ours = whole(of, wanted=(1024, 4096))
    assert base.configuration == {"coll_tuned_gather_algorithm": "binomial"}
    assert base.removes == ["GL3@4096"]
    assert ours.variant == "gather_as_allgather"
    assert (ours.bytes_from, ours.bytes_to) == (513, 2048)
    assert ours.removes == ["GL3@1024"]


def test_an_algorithm_that_no_size_is_left_for_is_not_chosen() -> None:
    of = {"binomial": (0.9, 0.8, 0.9), "gather_as_allgather": (0.5, 0.5, 0.5)}
    (found,) = whole(of, wanted=(256, 1024, 4096))
    assert found.variant == "gather_as_allgather"
    assert (found.bytes_from, found.bytes_to) == (256, 4096)
    assert found.removes == ["GL3@1024", "GL3@256", "GL3@4096"]


def test_without_an_algorithm_a_variant_is_still_chosen() -> None:
    (found,) = whole({"binomial": (1.5, 0.9, 1.5), "gather_as_allgather": (1.5, 0.5, 1.5)})
    assert found.variant == "gather_as_allgather"


# --- properties ---------------------------------------------------------------------------------

NAMES = {
    "MPI_Allreduce": ("rabenseifner", "basic_linear", "nonoverlapping", OURS, "two_as_other_parts"),
    "MPI_Gather": ("basic_linear", "binomial", "gather_as_allgather", "gather_binomial"),
}


def tables(function: str) -> st.SearchStrategy[dict[int, list[Trial]]]:
    trials = st.builds(
        trial,
        st.sampled_from(NAMES[function]),
        st.floats(0.3, 1.5),
        st.floats(0.001, 0.2),
        function=st.just(function),
        state=st.sampled_from(["measured", "measured", "measured", "wrong"]),
    )
    cell = st.lists(trials, max_size=5, unique_by=lambda one: (one.variant, *one.knobs.values()))
    return st.dictionaries(st.sampled_from(SIZES), cell, min_size=1)


TABLES = tables("MPI_Allreduce")


@pytest.mark.parametrize("function", NAMES)
@settings(max_examples=50)
@given(data=st.data())
def test_winners_never_overlap_and_can_be_exported(function: str, data: st.DataObject) -> None:
    """Rules among themselves, and profiles among themselves; inside the measured sizes."""
    trials = data.draw(tables(function))
    found = chosen(trials, function=function)
    for kind in (is_rule, is_profile):
        for group in groups([one for one in found if kind(one)]).values():
            for left, right in pairwise(group):
                assert left.bytes_to < right.bytes_from
    for one in found:
        held = [size for size in SIZES if one.bytes_from <= size <= one.bytes_to]
        assert held
        if one.bytes_to != UNBOUNDED_BYTES:
            assert SIZES[0] <= one.bytes_from <= one.bytes_to <= SIZES[-1]


@given(TABLES)
def test_every_winner_is_faster_beyond_doubt_at_all_its_sizes(
    trials: dict[int, list[Trial]],
) -> None:
    found = chosen(trials)
    for one in found:
        for size in SIZES:
            if one.bytes_from <= size <= one.bytes_to:
                (own,) = (
                    each
                    for each in trials[size]
                    if (each.variant, each.knobs) == (one.variant, one.configuration)
                )
                assert own.state == "measured"
                assert own.ratio_high is not None and own.ratio_high < 1
                assert f"GL12@{size}" in one.removes
    won = {size for one in found for size in SIZES if one.bytes_from <= size <= one.bytes_to}
    for size in trials.keys() - won:
        assert not any(
            each.state == "measured" and (each.ratio_high or 2) < 1 for each in trials[size]
        )


@settings(max_examples=50)
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_trials_does_not_matter(
    trials: dict[int, list[Trial]], chance: random.Random
) -> None:
    shuffled = {size: chance.sample(those, len(those)) for size, those in trials.items()}
    mixed = dict(chance.sample(sorted(shuffled.items()), len(shuffled)))
    assert chosen(mixed) == chosen(trials)


@given(st.lists(st.sampled_from(SIZES), min_size=1, unique=True), st.floats(0.3, 0.9))
def test_a_uniform_choice_over_neighbours_is_one_rule(sizes: list[int], ratio: float) -> None:
    found = chosen({size: [trial("rabenseifner", ratio)] for size in sizes})
    places = sorted(SIZES.index(size) for size in sizes)
    gaps = sum(1 for left, right in pairwise(places) if right != left + 1)
    assert len(found) == gaps + 1
