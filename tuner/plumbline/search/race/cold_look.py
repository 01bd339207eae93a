"""One look at cold candidates: their launches, those of a sample alone, and again alone what is
found to be touched by its company (company.py)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.measure.experiment import Arm
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import Candidate
from plumbline.search.space.cells import Flaw
from plumbline_db.records import Suite

from .cold_launches import ColdLaunches, Comparands, Entries
from .company import Company

# log(candidate / default), a launch each.
Ratios = dict[Target, dict[Candidate, list[float]]]


class ColdLook:
    """The cold launches of one look, each begun if `go_on` says so. Afterwards `touched` are the
    functions that were found only now to take another time in company, of which nothing that was
    measured before stands; `flaws` and `suites` are as those of ColdLaunches."""

    def __init__(
        self,
        store: LaunchStore,
        arm: Arm,
        company: Company,
        comparands: Comparands,
        go_on: Callable[[], bool],
    ) -> None:
        self.suites: list[str] = []
        self.flaws: dict[tuple[Target, Candidate], Flaw] = {}
        self.touched: set[str] = set()
        self._store = store
        self._arm = arm
        self._company = company
        self._comparands = comparands
        self._go_on = go_on

    def run(self, entered: Entries) -> Ratios:
        suite = self._arm.suite
        launches = self._launch(suite, entered)
        found = launches.ratios()
        sample = self._company.sample(launches.shared, found)
        all_launches = [launches]
        if sample:
            all_launches.append(self._launch(suite.of("alone"), sample))
            self._compare(found, all_launches[-1].ratios(), sample)
        for each in all_launches:
            for function, logs in each.touched().items():
                self._learn(function, "the default", logs)
        if self.touched:
            again = {
                target: [
                    candidate for candidate in candidates if (target, candidate) not in self.flaws
                ]
                for target, candidates in entered.items()
                if target.function in self.touched
            }
            alone = self._launch(suite.of("apart"), again).ratios()
            found = {cell: of for cell, of in found.items() if cell.function not in self.touched}
            found |= alone
        return found

    def _launch(self, suite: Suite, entries: Entries) -> ColdLaunches:
        arm = msgspec.structs.replace(self._arm, suite=suite)
        launches = ColdLaunches(self._store, arm, entries, self._company, self._comparands)
        launches.run(self._go_on)
        self.suites += launches.suites
        self.flaws |= launches.flaws
        return launches

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
        if self._company.learn(function, what, logs, self._comparands.error):
            self.touched.add(function)
