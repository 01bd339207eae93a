"""Which schedule a configuration follows: names.toml, read strictly."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from plumbline.core.variant_spec import VariantSpec
from plumbline.search.space import Space

from . import schedules
from .schedules import Schedule, Shape

FILE = Path(__file__).with_name("names.toml")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The algorithms that follow one schedule of a function, by family; `ours` are variants."""

    function: str
    name: str
    openmpi: list[str] = []
    mpich: list[str] = []
    mvapich2: list[str] = []
    simgrid: list[str] = []
    ours: list[str] = []
    segment_bytes: int = 0
    radix: int = 0
    window: int = 0

    def of(self, family: str) -> list[str]:
        names = getattr(self, family, []) if family in FAMILIES else []
        return list(names)


FAMILIES = ("openmpi", "mpich", "mvapich2", "simgrid")


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    segment_bytes: list[str]
    radix: list[str]
    chains: list[str]
    window: list[str]


class Alike(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Algorithms that have no model, and the variants that send the same messages."""

    function: str
    simgrid: list[str]
    ours: list[str]


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parameters: Parameters
    schedule: list[Entry]
    alike: list[Alike]

    def entry(self, family: str, function: str, algorithm: str) -> Entry | None:
        """`family` may be "ours": then `algorithm` is a variant without its parameters."""
        for one in self.schedule:
            known = one.ours if family == "ours" else one.of(family)
            if one.function == function and algorithm in known:
                return one
        return None

    def ours_like(self, family: str, function: str, algorithm: str) -> list[str]:
        """Variants that send the same messages in the same order, whatever their parameters."""
        known = self.entry(family, function, algorithm)
        found = [
            name
            for one in self.schedule
            if known and (one.function, one.name) == (function, known.name)
            for name in one.ours
        ]
        for told in self.alike:
            if family == "simgrid" and told.function == function and algorithm in told.simgrid:
                found += told.ours
        return found

    def numbers(self, values: Mapping[str, str]) -> dict[str, int]:
        """The fields of a Shape that knobs, or a variant's parameters, give."""
        found: dict[str, int] = {}
        for field in Parameters.__struct_fields__:
            ends = tuple(getattr(self.parameters, field))
            given = [
                int(text)
                for name, text in values.items()
                if name.endswith(ends) and text.isdecimal()
            ]
            if given:
                found[field] = given[0]
        return found


class Followed(msgspec.Struct, frozen=True):
    """A schedule, and the numbers of the Shape that the configuration gives it."""

    schedule: Schedule
    numbers: dict[str, int]

    def shape(self, nprocs: int, volume: float) -> Shape:
        return Shape(nprocs, volume, **self.numbers)


@cache
def names() -> Names:
    return msgspec.convert(tomllib.loads(FILE.read_text(encoding="utf-8")), Names)


def followed(
    space: Space, function: str, variant: str, knobs: Mapping[str, str], standard: Mapping[str, int]
) -> Followed | None:
    """What a configuration follows; None where nothing is known of it. `standard`: values of the
    variant's parameters that are not written."""
    known = names()
    if variant != "default":
        spec = VariantSpec.parse(variant)
        values = {name: str(value) for name, value in standard.items()} | spec.parameters
        entry = known.entry("ours", function, spec.name)
    else:
        of = space.of(function)
        if of is None or of.knob not in knobs:
            return None
        values = {name: value for name, value in knobs.items() if name != of.knob}
        entry = known.entry(space.family, function, knobs[of.knob])
    if entry is None:
        return None
    own = {name: getattr(entry, name) for name in ("segment_bytes", "radix", "window")}
    given = {name: value for name, value in own.items() if value}
    return Followed(schedules.find(function, entry.name), given | known.numbers(values))
