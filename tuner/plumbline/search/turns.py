"""Values that hold for whole launches, tried in launches of their own, which take turns with
launches without. Stage by stage, values that save no time fall out; of the others the one with the
best weighted benefit is kept, if it makes no cell slower; else the next one, or none.

What a launch measures, and which values there are, others say (process.py, overlap/tune.py)."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from plumbline import libraries
from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.core.plan import Plan
from plumbline.libraries import Family
from plumbline.measure.launches import IN_A_ROW, LaunchStore, Series
from plumbline.system.words import counted
from plumbline.verify.statistics import Comparison, slower
from plumbline_db import searches
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Search, Suite, Trial, Winner

from .outcome import label
from .space.candidates import DEFAULT

# Launches of each value by the end of a stage, and how many values go on after it. Those of the
# last stage alone decide: the others have chosen what is in it.
STAGES = ((2, 8), (5, 3), (12, 3))


class _HasCell(Protocol):
    @property
    def function(self) -> str: ...
    @property
    def bytes(self) -> int: ...


Key = TypeVar("Key", bound=_HasCell)


class Entered(msgspec.Struct, Generic[Key]):
    """A value under way. `rounds`: of each finished launch, its place among those beside it;
    `ratios`: log(with the value / without) of these."""

    value: Configuration
    suite: Suite
    sequence: int = 0
    in_a_row: int = 0
    flaw: str = ""
    rounds: list[int] = []
    ratios: dict[Key, list[float]] = {}


class Turns(ABC, Generic[Key]):
    """`tolerance`: by so much a cell may be slower beyond doubt. Nothing new is begun when there is
    no more time."""

    def __init__(
        self,
        store: LaunchStore,
        compare: Callable[[Sequence[float], float], Comparison],
        *,
        alpha: float,
        has_time: Callable[[], bool],
        tolerance: float = 0.0,
    ) -> None:
        self._store = store
        self._compare = compare
        self._alpha = alpha
        self._has_time = has_time
        self._tolerance = tolerance

    @abstractmethod
    def plan(self, value: Configuration) -> Plan:
        """Of a launch with this value in force (none: without)."""

    @abstractmethod
    def checked(self, suite: str, sequence: int) -> str:
        """What a finished launch found wrong; empty: nothing."""

    @abstractmethod
    def seconds(self, suite: str, value: Configuration) -> Mapping[Key, Mapping[int, float]]:
        """Medians of each cell, by the number of a finished launch of the suite; when a run is
        replayed, also of launches that are still to come."""

    @abstractmethod
    def weight(self, cell: Key) -> float:
        """0: it must not become slower, and counts for no benefit."""

    def race(
        self,
        suite: Suite,
        tried: Sequence[Configuration],
        environment: Mapping[str, str],
        stages: Sequence[tuple[int, int]] = STAGES,
    ) -> tuple[list[Entered[Key]], Entered[Key] | None]:
        """All values, and the one that is kept. `environment` is in force on both sides."""
        plain = Series(self._store, suite.beside(), self.plan(AS_IT_IS), environment)
        entered: list[Entered[Key]] = [
            Entered(configuration, suite.of(f"{place:03d}"), rounds=[], ratios={})
            for place, configuration in enumerate(tried, 1)
        ]
        left, done = list(entered), 0
        for launches, keep in stages:
            if not left:
                break
            self._store.progress.step(f"trying {counted(len(left), 'setting')} of the process")
            since = done
            for turn in range(done, launches):
                plain.advance()
                for entry in left:
                    if entry.sequence or self._has_time():
                        self._launch(entry, turn, environment)
            done = launches
            left = [entered for entered in left if entered.sequence]
            for entry in left:
                entry.ratios = self._ratios(suite.beside().name, entry, since)
            left = [
                entered for entered in left if not entered.flaw and self.saved(entered.ratios) > 0
            ]
            left = sorted(left, key=lambda one: -self.saved(one.ratios))[:keep]
        return entered, next((entered for entered in left if self.is_better(entered.ratios)), None)

    def saved(self, ratios: Mapping[Key, Sequence[float]]) -> float:
        """The time saved over the table, weighted; a cell that takes as long saves nothing."""
        return sum(
            self.weight(cell) * (1 - math.exp(statistics.median(logs)))
            for cell, logs in ratios.items()
        )

    def slower(self, ratios: Mapping[Key, Sequence[float]]) -> list[Key]:
        """Cells that are slower beyond doubt, by more than the tolerance; corrected for their
        number."""
        return list(slower(ratios, 1 + self._tolerance, self._alpha, self._compare))

    def overall(
        self, ratios: Mapping[Key, Sequence[float]], confidence: float = 0.95
    ) -> Comparison | None:
        """The time of the table with the value in force over that without, launch by launch."""
        whole = sum(self.weight(cell) for cell in ratios)
        count = min((len(logs) for logs in ratios.values()), default=0)
        if not count or not whole:
            return None
        shares = [
            sum(self.weight(cell) * math.exp(logs[at]) for cell, logs in ratios.items()) / whole
            for at in range(count)
        ]
        return self._compare([math.log(share) for share in shares], confidence)

    def is_better(self, ratios: Mapping[Key, Sequence[float]]) -> bool:
        found = self.overall(ratios)
        faster = found is not None and found.high is not None and found.high < 1
        return faster and not self.slower(ratios)

    def winner(self, one: Entered[Key], nprocs: int, ppn: int, removes: Sequence[str]) -> Winner:
        """Raises ValueError for a value that has no overall ratio."""
        found = self.overall(one.ratios)
        if found is None:
            raise ValueError("nothing was measured")
        return Winner(
            function=EVERY_FUNCTION,
            nprocs=nprocs,
            ppn=ppn,
            bytes_from=0,
            bytes_to=UNBOUNDED_BYTES,
            variant=DEFAULT.variant,
            configuration=one.value.as_dict(),
            search_speedup=1 / found.ratio,
            speedup=1 / found.ratio,
            speedup_low=1 / (found.high or found.ratio),
            speedup_high=1 / (found.low or found.ratio),
            removes=list(removes),
            restrictions=[],
        )

    def record(
        self,
        number: int,
        suite: Suite,
        entered: Sequence[Entered[Key]],
        best: Entered[Key] | None,
        *,
        nprocs: int,
        ppn: int,
        opened_by: Sequence[str] = (),
    ) -> None:
        """Keeps the search and its trials; nothing where nothing was tried."""
        if not entered:
            return
        begun = [entry for entry in entered if entry.sequence]
        reason = counted(len(entered), "value")
        out_of_time = len(entered) > len(begun)
        reason += f", {len(begun)} of them in the time there was; " if out_of_time else "; "
        reason += (
            f"{label(DEFAULT.variant, best.value.as_dict())} saves the most, and no cell is slower"
            if best is not None
            else "none saves time and makes no cell slower"
        )
        record = Search(
            round=number,
            function=EVERY_FUNCTION,
            nprocs=nprocs,
            ppn=ppn,
            bytes=0,
            opened_by=list(opened_by),
            outcome="nothing better" if best is None else "winner",
            reason=reason,
            trials=[self._trial(entered) for entered in begun],
            suites=[suite.beside().name, *(entered.suite.name for entered in begun)],
        )
        searches.put(self._store.db, self._store.campaign, record)

    def _trial(self, one: Entered[Key]) -> Trial:
        found = None if one.flaw else self.overall(one.ratios)
        worse = [] if found is None else self.slower(one.ratios)
        detail = ", ".join(f"slower: {cell.function} at {cell.bytes} B" for cell in worse[:3])
        return Trial(
            variant=DEFAULT.variant,
            knobs=one.value.as_dict(),
            state="failed" if found is None else "measured",
            ratio=None if found is None else found.ratio,
            ratio_low=None if found is None else found.low,
            ratio_high=None if found is None else found.high,
            launches=found.n if found is not None else 0,
            detail=one.flaw or detail,
        )

    def _launch(self, one: Entered[Key], turn: int, environment: Mapping[str, str]) -> None:
        """The launch of a value in a turn; one that fails is tried again."""
        plan = self.plan(one.value)
        aside = self._store.aside
        cases = tuple(case for case in plan.cases if not aside.why(case, environment))
        plan = msgspec.structs.replace(plan, cases=cases)
        extra = in_force_beside(environment, self._store.starter.family, one.value)
        while not one.flaw:
            named = msgspec.structs.replace(
                plan, name=one.suite.launch(one.sequence), seed=plan.seed + turn
            )
            run = self._store.launch(one.suite, one.sequence, named, extra).run
            one.sequence += 1
            if run.finished:
                one.in_a_row = 0
                one.rounds.append(turn)
                one.flaw = self.checked(one.suite.name, one.sequence - 1)
                return
            one.in_a_row += 1
            if one.in_a_row == IN_A_ROW:
                one.flaw = f"launches fail with it in force: {run.reason}"

    def _ratios(self, plain: str, one: Entered[Key], since: int) -> dict[Key, list[float]]:
        """log(with the value / without), a launch each from the turn `since` on, of the cells that
        all launches so far have."""
        theirs, ours = self.seconds(plain, AS_IT_IS), self.seconds(one.suite.name, one.value)
        before, after = _launches(theirs), _launches(ours)
        turns = one.rounds
        if len(after) < len(turns) or not turns or not since <= turns[-1] < len(before):
            return {}
        pairs = [(after[place], before[turn]) for place, turn in enumerate(turns)]
        return {
            cell: [
                math.log(under[mine] / theirs[cell][other])
                for (mine, other), turn in zip(pairs, turns, strict=True)
                if turn >= since
            ]
            for cell, under in ours.items()
            if cell in theirs and all(a in under and b in theirs[cell] for a, b in pairs)
        }


def _launches(seconds: Mapping[Key, Mapping[int, float]]) -> list[int]:
    """Their numbers, in order."""
    return sorted({number for times in seconds.values() for number in times})


def in_force_beside(
    environment: Mapping[str, str], family: Family, value: Configuration
) -> dict[str, str]:
    """`environment`, with a value in force too. What a family takes out of force where it tries an
    algorithm (the name of a rules file) stays: the value is tried with the exported files."""
    found = libraries.beside(family, environment, value.as_dict())
    return {name: text or environment.get(name, text) for name, text in found.items()}
