"""Schedules that configurations follow: names.toml, read strictly."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from plumbline.core.configuration import VariantSpec, variant_name
from plumbline.core.plan import blocking
from plumbline.libraries.space import Algorithm, Space

from . import movements, reductions  # noqa: F401  they enter theirs into the table
from .schedules import TABLE, Schedule, Shape

FILE = Path(__file__).with_name("names.toml")


def find(function: str, name: str) -> Schedule:
    """A form follows those of its function. Raises KeyError where there is none."""
    return TABLE[blocking(function), name]


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    segment_bytes: list[str]
    radix: list[str]
    chains: list[str]
    window: list[str]
    blocks: list[str]
    limit_bytes: list[str]


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`variants`: by function, the schedule of each of our variants, as search spaces write it."""

    parameters: Parameters
    variants: dict[str, dict[str, str]]

    def ours_like(self, function: str, algorithm: Algorithm) -> list[str]:
        """Variants that send the same messages in the same order, whatever their parameters."""
        schedule = variant_name(algorithm.schedule)
        same = [
            variant
            for variant, followed in self.variants.get(function, {}).items()
            if schedule and variant_name(followed) == schedule
        ]
        return [*same, algorithm.sends_as] if algorithm.sends_as else same

    def numbers(self, values: Mapping[str, str]) -> dict[str, int]:
        """The fields of a Shape that knobs, or a variant's parameters, give."""
        fields: dict[str, int] = {}
        for field in Parameters.__struct_fields__:
            ends = tuple(getattr(self.parameters, field))
            given = [
                int(text)
                for name, text in values.items()
                if name.endswith(ends) and text.isdecimal()
            ]
            if given:
                fields[field] = given[0]
        return fields


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
    """Return what a configuration follows; None where nothing is known of it. `standard`: values of
    the variant's parameters that are not written."""
    known_names = names()
    if variant != "default":
        spec = VariantSpec.parse(variant)
        values = {name: str(value) for name, value in standard.items()} | spec.parameters
        written = known_names.variants.get(function, {}).get(spec.name, "")
    else:
        of = space.of(function)
        if of is None or of.knob not in knobs:
            return None
        values = {name: value for name, value in knobs.items() if name != of.knob}
        written = next((x.schedule for x in of.algorithms if x.name == knobs[of.knob]), "")
    if not written:
        return None
    schedule = VariantSpec.parse(written)
    own = {name: int(number) for name, number in schedule.parameters.items()}
    return Followed(find(function, schedule.name), own | known_names.numbers(values))
