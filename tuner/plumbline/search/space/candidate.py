"""A configuration that may replace the default of one function."""

from __future__ import annotations

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import PlanCase
from plumbline_db.records import Winner


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A configuration that may replace the default of one function. `variant` with its parameters,
    as plans and profiles have it: `name:parameter=value`; those left out have standard values."""

    variant: str = "default"
    configuration: Configuration = Configuration()

    @classmethod
    def of_winner(cls, winner: Winner) -> Candidate:
        return cls(winner.variant, Configuration.of(winner.configuration))

    def case(self, function: str, size: int) -> PlanCase:
        return PlanCase(
            function=function, bytes=size, variant=self.variant, configuration=self.configuration
        )

    @property
    def is_knobs(self) -> bool:
        return self.variant == "default" and bool(self.configuration)


DEFAULT = Candidate()
