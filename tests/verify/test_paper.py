"""The rules of PGMPI, by hand and against scipy, and why they differ from Plumbline's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from scipy import stats

from plumbline.core.guidelines import Guidelines
from plumbline.verify import paper
from plumbline.verify.paper import REASONS, RULES, OwnClaims, RuleDifference
from plumbline_db.records import Medians, Verdict
from tests.verify.simulated import MOCKUP, PAPER, gl12, medians, pair

CLAIMS = OwnClaims()


def judged(
    data: Sequence[Medians], rules: str = "paper", guidelines: Guidelines = PAPER
) -> list[Verdict]:
    return paper.verdicts(data, guidelines, RULES[rules], stage="before", nprocs=4, ppn=4)


def split_of(sizes: dict[int, float]) -> dict[int, Verdict]:
    """The split cells of a function whose launches all take these microseconds."""
    data = [medians("MPI_Bcast", size, [1e-6 * us] * 3) for size, us in sizes.items()]
    return {verdict.bytes: verdict for verdict in judged(data) if verdict.kind == "split"}


@pytest.mark.parametrize(("launches", "p"), [(3, 1 / 20), (4, 1 / 70), (5, 1 / 252)])
def test_sides_that_do_not_overlap_have_the_p_of_one_order(launches: int, p: float) -> None:
    """One of C(2 R, R) orders of the launches is as extreme: 1/20 is not below 5 %."""
    left, right = [1.1e-5 + 1e-7 * i for i in range(launches)], [1e-5] * launches
    verdict = gl12(judged(pair(left, right)))
    assert verdict.p == pytest.approx(p)
    assert verdict.verdict == ("violated" if p < 0.05 else "holds")
    assert (verdict.launches, verdict.p_adjusted) == (launches, None)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("m", "n"), [(10, 10), (6, 14)])
def test_p_is_scipys(rules: str, m: int, n: int) -> None:
    rng = np.random.default_rng(m)
    left, right = rng.lognormal(-11.4, 0.1, m), rng.lognormal(-11.5, 0.1, n)
    expected = (
        stats.mannwhitneyu(left, right, alternative="greater", method="exact").pvalue
        if rules == "paper"
        else stats.ks_2samp(left, right, alternative="less", method="exact").pvalue
    )
    verdict = gl12(judged(pair(list(left), list(right)), rules))
    assert verdict.p == pytest.approx(expected, rel=1e-9)
    assert (verdict.verdict == "violated") == (expected < 0.05)


def test_neither_pairs_nor_a_tolerance_count() -> None:
    """Launches move together by far more than the sides differ; then the sides differ by 1 %."""
    drift = [1e-5 * 1.3**i for i in range(8)]
    together = pair([1.1 * seconds for seconds in drift], drift)
    assert gl12(judged(together)).verdict == "holds"
    steady = [1e-5 * (1 + i / 1e4) for i in range(8)]
    apart = gl12(judged(pair([1.01 * seconds for seconds in steady], steady)))
    assert apart.verdict == "violated"
    assert apart.ratio == pytest.approx(1.01, rel=1e-3)


def test_monotony_compares_adjacent_sizes_by_the_test() -> None:
    times = {1024: 2e-5, 2048: 1e-5, 4096: 1.1e-5}
    data = [
        medians("MPI_Bcast", size, [seconds * (1 + i / 100) for i in range(5)])
        for size, seconds in times.items()
    ]
    cells = [verdict for verdict in judged(data) if verdict.kind == "monotony"]
    assert [(each.bytes, each.other_bytes, each.verdict) for each in cells] == [
        (1024, 2048, "violated"),
        (2048, 4096, "holds"),
    ]


def test_a_split_is_the_smallest_multiple_of_the_largest_faster_message() -> None:
    """2 x 1024 B cover 2000 B, as in the paper's example; 4 x 512 B are faster still."""
    cells = split_of({512: 4, 1024: 10, 2000: 23})
    assert sorted(cells) == [1024, 2000]
    whole = cells[2000]
    assert (whole.verdict, whole.other_bytes, whole.factor) == ("violated", 1024, 2)
    assert whole.ratio == pytest.approx(23 / 20)
    assert whole.p is None
    half = cells[1024]
    assert (half.verdict, half.other_bytes, half.factor) == ("violated", 512, 2)


def test_a_smaller_message_is_reported_where_the_larger_one_is_no_violation() -> None:
    whole = split_of({512: 5, 1024: 11.5, 2000: 23})[2000]
    assert (whole.verdict, whole.other_bytes, whole.factor) == ("violated", 512, 4)
    assert whole.ratio == pytest.approx(23 / 20)


@pytest.mark.parametrize(("us", "word"), [(20.9, "holds"), (21.1, "violated")])
def test_a_split_is_allowed_five_per_cent(us: float, word: str) -> None:
    assert split_of({1024: 10, 2048: us})[2048].verdict == word


def test_splits_below_the_least_bytes_of_pieces_are_judged_too() -> None:
    assert split_of({1: 1, 2: 3})[2].verdict == "violated"


def test_split_compares_medians_of_all_launches() -> None:
    """Means or pairs would say otherwise: one launch of the left side is far off."""
    data = [
        medians("MPI_Bcast", 1024, [1e-5, 1e-5, 1e-5]),
        medians("MPI_Bcast", 2048, [2e-5, 2e-5, 9e-5]),
    ]
    (verdict,) = [each for each in judged(data) if each.kind == "split"]
    assert (verdict.verdict, verdict.ratio) == ("holds", pytest.approx(1.0))


