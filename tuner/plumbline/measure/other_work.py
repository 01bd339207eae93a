"""Other work beside the launches of a campaign: disturbed launches, and those that are repeated.

The load beside a launch is part of its stored record. So a campaign that is run again from its
start decides as it did before. This module starts no launches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from plumbline.core.plan import Plan
from plumbline.measure import conditions
from plumbline.system import machine
from plumbline.system.machine import Others
from plumbline.system.words import counted
from plumbline_db.probe_records import Footer, Load, ProbeRecord
from plumbline_db.records import Verdict
from plumbline_db.runs import Surroundings

# Launches in a row whose repetition ran beside other work as well. The next ones are not repeated
# until a launch is quiet again: permanent load costs a campaign so many launches, and no more.
IN_VAIN = 3

WAIT_SECONDS = 600.0  # the longest wait of a campaign, all waits together
_SAY_SECONDS = 10.0


class OtherWork:
    """The other work that launches of one campaign have shown so far. `is_quiet`: the last launch
    ran beside nothing else. `wait_seconds`: launches may wait so long, in all, for a quiet machine.
    """

    def __init__(
        self,
        wait_seconds: float = 0.0,
        *,
        look: Callable[[], Others | None] = machine.look,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` takes a moment, and returns what others took in it."""
        self.is_quiet = True
        self._in_vain = 0
        self._wait_seconds = self._left = wait_seconds
        self._look = look
        self._clock = clock

    def wait(self, say: Callable[[str], None]) -> None:
        """Wait until others leave the machine alone, if that was asked for and time for it is left;
        `say` is told who takes the processors meanwhile."""
        begun, last_told = self._clock(), -_SAY_SECONDS
        seconds_left = self._left
        while self._left > 0:
            work = self._look()
            if work is None or work.processors <= conditions.BUSY_PROCESSORS:
                break
            waited = self._clock() - begun
            self._left = seconds_left - waited
            if self._left <= 0:
                limit = f"the limit of {self._wait_seconds:.0f} s is used up"
                say(f"waits no longer for a quiet machine: {limit}; {work.text()}")
            elif waited - last_told >= _SAY_SECONDS:
                last_told = waited
                say(f"waiting for a quiet machine, {self._left:.0f} s at most: {work.text()}")

    def asks_again(self, plan: Plan, records: Sequence[ProbeRecord]) -> bool:
        """Return whether a launch of `plan` that left these records is to be repeated: it ran
        beside other work, it has times, and the last repetitions were not all in vain, or the next
        one can wait for a quiet machine."""
        load = next((record for record in records if isinstance(record, Load)), None)
        footer = next((record for record in records if isinstance(record, Footer)), None)
        in_vain = self._in_vain >= IN_VAIN and self._left <= 0
        if load is None or footer is None or in_vain:
            return False
        timed = any(not case.calls for case in plan.cases)
        return timed and conditions.foreign(load, footer.wall_ns / 1e9).high

    def learn(self, load: tuple[Load, float] | None, *, repeated: bool) -> None:
        """Note the load beside a launch that counts; `repeated`: this launch is a repetition."""
        self.is_quiet = load is None or not conditions.foreign(*load).high
        if self.is_quiet:
            self._in_vain = 0
        elif repeated:
            self._in_vain += 1


def disturbed(launches: Iterable[Surroundings]) -> set[str]:
    """Return the names of the suites with at least half of their launches beside other work."""
    balance: Counter[str] = Counter()
    for launch in launches:
        is_busy = (
            launch.load is not None and conditions.foreign(launch.load, launch.wall_seconds).high
        )
        balance[launch.suite] += 1 if is_busy else -1
    return {suite for suite, more in balance.items() if more >= 0}


def cost(
    launches: Sequence[Surroundings], repeated: Collection[str], verdicts: Iterable[Verdict]
) -> str:
    """Return what other work has cost a campaign, "" for nothing: the launches of the suites
    `repeated`, and the cells of its last table that are undecided and rest on disturbed launches.
    """
    again = [launch.seconds for launch in launches if launch.suite in repeated]
    suites = disturbed(launch for launch in launches if launch.suite not in repeated)
    undecided = sum(
        verdict.verdict == "undecided"
        and verdict.ratio is not None
        and not suites.isdisjoint(verdict.suites)
        for verdict in verdicts
    )
    sentences = []
    if again:
        sentences.append(f"repeating {counted(len(again), 'launch')} took {sum(again):.0f} s")
    if undecided:
        sentences.append(
            f"{counted(undecided, 'cell')} measured beside other programs stayed undecided"
        )
    return ", and ".join(sentences)
