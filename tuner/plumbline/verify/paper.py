"""The verdicts by the rules of PGMPI (Hunold, Carpen-Amarie, Lübbe, Träff, Euro-Par 2016, section
4.3), and the cells on which these rules and Plumbline's differ, each with the reason.

The launches are not paired, the p of a cell is not corrected for the number of cells, and the
tolerance applies to split-robustness alone. Pure: no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
from plumbline.system.words import counted
from plumbline.verify.index import Index
from plumbline.verify.kinds import (
    Cell,
    Hypothesis,
    monotony_cells,
    multiplied_cells,
    pattern_cells,
)
from plumbline.verify.significance import kolmogorov_smirnov, rank_sum
from plumbline.verify.significance.comparison import Comparison, Test
from plumbline_db.records import Medians, Verdict

ALPHA = 0.05
TIMER_SECONDS = 1e-9
# The tests of the paper by the name of the rules.
RULES: dict[str, Test] = {"paper": rank_sum.TEST, "paper:ks": kolmogorov_smirnov.TEST}
KINDS = ("monotony", "split", "pattern")

# The reasons why verdicts differ, each with what it means.
REASONS = {
    "not tested": "Plumbline has no such test: it cuts no message below a least size of pieces",
    "pieces": "the paper multiplies the time of a piece, Plumbline times all pieces in a row",
    "other pieces": "the paper multiplies the time of another size than Plumbline's pieces have",
    "tolerance": "the ratio is within the tolerance, which the paper has for splits alone",
    "pairs": "the paper compares medians of launches, Plumbline both sides within each launch",
    "correction": "p is small enough by itself, but not among all cells of the table",
    "few launches": "one of the two tests has too few launches",
    "small ratio": "all launches leave open whether the ratio is above the tolerance",
}


class RuleDifference(msgspec.Struct, frozen=True):
    """A cell that one set of rules calls violated and the other one does not. `plumbline` is None
    where that has no such cell; `reason` is a key of REASONS, `detail` its numbers."""

    paper: Verdict
    plumbline: Verdict | None
    reason: str
    detail: str


class OwnClaims(msgspec.Struct, frozen=True):
    """The keys of a campaign by which Plumbline's own verdicts are made."""

    alpha: float = 0.05
    tolerance: float = 0.05
    launches_max: int = 30


class _Answer(NamedTuple):
    """`comparison` is None where a side was not timed; its p means nothing for splits."""

    hypothesis: Hypothesis
    word: Literal["holds", "violated", "undecided"]
    comparison: Comparison | None
    reason: str = ""


def verdicts(
    medians: Iterable[Medians],
    guidelines: Guidelines,
    test: Test,
    *,
    stage: str,
    nprocs: int,
    ppn: int,
) -> list[Verdict]:
    """Return one verdict for each cell of the paper's kinds, in the order of tables.

    `medians` hold one value in seconds for each launch. A cell with a side that was not timed is
    undecided, all others are violated or hold. `p` is that of one test, `p_adjusted` is None."""
    index = Index(medians, nprocs=nprocs)
    cells = [
        *monotony_cells(index, guidelines),
        *(
            cell
            for function in index.functions()
            for cell in multiplied_cells(index, guidelines, function)
        ),
        *pattern_cells(index, guidelines),
    ]
    return [
        _verdict(
            cell,
            _by_products(index, cell) if cell.kind == "split" else _by_test(index, cell, test),
            (stage, nprocs, ppn),
        )
        for cell in cells
    ]


def _verdict(cell: Cell, answer: _Answer, place: tuple[str, int, int]) -> Verdict:
    """Return the verdict; `place` is the stage, the ranks and the ranks of a node."""
    stage, nprocs, ppn = place
    hypothesis, word, comparison, reason = answer
    return Verdict(
        stage=stage,
        guideline=cell.guideline,
        kind=cell.kind,
        function=cell.function,
        rhs=cell.rhs,
        nprocs=nprocs,
        ppn=ppn,
        bytes=cell.bytes,
        other_bytes=hypothesis.right.bytes,
        factor=hypothesis.factor,
        verdict=word,
        ratio=comparison.ratio if comparison else None,
        ratio_low=comparison.low if comparison else None,
        ratio_high=comparison.high if comparison else None,
        p=comparison.p if comparison and cell.kind != "split" else None,
        p_adjusted=None,
        launches=comparison.n if comparison else 0,
        reason=reason,
        suites=[],
        lhs=hypothesis.left.variant,
    )


def _by_test(index: Index, cell: Cell, test: Test) -> _Answer:
    """Return what the two-sample test says of the medians of the launches of both sides."""
    (hypothesis,) = cell.candidates
    left_times, right_times = _times(index, hypothesis.left), _times(index, hypothesis.right)
    if not (left_times and right_times):
        return _not_timed(index, hypothesis)
    comparison = test.run(left_times, right_times, "greater", 1 - ALPHA)
    return _Answer(hypothesis, "violated" if comparison.p < ALPHA else "holds", comparison)


