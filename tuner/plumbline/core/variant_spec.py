"""Names of variants with parameters, as plans, profiles and the database write them:
`bcast_chain:segment_bytes=8192,fan_out=2` (docs/variants.md)."""

from __future__ import annotations

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
