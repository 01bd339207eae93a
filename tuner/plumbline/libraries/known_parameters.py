"""The knowledge of search spaces of parameters, in the words of the linter of the exporters, which
does not know search spaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plumbline.libraries.space import FunctionSpace, Setting, Space
from plumbline.libraries.space_file import load
from plumbline.system import version
from plumbline_exporters import families
from plumbline_exporters.known import Known, Parameter


def known(folder: Path) -> tuple[Known, ...]:
    """One for each space in `folder` whose family the linter can speak of."""
    return tuple(
        _of(space)
        for path in sorted(folder.glob("*.toml"))
        if path.stem in families.linted()
        for space in load(path)
    )


def _of(space: Space) -> Known:
    return Known(
        family=space.family,
        minimum=version.key(space.min_version),
        below=version.key(space.below_version),
        prefixes=tuple(space.prefixes),
        parameters=dict(_parameters(space)),
        readers={
            parameter.knob: frozenset(parameter.algorithms)
            for entry in space.function
            for parameter in entry.parameters
        },
    )


def _parameters(space: Space) -> Iterator[tuple[str, Parameter]]:
    """Later ones say more than earlier ones of the same name."""
    yield from ((knob, Parameter()) for knob in space.knobs())
    for ignored in space.ignored:
        dead = ignored.reason if ignored.dead else ""
        yield from ((knob, Parameter(dead=dead)) for knob in ignored.knobs)
    for setting in space.setting:
        yield setting.knob, _setting(setting)
    for entry in space.function:
        yield entry.knob, _choice(space.family, entry)
        for parameter in entry.parameters:
            yield parameter.knob, Parameter(least=parameter.least, most=parameter.most)


def _choice(family: str, entry: FunctionSpace) -> Parameter:
    own_decision = families.linted()[family].own_decision
    values = {algorithm.name for algorithm in entry.algorithms} | {*own_decision}
    values |= {str(algorithm.id) for algorithm in entry.algorithms if algorithm.id}
    return Parameter(values=frozenset(values))


def _setting(setting: Setting) -> Parameter:
    default = frozenset() if setting.default is None else {setting.default}
    if setting.unit == "choice" or any(isinstance(value, str) for value in setting.values):
        return Parameter(values=frozenset(str(value) for value in setting.values) | default)
    return Parameter(values=frozenset(default), least=setting.least, most=setting.most)