def test_a_side_without_times_is_undecided() -> None:
    verdict = gl12(judged(pair([1e-5] * 4, [])))
    assert (verdict.verdict, verdict.reason) == (
        "undecided",
        f"right side {MOCKUP}: not measured",
    )


def test_guidelines_of_every_function_can_be_left_out() -> None:
    data = [medians("MPI_Bcast", size, [1e-5] * 4) for size in (512, 1024)]
    rest = PAPER.selected(["GL3", "-GL1"])
    assert {verdict.guideline for verdict in judged(data, guidelines=rest)} == {"GL2"}
    assert judged(data, guidelines=rest.selected(["-gl2"])) == []


# --- where the verdicts differ --------------------------------------------------------------------


def verdict(word: str, **changes: object) -> Verdict:
    base = gl12(judged(pair([1.1e-5] * 10, [1e-5] * 10)))
    own = msgspec.structs.replace(base, verdict=word, ratio=1.1, p=0.001, launches=30)
    return msgspec.structs.replace(own, **changes)


def difference(by_paper: Verdict, own: Verdict | None) -> RuleDifference:
    (row,) = paper.differences([by_paper], [] if own is None else [own], CLAIMS, 256)
    assert row.reason in REASONS
    return row


def test_equal_words_are_no_difference() -> None:
    for by_paper, own in (("violated", "violated"), ("holds", "holds"), ("holds", "undecided")):
        assert paper.differences([verdict(by_paper)], [verdict(own)], CLAIMS, 256) == []


SPLIT = {"kind": "split", "rhs": "MPI_Allreduce", "p": None, "factor": 2, "other_bytes": 64}
PIECES = {"kind": "split", "rhs": "allreduce_as_split:pieces=2", "ratio": 0.9}


@pytest.mark.parametrize(
    ("by_paper", "own", "reason", "detail"),
    [
        (
            verdict("violated", **SPLIT),
            None,
            "not tested",
            "ratio over 2 times 64 B 1.100; pieces have 256 B or more",
        ),
        (
            verdict("violated", **SPLIT, bytes=128),
            verdict("holds", **PIECES, bytes=128),
            "pieces",
            "ratio over 2 times 64 B 1.100; over pieces=2 sent 0.900",
        ),
        (
            verdict("violated", **SPLIT, bytes=100),
            verdict("holds", **PIECES, bytes=100),
            "other pieces",
            "ratio over 2 times 64 B 1.100; over pieces=2 sent 0.900",
        ),
        (
            verdict("violated", ratio=1.04, p=0.01),
            verdict("undecided", p=0.5),
            "tolerance",
            "ratio 1.040, p 0.01",
        ),
        (
            verdict("violated"),
            verdict("holds", ratio=1.01),
            "pairs",
            "ratio 1.100 of medians, 1.010 within launches",
        ),
        (
            verdict("violated"),
            verdict("undecided", p=0.01, p_adjusted=0.2),
            "correction",
            "p 0.01, adjusted 0.2, after 30 launches",
        ),
        (
            verdict("violated"),
            verdict("undecided", p=0.2, p_adjusted=0.9, launches=8, reason="not sure"),
            "few launches",
            "not sure, after 8 launches",
        ),
        (
            verdict("violated"),
            verdict("undecided", p=0.2, p_adjusted=0.9, reason="not sure"),
            "small ratio",
            "not sure, after 30 launches",
        ),
        (
            verdict("holds", launches=3, p=0.05),
            verdict("violated"),
            "few launches",
            "p of 3 launches a side is never below 5 %",
        ),
        (
            verdict("holds", p=0.2),
            verdict("violated", ratio=1.2),
            "pairs",
            "ratio 1.100 of medians, 1.200 within launches; p 0.2 of sides that are not paired",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value in REASONS else "",
)
def test_the_reason_of_a_difference(
    by_paper: Verdict, own: Verdict | None, reason: str, detail: str
) -> None:
    row = difference(by_paper, own)
    assert (row.reason, row.detail) == (reason, detail)
    assert (row.paper, row.plumbline) == (by_paper, own)


def test_counts_are_of_the_cells_that_the_paper_has() -> None:
    both, alone = verdict("violated"), verdict("violated", bytes=8)
    mine = verdict("violated", bytes=16)
    rank = verdict("violated", kind="rank", guideline="PL1")
    table = [both, alone, msgspec.structs.replace(mine, verdict="holds")]
    own = [both, msgspec.structs.replace(alone, verdict="undecided"), mine, rank]
    counts = paper.counts(table, own)
    assert counts["pattern"] == {"tested": 3, "paper": 2, "plumbline": 2, "both": 1}
    assert counts["split"] == {"tested": 0, "paper": 0, "plumbline": 0, "both": 0}


def test_equal_sides_are_called_violated_in_one_cell_of_twenty() -> None:
    """Without a correction, 500 equal cells of ten launches have 25 violations, within 4 sigma."""
    rng = np.random.default_rng(7)
    false = sum(
        gl12(judged(pair(list(rng.lognormal(-11, 0.1, 10)), list(rng.lognormal(-11, 0.1, 10))))).p
        < 0.05  # type: ignore[operator]
        for _ in range(500)
    )
    assert abs(false - 0.0446 * 500) < 4 * math.sqrt(500 * 0.05 * 0.95)
