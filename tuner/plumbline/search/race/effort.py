"""The certainty that a race buys: looks, errors, thresholds. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist

import msgspec

from plumbline.core.cell import Target
from plumbline.verify.decision import ONE_LOOK, Design, compare_of
from plumbline.verify.significance.comparison import Comparison

# The launches at which the best candidate of a cell is judged: a signed-rank interval needs six
# or more. Most of the error is spent there, because most cells end there.
CLAIMS = Design((6, 8, 11), (0.64, 0.16, 0.2))


_HEAVY = 4.0


class Effort(msgspec.Struct, frozen=True):
    """`claims`: after how many launches beside the default a front runner is judged, for `alpha`
    over all of these looks. `looks`: launches of a race at most; a candidate that is the best is
    dropped, at any of them, with a probability of `alpha` at most. A race goes on while it is
    expected to gain more than `gain`, and drops those that together are expected to
    gain less than a quarter of that; `tolerance`: by so much a bound may be missed, as in the
    tables. `first_blocks`: the share of a launch's blocks that a first look at a cell takes.
    `repeats`: launches repeat each other, and one decides; `at_once`: a case costs less than a
    launch, so that all is asked about at once. `uses` are other ways of use, in which what may win
    must not be much slower. Parameters are proposed as long as `has_time` says so.

    A cold candidate is passed over if a variant of ours with the same messages is not within
    `alike` of the best: so far may the two be apart. Parameters: those of the `front` algorithms
    within `band` of the best, at most `proposals` a look, for at most `batches` looks, until one
    gains less than `gain`.

    `weights`: shares of cells (function, bytes) in the time of an application; without it all count
    alike."""

    claims: Design = CLAIMS
    looks: int = 24
    alpha: float = 0.05
    gain: float = 0.01
    tolerance: float = 0.05
    first_blocks: float = 1 / 3
    band: float = 1.5
    alike: float = 1.25
    front: int = 4
    proposals: int = 6
    batches: int = 4
    repeats: bool = False
    at_once: bool = False
    weights: Mapping[tuple[str, int], float] | None = None
    uses: Sequence[str] = ()
    has_time: Callable[[], bool] = lambda: True

    def of_one_launch(self) -> Effort:
        """Return the same where launches repeat each other."""
        # On a simulated machine launches are the main cost, so a look proposes more candidates.
        return msgspec.structs.replace(
            self, claims=ONE_LOOK, first_blocks=1.0, proposals=16, batches=2, repeats=True
        )

    def may_launch(self) -> bool:
        """Return whether another cold launch may begin. Where one launch decides, a candidate that
        has none is not missed by others; elsewhere those that race together come to their end
        together."""
        return not self.repeats or self.has_time()

    def compare(self, log_ratios: Sequence[float]) -> Comparison:
        """A ratio as it is claimed after so many launches: its interval pays for the looks."""
        compare = compare_of(simulated=self.repeats)
        return compare(log_ratios, self.confidence(len(log_ratios)))

    def confidence(self, launches: int) -> float:
        """Return the confidence of the last of `claims` that so many launches have reached."""
        reached = [look for look, count in enumerate(self.claims.launches) if count <= launches]
        return self.claims.confidence(reached[-1] if reached else 0, self.alpha)

    def least_gain(self, cells: Iterable[Target]) -> float:
        """`gain`, less where the cells are heavier than others of the application, and more where
        they are lighter, by a factor of _HEAVY at most."""
        shares = [share for share in (self.weights or {}).values() if share > 0]
        if self.weights is None or not shares:
            return self.gain
        share = max(
            (self.weights.get((cell.function, cell.bytes), 0.0) for cell in cells), default=0
        )
        return self.gain / min(_HEAVY, max(1 / _HEAVY, share * len(shares) / sum(shares)))

    def judges(self, launches: int) -> bool:
        """Return whether the front runner is looked at after so many launches."""
        return self.repeats or launches in self.claims.launches or self.is_last(launches)

    def is_last(self, launches: int) -> bool:
        return launches >= self.claims.launches[-1]

    def deviations(self, rivals: int) -> float:
        """So many standard errors behind the best a candidate is dropped: a share of `alpha` for
        each look and each rival."""
        return NormalDist().inv_cdf(1 - self.alpha / (self.looks * max(1, rivals)))

    def blocks(self, planned: int, *, first: bool) -> int:
        return max(1, math.ceil(planned * self.first_blocks)) if first else planned


ONE_LAUNCH = Effort().of_one_launch()
