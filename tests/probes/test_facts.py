"""What the probe says about itself, the library and the machine."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.probes.launch import Probe


def test_list_needs_no_mpirun(probe: Probe) -> None:
    known = probe.known()
    names = [function["name"] for function in known["functions"]]
    assert len(names) == len(set(names)) == 17 and "MPI_Allreduce" in names
    for variant in known["variants"]:
        keys = {"name", "function", "kind", "restrictions", "parameters", "summary"}
        assert set(variant) == keys | {"scratch_volumes", "deployable", "least_ranks"}
        for parameter in variant["parameters"]:
            assert set(parameter) == {"name", "least", "most", "standard", "tries", "summary"}
            assert parameter["least"] <= parameter["standard"] <= parameter["most"]
            tries = parameter["tries"]
            assert tries == sorted(set(tries))
            assert parameter["least"] <= tries[0] and tries[-1] <= parameter["most"]
        unmeasured = ("MPI_Alltoallw", "MPI_Neighbor_")
        assert variant["function"] in names or variant["function"].startswith(unmeasured)
        assert variant["kind"] in ("mockup", "algorithm", "naive")
        assert variant["summary"]
    kept_back = {one["name"] for one in known["variants"] if not one["deployable"]}
    assert all(name.startswith(("gatherv_", "scatterv_", "alltoallv_")) for name in kept_back)
    assert len(known["variants"]) >= 60 and kept_back
    assert {"MPI_BYTE", "MPI_INT", "MPI_DOUBLE"} <= set(known["types"])
    assert {"MPI_SUM", "MPI_BOR"} <= set(known["ops"])


def test_help_and_version(probe: Probe) -> None:
    text = probe.start([str(probe.binary), "--help"])
    assert text.code == 0
    assert all(word in text.stdout for word in ("--plan FILE", "--check-plan FILE", "system"))
    version = probe.start([str(probe.binary), "--version"])
    assert version.stdout == f"probe {probe.known()['probe']}\n"


def test_check_plan_says_what_it_holds(probe: Probe) -> None:
    plan = probe.write(
        "set run=r seed=9 blocks=3\nconfig id=a\n"
        "case id=0 function=MPI_Bcast bytes=8 config=a\n"
        "case id=1 function=MPI_Bcast bytes=9 reps=5\n"
    )
    launch = probe.start([str(probe.binary), "--check-plan", str(plan)])
    assert launch.code == 0
    assert "run 'r', 2 cases, 1 configs, 3 blocks, 45 samples, seed 9" in launch.stdout


@pytest.fixture
def system(probe: Probe) -> dict[str, Any]:
    launch = probe.start(
        [*probe.command(2, {"OMPI_MCA_coll_tuned_priority": "29"}), str(probe.binary), "system"]
    )
    assert (launch.code, launch.stderr) == (0, "")
    found: dict[str, Any] = json.loads(launch.stdout)
    return found


@pytest.mark.mpi
def test_system(system: dict[str, Any]) -> None:
    topology = system["topology"]
    assert topology["processing_units"] == len(os.sched_getaffinity(0))
    assert 0 < topology["packages"] <= topology["cores"] <= topology["processing_units"] * 64
    assert topology["numa_nodes"] >= 1 and topology["memory_bytes"] > 2**20
    assert all(cache["bytes"] >= 0 and cache["level"] >= 1 for cache in topology["caches"])
    assert topology["xml"].startswith("<?xml")
    assert [rank["rank"] for rank in system["ranks"]] == [0, 1]
    assert all(rank["host"] and rank["binding"] for rank in system["ranks"])
    assert (system["nprocs"], system["nodes"], system["ppn"]) == (2, 1, 2)
    assert system["environment"]["OMPI_MCA_coll_tuned_priority"] == "29"


@pytest.mark.mpi
def test_control_variables(system: dict[str, Any]) -> None:
    variables = {variable["name"]: variable for variable in system["variables"]}
    assert len(variables) == len(system["variables"]) > 500
    algorithm = variables["coll_tuned_allreduce_algorithm"]
    assert (algorithm["type"], algorithm["scope"], algorithm["value"]) == ("int", "all", "0")
    assert {"value": 3, "name": "recursive_doubling"} in algorithm["enumerators"]
    assert variables["coll_tuned_priority"]["value"] == "29"
    assert variables["coll_tuned_use_dynamic_rules"]["type"] == "bool"
    assert variables["coll_tuned_dynamic_rules_filename"]["type"] == "string"
    assert {variable["type"] for variable in system["variables"]} >= {"int", "unsigned", "string"}
    assert "unknown" not in {variable["type"] for variable in system["variables"]}
    assert all(variable["readable"] or variable["value"] == "" for variable in variables.values())
