"""What the whole sweep knows, against which choices are judged: violations under them, which of
these could be removed, and how far the choices are from the best there is (regret).

docs/design/search.md defines the words; this is that page as a program."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Side
from plumbline.core.plan import PlanCase
from plumbline.measure.comparison import claim_of
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.verify.decision import ONE_LOOK, compare_of
from plumbline.verify.index import Obstacle
from plumbline.verify.verify import VerifySettings
from plumbline_db.records import Medians, Verdict
from tests.verify.simulated import medians, verify

from .answers import Answer, Answers
from .around import Choices, chosen
from .sweeps import Here

Cell = tuple[str, int]
_TRIED = 3  # candidates that might remove a violation, the fastest ones


class Regret(msgspec.Struct, frozen=True):
    """Of one cell: by how much the choice takes longer than the best one, 0.03 for 3 %; None where
    the call aborts with what is in force elsewhere."""

    function: str
    bytes: int
    chosen: Candidate
    best: Candidate
    regret: float | None


class Truth:
    def __init__(self, here: Here, answers: Answers) -> None:
        self._here = here
        self._answers = answers
        self._sizes = here.sizes()

    def table(self, choices: Choices) -> list[Verdict]:
        """By all recorded launches."""
        around = chosen(self._here, choices)
        cases = self._here.cases()
        known, obstacles = [], []
        for case, answer in zip(cases, self._answers.of(cases, around), strict=True):
            if answer.outcome == "ok":
                known.append(_medians(case, answer, self._here))
            else:
                side = Side(case.function, case.variant, case.bytes, case.ranks)
                obstacles.append(Obstacle(side, answer.outcome))
        settings = self._here.settings
        return verify(
            known,
            self._here.guidelines,
            stage="truth",
            nprocs=settings.ranks.nprocs,
            ppn=settings.ranks.ppn,
            suites=["sweep"],
            settings=VerifySettings(
                claim=msgspec.structs.replace(claim_of(settings), design=ONE_LOOK),
                deterministic=self._here.sweep.simulated,
            ),
            obstacles=obstacles,
        )

    def removable(self, choices: Choices, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Of the violations in a table, those that one more choice would remove: for the left
        side's cell (or for all cells of its function, where one choice must hold for them), so
        that no other guideline is violated that was not."""
        left = [one for one in verdicts if one.verdict == "violated" and one.replaceable]
        before = violated(verdicts)
        return [one for one in left if self._cured(choices, one, before)]

    def _cured(
        self, choices: Choices, violation: Verdict, before: set[tuple[str, str, int]]
    ) -> bool:
        function, size = violation.function, violation.bytes
        now = self.seconds(function, size, choices[function, size], choices)
        if now is None or violation.ratio is None:
            return False
        limit = 1 + self._here.settings.claims.tolerance
        # What the left side must come down to, by the ratio that was seen.
        wanted = statistics.median(now) / violation.ratio * limit
        promising = []
        for other in self._admissible(function, size, choices):
            times = self.seconds(function, size, other[function, size], other)
            if times is not None and statistics.median(times) <= wanted * 1.02:
                promising.append((statistics.median(times), other))
        promising.sort(key=lambda one: one[0])
        for _, other in promising[:_TRIED]:
            after = violated(self.table(other))
            if (violation.guideline, function, size) not in after and after <= before:
                return True
        return False

    def _admissible(
        self, function: str, size: int, choices: Choices
    ) -> Iterable[dict[Cell, Candidate]]:
        """The choices with one more for a cell: any candidate where each size may have its own; of
        the library's where one must hold for all sizes, one that is nowhere slower than the
        default."""
        whole = self._here.candidate_space.one_for_all_sizes(function)
        for candidate in self._here.space(function, size):
            if candidate == choices[function, size]:
                continue
            if not whole or not candidate.is_knobs:
                yield dict(choices) | {(function, size): candidate}
            elif self.nowhere_slower(function, candidate, choices):
                own = {
                    (function, one): candidate
                    for one in self._sizes[function]
                    if choices[function, one].variant == DEFAULT.variant or one == size
                }
                yield dict(choices) | own

    def nowhere_slower(self, function: str, candidate: Candidate, choices: Choices) -> bool:
        for size in self._sizes[function]:
            mine = self.seconds(function, size, candidate, choices)
            plain = self.seconds(function, size, DEFAULT, choices)
            if mine is None or plain is None:
                return False
            logs = [math.log(one / other) for one, other in zip(mine, plain, strict=True)]
            simulated = self._here.settings.ranks.simulate is not None
            compare = compare_of(simulated=simulated)
            found = compare(logs, 0.95)
            sure = found.low is not None and found.low > 1
            if sure or found.ratio > 1 + self._here.settings.claims.tolerance:
                return False
        return True

    def seconds(
        self, function: str, size: int, candidate: Candidate, choices: Choices
    ) -> list[float] | None:
        """By recorded launch, of a candidate in a cell while the other functions are as chosen;
        None where it has no times."""
        others = {cell: one for cell, one in choices.items() if cell[0] != function}
        own = {(function, one): DEFAULT for one in self._sizes[function]}
        around = chosen(self._here, others | own)
        case = candidate.case(function, size)
        if self._here.sweep.simulated and candidate.is_knobs:
            options = around.options | candidate.configuration.as_dict()
            around = msgspec.structs.replace(around, options=options)
            case = PlanCase(function, size)
        (answer,) = self._answers.of([case], around)
        return answer.seconds() if answer.outcome == "ok" else None

    def regrets(self, cells: Sequence[Cell], choices: Choices) -> list[Regret]:
        """Of every cell of `cells`."""
        found = []
        for function in dict.fromkeys(function for function, _ in cells):
            sizes = [size for name, size in cells if name == function]
            found += self._regrets(function, sizes, choices)
        return found

    def _regrets(self, function: str, sizes: Sequence[int], choices: Choices) -> list[Regret]:
        times: dict[int, dict[Candidate, list[float]]] = {}
        self.ours_at_once(function, sizes, choices)
        for size in sizes:
            known = {
                one: self.seconds(function, size, one, choices)
                for one in self._here.space(function, size)
            }
            times[size] = {one: seconds for one, seconds in known.items() if seconds is not None}
        halves = _halves(self._answers.launches)
        if self._here.candidate_space.one_for_all_sizes(function):
            for at in times.values():
                for one in [one for one in at if one.is_knobs]:
                    if not self.nowhere_slower(function, one, choices):
                        del at[one]
        found = []
        for size in sizes:
            mine = choices[function, size]
            if mine not in times[size]:
                seconds = self.seconds(function, size, mine, choices)
                if seconds is None:
                    found.append(Regret(function, size, mine, DEFAULT, None))
                    continue
                own = seconds
            else:
                own = times[size][mine]
            logs, best = [], DEFAULT
            for learn, judge in halves:
                best = self._best(function, size, times, learn)
                logs.append(_log(own, times[size][best], judge))
            found.append(Regret(function, size, mine, best, math.expm1(statistics.mean(logs))))
        return found

    def ours_at_once(self, function: str, sizes: Sequence[int], choices: Choices) -> None:
        """What the sweep lacks of our variants comes in one launch."""
        others = {cell: one for cell, one in choices.items() if cell[0] != function}
        own = {(function, one): DEFAULT for one in self._sizes[function]}
        cases = [
            one.case(function, size)
            for size in sizes
            for one in self._here.space(function, size)
            if not one.is_knobs
        ]
        self._answers.of(cases, chosen(self._here, others | own))

    def _best(
        self,
        function: str,
        size: int,
        times: Mapping[int, Mapping[Candidate, list[float]]],
        learn: Sequence[int],
    ) -> Candidate:
        def middle(at: int, one: Candidate) -> float:
            # The default may abort with what others have in force; then any will do.
            other = times[at].get(DEFAULT) or next(iter(times[at].values()))
            return _log(times[at][one], other, learn)

        if not self._here.candidate_space.one_for_all_sizes(function):
            return min(times[size], key=lambda one: middle(size, one))
        bases = [DEFAULT] + [
            one for one in times[size] if one.is_knobs and all(one in at for at in times.values())
        ]

        def with_base(at: int, base: Candidate) -> Candidate:
            ours = [one for one in times[at] if not one.is_knobs and one != DEFAULT]
            allowed = [one for one in (base, *ours) if one in times[at]]
            return min(allowed, key=lambda one: middle(at, one))

        times = {at: those for at, those in times.items() if those}
        base = min(bases, key=lambda one: sum(middle(at, with_base(at, one)) for at in times))
        return with_base(size, base)


def _log(left: Sequence[float], right: Sequence[float], launches: Sequence[int]) -> float:
    """Median over launches of log(left / right)."""
    return statistics.median(math.log(left[one] / right[one]) for one in launches)


def _halves(launches: int) -> list[tuple[list[int], list[int]]]:
    """Launches that say which is the best, and those that say how good it is: what was lucky in the
    one half is not in the other."""
    every = list(range(launches))
    if launches == 1:
        return [(every, every)]
    return [(every[::2], every[1::2]), (every[1::2], every[::2])]


def _medians(case: PlanCase, answer: Answer, here: Here) -> Medians:
    data = here.settings.cases
    how = {"type": data.type, "op": data.op, "root": data.root, "ranks": case.ranks}
    return medians(case.function, case.bytes, answer.seconds(), variant=case.variant, **how)


def violated(verdicts: Iterable[Verdict]) -> set[tuple[str, str, int]]:
    return {
        (one.guideline, one.function, one.bytes) for one in verdicts if one.verdict == "violated"
    }
