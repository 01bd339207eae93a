"""The way from medians to verdicts: makes the comparisons of all kinds, corrects for their number,
judges.

The rule, its error rates and what they rest on are in docs/design/verification.md. Pure: no clock,
file or database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from statistics import median
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
from plumbline.system.words import counted
from plumbline.verify.decision import CellDecision, Claim, HypothesisFamily, Word, shown
from plumbline.verify.index import Index, Obstacle
from plumbline.verify.kinds import Cell, Hypothesis, all_kinds
from plumbline_db.records import Medians, Verdict

if TYPE_CHECKING:
    from plumbline_db.runs import LaunchSamples


_VERDICTS: dict[Word, Literal["holds", "violated", "undecided"]] = {
    "slower": "violated",
    "equal": "holds",
    "faster": "holds",
    "undecided": "undecided",
}
# The reason of a verdict without a p.
DETERMINISTIC = "deterministic: one launch decides"
IN_FORCE = "its right-hand side is in force"

# The overhead of a replaced call over its replacement: the largest that `make bench` measured in a
# quiet run for blocking functions (docs/design/profile.md).
REPLACED_SECONDS = 30e-9


class VerifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`claim`: of the violations of a table; a guideline may allow more than its tolerance.
    `deterministic`: launches do not differ, the ratio alone decides. `in_force`: whether the calls
    of a left side are replaced by a right side; they may take so much more as replacing a call
    takes."""

    claim: Claim = Claim(tolerance=0.05, min_launches=6)
    deterministic: bool = False
    in_force: Callable[[Side, Side], bool] = lambda *_: False


class Look(msgspec.Struct, frozen=True):
    """The state at one look: the medians of all launches so far, and the suites that these are
    from. They come from one campaign, so that equal launch numbers are the same launch. `obstacles`
    name planned sides that were not timed (a mock-up that failed its check). `samples` are those
    behind the medians, where there are any."""

    medians: Sequence[Medians]
    suites: list[str]
    obstacles: Sequence[Obstacle] = ()
    samples: Sequence[LaunchSamples] = ()


CellKey = tuple[str, str, str, int]  # guideline, kind, function, bytes


class Verification:
    """One table (a stage, a number of ranks), looked at as often as its design says. The cells and
    their tests are those of the first look, without the `settled` ones, which are known."""

    def __init__(
        self,
        guidelines: Guidelines,
        *,
        stage: str,
        nprocs: int,
        ppn: int,
        settings: VerifySettings | None = None,
        settled: Collection[CellKey] = (),
    ) -> None:
        self._settled = settled
        self._guidelines = guidelines
        self._stage, self._nprocs, self._ppn = stage, nprocs, ppn
        self._settings = settings or VerifySettings()
        self._cells: list[Cell] = []
        self._known: dict[tuple[Side, Side, int], float] = {}
        self._family: HypothesisFamily[Hypothesis] | None = None
        self._suites: list[list[str]] = []

    def look(self, at: Look) -> None:
        """Judges what is undecided by all launches so far. A cell that is decided stays so."""
        index = Index(at.medians, at.obstacles, at.samples, self._nprocs, self._known)
        if self._family is None:
            self._cells = [
                cell
                for kind in all_kinds()
                for cell in kind.cells(index, self._guidelines)
                if (cell.guideline, cell.kind, cell.function, cell.bytes) not in self._settled
            ]
            self._family = self._questions(index)
        self._suites.append(list(at.suites))
        if self._settings.deterministic:
            self._family.repeat(lambda candidate: _log_ratios(index, candidate), DETERMINISTIC)
        else:
            self._family.look(lambda candidate: _log_ratios(index, candidate))

    def verdicts(self) -> list[Verdict]:
        """One for each cell, kind by kind, in the order of the guidelines and of sizes."""
        standings = self._family.cells if self._family else []
        return [self._verdict(cell, row) for cell, row in zip(self._cells, standings, strict=True)]

    def cells(self) -> list[tuple[Verdict, set[Side]]]:
        """The same, each with all that was compared in it."""
        sides = [
            {side for candidate in cell.candidates for side in (candidate.left, candidate.right)}
            for cell in self._cells
        ]
        return list(zip(self.verdicts(), sides, strict=True))

    def open_sides(self) -> list[Side]:
        """Return what more launches must measure to decide what is undecided and may be decided."""
        if self._family is None or self._settings.deterministic:
            return []
        tests = [standing.key for standing in self._family.worth_looking()]
        return list(dict.fromkeys(side for test in tests for side in (test.left, test.right)))

    def open_cells(self) -> int:
        """Return how many cells these are."""
        if self._family is None or self._settings.deterministic:
            return 0
        waiting = {id(standing) for standing in self._family.worth_looking()}
        return sum(any(id(state) in waiting for state in cell) for cell in self._family.cells)

    def _questions(self, index: Index) -> HypothesisFamily[Hypothesis]:
        settings = self._settings

        def limit(cell: Cell, candidate: Hypothesis) -> float:
            overhead = self._overhead(candidate, index)
            return 1 + max(settings.claim.tolerance, cell.tolerance, overhead)

        return HypothesisFamily(
            (
                [
                    CellDecision(candidate, limit(cell, candidate), candidate.weight)
                    for candidate in cell.candidates
                ]
                for cell in self._cells
            ),
            settings.claim,
        )

    def _overhead(self, candidate: Hypothesis, index: Index) -> float:
        """Return what replacing a call takes, as a share of the right side, where it is in force;
        else 0."""
        seconds = index.seconds.get(candidate.right)
        if not seconds or not self._settings.in_force(candidate.left, candidate.right):
            return 0.0
        return REPLACED_SECONDS / max(median(seconds.values()), REPLACED_SECONDS)

    def _verdict(self, cell: Cell, row: Sequence[CellDecision[Hypothesis]]) -> Verdict:
        standing = shown(row)
        candidate, comparison = standing.key, standing.comparison
        tested = comparison is not None and standing.p_adjusted is not None
        satisfied = standing.is_held and self._settings.in_force(candidate.left, candidate.right)
        return Verdict(
            stage=self._stage,
            guideline=cell.guideline,
            kind=cell.kind,
            function=cell.function,
            rhs=cell.rhs or candidate.right.variant,
            nprocs=self._nprocs,
            ppn=self._ppn,
            bytes=cell.bytes,
            other_bytes=candidate.right.bytes,
            factor=candidate.factor,
            verdict=_VERDICTS[standing.word],
            ratio=comparison.ratio if comparison else None,
            ratio_low=comparison.low if comparison else None,
            ratio_high=comparison.high if comparison else None,
            p=comparison.p if comparison and tested else None,
            p_adjusted=standing.p_adjusted if tested else None,
            launches=comparison.n if comparison else 0,
            reason=standing.reason or (IN_FORCE if satisfied else ""),
            suites=self._suites[max(state.look for state in row)],
            lhs=candidate.left.variant,
            ranks=candidate.left.ranks,
            freedom=comparison.freedom if comparison else 0.0,
        )


def _log_ratios(index: Index, candidate: Hypothesis) -> list[float] | str:
    """Return the log ratios of the launches that have both sides, or why there are none."""
    for name, side in (("left", candidate.left), ("right", candidate.right)):
        reason = index.missing(side)
        if reason:
            return f"{name} side {side.variant}: {reason}"
    ratios, unusable = index.log_ratios(candidate.left, candidate.right, candidate.factor)
    if unusable:
        return f"times that are not positive in {counted(unusable, 'launch')}"
    return ratios or "no launch has both sides"
