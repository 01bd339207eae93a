"""Facts about the collectives of MPICH 4 and 5 that a selection file must respect.

A call passes three tables: of compositions (how nodes and network share the work), of algorithms in
shared memory, and of the algorithms above messages, MPIR's. A choice of the last one is heard where
the composition is the one that leaves everything to it. The tables look at no argument that an
algorithm needs, so that each choice is guarded here, and leaves the other calls to the library."""

from __future__ import annotations

from typing import Literal

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters import facts

PREFIX = "MPIR_CVAR_"


class Collective(msgspec.Struct, frozen=True):
    """`size` is what a table can compare: `avg_msg_size` and `total_msg_size` in bytes, or nothing:
    then ranks would not agree on it, or the library knows none. It is the n of
    docs/plan-and-records.md, its part `block` (n over p), or n rounded up to whole `blocks`.
    `composition` leaves the call to MPIR; empty where the library has no other. Algorithms that are
    not `intra` are for `allcomm`. `operands`: it knows whether its operator commutes."""

    size: Literal["avg_msg_size", "total_msg_size", ""] = ""
    counts: Literal["volume", "block", "blocks"] = "volume"
    composition: str = ""
    operands: bool = False
    in_place: bool = False


COLLECTIVES = {
    "MPI_Allgather": Collective("total_msg_size", "blocks"),
    "MPI_Allgatherv": Collective("total_msg_size"),
    "MPI_Allreduce": Collective(
        "avg_msg_size", composition="MPIDI_Allreduce_intra_composition_beta", operands=True
    ),
    "MPI_Alltoall": Collective("avg_msg_size", "block", in_place=True),
    "MPI_Alltoallv": Collective(in_place=True),
    "MPI_Barrier": Collective(composition="MPIDI_Barrier_intra_composition_beta"),
    "MPI_Bcast": Collective("avg_msg_size", composition="MPIDI_Bcast_intra_composition_gamma"),
    "MPI_Exscan": Collective(),
    "MPI_Gather": Collective(),
    "MPI_Gatherv": Collective(),
    "MPI_Reduce": Collective(
        "avg_msg_size", composition="MPIDI_Reduce_intra_composition_gamma", operands=True
    ),
    "MPI_Reduce_scatter": Collective("total_msg_size", operands=True),
    "MPI_Reduce_scatter_block": Collective("total_msg_size", "blocks", operands=True),
    "MPI_Scan": Collective(composition="MPIDI_Scan_intra_composition_beta"),
    "MPI_Scatter": Collective(),
    "MPI_Scatterv": Collective(),
}

# Algorithms for all communicators; the others are `intra`, except `nb`.
_ALLCOMM = {"MPI_Gatherv": ("linear",), "MPI_Scatterv": ("linear",)}

# The tests with which a table checks the needs of an algorithm; "enough": an element for each of
# the ranks (rounded down to a power of two).
_GUARDS = {
    "commutative": (("is_commutative", "yes"),),
    "built_in": (("is_op_built_in", "yes"), ("count", "enough")),
    "regular": (("is_block_regular", "yes"),),
}

# The names of an algorithm's variables in a table, by what follows the function's name.
_PARAMETERS = {
    "BRUCKS_KVAL": "k",
    "CCL": "ccl",
    "DISSEM_KVAL": "k",
    "IS_NON_BLOCKING": "is_non_blocking",
    "RECEXCH_KVAL": "k",
    "RECEXCH_SINGLE_PHASE_RECV": "single_phase_recv",
    "RECURSIVE_MULTIPLYING_KVAL": "k",
    "RECV_PRE_POST": "recv_pre_posted",
    "TREE_BUFFER_PER_CHILD": "buffer_per_child",
    "TREE_KVAL": "k",
    "TREE_PIPELINE_CHUNK_SIZE": "chunk_size",
    "TREE_TYPE": "tree_type",
}
# The parameters that an algorithm needs in a table, where it has no defaults.
_TOLD = {
    ("MPI_Allreduce", "tree"): {"tree_type": "knomial_1"},
    ("MPI_Bcast", "tree"): {"tree_type": "kary"},
    ("MPI_Bcast", "pipelined_tree"): {"tree_type": "kary"},
}


