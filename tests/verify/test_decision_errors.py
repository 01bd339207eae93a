"""What the looks promise, tried on simulated launches: heavy tails (Student's t with 2 degrees of
freedom), all cells of a launch moved together, tables of functions compared with themselves. All
seeds are fixed; limits are nominal rates and three standard errors of the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbline.verify import decision
from plumbline.verify.decision import CellDecision, Claim, HypothesisFamily, alone
from plumbline.verify.significance.moderated import moderated
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline.verify.verify import Look, Verification, VerifySettings
from tests.verify import designs
from tests.verify.simulated import PAPER, Times, first, heavy, medians, signed_rank_p

DESIGN = decision.design_over(6, 30)


def violated(logs: Times, limit: float = 1.0) -> NDArray[np.bool_]:
    """Which cells (rows) are called violated at any look: what is called so once stays so."""
    family = HypothesisFamily.of(range(len(logs)), Claim(tolerance=limit - 1, design=DESIGN))
    for n in DESIGN.launches:
        family.look(partial(first, logs, n))
    return np.array([cell[0].word == "slower" for cell in family.cells])


def allowed(rate: float, experiments: int) -> float:
    return rate + 3 * math.sqrt(rate * (1 - rate) / experiments)


def p_of_looks(logs: Times) -> Times:
    """The sequential p of untied log ratios (experiments × 30), after each look."""
    found = []
    for look, n in enumerate(DESIGN.launches):
        found.append(signed_rank_p(logs[:, :n]) / DESIGN.shares[look])
    return np.minimum(np.minimum.accumulate(found, axis=0), 1.0)


def test_the_short_cut_is_the_product() -> None:
    logs = heavy(np.random.default_rng(0), (4, 30), 0.02) + math.log(1.05)
    cells = [[CellDecision(n, 1.05)] for n in range(4)]
    family = HypothesisFamily(cells, Claim(alpha=1e-9, design=DESIGN, judge=alone))
    for look, expected in enumerate(p_of_looks(logs - math.log(1.05))):
        family.look(partial(first, logs, DESIGN.launches[look]))
        assert [cell[0].p for cell in family.cells] == pytest.approx(expected.tolist())


def test_the_sequential_p_of_equal_sides_is_not_too_small_at_any_look() -> None:
    """100 000 experiments. Taking the smallest of the five p as it is would be far too small."""
    logs = heavy(np.random.default_rng(1), (100_000, 30), 0.02)
    last = p_of_looks(logs)[-1]
    for u in (0.2, 0.05, 0.01, 0.001):
        assert np.mean(last <= u) <= allowed(u, len(logs))
    naive = np.min([signed_rank_p(logs[:, :n]) for n in DESIGN.launches], axis=0)
    assert np.mean(naive <= 0.05) > 0.09


def equally_wide(rng: np.random.Generator) -> Times:
    return heavy(rng, (200, 30), 0.03)


def of_all_widths(rng: np.random.Generator) -> Times:
    return heavy(rng, (200, 30), 0.03) * np.exp(rng.normal(0, 1, (200, 1)))


def of_two_kinds(rng: np.random.Generator) -> Times:
    return rng.normal(0, 1, (200, 30)) * np.where(np.arange(200) < 40, 0.3, 0.01)[:, None]


def in_two_moods(rng: np.random.Generator) -> Times:
    return rng.choice([-0.1, 0.1], (200, 30)) + rng.normal(0, 0.01, (200, 30))


@pytest.mark.parametrize("noise", [equally_wide, of_all_widths, of_two_kinds, in_two_moods])
def test_a_violation_is_seldom_held(noise: Callable[[np.random.Generator], Times]) -> None:
    """20 tables of 200 cells with a true ratio a hair above the limit: `holds` at any look in 2.5 %
    of cells at most. And the intervals of all looks cover it together in 95 %."""
    rng = np.random.default_rng(2)
    held, missed = np.zeros((20, 200), bool), np.zeros((20, 200), bool)
    for table in range(20):
        logs = noise(rng)  # less the limit's logarithm
        for look, n in enumerate(DESIGN.launches):
            compare = moderated(logs[:, :n].tolist())
            confidence = DESIGN.confidence(look, 0.05)
            found = [compare(cell[:n].tolist(), confidence) for cell in logs]
            above = np.array([one.low is not None and one.low > 1 for one in found])
            below = np.array([one.high is not None and one.high < 1 for one in found])
            held[table] |= below
            missed[table] |= below | above
    assert np.mean(held) <= allowed(0.025, held.size)
    assert np.mean(missed) <= allowed(0.05, missed.size)


@pytest.mark.parametrize("common", [pytest.param(0.0, marks=pytest.mark.alone), 0.02])
def test_false_discoveries_of_null_tables_stay_nominal_at_every_look(common: float) -> None:
    """200 tables of 50 equal pairs through the product, without any tolerance to hide behind:
    the share of tables with a violation at any look."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        logs = heavy(rng, (50, 30), 0.02) + heavy(rng, (1, 30), common)
        alarms += bool(violated(logs).any())
    assert alarms / 200 <= allowed(0.05, 200)


