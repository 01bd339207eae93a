"""Values that hold for whole launches, tried in launches of their own, which take turns with
launches without. Stage by stage, values that save no time fall out; of the others the one with the
best weighted benefit is kept, if it makes no cell slower; else the next one, or none.

What a launch measures, and which values there are, others say (process.py, overlap/tune.py)."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Generic, Protocol, TypeVar

import msgspec

from plumbline import libraries
from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.core.plan import Plan
from plumbline.libraries import Family
from plumbline.measure.comparison import Arm, Turns, claim_of, ratios_in_turn
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline.verify.decision import by_interval, compare_of, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import findings
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Search, Suite, Trial, Winner

from .outcome import label
from .space.candidates import DEFAULT

# The launches of each value by the end of a stage, and how many values go on. Only launches of the
# last stage decide, because the earlier ones selected its values.
FEW = 3  # that the last stage alone decides
STAGES = ((2, 8), (5, FEW), (12, FEW))


class _HasCell(Protocol):
    @property
    def function(self) -> str: ...
    @property
    def bytes(self) -> int: ...


Key = TypeVar("Key", bound=_HasCell)


class Entered(msgspec.Struct, Generic[Key]):
    """A value under way; `begun`: it has been launched. `ratios`: log(with the value / without) of
    the launches of a stage."""

    value: Configuration
    arm: Arm
    begun: bool = False
    flaw: str = ""
    ratios: dict[Key, list[float]] = {}


class SettingsRace(ABC, Generic[Key]):
    """`tolerance`: by so much a cell may be slower beyond doubt. Nothing new is begun when there is
    no more time."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        *,
        has_time: Callable[[], bool],
        tolerance: float = 0.0,
    ) -> None:
        self._store = store
        self._compare = compare_of(simulated=settings.ranks.simulate is not None)
        self._claim = msgspec.structs.replace(
            claim_of(settings), tolerance=tolerance, min_launches=1
        )
        self._has_time = has_time

    @abstractmethod
    def plan(self, value: Configuration) -> Plan:
        """Return the plan of a launch with this value in force (none: without)."""

    @abstractmethod
    def checked(self, suite: str, sequence: int) -> str:
        """Return what a finished launch found wrong; empty: nothing."""

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
        base: Configuration = AS_IT_IS,
    ) -> tuple[list[Entered[Key]], Entered[Key] | None]:
        """All values, and the one that is kept. `environment` is in force on both sides. `base`,
        one of the values, stays in each stage while it saves time."""
        plain = Arm(suite.beside(), self.plan(AS_IT_IS), environment)
        entered = [
            Entered[Key](
                configuration, self._arm(suite.of(f"{place:03d}"), configuration, environment)
            )
            for place, configuration in enumerate(tried, 1)
        ]
        turns = Turns(self._store, [plain, *(entry.arm for entry in entered)])
        remaining, done = entered, 0
        for launches, keep in stages:
            if not remaining:
                break
            self._store.progress.step(f"trying {counted(len(remaining), 'setting')} of the process")
            since, done = done, launches
            for _ in range(since, done):
                turns.take(chain([plain], self._next(remaining)))
                for entry in remaining:
                    entry.flaw = entry.flaw or self._flaw(turns, entry)
            for entry in remaining:
                entry.ratios = self.ratios(plain.suite, entry, since, done)
            remaining = [
                entry for entry in remaining if not entry.flaw and self.saved(entry.ratios) > 0
            ]
            ranked = sorted(remaining, key=lambda entry: -self.saved(entry.ratios))
            remaining = ranked[:keep] + [each for each in ranked[keep:] if each.value == base]
        return entered, next((entry for entry in remaining if self.is_better(entry.ratios)), None)

    def saved(self, ratios: Mapping[Key, Sequence[float]]) -> float:
        """The time saved over the table, weighted; a cell that takes as long saves nothing."""
        return sum(
            self.weight(cell) * (1 - math.exp(statistics.median(logs)))
            for cell, logs in ratios.items()
        )

    def slower(self, ratios: Mapping[Key, Sequence[float]]) -> list[Key]:
        """Cells that are slower beyond doubt, by more than the tolerance; corrected for their
        number."""
        return list(slower(ratios, self._claim))

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

    def gain(self, ratios: Mapping[Key, Sequence[float]]) -> Comparison | None:
        """The ratio that a winner is kept and named for: that of the whole table."""
        return self.overall(ratios)

    def is_better(self, ratios: Mapping[Key, Sequence[float]]) -> bool:
        faster = by_interval(self.gain(ratios)) == "faster"
        return faster and self.saved(ratios) > 0 and not self.slower(ratios)

    def winner(self, one: Entered[Key], nprocs: int, ppn: int, removes: Sequence[str]) -> Winner:
        """Raises ValueError for a value that has no ratio."""
        gain = self.gain(one.ratios)
        if gain is None:
            raise ValueError("nothing was measured")
        return Winner(
            function=EVERY_FUNCTION,
            nprocs=nprocs,
            ppn=ppn,
            bytes_from=0,
            bytes_to=UNBOUNDED_BYTES,
            variant=DEFAULT.variant,
            configuration=one.value.as_dict(),
            search_speedup=1 / gain.ratio,
            speedup=1 / gain.ratio,
            speedup_low=1 / (gain.high or gain.ratio),
            speedup_high=1 / (gain.low or gain.ratio),
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
        begun = [entry for entry in entered if entry.begun]
        reason = counted(len(entered), "value")
        out_of_time = len(entered) > len(begun)
        reason += f", {len(begun)} of them in the time there was; " if out_of_time else "; "
        reason += (
            f"{label(DEFAULT.variant, best.value.as_dict())} is kept, and no cell is slower"
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
            trials=[self._trial(entry) for entry in begun],
            suites=[suite.beside().name, *(entry.arm.suite.name for entry in begun)],
        )
        findings.put_search(self._store.db, self._store.campaign, record)

    def _trial(self, entry: Entered[Key]) -> Trial:
        comparison = None if entry.flaw else self.overall(entry.ratios)
        worse = [] if comparison is None else self.slower(entry.ratios)
        detail = ", ".join(f"slower: {cell.function} at {cell.bytes} B" for cell in worse[:3])
        return Trial(
            variant=DEFAULT.variant,
            knobs=entry.value.as_dict(),
            state="failed" if comparison is None else "measured",
            ratio=None if comparison is None else comparison.ratio,
            ratio_low=None if comparison is None else comparison.low,
            ratio_high=None if comparison is None else comparison.high,
            launches=comparison.n if comparison is not None else 0,
            detail=entry.flaw or detail,
        )

    def _arm(self, suite: Suite, value: Configuration, environment: Mapping[str, str]) -> Arm:
        extra = in_force_beside(environment, self._store.starter.family, value)
        self._store.aside.also_in_force(environment, extra)
        return Arm(suite, self.plan(value), extra, on_trial=True)

    def _next(self, remaining: Sequence[Entered[Key]]) -> Iterator[Arm]:
        """Return what is launched in a turn: nothing is begun when there is no more time."""
        for entry in remaining:
            if not entry.flaw and (entry.begun or self._has_time()):
                entry.begun = True
                yield entry.arm

    def _flaw(self, turns: Turns, entry: Entered[Key]) -> str:
        failure = turns.condemned(entry.arm)
        if failure is not None:
            return f"launches fail with it in force: {failure.text}"
        if not entry.begun:
            return ""
        return self.checked(entry.arm.suite.name, turns.last(entry.arm))

    def ratios(
        self, plain: Suite, entry: Entered[Key], since: int, done: int
    ) -> dict[Key, list[float]]:
        """log(with the value / without), a launch each from the turn `since` on, of the cells that
        all `done` launches so far have."""
        plain_times = _in_turns(self.seconds(plain.name, AS_IT_IS), done)
        value_times = _in_turns(self.seconds(entry.arm.suite.name, entry.value), done)
        ratios, _ = ratios_in_turn(value_times, plain_times, list(value_times), turns=done)
        return {cell: logs[since:] for cell, logs in ratios.items()}


def _in_turns(seconds: Mapping[Key, Mapping[int, float]], turns: int) -> dict[Key, list[float]]:
    """Return the logs by cell, in the order of the first so many launches: of those that have the
    cell."""
    launches = sorted({number for times in seconds.values() for number in times})[:turns]
    return {
        cell: [times[number] for number in launches if number in times]
        for cell, times in seconds.items()
    }


def in_force_beside(
    environment: Mapping[str, str], family: Family, value: Configuration
) -> dict[str, str]:
    """`environment`, with a value in force too. What a family takes out of force where it tries an
    algorithm (the name of a rules file) stays: the value is tried with the exported files."""
    variables = libraries.beside(family, environment, value.as_dict())
    return {name: text or environment.get(name, text) for name, text in variables.items()}
