"""Settings that say what is searched, and how long."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline.system.limits import MOST

AFRESH = "none"


class Searching(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The search: what is searched, and how long."""

    rounds: int | None = None
    """Number of search rounds (0: verify only; default: until nothing is left to search)."""
    budget_seconds: Unmeasured[float | None] = None
    """Seconds in launches for the whole campaign; default: eight times the first table, at
    least 120."""
    variants: list[str] | None = None
    """Variants of Plumbline that may be tried; default: all."""
    all: bool = True
    """Also search cells without a violated guideline, after the others, while time is left."""
    settings: bool | list[str] | None = None
    """Names of settings of the whole process that are searched; default: an eager limit."""
    unsafe: bool = False
    """Also use algorithms that give wrong results for some correct programs."""
    earlier: Unmeasured[str | None] = None
    """Campaign whose winners are confirmed before the search, or `none`; default: with `--new`
    the last finished one."""

    @property
    def verifies_only(self) -> bool:
        return self.rounds == 0

    def goes_on(self, searched: int) -> bool:
        """Return whether another search may begin after so many."""
        return self.rounds is None or searched < self.rounds

    @property
    def tries_usual_settings(self) -> bool:
        return self.settings is None and not self.verifies_only

    @property
    def named_settings(self) -> list[str] | None:
        """Return the settings of the whole process that are searched; None: all, or none."""
        return self.settings if isinstance(self.settings, list) else None

    def tried(self, variants: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Return those of our variants that may be tried, by function."""
        allowed = self.variants
        return {
            function: [name for name in names if allowed is None or name in allowed]
            for function, names in variants.items()
        }

    def canonical(self) -> Searching:
        names = self.settings
        return msgspec.structs.replace(
            self,
            variants=None if self.variants is None else sorted(set(self.variants)),
            settings=(sorted(set(names)) or False) if isinstance(names, list) else names,
        )

    def problems(self) -> Iterator[str]:
        if (self.rounds or 0) < 0:
            yield "rounds must not be negative"
        if (self.rounds or 0) > MOST:
            yield f"rounds must be at most {MOST}"
        if not 0 <= (self.budget_seconds or 0) < math.inf:
            yield "budget_seconds must be a number of seconds, not negative"
