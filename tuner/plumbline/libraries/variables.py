"""Control variables of MPI_T, as `probe system` reports them."""

from __future__ import annotations

import msgspec

from . import Knob


class _Enumerator(msgspec.Struct, frozen=True):
    name: str
    value: int


class _Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    scope: str
    value: str = ""
    enumerators: list[_Enumerator] = []


class _Report(msgspec.Struct, frozen=True):
    variables: list[_Variable]


def reported(text: str) -> dict[str, Knob]:
    """From standard output, where other lines may stand before and after."""
    line = next((one for one in text.splitlines() if one.startswith('{"probe"')), None)
    if line is None:
        return {}
    found = msgspec.json.decode(line, type=_Report, strict=False).variables
    return {
        one.name: Knob(
            name=one.name,
            value=one.value,
            type=one.type,
            writable=one.scope != "read-only",
            choices={choice.name: choice.value for choice in one.enumerators},
        )
        for one in found
    }
