"""A family of tests over its looks: who gets more launches, what is decided stays decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import NormalDist

import msgspec
import numpy as np
import pytest

from plumbline.verify import decision
from plumbline.verify.decision import (
    GIVEN_UP,
    CellDecision,
    Claim,
    HypothesisFamily,
    above,
    alone,
    benjamini_hochberg,
    by_interval,
    decide,
    joint,
    may_be_found,
    much_slower,
    shown,
    slower,
)
from plumbline.verify.significance.comparison import Comparison, exact_ratio
from plumbline.verify.significance.signed_rank import paired_ratio

DESIGN = decision.design_over(9, 30)
LIMIT = 1.05
CLAIM = Claim(tolerance=0.05, design=DESIGN)


def family(cells: Sequence[Sequence[str]], **changes: float) -> HypothesisFamily[str]:
    asked = [[CellDecision(key, LIMIT) for key in cell] for cell in cells]
    return HypothesisFamily(asked, msgspec.structs.replace(CLAIM, **changes))


def noise(ratio: float, spread: float, seed: int, n: int = 30) -> list[float]:
    return list(np.random.default_rng(seed).normal(math.log(ratio), spread, n))


def of(logs: Mapping[str, Sequence[float]], look: int) -> Callable[[str], Sequence[float]]:
    return lambda key: logs[key][: DESIGN.launches[look]]


def test_what_is_clear_stops_and_the_rest_goes_on() -> None:
    logs = {
        "equal": noise(1.0, 0.01, 1),
        "slow": noise(1.5, 0.02, 2),
        "unclear": noise(1.05, 0.05, 3),
    }
    found = family([["equal"], ["slow"], ["unclear"]], alpha=0.1)
    found.look(of(logs, 0))
    equal, slow, unclear = (cell[0] for cell in found.cells)
    assert equal.word in ("equal", "faster")
    assert slow.word == "slower"
    assert unclear.word == "undecided" and unclear.reason
    assert [one.key for one in found.open()] == ["unclear"]
    before = equal.comparison, slow.comparison
    for look in range(1, DESIGN.looks):
        found.look(of(logs, look))
    assert (equal.comparison, slow.comparison) == before
    assert (equal.look, slow.look, unclear.look) == (0, 0, DESIGN.looks - 1)
    assert unclear.comparison is not None and unclear.comparison.n == 30
    assert found.open() == []
    with pytest.raises(ValueError, match="the design has 5 looks"):
        found.look(of(logs, 4))


def test_p_pays_for_its_look_and_never_grows() -> None:
    logs = {"a": noise(1.13, 0.08, 1)}
    found = family([["a"]], alpha=1e-9)
    best = 1.0
    for look in range(DESIGN.looks):
        found.look(of(logs, look))
        once = above(logs["a"][: DESIGN.launches[look]], LIMIT).p
        best = min(best, once / DESIGN.shares[look])
        assert found.cells[0][0].p == pytest.approx(best)


def test_p_is_about_the_limit_and_the_interval_about_the_ratio() -> None:
    """8 % slower with a limit of 5 % is as significant as 2.9 % with none."""
    logs = {"a": noise(1.08, 0.04, 1), "b": noise(1.08 / LIMIT, 0.04, 1)}
    found = HypothesisFamily([[CellDecision("a", LIMIT)], [CellDecision("b", 1.0)]], CLAIM)
    found.look(of(logs, 0))
    ours, other = (cell[0].comparison for cell in found.cells)
    assert ours is not None and other is not None
    assert ours.p == other.p > paired_ratio(logs["a"][:9]).p
    assert ours.ratio == pytest.approx(other.ratio * LIMIT)
    assert ours.high is not None and other.high is not None
    assert ours.high == pytest.approx(other.high * LIMIT)


def test_intervals_pay_for_their_look() -> None:
    logs = {"a": noise(1.08, 0.3, 1)}
    found = family([["a"]])
    for look in range(DESIGN.looks):
        found.look(of(logs, look))
        confidence = 1 - 0.05 * DESIGN.shares[look]
        expected = paired_ratio(logs["a"][: DESIGN.launches[look]], confidence)
        of_ratio = found.cells[0][0].comparison
        assert of_ratio is not None
        assert (of_ratio.ratio, of_ratio.low, of_ratio.high) == (
            expected.ratio,
            expected.low,
            expected.high,
        )


def test_the_correction_is_over_the_cells_that_stopped_too() -> None:
    logs = {f"slow {n}": noise(2.0, 0.01, n) for n in range(20)}
    logs |= {f"equal {n}": noise(1.0, 0.01, 100 + n) for n in range(80)}
    logs["late"] = noise(1.12, 0.1, 5)
    found = family([[key] for key in logs])
    for look in range(DESIGN.looks):
        found.look(of(logs, look))
    p = [cell[0].p or 0.0 for cell in found.cells]
    assert [cell[0].p_adjusted for cell in found.cells] == pytest.approx(benjamini_hochberg(p))


def test_more_violations_elsewhere_turn_an_undecided_cell() -> None:
    """Alone in a hundred it is not significant at this look; beside fifty others it is."""
    assert family_of(others=1)[-1][0].word == "undecided"
    assert family_of(others=50)[-1][0].word == "slower"


def family_of(others: int) -> list[list]:  # type: ignore[type-arg]
    logs = {f"slow {n}": noise(2.0, 0.01, n) for n in range(others)}
    logs |= {f"equal {n}": noise(1.0, 0.01, 100 + n) for n in range(99 - others)}
    logs["one"] = [0.2] * 10 + [-0.01] + [0.2]
    cells = [[CellDecision(key, LIMIT)] for key in logs]
    found = HypothesisFamily(cells, msgspec.structs.replace(CLAIM, judge=alone))
    for look in (0, 1):
        found.look(of(logs, look))
    return found.cells


def test_a_cell_holds_when_all_its_tests_do_and_each_stops_alone() -> None:
    logs = {"clear": noise(0.5, 0.02, 1), "late": noise(1.01, 0.05, 2)}
    found = family([["clear", "late"]])
    found.look(of(logs, 0))
    clear, late = found.cells[0]
    assert (clear.word, late.word) == ("faster", "undecided")
    assert [one.key for one in found.open()] == ["late"]
    assert shown(found.cells[0]) is late
    for look in range(1, DESIGN.looks):
        found.look(of(logs, look))
    assert late.word in ("equal", "faster") and clear.look == 0 < late.look


def test_a_violated_cell_stops_with_all_its_tests() -> None:
    logs = {"slow": noise(3.0, 0.02, 1), "unclear": noise(1.05, 0.2, 2)}
    found = family([["unclear", "slow"]])
    found.look(of(logs, 0))
    assert shown(found.cells[0]).key == "slow"
    assert found.open() == []


def test_what_has_no_times_is_not_waited_for() -> None:
    found = family([["a"], ["b"]])
    found.look(lambda key: "right side: wrong" if key == "a" else [0.2] * 9)
    missing, other = (cell[0] for cell in found.cells)
    assert (missing.word, missing.reason, missing.p) == ("undecided", "right side: wrong", None)
    assert missing not in found.open()
    assert other.p_adjusted == other.p


def test_what_was_not_measured_since_stays_as_it_is() -> None:
    logs = {"a": noise(1.05, 0.1, 1), "b": noise(1.05, 0.1, 2)}
    found = family([["a"], ["b"]])
    found.look(of(logs, 0))
    before = found.cells[1][0].comparison
    found.look(lambda key: logs[key][:12] if key == "a" else None)
    assert found.cells[0][0].look == 1
    assert (found.cells[1][0].look, found.cells[1][0].comparison) == (0, before)


def test_verdicts_once_given_never_change() -> None:
    """Tables of all sorts of cells, look by look: nothing decided is ever undone, no adjusted p of
    a cell ever grows."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        centre = rng.choice([0.7, 1.0, 1.04, 1.06, 1.15, 1.6], 150)
        spread = rng.choice([0.005, 0.03, 0.1], 150)
        logs = {
            str(n): list(math.log(centre[n]) + rng.standard_t(3, 30) * spread[n])
            for n in range(150)
        }
        found = family([[key] for key in logs])
        known: dict[str, str] = {}
        adjusted: dict[str, float] = {}
        for look in range(DESIGN.looks):
            found.look(of(logs, look))
            for (one,) in found.cells:
                key = one.key
                assert known.get(key) in (None, one.word)
                assert one.p_adjusted is not None
                assert one.p_adjusted <= adjusted.get(key, 1.0) + 1e-12
                adjusted[key] = one.p_adjusted
                if one.word != "undecided":
                    known[key] = one.word
        assert {"equal", "faster", "slower"} <= set(known.values())


