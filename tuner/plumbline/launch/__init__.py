"""Ways to start ranks: one file each, registered by decorator. A launcher turns a job into a list
of arguments; it starts nothing itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline import process
from plumbline.libraries import Installation


class Job(msgspec.Struct, frozen=True):
    """`program` is the probe (or an application) with its arguments. `folder` is the job's own, for
    files that the command names; it lives as long as the job."""

    program: list[str]
    nprocs: int
    oversubscribed: bool
    folder: Path


class Launcher(Protocol):
    name: str

    def command(self, installation: Installation, job: Job) -> list[str]:
        """The whole argument list that starts the job."""
        ...

    def alone(self, installation: Installation, job: Job) -> list[str]:
        """The same for a program of one process that calls no MPI."""
        ...


_LAUNCHERS: dict[str, Launcher] = {}


def launcher(name: str) -> Callable[[type], type]:
    def register(implementation: type) -> type:
        if name in _LAUNCHERS:
            raise ValueError(f"launcher {name} is registered twice")
        _LAUNCHERS[name] = implementation()
        return implementation

    return register


def launchers() -> dict[str, Launcher]:
    from . import local, simulated  # noqa: F401 - they register themselves

    return _LAUNCHERS


def run_alone(
    launcher: Launcher, installation: Installation, program: list[str], timeout_seconds: float
) -> process.Finished:
    """Runs a program built for this library that calls no MPI."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        argv = launcher.alone(installation, Job(program, 1, False, Path(folder)))
        return process.run(argv, timeout_seconds=timeout_seconds)
