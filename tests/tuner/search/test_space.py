"""What a search space says of algorithms and needs, and its comparison with a library, which may
lack components."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import Knob, space
from plumbline.libraries.openmpi.info import reported
from plumbline.libraries.space import differences
from plumbline.libraries.space_file import for_library
from plumbline.search import process
from tests.db import build
from tests.tuner.simulated import LACKED, ROOT, SPACE, installed_knobs

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
                "coll_tuned_bcast_algorithm_segmentsize (MPI_Bcast) stands in the search space "
                "but the library does not report it"
            ],
        ),
        (
            beyond,
            [
                "coll_tuned_sparkle is reported by the library but stands nowhere in the search "
                "space"
            ],
        ),
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


# --- components that most builds lack -------------------------------------------------------------


# What ompi_info of Debian's Open MPI 6.0.0rc2 with UCC 1.9.0 printed of them.
RECORDED = (Path(__file__).parent / "openmpi-6.0.0rc2.txt").read_text()
HCOLL = {
    "priority": "90",
    "verbose": "0",
    "enable": "1",
    "np": "2",
    "datatype_fallback": "1",
    "print_compiletime_version": "4.8",
    "print_runtime_version": "4.8",
}
# Open MPI 5.0 calls them so, 6.0 coll_acoll_…smsc….
OLDER = ("coll_acoll_without_xpmem", "coll_acoll_xpmem_buffer_size", "coll_acoll_xpmem_use_sr_buf")
COMPONENTS = ("acoll", "hcoll", "ucc", "xhc")


def ompi_info(component: str) -> str:
    head = f"mca:coll:{component}:param:"
    if component == "hcoll":
        return "".join(f"{head}coll_hcoll_{name}:value:{value}\n" for name, value in HCOLL.items())
    return "".join(line for line in RECORDED.splitlines(keepends=True) if line.startswith(head))


def tried(component: str, functions: list[str]) -> dict[str, dict[str, str]]:
    """By knob, one of its values that are tried, with what stands beside it."""
    installed = installed_knobs() | reported(ompi_info(component))
    every = process.values(SPACE, installed, functions)
    own = f"coll_{component}_"
    found = [configuration.as_dict() for configuration in every]
    return {name: values for values in found for name in values if name.startswith(own)}


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_space_has_what_a_library_with_it_reports(component: str) -> None:
    found = installed_knobs() | reported(ompi_info(component))
    own = f"coll_{component}_"
    lines = [text for text in differences(SPACE, found) if own in text]
    assert [text for text in lines if not text.startswith(OLDER)] == []
    assert sum(name.startswith(own) for name in found) > 5
    assert not any(text.startswith(LACKED) for text in differences(SPACE, installed_knobs()))


@pytest.mark.parametrize("component", COMPONENTS)
def test_nothing_of_it_is_tried_where_it_is_not_reported(component: str) -> None:
    every = process.values(SPACE, installed_knobs(), ["MPI_Allreduce", "MPI_Bcast"])
    assert not any(f"coll_{component}_" in str(configuration) for configuration in every)
    assert tried(component, ["MPI_Allreduce"])


def test_ucc_is_switched_on_beside_each_of_its_settings() -> None:
    found = tried("ucc", ["MPI_Allreduce"])
    assert set(found) >= {"coll_ucc_enable", "coll_ucc_priority", "coll_ucc_cls", "coll_ucc_cts"}
    assert all(values["coll_ucc_enable"] == "1" for values in found.values())


def test_xhc_gets_the_rank_under_which_it_answers() -> None:
    """It has rank 0, so that its other settings are read with another rank alone."""
    assert set(tried("xhc", ["MPI_Bcast"])) == {"coll_xhc_priority"}
    assert tried("xhc", ["MPI_Gather"]) == {}