@pytest.mark.parametrize(
    ("ratio", "high", "look", "found"),
    [
        (1.20, 1.40, 0, True),  # 30 launches have an interval of 1.10 to 1.31
        (1.20, 1.40, 3, True),
        (1.20, 2.40, 3, False),  # with 30 launches it still begins at 0.66
        (1.06, 1.60, 0, False),
        (1.06, 1.066, 3, True),
        (1.06, 1.09, 3, False),
    ],
)
def test_what_more_launches_may_find(ratio: float, high: float, look: int, found: bool) -> None:
    """Whether 30 launches in all may show a ratio above 1.05."""
    launches = DESIGN.launches[look]
    seen = Comparison(
        ratio=ratio, low=ratio * ratio / high, high=high, p=0.2, n=launches, reason=""
    )
    assert may_be_found(seen, LIMIT, CLAIM, look) is found


@pytest.mark.parametrize("look", [0, 1, 2, 3])
def test_what_is_given_up_is_seldom_found(look: int) -> None:
    """Of normal log ratios, whose mean nobody knows."""
    chance = np.random.default_rng(look)
    now, last = DESIGN.launches[look], DESIGN.launches[-1]
    given_up, waited_for = [], []
    for mean in chance.normal(0.05, 0.05, 4000):
        logs = chance.normal(mean, 0.08, last)
        seen = _normal(logs[:now], DESIGN.confidence(look, 0.05))
        if seen.ratio <= 1.05 or (seen.low or 0) > 1.05:
            continue
        there = _normal(logs, DESIGN.confidence(DESIGN.looks - 1, 0.05)).low or 0
        kept = may_be_found(seen, LIMIT, CLAIM, look)
        (waited_for if kept else given_up).append(there > 1.05)
    assert np.mean(given_up) < GIVEN_UP and np.mean(waited_for) > 2 * GIVEN_UP


