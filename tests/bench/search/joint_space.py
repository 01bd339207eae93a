"""A joint space of settings of the whole process, and what launches under each of its points took:
Open MPI 4.1.4 with two ranks. `python -m tests.bench.search.joint_space` records it again, in some
seven minutes; joint.py replays searches on the record.

A point is a transport and a value of each of its settings. Rounds have a launch of every point in
random order, and one of the library as it is before every few of them."""

from __future__ import annotations

import gzip
import itertools
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure import tables
from plumbline.settings import starting
from plumbline_db.probe_records import ProbeRecord, Samples

from .sweeps import Here, Sweep, here

RECORDED = Path(__file__).with_name("joint.json.gz")
PLAIN = ""  # the name of the library as it is
_FUNCTIONS = ("MPI_Bcast", "MPI_Allreduce", "MPI_Alltoall")
_SIZES = (1024, 8192, 65536)
_SWEEP = Sweep("joint", {"nprocs": 2, "sizes": list(_SIZES), "launch_timeout_seconds": 20.0})
_BLOCKS, _REPS = 8, 5
_BESIDE = 8  # points between two launches of the library as it is
_LONGEST_SECONDS = 470.0


class Transport(msgspec.Struct, frozen=True):
    """Variables that choose it, and the values of its settings; the library's own come first."""

    chosen_by: dict[str, str]
    settings: dict[str, tuple[str, ...]]


TRANSPORTS = {
    "shared memory": Transport(
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"},
        {
            "OMPI_MCA_btl_vader_eager_limit": ("4096", "1024", "16384", "65536"),
            "OMPI_MCA_btl_vader_max_send_size": ("32768", "131072"),
            "OMPI_MCA_btl_vader_fbox_threshold": ("16", "1"),
            "OMPI_MCA_btl_vader_fbox_size": ("4096", "16384"),
            "OMPI_MCA_btl_vader_single_copy_mechanism": ("cma", "none"),
        },
    ),
    "TCP": Transport(
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
        {
            "OMPI_MCA_btl_tcp_eager_limit": ("65536", "16384"),
            "OMPI_MCA_btl_tcp_sndbuf": ("0", "524288"),
        },
    ),
    "UCX": Transport(
        {
            "OMPI_MCA_pml": "ucx",
            "OMPI_MCA_pml_ucx_tls": "any",
            "OMPI_MCA_pml_ucx_devices": "any",
        },
        {
            "UCX_TLS": ("self,posix,cma", "self,posix", "self,xpmem"),
            "UCX_RNDV_THRESH": ("auto", "4096", "65536"),
            "UCX_POSIX_SEG_SIZE": ("8256", "65536"),
            "UCX_POSIX_FIFO_SIZE": ("64", "256"),
        },
    ),
}


class Launch(msgspec.Struct, frozen=True):
    """`point`: its name; `ns`: lower quartiles by cell, in the order of the record; none where the
    launch failed. `beside`: those of the last launch of the library as it is."""

    point: str
    round: int
    ns: list[int]
    beside: list[int]
    seconds: float


class Record(msgspec.Struct, frozen=True):
    cells: list[tuple[str, int]]
    launches: list[Launch]


def points() -> Iterator[tuple[str, dict[str, str]]]:
    """Return the points: the name of the transport, and the values of its settings."""
    for name, transport in TRANSPORTS.items():
        for values in itertools.product(*transport.settings.values()):
            yield name, dict(zip(transport.settings, values, strict=True))


def name_of(transport: str, values: Mapping[str, str]) -> str:
    return "|".join([transport, *values.values()])


def read() -> Record:
    return msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Record)


def _record() -> Record:
    at = here(_SWEEP)
    starter = starting.starter(at.bench, at.settings)
    cells = [(function, size) for function in _FUNCTIONS for size in _SIZES]
    environments = {
        name_of(transport, values): TRANSPORTS[transport].chosen_by | values
        for transport, values in points()
    }
    chance, launches, beside = random.Random(1), list[Launch](), list[int]()
    begun, number = time.monotonic(), 0
    while True:
        order = list(environments)
        chance.shuffle(order)
        round_begun, fresh = time.monotonic(), []
        for place, name in enumerate(order):
            if place % _BESIDE == 0:
                beside, seconds = _launch(at, starter, cells, {}, len(launches) + len(fresh))
                fresh.append(Launch(PLAIN, number, beside, beside, seconds))
            seed = len(launches) + len(fresh)
            ns, seconds = _launch(at, starter, cells, environments[name], seed)
            fresh.append(Launch(name, number, ns, beside, seconds))
        launches += fresh
        now = time.monotonic()
        print(f"round {number}: {now - round_begun:.0f} s", file=sys.stderr, flush=True)
        if now - begun + (now - round_begun) > _LONGEST_SECONDS:
            return Record(cells, launches)
        number += 1


def _launch(
    at: Here,
    starter: Starter,
    cells: list[tuple[str, int]],
    environment: Mapping[str, str],
    seed: int,
) -> tuple[list[int], float]:
    """Return the quartiles, none where the launch fails, and what the launch took."""
    plan = tables.plan(at.settings, [PlanCase(*cell) for cell in cells])
    plan = msgspec.structs.replace(plan, name="joint", seed=seed, blocks=_BLOCKS, reps=_REPS)
    begun = time.monotonic()
    run, records = starter.start("joint", "joint", seed, plan.text(), dict(environment))
    seconds = round(time.monotonic() - begun, 3)
    return ([] if run.failure else _quartiles(records, len(cells))), seconds


def _quartiles(records: list[ProbeRecord], cells: int) -> list[int]:
    samples: dict[int, list[int]] = {}
    for record in records:
        if isinstance(record, Samples):
            samples.setdefault(record.case, []).extend(record.ns)
    # Other work on the machine lengthens calls; the quartile sees less of it than the median.
    return [round(statistics.quantiles(samples[case])[0]) for case in range(cells)]


if __name__ == "__main__":
    text = msgspec.json.encode(_record())
    RECORDED.write_bytes(gzip.compress(text, 9, mtime=0))
