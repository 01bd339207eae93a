"""One look at cold candidates: their launches, those of a sample alone, and again alone what is
found to be touched by its company (company.py)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from plumbline.core.plan import Plan
from plumbline.measure.launches import Laboratory
from plumbline_db.records import Suite

from .candidates import DEFAULT, Candidate
from .cells import Flaw, Target
from .cold import Anchors, ColdHeat, Entries
from .company import Company

# log(candidate / default), a launch each.
Ratios = dict[Target, dict[Candidate, list[float]]]


class ColdLook:
    """Afterwards `touched` are the functions that were found only now to take another time in
    company, of which nothing that was measured before stands; `flaws`, `suites` as in cold.py."""

    def __init__(
        self,
        lab: Laboratory,
        plan: Plan,
        environment: Mapping[str, str],
        anchors: Anchors,
        company: Company,
        plain: Mapping[tuple[Target, Candidate], float],
        *,
        error: float,
        go_on: Callable[[], bool],
        whole: Collection[str] = (),
    ) -> None:
        """`plain`: seconds under the library as it is; `error` of a log ratio between launches, 0:
        they repeat each other."""
        self.suites: list[str] = []
        self.flaws: dict[tuple[Target, Candidate], Flaw] = {}
        self.touched: set[str] = set()
        self._lab = lab
        self._plan = plan
        self._environment = environment
        self._anchors = anchors
        self._company = company
        self._plain = plain
        self._error = error
        self._go_on = go_on
        self._whole = whole
        # Intel MPI gets another barrier beside any candidate (libraries/intelmpi).
        self._references = _middles(
            target
            for target, candidate in plain
            if candidate == DEFAULT and target.function != "MPI_Barrier"
        )

    def run(self, suite: Suite, entered: Entries) -> Ratios:
        heat = self._heat(suite, entered)
        found = heat.ratios([self._plain])
        sample = self._company.sample(heat.shared, found)
        heats = [heat]
        if sample:
            heats.append(self._heat(suite.of("alone"), sample))
            self._compare(found, heats[-1].ratios([self._plain]), sample)
        for cold_heat in heats:
            for function, logs in cold_heat.touched([self._plain]).items():
                self._learn(function, "the default", logs)
        if self.touched:
            again = {
                target: [
                    candidate for candidate in candidates if (target, candidate) not in self.flaws
                ]
                for target, candidates in entered.items()
                if target.function in self.touched
            }
            alone = self._heat(suite.of("apart"), again).ratios([self._plain])
            found = {cell: of for cell, of in found.items() if cell.function not in self.touched}
            found |= alone
        return found

    def _heat(self, suite: Suite, entries: Entries) -> ColdHeat:
        heat = ColdHeat(
            self._lab,
            suite,
            self._plan,
            self._environment,
            entries,
            self._anchors,
            self._company,
            references=self._references,
            repeats=not self._error,
            whole=self._whole,
        )
        heat.round(0, self._go_on)
        self.suites += heat.suites
        self.flaws |= heat.flaws
        return heat

    def _compare(self, together: Ratios, alone: Ratios, sample: Entries) -> None:
        logs: dict[tuple[str, Candidate], list[float]] = {}
        for target, candidates in sample.items():
            for candidate in candidates:
                left, right = together[target][candidate], alone.get(target, {}).get(candidate)
                if right:
                    log = statistics.median(left) - statistics.median(right)
                    logs.setdefault((target.function, candidate), []).append(log)
        for (function, candidate), found in logs.items():
            label = str(candidate.configuration)
            self._learn(function, label, found)

    def _learn(self, function: str, what: str, logs: Sequence[float]) -> None:
        if self._company.learn(function, what, logs, self._error):
            self.touched.add(function)


def _middles(cells: Iterable[Target]) -> list[Target]:
    """One of each function, of a size in the middle."""
    found: dict[str, list[Target]] = {}
    for cell in sorted(cells):
        found.setdefault(cell.function, []).append(cell)
    return [those[len(those) // 2] for those in found.values()]