def test_a_look_is_for_cells_that_it_may_decide() -> None:
    """Not for what is at the limit, nor for a test beside which another one of its cell can not be
    held, unless it may be found slower."""
    bounds = {
        "perhaps slower": (1.20, 1.40),
        "perhaps equal": (0.98, 1.10),
        "at the limit": (1.05, 1.10),
    }
    cells = [
        ["perhaps slower"],
        ["perhaps equal"],
        ["at the limit"],
        ["perhaps equal", "at the limit"],
        ["perhaps slower", "at the limit"],
    ]
    decisions = [
        [
            CellDecision(
                f"{key} of {number}",
                LIMIT,
                comparison=Comparison(ratio, ratio * ratio / high, high, 0.2, 22, ""),
                look=3,
            )
            for key in cell
            for ratio, high in [bounds[key]]
        ]
        for number, cell in enumerate(cells)
    ]
    tests = HypothesisFamily(decisions, CLAIM)
    assert len(tests.open()) == 7
    worth = [test.key for test in tests.worth_looking()]
    assert worth == ["perhaps slower of 0", "perhaps equal of 1", "perhaps slower of 4"]


def _normal(logs: np.ndarray, confidence: float) -> Comparison:
    half = NormalDist().inv_cdf((1 + confidence) / 2) * 0.08 / math.sqrt(len(logs))
    ratio, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return Comparison(ratio=ratio, low=low, high=high, p=0.5, n=len(logs), reason="")


def test_without_an_interval_nothing_is_given_up() -> None:
    assert may_be_found(
        Comparison(ratio=1.06, low=None, high=None, p=0.2, n=3, reason="few"), LIMIT, CLAIM, 0
    )


# --- one look, and the test against a limit -----------------------------------------------------

EIGHT = [0.11, 0.07, 0.02, 0.09, 0.13, 0.04, 0.06, 0.10]


def test_p_is_that_of_all_signs_around_the_limit() -> None:
    """Enumerated: the share of the 2⁸ sign assignments whose rank sum is as large."""
    level = math.log(1.05)
    shifted = np.array(EIGHT) - level
    ranks = np.abs(shifted).argsort().argsort() + 1
    observed = ranks[shifted > 0].sum()
    signs = np.array(list(product((0, 1), repeat=len(EIGHT))))
    expected = np.mean(signs @ ranks >= observed)
    assert above(EIGHT, 1.05).p == pytest.approx(expected)


def test_ratio_and_interval_are_those_of_the_ratio() -> None:
    found, plain = above(EIGHT, 1.05, 0.9), paired_ratio(EIGHT, 0.9)
    assert (found.ratio, found.low, found.high, found.n) == (
        plain.ratio,
        plain.low,
        plain.high,
        plain.n,
    )
    assert found.p > plain.p
    assert above(EIGHT, 1.0, 0.9) == plain


