"""A campaign that is there is asked for again, with other values of keys that change no measurement
(unmeasured.py): by which it goes on, and with which of its launches.

Limits rise, and never fall: what is there may have been measured within the higher one. Launches
that a lower limit has cut short are made again, and what was decided after them is decided anew; of
a budget that rises, the launches stay up to the first decision that comes out otherwise
(search/budget.py)."""

from __future__ import annotations

import math
import re

import msgspec

from plumbline.campaign import hints
from plumbline.settings import Settings
from plumbline.settings.stored import settings_of, text_of
from plumbline_db import campaigns, cost, runs, suites
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Run

# What launch/simulated.py says of a case that it has given up.
_GIVEN_UP = re.compile(r"its simulation takes more than ([\d.e+]+) s of a processor")


class GoingOn(msgspec.Struct, frozen=True):
    """The way in which the campaign goes on: `settings`, and the `earlier` ones, where launches
    were decided upon by another budget."""

    campaign: Campaign
    settings: Settings
    earlier: Settings | None = None


def go_on(db: Database, campaign: Campaign, asked: Settings) -> GoingOn:
    """`campaign` is that of these settings, but for limits."""
    had = settings_of(campaign.settings)
    if had.search.earlier is None and not runs.last(db, campaign.id):
        had = had.but(earlier=asked.search.earlier or hints.newest(db, campaign))
        campaign = campaigns.settle(db, campaign.id, text_of(had))
    settings = _raised(db, campaign, had, asked)
    if settings == had:
        return GoingOn(campaign, had)
    other_budget = settings.search.budget_seconds != had.search.budget_seconds
    cut = _first_cut_short(db, campaign, had, settings)
    if cut is not None or other_budget:
        campaigns.reopen(db, campaign.id)
    if cut is not None:
        before = [run.id for run in runs.listing(db, campaign.id)]
        runs.part(db, campaign.id, kept=before[: before.index(cut.id)])
    # The budget is kept from where it makes a difference.
    within = settings.but(budget_seconds=had.search.budget_seconds)
    campaign = campaigns.settle(db, campaign.id, text_of(within))
    return GoingOn(campaign, settings, had if other_budget else None)


def _raised(db: Database, campaign: Campaign, had: Settings, asked: Settings) -> Settings:
    """`asked`, with the limits that were there where these are higher. The usual budget depends on
    what was found: one that is named is higher if it is more than all launches have taken."""
    budget = asked.search.budget_seconds
    least = had.search.budget_seconds
    if least is None:
        least = cost.cost(db, campaign.id).seconds
    if budget is None or budget <= least:
        budget = had.search.budget_seconds
    simulate = asked.ranks.simulate
    if simulate is not None and had.ranks.simulate is not None:
        limits = (had.ranks.simulate.case_seconds, simulate.case_seconds)
        longest = max(limits, key=lambda one: one or math.inf)
        simulate = msgspec.structs.replace(simulate, case_seconds=longest)
    return asked.but(
        budget_seconds=budget,
        earlier=had.search.earlier,
        launch_timeout_seconds=max(
            had.sampling.launch_timeout_seconds, asked.sampling.launch_timeout_seconds
        ),
        simulate=simulate,
    )


def _first_cut_short(
    db: Database, campaign: Campaign, had: Settings, settings: Settings
) -> Run | None:
    """The first launch that was ended, or a case of which was given up, by a limit that is higher
    now."""
    longer = settings.sampling.launch_timeout_seconds > had.sampling.launch_timeout_seconds
    cases = settings.ranks.simulate != had.ranks.simulate
    suite_of = suites.get(db, campaign.id)
    for run in runs.listing(db, campaign.id) if longer or cases else []:
        if suite_of[run.suite].parted:
            continue
        if longer and run.failure is not None and run.failure.timed_out:
            return run
        checks = runs.checks(db, campaign.id, run.suite, run.sequence) if cases else []
        if any(_GIVEN_UP.match(check.detail) for _, check in checks):
            return run
    return None
