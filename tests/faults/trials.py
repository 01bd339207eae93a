"""Faults one after the other: a scenario in which the first call of a kind fails, the second, the
third … After each it is run again, until it has come to its end: that must be the end of one that
nothing came between, and nothing that a machine does may look like a bug."""

from __future__ import annotations

import itertools
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.faults.failing import Fault, Faults
from tests.faults.scenarios import Scenario

MOST_RUNS = 3
TRACEBACK = "Traceback (most recent call last)"
# A child that is killed is a launch that failed, which is kept, and another is taken.
DECIDED_ONLY = (Fault.CHILD,)
_YEAR = 365 * 86400
AMOUNTS = {Fault.FULL: (100,), Fault.CLOCK: (3600, -3600, 10 * _YEAR, -10 * _YEAR)}
_LONGEST_LINE = 400

Begin = Callable[[Path], Scenario]


class Tally(msgspec.Struct):
    """Of one fault. `calls`: how many there are without one; `absorbed`: runs that came to their
    end all the same; `stopped`: that said why, and went on when they were run again."""

    fault: Fault
    calls: int = 0
    tried: int = 0
    absorbed: int = 0
    stopped: int = 0
    wrong: list[str] = []

    def line(self) -> str:
        numbers = (self.calls, self.tried, self.absorbed, self.stopped, len(self.wrong))
        return f"{self.fault.name.lower():10}" + "".join(f"{number:10}" for number in numbers)


class Trials:
    def __init__(self, faults: Faults, folder: Path, begin: Begin) -> None:
        self._faults, self._folder, self._begin = faults, folder, begin
        whole = begin(folder / "whole")
        if whole.run() != 0:
            raise SystemExit(f"it does not end without a fault:\n{whole.said()}")
        whole.import_all()
        self._results, self._decided = whole.results(), whole.decided()

    def tally(self, fault: Fault, most: int) -> Tally:
        """Of so many calls, evenly spread over all."""
        tally = Tally(fault, self._calls(fault))
        for number in spread(tally.calls, most):
            for amount in AMOUNTS.get(fault, (1,)):
                self._try(tally, number, amount)
        return tally

    def _calls(self, fault: Fault) -> int:
        scenario = self._begin(self._folder / f"{fault.name}-calls")
        with self._faults.armed(scenario.folder, fault, sys.maxsize):
            scenario.run()
        self._remove(scenario)
        return self._faults.seen

    def _try(self, tally: Tally, number: int, amount: int) -> None:
        scenario = self._begin(self._folder / f"{tally.fault.name}-{number}-{amount}")
        with self._faults.armed(scenario.folder, tally.fault, number, amount):
            status = scenario.run()
        if self._faults.fired:
            tally.tried += 1
            tally.absorbed += status == 0
            tally.stopped += status > 0
            wrong = self._wrong(scenario, tally.fault, status)
            if wrong:
                what = f"{tally.fault.name.lower()} {number} ({amount})"
                tally.wrong.append("\n".join([what, *wrong]))
                return
        self._remove(scenario)

    def _wrong(self, scenario: Scenario, fault: Fault, status: int) -> list[str]:
        wrong = [f"ended by signal {-status}"] if status < 0 else []
        if TRACEBACK in scenario.said():
            wrong.append(scenario.said())
        for _ in range(MOST_RUNS):
            if status == 0:
                return wrong + self._difference(scenario, fault)
            status = scenario.run()
        return [*wrong, f"it does not go on: {scenario.said()}"]

    def _difference(self, scenario: Scenario, fault: Fault) -> list[str]:
        if fault in DECIDED_ONLY:
            found, expected = scenario.decided(), self._decided
        else:
            found, expected = scenario.results(), self._results
        gone = [f"- {line}" for line in expected if line not in found]
        came = [f"+ {line}" for line in found if line not in expected]
        if found != expected and not gone and not came:
            return ["the same lines in another order"]
        return [line[:_LONGEST_LINE] for line in (*gone[:5], *came[:5])]

    def _remove(self, scenario: Scenario) -> None:
        shutil.rmtree(scenario.folder)
        for path in scenario.folder.parent.glob(scenario.folder.name + ".*"):
            path.unlink()


def spread(calls: int, most: int) -> list[int]:
    """Numbers from 1 on: all, or one of each part."""
    if calls <= most:
        return list(range(1, calls + 1))
    chance = random.Random(calls)
    ends = [round(part * calls / most) for part in range(most + 1)]
    return [chance.randint(low + 1, high) for low, high in itertools.pairwise(ends)]
