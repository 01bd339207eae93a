"""Ways to start ranks: one file each, registered by decorator. A launcher turns a job into a list
of arguments; it starts nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from plumbline.libraries import Installation


class Job(msgspec.Struct, frozen=True):
    """`program` is the probe (or an application) with its arguments."""

    program: list[str]
    nprocs: int
    oversubscribed: bool


class Launcher(Protocol):
    name: str

    def command(self, installation: Installation, job: Job) -> list[str]:
        """The whole argument list that starts the job."""
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
    from . import local  # noqa: F401 - registers itself

    return _LAUNCHERS
