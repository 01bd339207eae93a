"""What follows from what is known, what is said of noisy cells, and what is left to others."""

from __future__ import annotations

from itertools import product

import pytest

from plumbline.daemon.step import DaemonStep, Next, Situation, following


@pytest.mark.parametrize(
    ("known", "step"),
    [
        (Situation(), DaemonStep.WAIT),
        (Situation(due=True), DaemonStep.CANARY),
        (Situation(under_way=True), DaemonStep.CANARY),
        (Situation(due=True, raised=True), DaemonStep.RECHECK),
        (Situation(under_way=True, raised=True), DaemonStep.CANARY),
        (Situation(due=True, confirmed=True), DaemonStep.SEARCH),
        (Situation(due=True, confirmed=True, may_search=False), DaemonStep.CANARY),
        (Situation(raised=True, searching=True), DaemonStep.RECHECK),
        (Situation(searching=True, may_search=False), DaemonStep.SEARCH),
        (Situation(applied=True, raised=True, under_way=True, due=True), DaemonStep.CONFIRM),
        (Situation(table=False, may_run_whole=True), DaemonStep.CAMPAIGN),
        (Situation(stale="kernel", may_run_whole=True, due=True, raised=True), DaemonStep.CAMPAIGN),
    ],
)
def test_what_comes_next(known: Situation, step: DaemonStep) -> None:
    assert following(known) == Next(step)


def test_nothing_is_measured_where_it_may_not() -> None:
    flags = ("under_way", "raised", "confirmed", "searching", "applied", "due")
    for values in product((False, True), repeat=len(flags)):
        known = Situation(why_not="a window is closed", **dict(zip(flags, values, strict=True)))
        found = following(known)
        assert found.step is DaemonStep.WAIT
        assert found.because == (
            "a window is closed"
            if any(value for flag, value in zip(flags, values, strict=True) if flag != "confirmed")
            or known.confirmed
            else ""
        )


def test_a_table_that_is_out_of_date_says_what_to_do() -> None:
    found = following(Situation(stale="kernel: 6.1, now 6.2", due=True))
    assert found.step is DaemonStep.WAIT
    assert "kernel: 6.1, now 6.2" in found.because and "plumbline campaign" in found.because
    assert "no campaign is finished" in following(Situation(table=False)).because
