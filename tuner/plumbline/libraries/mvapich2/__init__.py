"""MVAPICH2 2.x: found by mpiname, tuned by variables that are read once, in MPI_Init.

Cold: none of its knobs is hot. What a report shows is what MV2_SHOW_ENV_INFO=2 prints, some 180
values, and the control variables of MPI_T; other values cannot be read back. The library says
nothing about a value that it does not know and takes one of its own, so that exported settings are
proven by what is called inside the library (`canaries`).

A communicator gets its two levels in its 16th collective call, MPI_COMM_WORLD (of fewer than 2048
ranks) in MPI_Init: the warm-up of a plan is as long. Only the first communicators get memory for
them, which is why no more are made than are measured."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from plumbline import libraries
from plumbline.core.reach import Reach
from plumbline.libraries import DeliberateError, Installation, Knob, family, hydra, mpiname
from plumbline.system import paths, process
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters import by_size
from plumbline_exporters.family import mvapich2

# Functions inside MVAPICH2 2.x that are the algorithms which its variables number: its source,
# src/mpi/coll/*_tuning.c of 2.3.7. A canary makes them refuse (PLUMBLINE_REFUSES): then the calls
# fail for which the library takes the algorithm, and no others.

REFUSES = "PLUMBLINE_REFUSES"  # probes/system/refuse.h

# If a number has several functions, each is called at some sizes or on some nodes: a Bcast of two
# levels ends in shared memory, and on one node it consists of that part only.
_SHARED = "MPIR_Shmem_Bcast_MV2"
FUNCTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "MV2_ALLTOALL_TUNING": {
        "0": ("MPIR_Alltoall_bruck_MV2",),
        "1": ("MPIR_Alltoall_RD_MV2",),
        "2": ("MPIR_Alltoall_Scatter_dest_MV2",),
        "3": ("MPIR_Alltoall_pairwise_MV2",),
        "4": ("MPIR_Alltoall_inplace_MV2",),
    },
    "MV2_ALLTOALLV_TUNING": {
        "0": ("MPIR_Alltoallv_intra_scatter_MV2",),
        "1": ("MPIR_Alltoallv_intra_MV2",),
    },
    "MV2_INTER_ALLGATHER_TUNING": {
        "1": ("MPIR_Allgather_RD_Allgather_Comm_MV2",),
        "2": ("MPIR_Allgather_RD_MV2",),
        "3": ("MPIR_Allgather_Bruck_MV2",),
        "4": ("MPIR_Allgather_Ring_MV2",),
        "5": ("MPIR_Allgather_Direct_MV2",),
        "6": ("MPIR_Allgather_DirectSpread_MV2",),
        "7": ("MPIR_Allgather_gather_bcast_MV2",),
        "8": ("MPIR_2lvl_Allgather_nonblocked_MV2",),
        "9": ("MPIR_2lvl_Allgather_Ring_nonblocked_MV2",),
        "10": ("MPIR_2lvl_Allgather_Direct_MV2",),
        "11": ("MPIR_2lvl_Allgather_Ring_MV2",),
    },
    "MV2_INTER_ALLGATHERV_TUNING": {
        "1": ("MPIR_Allgatherv_Rec_Doubling_MV2",),
        "2": ("MPIR_Allgatherv_Bruck_MV2",),
        "3": ("MPIR_Allgatherv_Ring_MV2",),
        "4": ("MPIR_Allgatherv_Ring_Cyclic_MV2",),
    },
    "MV2_INTER_ALLREDUCE_TUNING": {
        "1": ("MPIR_Allreduce_pt2pt_rd_MV2",),
        "2": ("MPIR_Allreduce_pt2pt_rs_MV2",),
        "8": ("MPIR_Allreduce_pt2pt_reduce_scatter_allgather_MV2",),
        "9": ("MPIR_Allreduce_pt2pt_ring_wrapper_MV2",),
        "11": ("MPIR_Allreduce_socket_aware_two_level_MV2",),
    },
    "MV2_INTER_BCAST_TUNING": {
        "1": ("MPIR_Bcast_binomial_MV2",),
        "2": ("MPIR_Bcast_binomial_MV2", _SHARED),
        "3": ("MPIR_Bcast_scatter_doubling_allgather_MV2",),
        "4": ("MPIR_Bcast_scatter_doubling_allgather_MV2", _SHARED),
        "5": ("MPIR_Bcast_scatter_ring_allgather_MV2",),
        "6": ("MPIR_Bcast_scatter_ring_allgather_MV2", _SHARED),
        "7": ("MPIR_Bcast_scatter_ring_allgather_shm_MV2", _SHARED),
        "8": ("MPIR_Knomial_Bcast_inter_node_wrapper_MV2", _SHARED),
        "9": ("MPIR_Pipelined_Bcast_MV2", _SHARED),
        "10": ("MPIR_Pipelined_Bcast_Zcpy_MV2",),
    },
    "MV2_INTER_REDUCE_TUNING": {
        "1": ("MPIR_Reduce_binomial_MV2",),
        "2": ("MPIR_Reduce_inter_knomial_wrapper_MV2",),
        "5": ("MPIR_Reduce_redscat_gather_MV2",),
        "6": ("MPIR_Reduce_Zcpy_MV2",),
        "8": ("MPIR_Reduce_allreduce_MV2",),
    },
    "MV2_INTER_RED_SCAT_TUNING": {
        "1": ("MPIR_Reduce_Scatter_Basic_MV2",),
        "2": ("MPIR_Reduce_scatter_Rec_Halving_MV2",),
        "3": ("MPIR_Reduce_scatter_Pair_Wise_MV2",),
        "4": ("MPIR_Reduce_scatter_ring",),
        "5": ("MPIR_Reduce_scatter_ring_2lvl",),
    },
    "MV2_INTER_RED_SCAT_BLOCK_TUNING": {
        "1": ("MPIR_Reduce_scatter_block_ring_MV2",),
        "2": ("MPIR_Reduce_scatter_block_ring_2lvl_MV2",),
    },
    "MV2_INTER_SCATTER_TUNING": {
        "1": ("MPIR_Scatter_MV2_Binomial",),
        "2": ("MPIR_Scatter_MV2_Direct",),
        "3": ("MPIR_Scatter_MV2_two_level_Binomial",),
        "4": ("MPIR_Scatter_MV2_two_level_Direct",),
    },
}


TWO_LEVEL_CALLS = 16
# MPI_T variables that set the same as an environment variable: MPI_Init fails if both are set.
CVARS = {
    "MV2_INTER_ALLGATHER_TUNING": "MPIR_CVAR_ALLGATHER_COLLECTIVE_ALGORITHM",
    "MV2_INTER_ALLREDUCE_TUNING": "MPIR_CVAR_ALLREDUCE_COLLECTIVE_ALGORITHM",
    "MV2_ALLTOALL_TUNING": "MPIR_CVAR_ALLTOALL_COLLECTIVE_ALGORITHM",
    "MV2_ALLTOALLV_TUNING": "MPIR_CVAR_ALLTOALLV_COLLECTIVE_ALGORITHM",
    "MV2_INTER_BCAST_TUNING": "MPIR_CVAR_BCAST_COLLECTIVE_ALGORITHM",
    "MV2_INTER_GATHER_TUNING": "MPIR_CVAR_GATHER_COLLECTIVE_ALGORITHM",
    "MV2_INTER_REDUCE_TUNING": "MPIR_CVAR_REDUCE_COLLECTIVE_ALGORITHM",
    "MV2_INTER_SCATTER_TUNING": "MPIR_CVAR_SCATTER_COLLECTIVE_ALGORITHM",
}
_COLLECTIVE = "ALLGATHER|ALLGATHERV|ALLREDUCE|ALLTOALL|ALLTOALLV|BCAST|GATHER|REDUCE|SCATTER"
# Variables that decide how messages are sent, without those that a site needs to send any
# (adapters, ports, binding).
_SETTINGS = re.compile(
    r"MV2_(USE_(?!BLOCKING|RDMA_CM|RoCE|IBOIP|QOS)|INTER_|INTRA_|SHMEM_|COLL_|TWO_LEVEL_|KNOMIAL_"
    r"|ENABLE_(?!AFFINITY|LEASTLOAD)|TOPO_AWARE_|SOCKET_AWARE_|ALLGATHER|ALLRED|ALLTOALL|BCAST|"
    r"GATHER|SCATTER|RED_SCAT|REDSCAT|REDUCE|SMP_|IBA_EAGER|VBUF_TOTAL|RNDV_|R3_|FORCE_ARCH|"
    r"USER_CONFIG|RAIL_SHARING)|BCAST_SEGMENT_SIZE$"
    rf"|(MPIR_CVAR|MPIR_PARAM|MPICH|MV2)_({_COLLECTIVE})_"
)
# `  MV2_NAME  : value`, or `MV2_NAME | value | active` of a build with MPI_T.
_SHOWN = re.compile(r"\s*(?:- )?(MV2_\w+)\s*[:|]\s*([^|]*?)\s*(?:\|.*)?\Z")
_REPORT_CAP_BYTES = 4 * 1024 * 1024

# The values of MV2_CPU_BINDING_LEVEL, then those of MV2_CPU_BINDING_POLICY.
_LEVELS = {"core": "core", "socket": "socket", "numa": "numanode"}
_POLICIES = {"core": "bunch", "socket": "scatter", "numa": "scatter", "node": "bunch", "": ""}


@family
class Mvapich2(hydra.Started):
    name = "mvapich2"
    reports_all = False
    complaints = re.compile("No IB device found|Invalid value for MPIR_CVAR")
    untried = (
        "MVAPICH2 was run by Plumbline as 2.3.7 on one node without an adapter: what it does "
        "between nodes, and what other versions do, follows their source"
    )

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        answer = mpiname.ask(prefix, "MVAPICH2", added)
        return [mpiname.installation(answer, self.name)] if answer else []

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        """Return by a launch of one rank of the probe, which must be built."""
        probe = paths.layout().probe(paths.build_id(installation.library))
        given = os.environ | self.environment(installation)
        clean = {name: value for name, value in given.items() if not _SETTINGS.match(name)}
        environment = clean | {"MV2_SHOW_ENV_INFO": "2"}
        words = [str(installation.mpirun), *self.words(Placement(nodes=1, ppn=1))]
        done = process.run(
            [*words, str(probe), "system"],
            timeout_seconds=60,
            environment=environment,
            cap_bytes=_REPORT_CAP_BYTES,
        )
        if done.status != 0:
            why = self.complaint(done.stderr) or done.stderr.strip()[-500:]
            raise PlumblineError(
                f"{installation.mpirun} cannot start {probe} (status {done.status}): {why}"
            )
        return shown(done.stderr) | shown(done.stdout) | libraries.reported_among(done.stdout)

    def environment(self, installation: Installation) -> dict[str, str]:
        return dict(installation.environment)

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        return hydra.words(placement, reach, binding=_binding(placement))

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        values = dict(knobs)
        for name, value in knobs.items():
            if by_size.has_sizes(value) and name in mvapich2.SWITCHES:
                values |= mvapich2.companions(name)
        for name in knobs:
            if why := mvapich2.refused(name, values):
                raise PlumblineError(f"{name}={values[name]}: {why}")
        _refuse_crashes(values)
        return values

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """Each algorithm that a variable names refuses, in the library itself: calls fail if it is
        taken for them, at one size of its range at least (at others it may not be fit). Of a value
        whose algorithm is not known, a variable of MPI_T beside it makes MPI_Init fail, which shows
        that ours arrived. Others leave nothing to see."""
        del folder
        canaries = []
        for name in sorted(environment):
            if not name.startswith("MV2_") or not _SETTINGS.match(name):
                continue
            refusing = _refusing(name, environment)
            if refusing:
                canaries += refusing
                continue
            cvar = CVARS.get(name)
            function = (_function(name),) if cvar else ()
            changed = dict(environment) | ({cvar: "0"} if cvar else {})
            fails: Literal["launch", "nothing"] = "launch" if cvar else "nothing"
            canaries.append(
                DeliberateError(name=name, environment=changed, functions=function, fails=fails)
            )
        return canaries

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        own_variables = {*hydra.OURS, REFUSES}
        return sorted(
            name for name in environment if _SETTINGS.match(name) or name in own_variables
        )


def _function(name: str) -> str:
    """`MPI_Bcast` for MV2_INTER_BCAST_TUNING."""
    word = name.removeprefix("MV2_").removeprefix("INTER_").removesuffix("_TUNING")
    return "MPI_" + word.replace("RED_SCAT", "REDUCE_SCATTER").capitalize()


def _refusing(name: str, environment: Mapping[str, str]) -> list[DeliberateError]:
    """One for each range of sizes of the value of `name`; none where an algorithm is not known."""
    value, functions = environment[name], FUNCTIONS.get(name, {})
    ranges: list[tuple[str, int, int | None]] = [(value, 0, None)]
    if by_size.has_sizes(value):
        ranges = [(str(part.algorithm), part.first, part.last) for part in by_size.read(value)]
    if any(number not in functions for number, _, _ in ranges):
        return []
    return [
        DeliberateError(
            name=f"{name}, algorithm {number} from {first} bytes on",
            environment=dict(environment) | {REFUSES: ",".join(functions[number])},
            functions=(_function(name),),
            bytes_from=first,
            bytes_to=UNBOUNDED_BYTES if last is None else last,
            one_of=True,
        )
        for number, first, last in ranges
    ]


def shown(text: str) -> dict[str, Knob]:
    """Return what MV2_SHOW_ENV_INFO=2 prints."""
    matches = (_SHOWN.match(line) for line in text.splitlines())
    return {
        match[1]: Knob(name=match[1], value=match[2], type="", writable=True, choices={})
        for match in matches
        if match
    }


def _refuse_crashes(values: Mapping[str, str]) -> None:
    """Refuse what was seen to crash, and what MPI_Init does not take, is not set."""
    scatter = values.get("MV2_INTER_RED_SCAT_TUNING", "")
    if mvapich2.begins_with_1(scatter) and "MV2_INTER_REDUCE_TUNING" not in values:
        raise PlumblineError(
            "MV2_INTER_RED_SCAT_TUNING=1 crashes where MV2_INTER_REDUCE_TUNING is not set too"
        )
    if mvapich2.queue_is_short(values):
        raise PlumblineError(
            f"MPI_Init fails where {mvapich2.QUEUE} is not more than twice {mvapich2.EAGER}"
        )
    for name, cvar in CVARS.items():
        if name in values and cvar in values:
            raise PlumblineError(f"MPI_Init fails with {name} and {cvar}: set one of them")


def _binding(placement: Placement) -> list[str]:
    """The library binds ranks itself, and refuses to bind more of them than there are cores: these
    a plain mpirun does not start."""
    if placement.oversubscribed or placement.binding == "none":
        return ["-genv", "MV2_ENABLE_AFFINITY", "0"]
    options: list[str] = []
    if placement.binding:
        options += ["-genv", "MV2_CPU_BINDING_LEVEL", _LEVELS[placement.binding]]
    policy = _POLICIES[placement.map_by]
    if policy:
        options += ["-genv", "MV2_CPU_BINDING_POLICY", policy]
    return options
