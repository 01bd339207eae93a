"""The verdict rule, cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plumbline.core.cell import Side
from plumbline.verify import decision
from plumbline.verify.decision import Claim
from plumbline.verify.index import Obstacle
from tests.verify.simulated import MOCKUP, gl12, medians, pair, verified


def noisy(ratio: float, n: int = 12, spread: float = 0.01, seed: int = 1) -> list[float]:
    """Times of the left side whose right side is `quiet(n)`."""
    rng = np.random.default_rng(seed)
    return [1e-5 * ratio * math.exp(noise) for noise in rng.normal(0, spread, n)]


def quiet(n: int = 12) -> list[float]:
    return [1e-5] * n


def test_a_violation_with_its_numbers() -> None:
    found = gl12(verified(pair(noisy(1.84), quiet())))
    assert (found.verdict, found.kind, found.function) == ("violated", "pattern", "MPI_Allreduce")
    assert (found.rhs, found.bytes, found.other_bytes, found.factor) == (MOCKUP, 16384, 16384, 1)
    assert found.ratio == pytest.approx(1.84, rel=0.02)
    assert found.ratio_low is not None and found.ratio_high is not None
    assert 1.7 < found.ratio_low < found.ratio_high < 2
    # One test in the family beside the unmeasured right side of GL13, which has no p.
    assert found.p == found.p_adjusted == 2**-12
    assert (found.launches, found.reason, found.suites) == (12, "", ["before"])


def test_faster_and_equal_hold() -> None:
    for ratio in (0.5, 1.0):
        assert gl12(verified(pair(noisy(ratio), quiet()))).verdict == "holds"


def test_a_right_side_that_is_in_force_costs_what_replacing_a_call_costs() -> None:
    """The call is its right side then; what is more than that stays violated."""
    in_force = {
        "in_force": lambda left, right: (left.variant, right.variant) == ("default", MOCKUP)
    }
    short = [seconds / 40 for seconds in quiet()]  # 250 ns, of which 30 are 12 %
    more, much = ([seconds / 40 for seconds in noisy(ratio)] for ratio in (1.08, 1.34))
    assert gl12(verified(pair(more, short))).verdict == "violated"
    found = gl12(verified(pair(more, short), **in_force))
    assert (found.verdict, found.reason) == ("holds", "its right-hand side is in force")
    assert found.ratio == pytest.approx(1.08, rel=0.01)
    found = gl12(verified(pair(much, short), **in_force))
    assert (found.verdict, found.reason) == ("violated", "")
    assert gl12(verified(pair(noisy(1.08), quiet()), **in_force)).verdict == "violated"  # 800 ns
    within = gl12(verified(pair(noisy(1.01), quiet()), **in_force))
    assert (within.verdict, within.reason) == ("holds", "its right-hand side is in force")


def test_slower_beyond_doubt_but_within_the_tolerance_holds() -> None:
    """p is that of being slower by more than the tolerance."""
    data = pair(noisy(1.03), quiet())
    found = gl12(verified(data))
    assert found.verdict == "holds" and found.p is not None and found.p > 0.99
    assert found.ratio_low is not None and found.ratio_low > 1
    strict = gl12(verified(data, tolerance=0.01))
    assert strict.verdict == "violated" and strict.p == 2**-12


def test_an_estimate_above_the_limit_is_not_enough() -> None:
    """Slower than the right side beyond doubt, by more than 5 % as far as is known, but perhaps by
    less."""
    found = gl12(verified(pair(noisy(1.06, spread=0.03, seed=4), quiet())))
    assert found.ratio is not None and found.ratio > 1.05
    assert found.ratio_low is not None and 1 < found.ratio_low < 1.05
    assert found.verdict == "undecided"
    assert found.reason.startswith(f"ratio {found.ratio:.3g}, but adjusted p is ")


def test_a_wide_interval_is_undecided() -> None:
    found = gl12(verified(pair(noisy(0.9, spread=0.3), quiet())))
    assert found.ratio is not None and found.ratio < 1.05
    assert found.verdict == "undecided"
    assert found.reason == f"the ratio may be as large as {found.ratio_high:.3g}"


def test_too_few_launches_are_undecided_however_slow() -> None:
    found = gl12(verified(pair(noisy(9, n=5), quiet(5))))
    assert (found.verdict, found.reason) == ("undecided", "5 launches, 6 are needed")
    assert found.ratio == pytest.approx(9, rel=0.05) and found.ratio_low is None


def test_slower_but_lost_in_the_correction_is_undecided() -> None:
    data = pair(noisy(1.06, n=8), quiet(8))
    data += [medians("MPI_Bcast", 2**k, noisy(1.0 + k, n=8)) for k in range(21)]
    found = gl12(verified(data))
    assert found.verdict == "undecided"
    assert found.reason == "ratio 1.06, but adjusted p is 0.32"
    assert found.ratio_low is not None and found.ratio_low > 1.05


def test_the_first_look_has_its_share_of_the_error() -> None:
    """Eight launches of eight, of sixteen (a quarter of the error), of 80 (a hundredth)."""
    data = pair(noisy(1.5, n=8), quiet(8))
    one, two, ten = (
        gl12(verified(data, design=decision.design_over(8, most))) for most in (8, 16, 80)
    )
    assert one.p == two.p == ten.p == 2**-8
    assert (one.p_adjusted, two.p_adjusted) == (2**-8, 4 * 2**-8)
    assert one.ratio_low is not None and two.ratio_low is not None
    assert two.ratio_low <= one.ratio_low
    assert ten.verdict == "undecided" and ten.ratio == one.ratio


def test_only_launches_with_both_sides_count() -> None:
    data = [
        medians("MPI_Allreduce", 8, [2e-5] * 6 + [9e-5] * 3, runs=range(9)),
        medians("MPI_Allreduce", 8, [1e-5] * 6, variant=MOCKUP, runs=[5, 4, 3, 2, 1, 0]),
    ]
    found = gl12(verified(data))
    assert (found.verdict, found.launches) == ("violated", 6)
    assert found.ratio == pytest.approx(2)
    data[1] = medians("MPI_Allreduce", 8, [1e-5] * 6, variant=MOCKUP, runs=range(20, 26))
    found = gl12(verified(data))
    assert (found.verdict, found.reason) == ("undecided", "no launch has both sides")


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1e-6])
def test_a_time_that_is_none_is_never_no_violation(bad: float) -> None:
    for left, right in (([bad, *quiet(11)], quiet()), (quiet(), [*quiet(11), bad])):
        found = gl12(verified(pair(left, right)))
        assert found.verdict == "undecided"
        assert found.reason == "times that are not positive in 1 launch"
        assert found.ratio is None and found.p is None


def test_a_wrong_mockup_is_undecided_with_the_reason() -> None:
    wrong = Obstacle(Side("MPI_Allreduce", MOCKUP, 8), "wrong: element 3 differs")
    verdicts = verified([medians("MPI_Allreduce", 8, quiet())], [wrong])
    found = gl12(verdicts)
    assert found.verdict == "undecided"
    assert found.reason == f"right side {MOCKUP}: wrong: element 3 differs"
    (other,) = [each for each in verdicts if each.guideline == "GL13"]
    assert other.reason.endswith("plus_allgather: not measured")


def test_a_left_side_that_failed_is_undecided_everywhere() -> None:
    data = [medians("MPI_Bcast", n, noisy(n)) for n in (1, 4)]
    failed = Obstacle(Side("MPI_Bcast", "default", 2), "error: out of memory")
    verdicts = verified(data, [failed])
    states = {(v.kind, v.bytes): v.verdict for v in verdicts if v.kind != "pattern"}
    assert states == {
        ("monotony", 1): "undecided",
        ("monotony", 2): "undecided",
        ("split", 2): "undecided",
        ("split", 4): "holds",
    }


def test_monotony_stands_at_the_smaller_size() -> None:
    """A thousandfold fall in time, in a function without a pattern of its own."""
    times = {1: 1.0, 2: 1000.0, 4: 1.0}
    data = [medians("MPI_Alltoall", n, noisy(t, seed=n)) for n, t in times.items()]
    found = {v.bytes: v for v in verified(data) if v.kind == "monotony"}
    assert {n: v.verdict for n, v in found.items()} == {1: "holds", 2: "violated"}
    assert (found[2].other_bytes, found[2].guideline) == (4, "GL1")
    assert found[2].ratio == pytest.approx(1000, rel=0.02)


def test_split_counts_from_five_percent() -> None:
    factors = dict.fromkeys((0.9, 1.0, 1.03), "holds")
    for factor, word in (factors | dict.fromkeys((1.08, 1.2, 1.9, 2.04, 2.2), "violated")).items():
        data = [medians("MPI_Scan", 8, quiet()), medians("MPI_Scan", 16, noisy(2 * factor))]
        (found,) = [v for v in verified(data) if v.kind == "split"]
        assert (found.verdict, found.bytes, found.other_bytes) == (word, 16, 8)
        assert found.factor == 2
        assert found.ratio == pytest.approx(factor, rel=0.02)


def test_the_guideline_may_ask_for_more_tolerance() -> None:
    data = [medians("MPI_Scan", 8, quiet()), medians("MPI_Scan", 16, noisy(2 * 1.04))]
    (found,) = [v for v in verified(data, tolerance=0.01) if v.kind == "split"]
    assert found.verdict == "holds"


def test_split_reports_the_best_of_the_violated_parts() -> None:
    times = {1024: 0.9, 2048: 3.0, 4096: 3.7, 8192: 11.0}
    data = [medians("MPI_Scan", n, noisy(t, seed=n)) for n, t in times.items()]
    found = {v.bytes: v for v in verified(data) if v.kind == "split"}
    assert {n: v.verdict for n, v in found.items()} == {
        2048: "violated",
        4096: "holds",
        8192: "violated",
    }
    # Against 8192: 2 · 3.7 and 8 · 0.9 are faster, 4 · 3.0 is not.
    assert (found[8192].other_bytes, found[8192].factor) == (1024, 8)
    assert found[8192].ratio == pytest.approx(11 / 7.2, rel=0.03)


def test_split_without_violation_shows_the_most_suspicious() -> None:
    times = {1024: 1.0, 2048: 1.9, 4096: 3.4}
    data = [medians("MPI_Scan", n, noisy(t, seed=n)) for n, t in times.items()]
    found = {v.bytes: v for v in verified(data) if v.kind == "split"}
    assert (found[4096].verdict, found[4096].other_bytes) == ("holds", 2048)
    assert found[4096].ratio == pytest.approx(3.4 / 3.8, rel=0.03)


def test_split_holds_only_if_every_part_does() -> None:
    data = [
        medians("MPI_Scan", 1024, [0.7e-5, 1.4e-5] * 6),
        medians("MPI_Scan", 2048, noisy(1.95)),
        medians("MPI_Scan", 4096, noisy(3.8)),
    ]
    found = {v.bytes: v for v in verified(data) if v.kind == "split"}
    assert (found[4096].verdict, found[4096].other_bytes) == ("undecided", 1024)


def test_a_split_cell_is_one_member_of_the_family() -> None:
    sizes = [2**k for k in range(11)]
    data = [medians("MPI_Scan", n, noisy(n**1.5, seed=n)) for n in sizes]
    verdicts = [v for v in verified(data) if v.kind != "pattern"]
    assert len(verdicts) == 10 + 10
    last = verdicts[-1]
    # The more parts, the better: what many of them save is worth more than their correction.
    weight = last.factor * sum(2.0**-k for k in range(1, 11))
    assert (last.bytes, last.factor) == (1024, 1024) and last.p is not None
    assert last.p_adjusted == pytest.approx(last.p * weight * 20 / 10)


def test_one_launch_decides_on_a_deterministic_platform() -> None:
    for right, word in ((1e-5, "violated"), (1.95e-5, "holds"), (3e-5, "holds")):
        found = gl12(verified(pair([2e-5], [right]), deterministic=True))
        assert found.verdict == word
        assert found.ratio == found.ratio_low == found.ratio_high == pytest.approx(2e-5 / right)
        assert (found.p, found.p_adjusted, found.launches) == (None, None, 1)


def test_a_platform_that_only_claims_to_be_deterministic() -> None:
    found = gl12(verified(pair([2e-5, 2.1e-5], [1e-5] * 2), deterministic=True))
    assert (found.verdict, found.reason) == (
        "undecided",
        "launches differ, so the platform is not deterministic",
    )


def test_nothing_measured_gives_no_verdicts() -> None:
    assert verified([]) == []


@pytest.mark.parametrize("bad", [{"alpha": 0.0}, {"tolerance": -0.1}, {"min_launches": 0}])
def test_settings_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"range|at least 1"):
        Claim(**bad)
