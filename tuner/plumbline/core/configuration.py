"""Values of some knobs of an MPI library, as one value that can be compared and kept."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class VariantSpec(msgspec.Struct, frozen=True):
    """`parameters` that are left out have their standard values."""

    name: str
    parameters: dict[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> VariantSpec:
        """A word without `=` is a parameter without a value, which no variant takes."""
        name, _, words = text.partition(":")
        pairs = (word.partition("=") for word in words.split(",") if word)
        return cls(name, {parameter: value for parameter, _, value in pairs})

    def __str__(self) -> str:
        words = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.name}:{words}" if words else self.name


def variant_name(text: str) -> str:
    """Return the name without parameters."""
    return text.partition(":")[0]


class Configuration(msgspec.Struct, frozen=True, order=True, cache_hash=True):
    """Values by knob. Two are equal when they set the same knobs to the same values; the empty one
    is the library as it is. Made by `of`, which sorts."""

    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Configuration:
        return cls(tuple(sorted(values.items())))

    def as_dict(self) -> dict[str, str]:
        return dict(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, knob: str) -> bool:
        return any(name == knob for name, _ in self.values)

    def __getitem__(self, knob: str) -> str:
        """Raises KeyError for a knob that it does not set."""
        return self.as_dict()[knob]

    def get(self, knob: str) -> str:
        """Empty for a knob that it does not set."""
        return self.as_dict().get(knob, "")

    def with_(self, values: dict[str, str]) -> Configuration:
        """Return the configuration with these values over its own."""
        return Configuration.of(self.as_dict() | values)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values)


AS_IT_IS = Configuration()
