"""A campaign takes the right next step after each standing that there is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from plumbline.campaign.states import CampaignStep, Standing, after, phase

NOTHING = Standing(winners=False, changed=False, opened=False, may_search=True, may_set=False)


def every() -> Iterator[tuple[CampaignStep, Standing, bool, CampaignStep]]:
    """Each step, standing and answer of the clock, with what comes next."""
    for done in set(CampaignStep) - {CampaignStep.END}:
        for values in itertools.product([False, True], repeat=7):
            now = Standing(*values)
            for time in (False, True):
                yield done, now, time, after(done, now, lambda time=time: time)


def test_what_a_step_needs_is_there() -> None:
    for done, now, time, step in every():
        assert step is not CampaignStep.BEFORE
        if step is CampaignStep.SEARCH:
            assert now.may_search and time and (done is not CampaignStep.SETTINGS or now.sets_first)
        if step is CampaignStep.SETTINGS and done is not CampaignStep.BEFORE:
            assert now.may_set and time and not now.changed
        if step is CampaignStep.CONFIRM:
            assert now.winners and now.changed


def test_what_changed_is_confirmed_before_the_end() -> None:
    for _, now, _, step in every():
        if step is CampaignStep.END:
            assert not (now.changed and now.winners)


def test_without_time_only_what_changed_is_measured() -> None:
    for _, now, time, step in every():
        if not time:
            assert step in (CampaignStep.CONFIRM, CampaignStep.END)
            assert step is not CampaignStep.CONFIRM or now.changed


@pytest.mark.parametrize(
    ("done", "now", "wanted"),
    [
        (CampaignStep.BEFORE, {}, CampaignStep.SEARCH),
        (CampaignStep.BEFORE, {"may_search": False}, CampaignStep.END),
        (CampaignStep.BEFORE, {"may_set": True}, CampaignStep.SEARCH),
        (CampaignStep.BEFORE, {"may_set": True, "sets_first": True}, CampaignStep.SETTINGS),
        (
            CampaignStep.BEFORE,
            {"winners": True, "changed": True},
            CampaignStep.CONFIRM,
        ),  # of an earlier campaign
        (
            CampaignStep.BEFORE,
            {"winners": True, "changed": True, "searches_first": True},
            CampaignStep.SEARCH,
        ),  # of another layout, which had not all the violations
        (CampaignStep.SETTINGS, {"sets_first": True}, CampaignStep.SEARCH),  # no value was better
        (
            CampaignStep.SETTINGS,
            {"sets_first": True, "winners": True, "changed": True},
            CampaignStep.CONFIRM,
        ),
        (CampaignStep.SEARCH, {}, CampaignStep.END),
        (
            CampaignStep.SEARCH,
            {"opened": True},
            CampaignStep.SEARCH,
        ),  # nothing was better: the next cells
        (
            CampaignStep.SEARCH,
            {"opened": True, "winners": True, "changed": True},
            CampaignStep.CONFIRM,
        ),
        (CampaignStep.SEARCH, {"may_set": True}, CampaignStep.SETTINGS),
        (CampaignStep.CONFIRM, {"winners": True, "may_search": False}, CampaignStep.END),
        (
            CampaignStep.CONFIRM,
            {"winners": True, "changed": True, "may_search": False},
            CampaignStep.CONFIRM,
        ),
    ],
)
def test_steps_by_hand(done: CampaignStep, now: dict[str, bool], wanted: CampaignStep) -> None:
    fields = {name: getattr(NOTHING, name) for name in NOTHING.__struct_fields__}
    assert after(done, Standing(**(fields | now)), lambda: True) is wanted


def test_time_is_asked_for_only_where_it_matters() -> None:
    """A larger budget parts a campaign from what is stored at the first other answer."""

    def nobody() -> bool:
        raise AssertionError

    changed = Standing(winners=True, changed=True, opened=True, may_search=True, may_set=True)
    assert after(CampaignStep.SEARCH, changed, nobody) is CampaignStep.CONFIRM
    spent = Standing(winners=True, changed=False, opened=False, may_search=False, may_set=False)
    assert after(CampaignStep.CONFIRM, spent, nobody) is CampaignStep.END


@pytest.mark.parametrize(
    ("steps", "phases"),
    [
        ("before search confirm", [1, 3, 4]),
        ("before confirm search confirm", [1, 4, 5, 5]),
        ("before settings confirm search confirm search confirm", [1, 2, 2, 3, 4, 5, 5]),
        ("before search search settings confirm", [1, 3, 3, 3, 4]),
        ("before search confirm confirm settings confirm", [1, 3, 4, 5, 5, 5]),
    ],
)
def test_the_phases_that_people_are_told_never_go_back(steps: str, phases: list[int]) -> None:
    number, found = 0, []
    for step in map(CampaignStep, steps.split()):
        number = phase(step, number)
        found.append(number)
    assert found == phases