def stem(function: str) -> str:
    """`MPIR_CVAR_REDUCE_SCATTER_` for MPI_Reduce_scatter."""
    return f"{PREFIX}{function.removeprefix('MPI_').upper()}_"


def functions_of(variable: str) -> tuple[str, ...]:
    """The functions that a variable is for: one, or the two forms of one that does not block; none
    where it is for the whole process."""
    functions_by_stem: dict[str, tuple[str, ...]] = {
        stem(collective): (collective,) for collective in COLLECTIVES
    }
    for function in COLLECTIVES:
        begun = f"MPI_I{function.removeprefix('MPI_').lower()}"
        functions_by_stem[stem(begun)] = (begun, f"{function}_init")
    named = [start for start in functions_by_stem if variable.startswith(start)]
    return functions_by_stem[max(named, key=len)] if named else ()


def algorithm(winner: Winner) -> str | None:
    """The algorithm of a winner that a table can hold; None where it names none."""
    if winner.variant != "default" or winner.function not in COLLECTIVES:
        return None
    return winner.configuration.get(f"{stem(winner.function)}INTRA_ALGORITHM")


def leaf(winner: Winner, name: str) -> dict[str, dict[str, dict[str, object]]]:
    """`name` with its parameters, as the end of a branch."""
    function = winner.function.removeprefix("MPI_")
    everywhere = name == "nb" or name in _ALLCOMM.get(winner.function, ())
    kind = "allcomm" if everywhere else "intra"
    parameters = dict(_TOLD.get((winner.function, name), {}))
    for knob, value in winner.configuration.items():
        key = _PARAMETERS.get(knob.removeprefix(stem(winner.function)))
        if knob in _spoken(winner) and key is not None:
            parameters[key] = value
    return {
        f"algorithm=MPIR_{function}_{kind}_{name}": {f"{k}={v}": {} for k, v in parameters.items()}
    }


def _spoken(winner: Winner) -> set[str]:
    """Knobs of a winner that the tables say in their own words."""
    own = stem(winner.function)
    return {
        knob
        for knob in winner.configuration
        if knob in (f"{own}INTRA_ALGORITHM", f"{own}DEVICE_COLLECTIVE")
        or (knob.startswith(own) and knob.removeprefix(own) in _PARAMETERS)
    }


def left_over(winner: Winner) -> dict[str, str]:
    """Knobs of a winner that no table can hold: they are of the whole process."""
    if winner.variant != "default":
        return dict(winner.configuration)
    in_table = _spoken(winner) if algorithm(winner) is not None else set()
    return {knob: value for knob, value in winner.configuration.items() if knob not in in_table}


def _require_needs() -> None:
    """Raise PlumblineError where the search space is of a time before it said what algorithms need:
    tables without guards would be wrong."""
    every = facts.functions("mpich").values()
    if not any(
        algorithm_known.looks_for for function in every for algorithm_known in function.algorithms
    ):
        raise PlumblineError(
            f"{facts.folder() / 'mpich.toml'} is older than this Plumbline: it does not say what "
            "algorithms look for; install Plumbline again, or set PLUMBLINE_PREFIX to its prefix"
        )


def guards(function: str, name: str) -> list[tuple[str, str]]:
    """(key, value) of the tests that a call must pass, from the outside in."""
    _require_needs()
    algorithms = facts.function("mpich", function).algorithms
    needed = {
        need
        for algorithm_known in algorithms
        if algorithm_known.name == name
        for need in algorithm_known.looks_for
    }
    tests_needed = [test for need, tests in _GUARDS.items() if need in needed for test in tests]
    if COLLECTIVES[function].in_place:
        tests_needed.append(("is_sendbuf_inplace", "no"))
    return tests_needed
