"""Components that most builds of Open MPI lack: their settings are tried where the library reports
them, and nothing is missing where it does not. What is reported here was written by hand, in the
form of ompi_info and with the names of the components' sources: nobody has run one."""

from __future__ import annotations

import pytest

from plumbline.libraries.openmpi.info import reported
from plumbline.libraries.space import differences
from plumbline.search import process
from tests.tuner.simulated import LACKED, SPACE, installed_knobs

UCC = {
    "priority": "10",
    "verbose": "0",
    "enable": "0",
    "np": "2",
    "cls": "basic",
    "cts": "barrier,bcast,allreduce,alltoall",
    "print_compiletime_version": "1.2.0",
    "print_runtime_version": "1.2.0",
}
HCOLL = {
    "priority": "90",
    "verbose": "0",
    "enable": "1",
    "np": "2",
    "datatype_fallback": "1",
    "print_compiletime_version": "4.8",
    "print_runtime_version": "4.8",
}
XHC = {
    "priority": "0",
    "print_info": "",
    "shmem_backing": "/dev/shm",
    "memcpy_chunk_size": "262144",
    "dynamic_leader": "false",
    "dynamic_reduce": "non-float",
    "reduce_load_balance": "all",
    "uniform_chunks": "true",
    "uniform_chunks_min": "4096",
    "barrier_root": "0",
    "allreduce_root": "0",
    "hierarchy": "",
    "chunk_size": "",
    "cico_max": "0",
    **{f"{name}_hierarchy": "numa,socket" for name in ("barrier", "bcast")},
    **{f"{name}_hierarchy": "l3,numa,socket" for name in ("allreduce", "reduce")},
    **{f"{name}_chunk_size": "16K" for name in ("allreduce", "bcast", "reduce")},
    **{f"{name}_cico_max": "4096" for name in ("allreduce", "bcast", "reduce")},
}
ACOLL = {
    "priority": "40",
    "sg_size": "8",
    "sg_scale": "1",
    "node_size": "128",
    "mnode_enable": "1",
    "use_dynamic_rules": "0",
    **{f"bcast_{name}": "0" for name in ("lin0", "lin1", "lin2", "nonsg")},
    **{f"allgather_{name}": "0" for name in ("lin", "ring_1")},
    "reserve_memory_for_algo": "0",
    "reserve_memory_size_for_algo": "4194304",
    "without_xpmem": "0",
    "xpmem_buffer_size": "4194304",
    "xpmem_use_sr_buf": "1",
}
COMPONENTS = {"acoll": ACOLL, "hcoll": HCOLL, "ucc": UCC, "xhc": XHC}


def ompi_info(component: str) -> str:
    head = f"mca:coll:{component}:param:coll_{component}_"
    values = COMPONENTS[component].items()
    return "".join(f"{head}{name}:value:{value}\n" for name, value in values)


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
    assert [text for text in differences(SPACE, found) if own in text] == []
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
