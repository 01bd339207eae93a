"""What follows from what is known."""

from __future__ import annotations

from itertools import product

import pytest

from plumbline.daemon.step import Known, Next, Step, following


@pytest.mark.parametrize(
    ("known", "step"),
    [
        (Known(), Step.WAIT),
        (Known(due=True), Step.CANARY),
        (Known(under_way=True), Step.CANARY),
        (Known(due=True, raised=True), Step.RECHECK),
        (Known(under_way=True, raised=True), Step.CANARY),
        (Known(due=True, confirmed=True), Step.SEARCH),
        (Known(due=True, confirmed=True, may_search=False), Step.CANARY),
        (Known(raised=True, searching=True), Step.RECHECK),
        (Known(searching=True, may_search=False), Step.SEARCH),
        (Known(applied=True, raised=True, under_way=True, due=True), Step.CONFIRM),
        (Known(table=False, may_run_whole=True), Step.CAMPAIGN),
        (Known(stale="kernel", may_run_whole=True, due=True, raised=True), Step.CAMPAIGN),
    ],
)
def test_what_comes_next(known: Known, step: Step) -> None:
    assert following(known) == Next(step)


def test_nothing_is_measured_where_it_may_not() -> None:
    flags = ("under_way", "raised", "confirmed", "searching", "applied", "due")
    for values in product((False, True), repeat=len(flags)):
        known = Known(why_not="a window is closed", **dict(zip(flags, values, strict=True)))
        found = following(known)
        assert found.step is Step.WAIT
        assert found.because == (
            "a window is closed"
            if any(value for flag, value in zip(flags, values, strict=True) if flag != "confirmed")
            or known.confirmed
            else ""
        )


def test_a_table_that_is_out_of_date_says_what_to_do() -> None:
    found = following(Known(stale="kernel: 6.1, now 6.2", due=True))
    assert found.step is Step.WAIT
    assert "kernel: 6.1, now 6.2" in found.because and "plumbline campaign" in found.because
    assert "no finished campaign" in following(Known(table=False)).because
