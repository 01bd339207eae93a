"""What a search space says of algorithms and needs, and its comparison with a library, which may
lack components."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from plumbline.libraries import Knob, space
from plumbline.libraries.space_file import for_library
from tests.db import build
from tests.tuner.simulated import ROOT, SPACE, installed_knobs

# --- differences --------------------------------------------------------------------------------


def without(knobs: dict[str, Knob]) -> None:
    del knobs["coll_tuned_bcast_algorithm_segmentsize"]


def beyond(knobs: dict[str, Knob]) -> None:
    knobs["coll_tuned_sparkle"] = Knob("coll_tuned_sparkle", "1", "int", True, {})


def renamed(knobs: dict[str, Knob]) -> None:
    one = knobs["coll_tuned_gather_algorithm"]
    choices = {"ignore": 0, "basic_linear": 1, "binomial": 3, "quick": 4}
    knobs[one.name] = msgspec.structs.replace(one, choices=choices)


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        (
            without,
            [
                "coll_tuned_bcast_algorithm_segmentsize (MPI_Bcast) is in the search space "
                "but the library does not report it"
            ],
        ),
        (beyond, ["coll_tuned_sparkle is reported by the library but missing in the search space"]),
        (
            renamed,
            [
                "coll_tuned_gather_algorithm: algorithm binomial is 2 in the search space and 3 in "
                "the library",
                "coll_tuned_gather_algorithm: algorithm linear_sync is 3 in the search space and "
                "missing in the library",
                "coll_tuned_gather_algorithm: algorithm quick is missing in the search space and 4 "
                "in the library",
            ],
        ),
    ],
)
def test_differences_are_sentences(
    change: Callable[[dict[str, Knob]], None], sentences: list[str]
) -> None:
    installed = installed_knobs()
    assert space.differences(SPACE, installed) == []
    installed["btl_base_include"] = Knob("btl_base_include", "", "string", True, {})
    assert space.differences(SPACE, installed) == []
    change(installed)
    assert space.differences(SPACE, installed) == sentences


# --- algorithms and needs ------------------------------------------------------------------------


def test_where_an_algorithm_fits() -> None:
    def fits(**limits: object) -> list[int]:
        one = space.Algorithm(id=1, name="a", summary="", **limits)  # type: ignore[arg-type]
        return [nprocs for nprocs in range(1, 10) if one.fits(nprocs)]

    assert fits() == list(range(1, 10))
    assert fits(power_of_two=True) == [1, 2, 4, 8]
    assert fits(even_processes=True) == [2, 4, 6, 8]
    assert fits(min_processes=2, max_processes=2) == [2]


def test_what_is_left_out_fits_nowhere_and_needs_go_with_a_value() -> None:
    library = msgspec.structs.replace(
        build.LIBRARY, id="mpich-5.0.2", family="mpich", version="5.0.2"
    )
    found = for_library(ROOT / "search-spaces", library)
    assert found.switch == "call"
    allreduce = found.of("MPI_Allreduce")
    assert allreduce is not None
    for one in allreduce.algorithms:
        assert one.fits(2) == (one.name not in ("smp", "ccl"))
    knob, device = allreduce.knob, "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE"
    assert found.with_needs(knob, "ring") == {knob: "ring", device: "0"}
    before = msgspec.structs.replace(library, version="4.3.2")
    older = for_library(ROOT / "search-spaces", before).of("MPI_Allreduce")
    assert older is not None and "ccl" not in [one.name for one in older.algorithms]
