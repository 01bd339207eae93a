"""Records of applications that were never run."""

from __future__ import annotations

from pathlib import Path

from plumbline.core.application import Application, Calls, write


def calls(
    function: str,
    size: int | None,
    count: float,
    fastest_seconds: float,
    *,
    nprocs: int = 4,
    nodes: int | None = 1,
    waiting: float = 2.0,
) -> Calls:
    """`waiting`: how many times as long a call takes on the average."""
    ppn = None if nodes is None else nprocs // nodes
    seconds = count * fastest_seconds * waiting
    work = min(seconds, count * fastest_seconds)
    return Calls(function, nprocs, nodes, ppn, size, count, seconds, fastest_seconds, work)


def application(*found: Calls, seconds: float = 100.0) -> Application:
    return Application(
        schema=1,
        version="0.1.0",
        command=["mpirun", "-np", "4", "./application"],
        started="2026-01-01T00:00:00+00:00",
        status=0,
        library="Open MPI v4.1.4",
        nprocs=4,
        ranks=4,
        finished=4,
        seconds=seconds,
        lost=0,
        calls=list(found),
    )


def written(folder: Path, *found: Calls) -> Path:
    path = folder / "application.json"
    write(path, application(*found))
    return path
