"""Answers of a real machine: every recorded launch has the whole space, so that a launch of the
replay is one of them, and its pairs stay pairs.

Three things are not recorded, and computed: a mock-up while its parts are tuned (its recorded time,
and by how much the parts are faster), a size between the recorded ones (as the default does there),
and files in force in place of a knob written in the launch (the same)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plumbline.core.configuration import Configuration
from plumbline.core.guidelines import calls
from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db.probe_records import Header

from .answers import Answer, Lacking
from .around import Around
from .store import Recorded, Store, Timed
from .sweeps import Here

_LEAST_SHARE = 0.2  # of a mock-up's time stays, however fast its parts become
_PIECES = "_as_split:pieces="
Key = tuple[str, int, Candidate]
Blocks = NDArray[np.float64]


class Noisy:
    def __init__(self, here: Here, store: Store) -> None:
        self._here = here
        whole = [one for one in store.launches if one.header is not None]
        if not whole:
            raise Lacking(f"{store.path}: nothing is recorded")
        assert whole[0].header is not None
        self.header: Header = whole[0].header
        self.launches = len(whole)
        self.overhead_seconds = float(np.median([one.seconds - one.wall_ns / 1e9 for one in whole]))
        self.call_factor = float(np.median([one.wall_ns / one.timed_ns for one in whole]))
        self._times = [_times(one) for one in whole]
        self._flaws = {
            _key(one): one for launched in whole for one in launched.cases if one.outcome != "ok"
        }
        self._sizes: dict[tuple[str, Candidate], list[int]] = {}
        for function, size, candidate in sorted(self._times[0]):
            self._sizes.setdefault((function, candidate), []).append(size)

    def of(self, cases: Sequence[PlanCase], around: Around) -> list[Answer]:
        return [self._answer(case, around) for case in cases]

    def _answer(self, case: PlanCase, around: Around) -> Answer:
        function, size = case.function, case.bytes
        if case.variant == DEFAULT.variant and not case.configuration and not case.plain_duplicate:
            if refusal := around.refusal(function, size):
                return Answer(refusal, "the canary refuses")
            variant = around.variant(function, size)
            candidate = (
                self._here.named(function, size, around.knobs(function, size))
                if variant == DEFAULT.variant
                else Candidate(variant)
            )
        elif case.variant == "library":
            candidate = self._here.named(function, size, around.knobs(function, size))
        else:
            candidate = Candidate(case.variant, case.configuration)
            if candidate.is_knobs:
                candidate = self._here.named(function, size, case.configuration.as_dict())
        flaw = self._flaws.get((function, size, candidate))
        if flaw is not None:
            return Answer(flaw.outcome, flaw.detail)
        times = [self._ns(number, function, size, candidate) for number in range(self.launches)]
        if candidate.variant != DEFAULT.variant and (around.rules or around.file or around.by_size):
            times = [
                self._with_parts(number, function, size, candidate.variant, own, around)
                for number, own in enumerate(times)
            ]
        return Answer("ok", "", times)

    def _ns(self, launch: int, function: str, size: int, candidate: Candidate) -> Blocks:
        found = self._times[launch].get((function, size, candidate))
        if found is not None:
            return found
        sizes = self._sizes.get((function, candidate))
        if not sizes:
            raise Lacking(f"{function} at {size} B: {candidate} is not recorded")
        near = min(sizes, key=lambda one: abs(math.log(one / size)))
        times = self._times[launch][function, near, candidate]
        factor = self._default(launch, function, size) / self._default(launch, function, near)
        return times * factor

    def _default(self, launch: int, function: str, size: int) -> float:
        """The median of the library's own call, between recorded sizes along a straight line of
        logarithms."""
        sizes = self._sizes[function, DEFAULT]
        place = bisect.bisect_left(sizes, size)
        low, high = sizes[max(place - 1, 0)], sizes[min(place, len(sizes) - 1)]
        times = [
            math.log(float(np.median(self._times[launch][function, one, DEFAULT])))
            for one in (low, high)
        ]
        if low == high:
            return math.exp(times[0])
        weight = math.log(size / low) / math.log(high / low)
        return math.exp(times[0] + min(max(weight, 0.0), 1.0) * (times[1] - times[0]))

    def _with_parts(
        self, launch: int, function: str, size: int, variant: str, own: Blocks, around: Around
    ) -> Blocks:
        """A mock-up whose parts are tuned."""
        pieces = int(variant.partition(_PIECES)[2]) if _PIECES in variant else 1
        gain = 0.0
        for part in calls(function, variant) or ():
            if (part, DEFAULT) not in self._sizes:
                continue
            at = max(1, size // pieces)
            now = around.variant(part, at)
            candidate = (
                self._here.named(part, at, around.knobs(part, at))
                if now == DEFAULT.variant
                else Candidate(now)
            )
            if candidate != DEFAULT and now.partition(":")[0] != variant.partition(":")[0]:
                tuned = float(np.median(self._ns(launch, part, at, candidate)))
                plain = float(np.median(self._ns(launch, part, at, DEFAULT)))
                gain += pieces * (plain - tuned)
        middle = float(np.median(own))
        return own * max(_LEAST_SHARE, 1 - gain / middle)


def _key(one: Timed) -> Key:
    return one.function, one.bytes, Candidate(one.variant, Configuration.of(one.knobs))


def _times(launched: Recorded) -> dict[Key, Blocks]:
    return {
        _key(one): np.array(one.ns, dtype=float) for one in launched.cases if one.outcome == "ok"
    }
