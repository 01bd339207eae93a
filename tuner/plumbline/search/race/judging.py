"""One decision of a race: which of some candidates is to hold in a cell, or, where the library has
one choice for all sizes, in all cells of a function. Who leads, who is dropped, and whether going
on is worth it. Measures nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.select import faster, slower
from plumbline.verify.decision import by_interval
from plumbline.verify.significance.comparison import SAME
from plumbline_db.records import Trial, Verdict

from .effort import Effort
from .evidence import Evidence, Lead, expected_gain, together

# The bound that the winner of a cell must not be slower than: the fastest right-hand side of the
# violations that opened its search. It is measured in the launches of the race. Pure.


class ViolationBound(msgspec.Struct, frozen=True):
    """The right-hand side `times` times one after the other: `candidate` at the cell `cell`. `name`
    is the violation, as searches name it (`GL12@16384`)."""

    name: str
    cell: Target
    candidate: Candidate = DEFAULT
    times: int = 1

    @property
    def case(self) -> PlanCase:
        return self.candidate.case(self.cell.function, self.cell.bytes)


def bounds(verdicts: Iterable[Verdict]) -> dict[Target, ViolationBound]:
    """The bound of each cell whose left side is violated and can be replaced: of several right-hand
    sides the one that the table found to be fastest, at equal times the first."""
    worst_by_cell: dict[Target, tuple[float, ViolationBound]] = {}
    for verdict in verdicts:
        if verdict.in_other_use:
            continue
        if verdict.verdict != "violated" or not verdict.replaceable or verdict.ratio is None:
            continue
        target = Target(verdict.function, verdict.bytes)
        if target not in worst_by_cell or verdict.ratio > worst_by_cell[target][0]:
            worst_by_cell[target] = verdict.ratio, _of(verdict)
    return {target: bound for target, (_, bound) in worst_by_cell.items()}


def _of(verdict: Verdict) -> ViolationBound:
    return ViolationBound(
        f"{verdict.guideline}@{verdict.bytes}",
        Target(verdict.function, verdict.other_bytes or verdict.bytes),
        Candidate(verdict.right),
        max(1, verdict.factor),
    )


class Decision(msgspec.Struct):
    """`cells` are to be made faster, each with its bound; `guards` must not get slower, and are
    measured from the second look on (`at_once`: from the first, as launches are dear). `racing` are
    the candidates that are measured in the next look, `reserve` those that take their places when
    none of them is left; `stopped` says why there is no next look, '' while it is open. `most`: it
    gets no more looks than that (0: as many as the effort gives). `alone`: nothing joins these
    candidates. `untried`: what there was no time for."""

    cells: list[Target]
    racing: list[Candidate]
    bounds: dict[Target, ViolationBound]
    guards: list[Target] = []
    at_once: bool = False
    reserve: list[Candidate] = []
    stopped: str = ""
    untried: str = ""
    looks: int = 0
    most: int = 0
    alone: bool = False

    @property
    def all_cells(self) -> list[Target]:
        return [*self.cells, *(self.guards if self.looks or self.at_once else [])]


class Judge:
    """Judges decisions by the evidence. `named`: the cells in which a violation would be removed
    (None: not known); elsewhere a gain below the tolerance is of no use."""

    def __init__(self, evidence: Evidence, effort: Effort) -> None:
        self.named: AbstractSet[Target] | None = None
        self.evidence = evidence
        self.effort = effort

    def lead(self, of: Decision, candidate: Candidate, other: Candidate = DEFAULT) -> Lead | None:
        """Return how far it is behind `other`, over all cells to be made faster. None unless all
        have both."""
        leads = [self.evidence.lead(cell, candidate, other) for cell in of.cells]
        return None if None in leads else together(lead for lead in leads if lead is not None)

    def leader(self, of: Decision, among: Iterable[Candidate] | None = None) -> Candidate:
        """The best as far as known: the least ratio, where what is known badly counts as worse.
        The default may lead."""
        best, least = DEFAULT, 0.0
        for candidate in of.racing if among is None else among:
            lead = self.lead(of, candidate)
            if lead is not None and lead.log + lead.error < least:
                best, least = candidate, lead.log + lead.error
        return best

    def drop(self, of: Decision, is_out: Callable[[Target, Candidate], bool]) -> None:
        """Takes out of the race what is out already, what surely slows a cell down that it must
        not, and what is surely behind the best."""
        kept = []
        for candidate in of.racing:
            several = of.all_cells if len(of.all_cells) > 1 else []
            is_dropped = any(is_out(cell, candidate) for cell in of.all_cells)
            if not is_dropped and not self.is_slower(candidate, several):
                kept.append(candidate)
        of.racing = kept
        if of.guards and of.looks == 1 and not of.at_once:
            # No candidate has been measured on the guard cells yet, so none can be eliminated.
            ranked = [
                candidate
                for candidate in self.ranked(of, of.racing)
                if self._may_gain(of, candidate)
            ]
            of.racing, of.reserve = ranked[: self.effort.front], ranked[self.effort.front :]
            return
        leader = self.leader(of)
        deviations = self.effort.deviations(len(of.racing))
        little = self._least_gain(of) / (4 * max(1, len(of.racing)))
        little = 0.0 if self.effort.repeats else little
        of.racing = [
            candidate
            for candidate in of.racing
            if candidate == leader
            or (lead := self.lead(of, candidate, leader)) is None
            or not (lead.surely_above(SAME, deviations) or lead.expected_gain() < little)
        ]
        if not of.racing:
            front = self.effort.front
            of.racing, of.reserve = of.reserve[:front], of.reserve[front:]

    def ranked(self, of: Decision, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates with a result, the best first."""
        log_by_candidate = {
            candidate: lead.log
            for candidate in candidates
            if (lead := self.lead(of, candidate)) is not None
        }
        return sorted(
            log_by_candidate, key=lambda candidate: (log_by_candidate[candidate], candidate)
        )

    def is_slower(self, candidate: Candidate, cells: Sequence[Target]) -> bool:
        """Surely slower than the default in one of the cells."""
        deviations = self.effort.deviations(len(cells))
        return any(
            lead.surely_above(SAME, deviations)
            for cell in cells
            if (lead := self.evidence.lead(cell, candidate)) is not None
        )

    def gain(self, of: Decision, leader: Candidate) -> float:
        """Return what going on with the race is expected to gain."""
        leads = [self.lead(of, candidate, leader) for candidate in of.racing if candidate != leader]
        return expected_gain([lead for lead in leads if lead is not None])

    def stop(self, of: Decision) -> str:
        """Return why the race is at its end; '' where it goes on."""
        leader = self.leader(of)
        if not of.racing:
            return "nothing that may be tried is faster than the default"
        gain, effort = self.gain(of, leader), self.effort
        least = self._least_gain(of)
        most = of.most or effort.looks
        if leader == DEFAULT:
            little = gain < least or of.looks >= min(most, effort.claims.launches[-1])
            return f"going on is expected to gain {_percent(gain)}" if little else ""
        launches = min(self.evidence.launches(cell, leader) for cell in of.all_cells)
        if not effort.judges(launches) and of.looks < most:
            return ""
        last = effort.is_last(launches) or of.looks >= most
        counted = f"{launches} launch{'es' * (launches != 1)}"
        clear = self._is_clear(of, leader)
        reached, text = self._bound(of, leader)
        in_doubt = self._in_doubt(of, leader)
        if clear and reached is not None and gain < least and not in_doubt:
            return f"{text} in {counted}, and going on is expected to gain {_percent(gain)}"
        if not clear and self._promise(of, leader) < least and gain < least:
            return f"going on is expected to gain less than {_percent(least)}"
        if effort.repeats:
            return text
        taken = "that such a size gets" if of.most else "that a race takes"
        return f"{text} in {counted}, the most {taken}" if last else ""

    def _least_gain(self, of: Decision) -> float:
        least = self.effort.least_gain(of.cells)
        if self.effort.repeats or self.named is None or not self.named.isdisjoint(of.cells):
            return least
        return max(least, self.effort.tolerance)

    def bound_ratio(self, cell: Target, bound: ViolationBound) -> float | None:
        """The bound's time over the default's in the same launches."""
        behind = self.evidence.behind(bound.cell, bound.candidate, (cell, DEFAULT))
        return None if behind is None else math.exp(behind.log) * bound.times

    def trial(self, cell: Target, candidate: Candidate) -> Trial:
        comparison = self.effort.compare(list(self.evidence.logs(cell, candidate).values()))
        return Trial(
            variant=candidate.variant,
            knobs=candidate.configuration.as_dict(),
            state="measured",
            ratio=comparison.ratio,
            ratio_low=comparison.low,
            ratio_high=comparison.high,
            launches=comparison.n,
            detail=comparison.reason,
        )

    def _may_gain(self, of: Decision, candidate: Candidate) -> bool:
        lead = self.lead(of, candidate)
        deviations = self.effort.deviations(len(of.racing))
        return lead is None or not lead.surely_above(-SAME, deviations)

    def _is_clear(self, of: Decision, leader: Candidate) -> bool:
        """Faster than the default beyond doubt, in one of the cells at least."""
        return any(faster(self.trial(cell, leader)) for cell in of.cells)

    def _in_doubt(self, of: Decision, leader: Candidate) -> bool:
        """Return whether it would be refused for being slower in a cell, which may be chance."""
        several = of.all_cells if len(of.all_cells) > 1 else []
        measured_cells = [cell for cell in several if self.evidence.launches(cell, leader)]
        trials = [self.trial(cell, leader) for cell in measured_cells]
        return any(
            slower(trial, self.effort.tolerance)
            and (trial.ratio_low is None or trial.ratio_low <= 1)
            for trial in trials
        )

    def _promise(self, of: Decision, leader: Candidate) -> float:
        """Return how much faster than the default the leader may be, as far as known."""
        lead = self.lead(of, leader)
        return 0.0 if lead is None else max(0.0, 2 * lead.error - lead.log)

    def _bound(self, of: Decision, leader: Candidate) -> tuple[bool | None, str]:
        """Return whether all bounds hold (None: not known yet), and what is to be said of the one
        that is farthest from it."""
        results = [self._holds(cell, bound, leader) for cell, bound in of.bounds.items()]
        missed = [bound for bound in results if bound[0] is False]
        open_ones = [bound for bound in results if bound[0] is None]
        return next(iter(missed + open_ones + results), (True, "it is faster than the default"))

    def _holds(
        self, cell: Target, bound: ViolationBound, leader: Candidate
    ) -> tuple[bool | None, str]:
        bound_key = (bound.cell, bound.candidate)
        if bound_key == (cell, leader) and bound.times == 1:
            return True, f"it is the bound {bound.name} itself"
        logs = self.evidence.logs(cell, leader, bound_key)
        if not logs:
            return True, f"the bound {bound.name} could not be measured"
        comparison = self.effort.compare([log - math.log(bound.times) for log in logs.values()])
        ratio = f"{comparison.ratio:.2f} of {bound.name}"
        word = by_interval(comparison, base=1 + self.effort.tolerance)
        if word == "faster":
            return True, f"the bound holds ({ratio})"
        if word == "slower":
            return False, f"the bound is not reached ({ratio})"
        return None, f"the bound is not decided ({ratio})"


def _percent(gain: float) -> str:
    return f"{100 * gain:.1f} %"
