"""The design of looks at a table while launches are added: when, and what each look may spend of
the error.

Group-sequential designs with the error split over the looks in advance: Slud and Wei, JASA 77
(1982); spending functions: Lan and DeMets, Biometrika 70 (1983), of the power family of Kim and
DeMets, Biometrika 74 (1987); repeated confidence intervals: Jennison and Turnbull, "Group
Sequential Methods with Applications to Clinical Trials" (2000), chapters 7 and 9. Why these:
docs/design/verification.md."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

GROWTH = 4 / 3  # of the launches from one look to the next, about
# The error spent when a share t of the launches is done is t to this power. Few launches cannot
# show a violation in a large table, however the error is spent; later looks get the rest.
POWER = 2.0


class Design(msgspec.Struct, frozen=True):
    """`launches`: how many there are in all at each look, ascending. `shares`: what each look may
    spend of the error of either verdict; they add up to 1."""

    launches: tuple[int, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.launches) == len(self.shares) > 0:
            raise ValueError("a design needs at least one look, and a share for each look")
        if self.launches[0] < 1 or sorted(set(self.launches)) != list(self.launches):
            raise ValueError(f"launches must grow from look to look: {self.launches}")
        if min(self.shares) <= 0 or not math.isclose(sum(self.shares), 1):
            raise ValueError(f"shares must be positive and add up to 1: {self.shares}")

    @property
    def looks(self) -> int:
        return len(self.launches)

    def sequential(self, p: float, look: int) -> float:
        """Return what the p of a look (0: the first one) counts over all looks: the smallest of
        these is at most u with probability u or less when the sides are equal."""
        return min(1.0, p / self.shares[look])

    def confidence(self, look: int, alpha: float) -> float:
        """Return that of the intervals at a look: all of them cover together with probability 1 -
        alpha."""
        return 1 - alpha * self.shares[look]

    def new_launches(self, look: int) -> int:
        """Return what a look has more than the one before it."""
        return self.launches[look] - (self.launches[look - 1] if look else 0)


def over(first: int, most: int) -> Design:
    """Looks from `first` launches on, a third more each time, up to `most`."""
    if not 1 <= first <= most:
        raise ValueError(f"the first look has {first} launches, the last one {most}")
    steps = max(1, round(math.log(most / first) / math.log(GROWTH)))
    planned = {round(first * (most / first) ** (step / steps)) for step in range(steps)}
    launches = [*sorted(planned - {most}), most]
    spent = [0.0, *((count / most) ** POWER for count in launches)]
    return Design(tuple(launches), tuple(after - before for before, after in pairwise(spent)))


ONE_LOOK = Design((1,), (1.0,))
