"""Whether what may win a race is much slower in another way of use, seen in the race's launches.

A winner has to hold wherever a user stands, and is tried there before it is exported
(campaign/acceptance.py), in launches of its own. What would surely fail there loses its place here,
while its rivals are still measured. Keeps what it has seen; starts nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import PlanCase
from plumbline.measure.comparison import logs_inside
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Target
from plumbline.system.words import counted
from plumbline.verify.decision import FEW, much_slower
from plumbline_db.runs import LaunchSamples

Key = tuple[Target, Candidate]


class Elsewhere:
    """Of one race, in the ways of use `uses`."""

    def __init__(self, uses: Sequence[str]) -> None:
        self._uses = uses
        self._logs: dict[Key, dict[str, dict[int, float]]] = {}  # by use and launch
        self._disturbed: set[int] = set()  # launches beside other work: two count for one

    def cases(self, front: Mapping[Target, Collection[Candidate]]) -> list[PlanCase]:
        """Those of candidates that have not been seen often enough, each beside the default."""
        return [
            msgspec.structs.replace(candidate.case(target.function, target.bytes), use=use)
            for target, candidates in front.items()
            for use in self._uses
            for candidate in self._with_default(target, candidates, use)
        ]

    def _with_default(
        self, target: Target, candidates: Collection[Candidate], use: str
    ) -> list[Candidate]:
        asked = [
            candidate
            for candidate in candidates
            if not self._enough(self._logs.get((target, candidate), {}).get(use, {}))
        ]
        return [DEFAULT, *asked] if asked else []

    def _enough(self, logs: Mapping[int, float]) -> bool:
        """Return whether so many launches suffice to give up what is slower in all of them."""
        return sum(0.5 if run in self._disturbed else 1.0 for run in logs) >= FEW

    def learn(self, found: Iterable[LaunchSamples], *, disturbed: bool = False) -> None:
        """`found`: samples of launches, of all ways of use; `disturbed`: beside other work."""
        times: dict[tuple[Target, str], dict[Candidate, LaunchSamples]] = {}
        for samples in found:
            case = samples.case
            if case.use in self._uses and case.config != "plain":
                cell = Target(case.function, case.bytes), case.use
                candidate = Candidate(case.variant, Configuration.of(case.knobs))
                times.setdefault(cell, {})[candidate] = samples
                self._disturbed |= set(samples.runs) if disturbed else set()
        for (target, use), by_candidate in times.items():
            default = by_candidate.pop(DEFAULT, None)
            theirs = {} if default is None else dict(zip(default.runs, default.ns, strict=True))
            for candidate, samples in by_candidate.items():
                logs = self._logs.setdefault((target, candidate), {}).setdefault(use, {})
                logs |= logs_inside(dict(zip(samples.runs, samples.ns, strict=True)), theirs)

    def slower(self) -> dict[Key, str]:
        """What is much slower than the default in some way of use, with the reason."""
        return {
            key: f"{use}: {math.exp(min(logs.values())):.2f} of the default at least, in "
            f"{counted(len(logs), 'launch')}"
            for key, by_use in self._logs.items()
            for use, logs in by_use.items()
            if self._enough(logs) and much_slower(logs.values())
        }
