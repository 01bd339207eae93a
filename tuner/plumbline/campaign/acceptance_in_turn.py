"""Acceptance of winners that hold for whole launches only (cold knobs, settings of the process):
launches with the exported files in force take turns with launches of the library as it is, and the
cells of these winners are called in all circumstances in both.

Two launches differ by more than two calls of one launch, so that this finds harm where it is clear;
what is called beside the default in one launch (acceptance.py) has to be shown harmless."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign.acceptance_launches import BLOCKS
from plumbline.campaign.circumstances import everywhere, planned
from plumbline.campaign.pairs import told, untouched
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding
from plumbline.measure import tables
from plumbline.measure.comparison import ArmComparison, claim_of
from plumbline.measure.experiment import Arm, NextLook
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline.verify.decision import by_interval
from plumbline.verify.design import Design
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

FIRST = 4  # pairs of launches after which what does not even seem slower is measured no more


class AcceptanceInTurn:
    """Of the winners of one campaign; `sizes` are the measured ones by function."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        *,
        crowded: bool,
    ) -> None:
        self._store = store
        self._settings = settings
        plan = tables.plan(settings, [])
        self._plan = msgspec.structs.replace(plan, blocks=min(BLOCKS, plan.blocks))
        self._cells = [
            PlanCase(name, size) for name, measured in sizes.items() for size in measured
        ]
        self._crowded = crowded

    def harm(
        self,
        suite: Suite,
        winners: Sequence[Winner],
        cold: Sequence[Winner],
        environment: Mapping[str, str],
    ) -> list[tuple[Winner, str]]:
        """Return those of the `cold` winners that are slower than the default somewhere, with the
        reason. `environment` puts all `winners` in force."""
        asked = self._asked(winners, cold)
        if not asked:
            return []
        pairs = self._compared(suite, list(asked), untouched(self._cells, winners), environment)
        found: dict[str, tuple[Winner, str]] = {}
        for case in pairs.lost:
            winner, name = asked[case]
            text = f"no right result {name} with it in force"
            found.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
        for decision in pairs.family.decisions:
            winner, name = asked[decision.key]
            own = paired_ratio(pairs.ratios[decision.key])
            # Of the hundreds of cells of a setting some seem slower by chance.
            rule = winner.function != EVERY_FUNCTION
            seems = rule and by_interval(own, pairs.claim.tolerance) == "slower"
            if decision.word == "slower" or seems:
                text = f"slower {name}: {told(own)}"
                found.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
        return list(found.values())

    def _compared(
        self,
        suite: Suite,
        asked: Sequence[PlanCase],
        others: Sequence[PlanCase],
        environment: Mapping[str, str],
    ) -> ArmComparison[PlanCase]:
        """Pairs of launches; `others`, which no winner touches, tell launches apart."""
        store, count = self._store, self._settings.sampling.of_few_cells
        store.progress.step(
            f"trying winners as users call them, in turn with the library as it is: "
            f"{counted(len(asked), 'case')}, {counted(count, 'pair')} of launches"
        )
        # Before the last look nothing is decided, but for what does not seem slower.
        design = Design((FIRST, count), (0.05, 0.95))
        claim = msgspec.structs.replace(claim_of(self._settings), design=design)
        seconds = partial(self._seconds, [*asked, *others])
        pairs = ArmComparison(store, claim, seconds, others)

        def arms(look: NextLook, cases: Sequence[PlanCase]) -> tuple[Arm, Arm]:
            every = tuple(dict.fromkeys([*cases, *others]))
            plan = look.plan(msgspec.structs.replace(self._plan, cases=every))
            arm = Arm(look.suite(suite), plan, environment, store.starter.plain)
            return arm, arm.beside()

        def wanted() -> list[PlanCase]:
            seem = pairs.family.open()
            return [case.key for case in seem if case.suspicion() > math.sqrt(claim.limit)]

        pairs.until_decided(asked, arms, wanted)
        return pairs

    def _asked(
        self, winners: Sequence[Winner], cold: Sequence[Winner]
    ) -> dict[PlanCase, tuple[Winner, str]]:
        """The cells of the `cold` winners in all circumstances, in words."""
        asked: dict[PlanCase, tuple[Winner, str]] = {}
        for case in self._cells:
            winner = deciding(winners, Target(case.function, case.bytes))
            if winner is None or winner not in cold:
                continue
            whole = winner.function == EVERY_FUNCTION
            name = f"{case.function} at" if whole else "at"
            for where in everywhere(self._settings, case, crowded=self._crowded):
                # The cells of a setting were confirmed in the campaign's own use.
                if where.use or not whole:
                    text = f"{name} {case.bytes} B ({where.label(self._settings)})"
                    asked[where.case(case)] = winner, text
        return asked

    def _seconds(self, cases: Sequence[PlanCase], suite: str) -> dict[PlanCase, list[float]]:
        """The medians of each case, in the order of the launches."""
        store, data = self._store, self._plan.data
        own = {
            msgspec.structs.replace(case, data=(case.data or data).of(case.function)): case
            for case in cases
        }
        medians = runs.medians(store.db, store.campaign, [suite], use=None)
        return {own[planned(each.case, data.root)]: each.seconds for each in medians}
