"""One look at cold candidates: their launches, those of a sample alone, and again alone what is
found to be touched by its company (company.py)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from plumbline.core.plan import WITHOUT_SIZE, Plan
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Flaw, Target
from plumbline_db.records import Suite

from .cold_launches import ColdLaunches, Entries, ReferenceVariants
from .company import Company

# log(candidate / default), a launch each.
Ratios = dict[Target, dict[Candidate, list[float]]]


class ColdLook:
    """Afterwards `touched` are the functions that were found only now to take another time in
    company, of which nothing that was measured before stands; `flaws` and `suites` are as there."""

    def __init__(
        self,
        store: LaunchStore,
        plan: Plan,
        environment: Mapping[str, str],
        reference_variants: ReferenceVariants,
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
        self._store = store
        self._plan = plan
        self._environment = environment
        self._reference_variants = reference_variants
        self._company = company
        self._plain = plain
        self._error = error
        self._go_on = go_on
        self._whole = whole
        # Intel MPI gets another barrier beside any candidate (libraries/intelmpi).
        self._references = _middles(
            target
            for target, candidate in plain
            if candidate == DEFAULT and target.function not in WITHOUT_SIZE
        )

    def run(self, suite: Suite, entered: Entries) -> Ratios:
        launches = self._launch(suite, entered)
        found = launches.ratios([self._plain])
        sample = self._company.sample(launches.shared, found)
        all_launches = [launches]
        if sample:
            all_launches.append(self._launch(suite.of("alone"), sample))
            self._compare(found, all_launches[-1].ratios([self._plain]), sample)
        for each in all_launches:
            for function, logs in each.touched([self._plain]).items():
                self._learn(function, "the default", logs)
        if self.touched:
            again = {
                target: [
                    candidate for candidate in candidates if (target, candidate) not in self.flaws
                ]
                for target, candidates in entered.items()
                if target.function in self.touched
            }
            alone = self._launch(suite.of("apart"), again).ratios([self._plain])
            found = {cell: of for cell, of in found.items() if cell.function not in self.touched}
            found |= alone
        return found

    def _launch(self, suite: Suite, entries: Entries) -> ColdLaunches:
        launches = ColdLaunches(
            self._store,
            suite,
            self._plan,
            self._environment,
            entries,
            self._reference_variants,
            self._company,
            references=self._references,
            repeats=not self._error,
            whole=self._whole,
        )
        launches.round(0, self._go_on)
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
        if self._company.learn(function, what, logs, self._error):
            self.touched.add(function)


def _middles(cells: Iterable[Target]) -> list[Target]:
    """One of each function, of a size in the middle."""
    found: dict[str, list[Target]] = {}
    for cell in sorted(cells):
        found.setdefault(cell.function, []).append(cell)
    return [those[len(those) // 2] for those in found.values()]
