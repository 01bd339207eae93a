"""Control variables of MPI_T, as `probe system` reports them."""

from __future__ import annotations

import msgspec

from . import Knob


class _Choice(msgspec.Struct, frozen=True):
    value: int
    name: str


class _Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    scope: str
    value: str | None = None
    enumerators: list[_Choice] = []


class _System(msgspec.Struct, frozen=True):
    """The part of `probe system` that is read."""

    variables: list[_Variable]


def reported(text: str) -> dict[str, Knob]:
    """Return the knobs from the probe's report. Raises ValidationError (a ValueError) if the text
    is no report."""
    return {
        variable.name: _knob(variable)
        for variable in msgspec.json.decode(text, type=_System).variables
    }


def reported_among(output: str) -> dict[str, Knob]:
    """Return the knobs from the probe's line among other lines; empty if there is no such line."""
    line = next((line for line in output.splitlines() if line.startswith('{"probe"')), None)
    return {} if line is None else reported(line)


def _knob(variable: _Variable) -> Knob:
    """Return the knob, with the name of its value if values have names."""
    names = {str(choice.value): choice.name for choice in variable.enumerators}
    value = variable.value or ""
    return Knob(
        name=variable.name,
        value=names.get(value, value),
        type=variable.type,
        writable=variable.scope not in ("constant", "read-only"),
        choices={name: int(number) for number, name in names.items()},
    )
