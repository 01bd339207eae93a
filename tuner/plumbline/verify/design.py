"""When a table is looked at while launches are added, and what each look may spend of the error.

Group-sequential designs with the error split over the looks in advance: Slud and Wei, JASA 77
(1982); spending functions: Lan and DeMets, Biometrika 70 (1983), of the power family of Kim and
DeMets, Biometrika 74 (1987); repeated confidence intervals: Jennison and Turnbull, "Group
Sequential Methods with Applications to Clinical Trials" (2000), chapters 7 and 9. Why these:
docs/verification.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

GROWTH = 4 / 3  # of the launches from one look to the next, about
# Error spent when a share t of the launches is there: t to this power. Few launches cannot show a
# violation in a large table, however the error is spent; they can show that a guideline holds.
VIOLATED_POWER = 2.0
HOLDS_POWER = 1.0


class Design(msgspec.Struct, frozen=True):
    """`launches`: how many there are in all at each look, ascending. `violated` and `holds`: the
    share of the error that a look may spend on either verdict; each adds up to 1."""

    launches: tuple[int, ...]
    violated: tuple[float, ...]
    holds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.launches) == len(self.violated) == len(self.holds) > 0:
            raise ValueError("a design needs one look at least, and shares for each look")
        if self.launches[0] < 1 or sorted(set(self.launches)) != list(self.launches):
            raise ValueError(f"launches must grow from look to look: {self.launches}")
        for shares in (self.violated, self.holds):
            if min(shares) <= 0 or not math.isclose(sum(shares), 1):
                raise ValueError(f"shares must be positive and add up to 1: {shares}")

    @property
    def looks(self) -> int:
        return len(self.launches)

    def confidence(self, look: int, alpha: float) -> float:
        """Of the intervals at a look (0: the first one): all of them cover together with
        probability 1 - alpha."""
        return 1 - alpha * self.holds[look]

    def new_launches(self, look: int) -> int:
        """What a look has more than the one before it."""
        return self.launches[look] - (self.launches[look - 1] if look else 0)


def over(first: int, most: int) -> Design:
    """Looks from `first` launches on, a third more each time, up to `most`."""
    if not 1 <= first <= most:
        raise ValueError(f"the first look has {first} launches, the last one {most}")
    steps = max(1, round(math.log(most / first) / math.log(GROWTH)))
    planned = {round(first * (most / first) ** (step / steps)) for step in range(steps)}
    launches = [*sorted(planned - {most}), most]
    return Design(tuple(launches), _spent(launches, VIOLATED_POWER), _spent(launches, HOLDS_POWER))


def _spent(launches: Sequence[int], power: float) -> tuple[float, ...]:
    spent = [0.0, *((count / launches[-1]) ** power for count in launches)]
    return tuple(after - before for before, after in pairwise(spent))


ONE_LOOK = Design((1,), (1.0,), (1.0,))
