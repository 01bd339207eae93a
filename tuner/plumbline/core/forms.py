"""Names of collectives, and of their non-blocking and persistent forms, which are functions of
their own: MPI_Ibcast, begun and waited for, and MPI_Bcast_init, set up before and then started and
waited for. What holds for the arguments and the volume of a function holds for its forms."""

from __future__ import annotations

from collections.abc import Iterable

_NONBLOCKING, _PERSISTENT = "MPI_I", "_init"


def name_of(text: str) -> str:
    """`MPI_Gather` of `gather`, `MPI_GATHER`, `Gather`."""
    bare = text.strip()
    if bare[:4].upper() == "MPI_":
        bare = bare[4:]
    return "MPI_" + bare.lower().capitalize()


def blocking(function: str) -> str:
    """`MPI_Bcast` of `MPI_Ibcast`, of `MPI_Bcast_init` and of itself."""
    if function.endswith(_PERSISTENT):
        return function.removesuffix(_PERSISTENT)
    if function.startswith(_NONBLOCKING):
        rest = function.removeprefix(_NONBLOCKING)
        return "MPI_" + rest[:1].upper() + rest[1:]
    return function


def is_form(function: str) -> bool:
    return blocking(function) != function


def with_forms(functions: Iterable[str]) -> frozenset[str]:
    """Return these functions and their forms."""
    with_their_forms: set[str] = set()
    for function in functions:
        name = function.removeprefix("MPI_")
        with_their_forms |= {function, _NONBLOCKING + name.lower(), function + _PERSISTENT}
    return frozenset(with_their_forms)
