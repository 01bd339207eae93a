"""Bundles of winners for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.family.mpich.coll import stem
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES, parameter_prefix
from tests.db import build


def library(version: str = "4.1.4", family: str = "openmpi", **changes: object) -> Library:
    named = {"id": f"{family}-{version}", "family": family, "version": version}
    return msgspec.structs.replace(build.LIBRARY, **named, **changes)


def all_may_leave(_: Winner) -> str:
    """What formats do with winners is tested with any; the gate has tests of its own."""
    return ""


def bundle(
    *winners: Winner,
    version: str = "4.1.4",
    family: str = "openmpi",
    directory: str | Path = "/out",
    **changes: object,
) -> Bundle:
    given = Bundle(
        campaign=build.CAMPAIGN,
        machine=build.MACHINE,
        library=library(version, family),
        winners=list(winners),
        created="2025-03-01T12:00:00Z",
        directory=Path(directory),
        refusal=all_may_leave,
        preload_library=Path("/opt/plumbline/libplumbline.so"),
    )
    return msgspec.structs.replace(given, **changes)


def winner(
    function: str,
    knobs: Mapping[str, str],
    low: int = 0,
    high: int = UNBOUNDED_BYTES,
    nprocs: int = 4,
    **more: object,
) -> Winner:
    """By these parameters of the library, at all sizes from `low` to `high`."""
    at: dict[str, object] = {"nprocs": nprocs, "ppn": nprocs, "bytes_from": low, "bytes_to": high}
    return build.winner(function=function, configuration=dict(knobs), **at, **more)


def tuned(
    function: str,
    algorithm: str,
    bytes_from: int = 0,
    bytes_to: int = UNBOUNDED_BYTES,
    nprocs: int = 4,
    *,
    restrictions: list[str] | None = None,
    **parameters: int,
) -> Winner:
    """A winner by the algorithm of the library; parameters by suffix: segmentsize=1024."""
    knobs = {parameter_prefix(function): algorithm}
    knobs |= {
        f"{parameter_prefix(function)}_{name}": str(value) for name, value in parameters.items()
    }
    return winner(function, knobs, bytes_from, bytes_to, nprocs, restrictions=restrictions or [])


def variant(
    function: str, name: str, bytes_from: int, bytes_to: int, nprocs: int = 4, **knobs: str
) -> Winner:
    return winner(function, knobs, bytes_from, bytes_to, nprocs, variant=name)


def of_mpich(
    function: str, algorithm: str, low: int, high: int, nprocs: int = 4, **more: str
) -> Winner:
    """`more`: parameters of the algorithm, as its variables end."""
    own = stem(function)
    knobs = {f"{own}INTRA_ALGORITHM": algorithm, f"{own}DEVICE_COLLECTIVE": "0"}
    knobs |= {own + name: value for name, value in more.items()}
    return winner(function, knobs, low, high, nprocs)


def knob(name: str, value: str, function: str = "MPI_Bcast") -> Winner:
    return winner(function, {name: value})


def everywhere(function: str, **knobs: str) -> Winner:
    """A winner by these parameters of the library, at all sizes."""
    return winner(function, knobs)


# An algorithm of Open MPI's for each function that is right for all operations, or "2".
SAFE = {"MPI_Allreduce": "1", "MPI_Reduce": "6", "MPI_Reduce_scatter": "4"}
BY_SIZE = [function for function, each in COLLECTIVES.items() if not each.one_for_all_sizes]


def safe(functions: Iterable[str] = COLLECTIVES, **more: int) -> list[Winner]:
    """One of Open MPI for each function, by size where a file can say so."""
    return [
        tuned(one, SAFE.get(one, "2"), *((512, 1 << 20) if one in BY_SIZE else ()), **more)
        for one in functions
    ]