def _by_products(index: Index, cell: Cell) -> _Answer:
    """Return what the medians of all launches say: of the smaller messages whose multiple is
    faster, the largest; if there is none, the smaller message with the largest ratio."""
    whole = _times(index, cell.candidates[0].left)
    if not whole:
        return _not_timed(index, cell.candidates[0])
    rights = [_times(index, each.right) for each in cell.candidates]
    ratios = [
        median(whole) / (each.factor * median(right))
        for each, right in zip(cell.candidates, rights, strict=True)
    ]
    violated = [place for place, ratio in enumerate(ratios) if ratio > 1 + cell.tolerance]
    place = violated[0] if violated else ratios.index(max(ratios))
    launches = min(len(whole), len(rights[place]))
    comparison = Comparison(ratios[place], None, None, 1.0, launches, "")
    return _Answer(cell.candidates[place], "violated" if violated else "holds", comparison)


def _times(index: Index, side: Side) -> list[float]:
    """Return the medians of the launches in seconds; a time below the timer's unit is that unit."""
    return [max(seconds, TIMER_SECONDS) for seconds in index.seconds.get(side, {}).values()]


def _not_timed(index: Index, hypothesis: Hypothesis) -> _Answer:
    reasons = [
        f"{name} side {side.variant}: {missing}"
        for name, side in (("left", hypothesis.left), ("right", hypothesis.right))
        if (missing := index.missing(side))
    ]
    return _Answer(hypothesis, "undecided", None, reasons[0])


# --- the cells on which both sets of rules differ -------------------------------------------------


def differences(
    paper: Sequence[Verdict], plumbline: Sequence[Verdict], claims: OwnClaims, least_bytes: int
) -> list[RuleDifference]:
    """Return the cells that one of two tables of the same launches calls violated, in the order of
    `paper`. `claims` are those of `plumbline`; its pieces of messages have `least_bytes`."""
    own_verdicts = {_key(verdict): verdict for verdict in plumbline}
    rows = []
    for verdict in paper:
        own = own_verdicts.get(_key(verdict))
        if (verdict.verdict == "violated") == (own is not None and own.verdict == "violated"):
            continue
        if own is None:
            reason, detail = "not tested", f"{_ratio(verdict)}; pieces have {least_bytes} B or more"
        elif verdict.kind == "split" and own.rhs != own.function:
            reason, detail = _of_pieces(verdict, own)
        elif own.verdict == "violated":
            reason, detail = _missed(verdict, own)
        else:
            reason, detail = _refused(verdict, own, claims)
        rows.append(RuleDifference(verdict, own, reason, detail))
    return rows


def _key(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.guideline, verdict.function, verdict.bytes


def _ratio(verdict: Verdict) -> str:
    times = f"over {verdict.factor} times {verdict.other_bytes} B " if verdict.factor > 1 else ""
    return f"ratio {times}{verdict.ratio:.3f}" if verdict.ratio is not None else verdict.reason


def _of_pieces(paper: Verdict, own: Verdict) -> tuple[str, str]:
    pieces = own.rhs.partition(":")[2]
    same = f"pieces={paper.factor}" == pieces and paper.factor * paper.other_bytes == paper.bytes
    detail = f"{_ratio(paper)}; over {pieces} sent {_ratio(own).removeprefix('ratio ')}"
    return "pieces" if same else "other pieces", detail


def _missed(paper: Verdict, own: Verdict) -> tuple[str, str]:
    """Return why the paper's test does not find what Plumbline's finds."""
    ratios = f"{_ratio(paper)} of medians, {own.ratio:.3f} within launches"
    if paper.p is None:
        return "pairs", ratios
    if 1 / math.comb(2 * paper.launches, paper.launches) >= ALPHA:
        return "few launches", f"p of {counted(paper.launches, 'launch')} a side is never below 5 %"
    return "pairs", f"{ratios}; p {paper.p:.2g} of sides that are not paired"


def _refused(paper: Verdict, own: Verdict, claims: OwnClaims) -> tuple[str, str]:
    """Return why Plumbline's test does not call violated what the paper's does."""
    if paper.ratio is not None and paper.ratio <= 1 + claims.tolerance:
        return "tolerance", f"{_ratio(paper)}, p {paper.p:.2g}"
    if own.verdict == "holds":
        return "pairs", f"{_ratio(paper)} of medians, {own.ratio:.3f} within launches"
    after = f"after {counted(own.launches, 'launch')}"
    if own.p is not None and own.p_adjusted is not None and own.p < claims.alpha:
        return "correction", f"p {own.p:.2g}, adjusted {own.p_adjusted:.2g}, {after}"
    if own.p is None or own.launches < claims.launches_max:
        return "few launches", f"{own.reason}, {after}"
    return "small ratio", f"{own.reason}, {after}"


def counts(paper: Sequence[Verdict], plumbline: Sequence[Verdict]) -> Mapping[str, dict[str, int]]:
    """Return for each of KINDS how many cells the paper's rules test and call violated, how many
    Plumbline's call violated, and how many both do."""
    violated = {_key(verdict) for verdict in plumbline if verdict.verdict == "violated"}
    result = {}
    for kind in KINDS:
        by_key = {_key(verdict): verdict.verdict for verdict in paper if verdict.kind == kind}
        by_paper = {key for key, word in by_key.items() if word == "violated"}
        by_plumbline = violated & by_key.keys()
        result[kind] = {
            "tested": len(by_key),
            "paper": len(by_paper),
            "plumbline": len(by_plumbline),
            "both": len(by_paper & by_plumbline),
        }
    return result
