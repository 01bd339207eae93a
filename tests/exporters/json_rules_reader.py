"""Reads a rules file as Open MPI 6 does (JSON), but complains where it is silent.

The first block whose communicator sizes and the first rule whose message sizes fit are taken, ends
included; what fits nothing is the library's own decision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

COLLECTIVES = {
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier",
    "bcast", "exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block",
    "scan", "scatter", "scatterv",
}  # fmt: skip
DISTRIBUTIONS = {"any", "one-per-node", "single-node"}
PARAMETERS = ("alg", "faninout", "seg_size", "reqs")


@dataclass(frozen=True)
class JsonRules:
    collectives: dict[str, list[dict[str, Any]]]

    def decision(
        self, collective: str, nprocs: int, size: int, placed: str = "single-node"
    ) -> list[int]:
        """[algorithm, fan-out, segment size, requests]; zeros where the library decides. `placed`:
        the distribution of the communicator's ranks, empty for several on each of several nodes.
        MPI_COMM_WORLD has none but `single-node`."""
        for block in self.collectives.get(collective, []):
            if block["comm_rank_distribution"] not in ("any", placed):
                continue
            if block["comm_size_min"] <= nprocs <= _upper(block["comm_size_max"]):
                for rule in block["rules"]:
                    if rule["msg_size_min"] <= size <= _upper(rule["msg_size_max"]):
                        return [rule[name] for name in PARAMETERS]
                return [0, 0, 0, 0]
        return [0, 0, 0, 0]


def read(text: str) -> JsonRules:
    document = json.loads(text)
    assert document["rule_file_version"] == 3 and document["module"] == "tuned"
    assert set(document) <= {"rule_file_version", "module", "plumbline", "collectives"}
    for name, blocks in document["collectives"].items():
        assert name in COLLECTIVES, f"{name}: the whole file would be dropped"
        for block in blocks:
            assert set(block) == {
                "comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"
            }  # fmt: skip
            assert block["comm_rank_distribution"] in DISTRIBUTIONS
            assert 0 <= block["comm_size_min"] <= _upper(block["comm_size_max"])
            for rule in block["rules"]:
                assert set(rule) == {"msg_size_min", "msg_size_max", *PARAMETERS}
                assert 0 <= rule["msg_size_min"] <= _upper(rule["msg_size_max"])
                assert all(isinstance(rule[one], int) and rule[one] >= 0 for one in PARAMETERS)
    return JsonRules(document["collectives"])


def _upper(value: int | str) -> float:
    if isinstance(value, int):
        return value
    assert value == "inf"
    return float("inf")
