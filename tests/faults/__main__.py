"""Faults one after the other: the first call of a kind fails, the second, the third …

    python -m tests.faults FOLDER SCENARIO [--most N] [--from N] [FAULT …]

It is to be started with failing.so preloaded. After each fault the scenario is run again, until it
has come to its end: it must end as one that nothing came between, and nothing that a machine does
may look like a bug. `--most`: so many calls of each fault at most, evenly spread over all."""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from tests.faults.campaign import Campaign
from tests.faults.day import Day, finished
from tests.faults.failing import Fault, Faults
from tests.faults.scenarios import Scenario

MOST_RUNS = 3
# A child that is killed is a launch that failed, which is kept, and another is taken.
DECIDED_ONLY = (Fault.CHILD,)
_YEAR = 365 * 86400
AMOUNTS = {Fault.FULL: (100,), Fault.CLOCK: (3600, -3600, 10 * _YEAR, -10 * _YEAR)}
TRACEBACK = "Traceback (most recent call last)"

Begin = Callable[[Path], Scenario]


class Tally(msgspec.Struct):
    """Of one fault. `calls`: how many there are without one; `absorbed`: runs that ended well all
    the same; `stopped`: that said why, and ended well when they were run again."""

    fault: str
    calls: int = 0
    tried: int = 0
    absorbed: int = 0
    stopped: int = 0
    wrong: list[str] = []


class Trials:
    def __init__(self, faults: Faults, folder: Path, begin: Begin) -> None:
        self._faults, self._folder, self._begin = faults, folder, begin
        whole = begin(folder / "whole")
        if whole.run() != 0:
            raise SystemExit(f"it does not end without a fault:\n{whole.said()}")
        whole.import_all()
        self._results, self._decided = whole.results(), whole.decided()

    def calls(self, fault: Fault) -> int:
        scenario = self._begin(self._folder / f"calls-{fault.name}")
        with self._faults.armed(scenario.folder, fault, sys.maxsize):
            scenario.run()
        self._remove(scenario)
        return self._faults.seen

    def tally(self, fault: Fault, most: int) -> Tally:
        tally = Tally(fault.name.lower(), self.calls(fault))
        for number in spread(tally.calls, most):
            for amount in AMOUNTS.get(fault, (1,)):
                self._try(tally, fault, number, amount)
        return tally

    def _try(self, tally: Tally, fault: Fault, number: int, amount: int) -> None:
        scenario = self._begin(self._folder / f"{fault.name}-{number}-{amount}")
        with self._faults.armed(scenario.folder, fault, number, amount):
            status = scenario.run()
        if not self._faults.fired:
            return
        tally.tried += 1
        wrong = [] if status >= 0 else [f"ended by signal {-status}"]
        wrong += [scenario.said()] if TRACEBACK in scenario.said() else []
        tally.absorbed += status == 0
        tally.stopped += status > 0
        runs = 1
        while status != 0 and runs < MOST_RUNS:
            status, runs = scenario.run(), runs + 1
        if status != 0:
            wrong.append(f"it does not go on: {scenario.said()}")
        else:
            wrong += self._difference(scenario, fault)
        if wrong:
            tally.wrong.append(f"{fault.name.lower()} {number}: " + "\n".join(wrong))
        else:
            self._remove(scenario)

    def _difference(self, scenario: Scenario, fault: Fault) -> list[str]:
        if fault in DECIDED_ONLY:
            found, expected = scenario.decided(), self._decided
        else:
            found, expected = scenario.results(), self._results
        gone = [f"- {line}" for line in expected if line not in found]
        came = [f"+ {line}" for line in found if line not in expected]
        if found != expected and not gone and not came:
            return ["the same lines in another order"]
        return [line[:400] for line in (*gone[:5], *came[:5])]

    def _remove(self, scenario: Scenario) -> None:
        for path in scenario.folder.parent.glob(scenario.folder.name + "*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def spread(calls: int, most: int) -> list[int]:
    """Numbers from 1 on: all, or one of each part."""
    if calls <= most:
        return list(range(1, calls + 1))
    chance = random.Random(calls)
    ends = [round(part * calls / most) for part in range(most + 1)]
    return [chance.randint(low + 1, high) for low, high in itertools.pairwise(ends)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenario", choices=("campaign", "day"))
    parser.add_argument("faults", nargs="*", choices=[fault.name.lower() for fault in Fault][1:])
    parser.add_argument("--most", type=int, default=sys.maxsize)
    asked = parser.parse_args()
    faults = Faults()
    folder = asked.folder / asked.scenario
    folder.mkdir(parents=True)
    begin: Begin = Campaign
    if asked.scenario == "day":
        begin = partial(Day, finished=finished(asked.folder / "finished"))
    trials = Trials(faults, folder, begin)
    print(f"{'fault':10}{'calls':>8}{'tried':>8}{'absorbed':>10}{'stopped':>10}{'wrong':>8}")
    wrong = []
    for fault in [fault for fault in Fault if fault.name.lower() in asked.faults]:
        done = trials.tally(fault, asked.most)
        numbers = f"{done.calls:8}{done.tried:8}{done.absorbed:10}{done.stopped:10}"
        print(f"{done.fault:10}{numbers}{len(done.wrong):8}", flush=True)
        wrong += done.wrong
        print(*done.wrong, sep="\n\n", end="\n" * bool(done.wrong), flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
