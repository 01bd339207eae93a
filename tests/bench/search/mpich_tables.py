"""What MPICH's tables and variables of an environment decide, as far as they are ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from plumbline.search.space.candidates import Candidate
from plumbline_exporters.family.mpich import coll, selection
from tests.exporters.bundles import winner
from tests.exporters.mpich_walk import met

# Of calls with the operations that are measured: built-in ones that commute, on equal blocks.
_CALL = {
    "is_commutative": "yes",
    "is_op_built_in": "yes",
    "is_block_regular": "yes",
    "is_sendbuf_inplace": "no",
}
_OURS = ("plumbline=", "written=")


class Tables:
    """Of one launch. `space`: the candidates of a cell, by function and bytes. `corrupted`: a
    variable has no value of its type, which ends every program."""

    def __init__(
        self, environment: Mapping[str, str], space: Callable[[str, int], Iterable[Candidate]]
    ) -> None:
        files = (selection.VARIABLE, selection.COMPOSITIONS_VARIABLE)
        self._tables = [
            json.loads(Path(environment[name]).read_text()) for name in files if name in environment
        ]
        self._variables = {
            name: value
            for name, value in environment.items()
            if name.startswith(coll.PREFIX) and name not in files
        }
        self._space = space
        self.corrupted = "canary" in self._variables.values()

    def knobs(self, function: str, nprocs: int, size: int) -> dict[str, str] | None:
        """What is chosen for a call; empty where that is left to the library, None where the call
        meets a canary."""
        found = {
            name: value
            for name, value in self._variables.items()
            if function in coll.functions_of(name)
        }
        collective = function.removeprefix("MPI_")
        own = tuple(f"{one}_{collective}_" for one in ("MPIR", "MPIDI"))
        for table in self._tables:
            if f"collective={collective.lower()}" not in table:
                continue
            name, below = met(table, collective.lower(), **_call(function, nprocs, size))
            if not name.partition("=")[2].startswith(own):
                return None
            if any(word.startswith(_OURS) for word in below):
                found |= self._named(function, size, name, below)
        return found

    def _named(
        self, function: str, size: int, name: str, below: Mapping[str, Any]
    ) -> dict[str, str]:
        """The knobs of the candidate that stands in a table as `name`."""
        told = {word for word in below if not word.startswith(_OURS)}
        for candidate in self._space(function, size):
            knobs = candidate.configuration.as_dict()
            one = winner(function, knobs)
            algorithm = coll.algorithm(one)
            leaf = {} if algorithm is None else coll.leaf(one, algorithm)
            if name in leaf and set(leaf[name]) == told:
                return knobs
        return {}


def _call(function: str, nprocs: int, size: int) -> dict[str, str | int]:
    counted = coll.COLLECTIVES[function]
    block = -(-size // nprocs)
    total = {"volume": size, "block": block, "blocks": block * nprocs}[counted.counts]
    sizes = dict.fromkeys(("avg_msg_size", "total_msg_size"), total)
    return _CALL | sizes | {"comm_size": nprocs, "count": size}