def test_slower_by_less_than_the_tolerance_is_no_violation() -> None:
    """100 tables of 50 cells that are all truly 4.5 % slower: the share of tables with a violation
    at any look. That they are slower beyond doubt, and by more than 5 % as far as is known, is so
    for many of the same cells."""
    alarms, by_estimate = 0, []
    for seed in range(100):
        logs = math.log(1.045) + heavy(np.random.default_rng(seed), (50, 30), 0.02)
        alarms += bool(violated(logs, 1.05).any())
        if seed < 10:
            found = [paired_ratio(cell) for cell in logs]
            by_estimate += [one.p < 0.001 and one.ratio > 1.05 for one in found]
    assert alarms / 100 <= 0.05
    assert np.mean(by_estimate) > 0.1


@pytest.mark.parametrize(("spread", "least"), [(0.01, 0.99), (0.02, 0.9)])
def test_ten_percent_are_found(spread: float, least: float) -> None:
    """10 tables of 200 cells: 20 are 10 % slower, the others 4.5 %, which is allowed."""
    found, false = [], 0
    for seed in range(10):
        truth = np.full((200, 1), math.log(1.045))
        truth[:20] = math.log(1.1)
        called = violated(truth + heavy(np.random.default_rng(seed), (200, 30), spread), 1.05)
        found.append(called[:20].mean())
        false += int(called[20:].sum())
    assert np.mean(found) >= least
    assert false <= 0.05 * 20 * sum(found)


def test_of_what_is_found_few_are_false() -> None:
    """60 tables of 200 cells: 10 % are 3 to 30 % slower, the others equal; cells stop where they
    are decided. The false share among the violations, over the tables, with no tolerance."""
    shares, found = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        slow = np.zeros(200)
        slow[:20] = np.log(rng.uniform(1.03, 1.3, 20))
        logs = slow[:, None] + heavy(rng, (200, 30), 0.02) + heavy(rng, (1, 30), 0.01)
        called = violated(logs)
        shares.append(called[20:].sum() / max(1, called.sum()))
        found.append(called[:20].mean())
    error = float(np.std(shares)) / math.sqrt(len(shares))
    assert np.mean(shares) <= 0.05 + 3 * error
    assert np.mean(found) > 0.75


def test_whole_tables_of_functions_against_themselves() -> None:
    """Every mock-up is the function itself, monotony and split-robustness hold: 60 tables look by
    look, cells that are decided are not measured again."""
    settings = VerifySettings(claim=Claim(design=DESIGN, min_launches=6))
    sizes = [16, 1024, 65536]
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        launch = rng.lognormal(0, 0.2, 30)
        times = {
            (function, variant, size): 5e-6
            * (1 + size / 1000)
            * launch
            * np.exp(heavy(rng, (30,), 0.02))
            for function in PAPER.lhs_functions()
            for variant in (
                "default",
                *(one.variant for one in PAPER.patterns if one.lhs == function),
            )
            for size in sizes
        }
        table = Verification(PAPER, stage="before", nprocs=4, ppn=4, settings=settings)
        measured = dict.fromkeys(times, 0)
        wanted = set(times)
        for n in DESIGN.launches:
            measured |= dict.fromkeys(wanted, n)
            table.look(
                Look(
                    [
                        medians(
                            function,
                            size,
                            list(times[function, variant, size][:count]),
                            variant=variant,
                        )
                        for (function, variant, size), count in measured.items()
                    ],
                    ["before"],
                )
            )
            wanted = {(one.function, one.variant, one.bytes) for one in table.open_sides()}
        words = [one.verdict for one in table.verdicts() if one.kind == "pattern"]
        assert len(words) == 15 * len(sizes)
        alarms += "violated" in words
    assert alarms / 60 <= allowed(0.05, 60)


def test_looks_save_launches_and_find_as_much_as_two_of_them() -> None:
    """Against 15 launches and 15 more for what is undecided, each p times two."""
    new, old = (
        designs.outcome(designs.DESIGNS[name], "quiet", 4)
        for name in ("6 … 30", "15, then 15 more (p times 2)")
    )
    assert new.seconds < 0.85 * old.seconds
    assert new.measured < 0.7 * old.measured
    assert new.found >= old.found - 0.01 and new.found > 0.95
    assert new.false == 0
    assert new.undecided < old.undecided + 0.005 * designs.CELLS
