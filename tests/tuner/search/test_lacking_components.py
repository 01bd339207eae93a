"""Components that most builds of Open MPI lack: their settings are tried where the library reports
them, and nothing is missing where it does not. UCC, XHC and acoll are as an Open MPI reported them
that has all three; hcoll is written by hand, with the names of its source: nobody has run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.libraries.openmpi import reported
from plumbline.libraries.space import differences
from plumbline.search import process
from tests.tuner.simulated import LACKED, SPACE, installed_knobs

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
    every = process.values(process.Settable(SPACE, installed), functions)
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
    every = process.values(
        process.Settable(SPACE, installed_knobs()), ["MPI_Allreduce", "MPI_Bcast"]
    )
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
