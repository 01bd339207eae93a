"""The setup of a campaign's searches: what all of its races have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan
from plumbline.launch.simulated import MANY
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings

from .space.candidates import CandidateSpace
from .space.select import Selection, Weights


class Setup(msgspec.Struct, frozen=True):
    """`plan`: of a launch without its cases; `sizes`: the measured sizes by function."""

    store: LaunchStore
    settings: Settings
    candidate_space: CandidateSpace
    plan: Plan
    sizes: Mapping[str, Sequence[int]]

    @property
    def weights(self) -> Weights | None:
        return self.settings.weights(self.sizes)

    @property
    def at_once(self) -> bool:
        """Return whether one launch may hold all that is asked: a case of a large simulated machine
        takes as long as a launch of a small one."""
        ranks = self.settings.ranks
        return ranks.simulate is not None and ranks.nprocs < MANY

    def selection(self, candidate_space: CandidateSpace) -> Selection:
        """Return what chooses winners among these candidates."""
        return Selection(
            candidate_space,
            self.sizes,
            nprocs=self.settings.ranks.nprocs,
            ppn=self.settings.ranks.ppn,
            tolerance=self.settings.claims.tolerance,
            weights=self.weights,
        )