def test_what_repeats_itself_is_above_or_not() -> None:
    for ratio, p in ((1.051, 0.0), (1.049, 1.0), (0.9, 1.0)):
        assert above([math.log(ratio)], 1.05, 0.95, exact_ratio).p == p


def test_slower_corrects_for_the_cells() -> None:
    """Eight launches: p is 2⁻⁸ at the least, enough for one slow cell of 12, not of 13 and more;
    for five slow ones of 60."""
    slow, equal = [0.2 + 0.001 * n for n in range(8)], [0.01, -0.01] * 4
    for slow_cells, others, found in ((1, 11, 1), (1, 12, 0), (5, 55, 5)):
        cells = {f"slow {n}": slow for n in range(slow_cells)}
        cells |= {f"equal {n}": equal for n in range(others)}
        called = slower(cells, CLAIM)
        assert set(called) == {f"slow {n}" for n in range(found)}
    assert called["slow 0"].ratio == pytest.approx(math.exp(0.2035))


def test_slower_leaves_out_what_is_within_the_limit_and_what_has_no_times() -> None:
    assert slower({"a": [0.03] * 12, "b": [], "c": [0.2] * 12}, CLAIM).keys() == {"c"}
    assert slower({"a": [0.03] * 12}, Claim(tolerance=0.01)).keys() == {"a"}
    assert slower({"a": []}, CLAIM) == {}


@pytest.mark.parametrize(
    ("change", "low", "high", "verdict"),
    [
        (0.12, 0.09, 0.15, "slower"),
        (0.04, 0.02, 0.06, "undecided"),
        (0.04, 0.03, 0.045, "equal"),
        (0.06, -0.01, 0.12, "undecided"),
        (-0.10, -0.12, -0.08, "faster"),
        (0.00, -0.04, 0.04, "equal"),
        (0.00, -0.06, 0.04, "undecided"),
        (0.30, None, None, "undecided"),
    ],
)
def test_the_interval_and_the_tolerance_decide(
    change: float, low: float | None, high: float | None, verdict: str
) -> None:
    ends = (None if end is None else 1 + end for end in (low, high))
    assert by_interval(Comparison(1 + change, *ends, p=1.0, n=9, reason=""), 0.05) == verdict


def test_an_interval_is_read_against_a_base() -> None:
    """What took 1.5 times as long before takes 1.3 now."""
    found = Comparison(1.3, 1.25, 1.35, p=0.0, n=9, reason="")
    assert by_interval(found, 0.025) == "slower"
    assert by_interval(found, 0.025, base=1.5) == "faster"
    assert by_interval(found, 0.025, base=1.29) == "undecided"
    assert by_interval(None) == "undecided"


@pytest.mark.parametrize(
    ("claim", "most"),
    [
        (Claim(judge=alone, both_sides=True), 0.09),
        (Claim(judge=alone, correction="all"), 0.09),
        (Claim(both_sides=True), 0.09),
    ],
)
def test_families_of_equal_cells_have_seldom_another_word(claim: Claim, most: float) -> None:
    """400 families of 24 equal cells in heavy-tailed noise: 5 % are promised to have one cell that
    is called slower or faster, at most (9 % would have p < 0.001)."""
    chance = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        logs = {n: list(0.03 * row) for n, row in enumerate(chance.standard_t(3, (24, 12)))}
        wrong += any(one.word in ("slower", "faster") for one in decide(logs, claim).values())
    assert wrong <= most * 400


@pytest.mark.parametrize("correction", ["discoveries", "all"])
def test_a_planted_change_is_found_in_its_direction(correction: str) -> None:
    """10 % in noise of 3 %, twelve launches."""
    chance = np.random.default_rng(12)
    claim = Claim(judge=alone, correction=correction, both_sides=True)
    planted = {"slower": math.log(1.1), "faster": -math.log(1.1)}
    for _ in range(50):
        logs = {word: list(chance.normal(middle, 0.03, 12)) for word, middle in planted.items()}
        assert {key: one.word for key, one in decide(logs, claim).items()} == {
            word: word for word in planted
        }


def test_few_launches_give_up_only_what_all_of_them_find_much_slower() -> None:
    assert much_slower([0.2, 0.3]) and not much_slower([0.2, 0.1]) and not much_slower([])
    assert much_slower([0.01, 0.02], 0.0)


def test_the_mean_over_cells_is_of_the_launches_that_all_have() -> None:
    assert joint([[1.0, 2.0, 3.0], [3.0, 4.0]]) == [2.0, 3.0]
    assert joint([]) == []
