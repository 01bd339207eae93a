"""False alarms and power: known truth, by simulation; bounds against SciPy and by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.reproducibility import effects
from plumbline.reproducibility.effects import EffectComparison, EffectLine, Judged, Power

LAUNCHES = 15


def comparison(
    chance: random.Random, effect: float, *, noise: float, seconds: float = 20e-6, nprocs: int = 2
) -> EffectComparison:
    ratios = [chance.gauss(effect / 100, noise) for _ in range(LAUNCHES)]
    return EffectComparison("MPI_Bcast", nprocs, 64, effect, seconds, ratios)


def judged(effect: float, p: float, p_adjusted: float, ratio: float = 1.0) -> Judged:
    line = EffectLine("MPI_Bcast", 4, 64, effect, 20e-6, ratio, None, None, p, p_adjusted, 0)
    return Judged(line, p_adjusted < 0.05, LAUNCHES)


def test_a_cell_against_itself_keeps_the_nominal_rate() -> None:
    """600 comparisons without any difference; the bounds of the count are those of the binomial
    distribution at 1e-6."""
    chance = random.Random(3)
    same = effects.judge([comparison(chance, 0, noise=0.05) for _ in range(600)])
    found = effects.false_alarms(same)
    assert found.comparisons == 600
    assert 7 <= found.raw <= 59
    assert found.p_excess > 1e-6
    assert found.low < 0.05 < found.high
    assert found.adjusted <= 3
    assert found.violations <= found.adjusted


def test_power_grows_with_the_effect_and_ends_with_the_noise() -> None:
    chance = random.Random(4)
    planted = [
        comparison(chance, effect, noise=noise, seconds=seconds)
        for effect in (0, 2, 5, 10)
        for noise, seconds in ((0.01, 20e-6), (0.06, 2e-6), (0.5, 2e-7))
        for _ in range(40)
    ]
    table = {(one.size_class, one.effect): one for one in effects.powers(effects.judge(planted))}
    assert {key: one.cells for key, one in table.items()} == dict.fromkeys(table, 40)
    assert table["> 10 µs", 2].share == 1.0
    assert table["1-10 µs", 2].share < 0.9 < table["1-10 µs", 10].share
    assert table["< 1 µs", 10].share < 0.5
    assert table["> 10 µs", 5].realised == pytest.approx(5.1, abs=0.5)
    least = {one.size_class: one.effect for one in effects.smallest(table.values())}
    assert least["> 10 µs"] == 2
    assert least["1-10 µs"] in (5, 10)
    assert least["< 1 µs"] is None


def test_looks_find_large_effects_early_and_nothing_where_there_is_nothing() -> None:
    chance = random.Random(5)
    family = [comparison(chance, effect, noise=0.01) for effect in (0, 2, 20) for _ in range(60)]
    found = effects.with_looks(family)
    assert effects.design_of(LAUNCHES).launches == (8, 11, 15)
    assert sum(won for won, _ in found[:60]) <= 6
    assert sum(won for won, _ in found[60:120]) >= 50
    assert all(won and launches < LAUNCHES for won, launches in found[120:])
    assert all(launches == LAUNCHES for won, launches in found if not won)
    table = {one.effect: one for one in effects.powers(effects.judge(family))}
    assert table[20.0].looks_found == 60 and table[20.0].looks_launches < 12
    assert table[2.0].looks_launches >= table[20.0].looks_launches


def test_counts_of_false_alarms() -> None:
    rows = [judged(0, 0.01, 0.02, 1.2), judged(0, 0.04, 0.06), judged(0, 0.9, 0.9)]
    rows += [judged(5, 0.001, 0.01), judged(5, 0.2, 0.3)]
    found = effects.false_alarms(rows)
    assert (found.comparisons, found.raw, found.nominal) == (3, 2, pytest.approx(0.15))
    # Alone, 0.01 of three comparisons is 0.03 after correction, 0.04 is 0.06.
    assert (found.adjusted, found.violations) == (1, 1)
    assert (found.discoveries, found.false_discoveries) == (2, 1)
    # P(X >= 2) for X ~ Bin(3, 0.05)
    assert found.p_excess == pytest.approx(3 * 0.05**2 * 0.95 + 0.05**3)
    # Clopper-Pearson for 2 of 3, from published tables.
    assert [found.low, found.high] == pytest.approx([0.0943, 0.9916], abs=1e-4)


def test_without_a_comparison_there_are_no_false_alarms() -> None:
    with pytest.raises(ValueError):
        effects.false_alarms([judged(5, 0.1, 0.1)])


def test_classes_have_the_bounds_of_their_names() -> None:
    seconds = [1e-3, 10.01e-6, 10e-6, 1.01e-6, 1e-6, 1e-9]
    names = [effects.size_class(one) for one in seconds]
    assert names == ["> 10 µs", "> 10 µs", "1-10 µs", "1-10 µs", "< 1 µs", "< 1 µs"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_smallest_effect_and_all_above_it_are_found(shares: list[float]) -> None:
    table = [
        Power(2, "> 10 µs", float(i), 10, 0, share, 0.0, 0, 15.0) for i, share in enumerate(shares)
    ]
    (found,) = effects.smallest(table)
    if found.effect is None:
        assert shares[-1] < effects.POWER
    else:
        first = int(found.effect)
        assert all(share >= effects.POWER for share in shares[first:])
        assert first == 0 or shares[first - 1] < effects.POWER


@given(st.floats(50, 1e7), st.floats(0.1, 100), st.integers(1, 8))
def test_waits_of_ranks_that_share_a_core_make_up_the_effect(
    median_ns: float, effect: float, sharing: int
) -> None:
    wait = effects.delay_ns(median_ns, effect, sharing)
    assert wait >= 1
    assert wait == 1 or abs(wait * sharing - median_ns * effect / 100) <= sharing / 2 + 1e-3
