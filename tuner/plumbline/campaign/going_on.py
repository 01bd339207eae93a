"""A campaign that is there is asked for again, with other values of keys that change no measurement
(unmeasured.py): by which it goes on, and with which of its launches.

Limits rise, and never fall: what is there may have been measured within the higher one. Launches
that a lower limit has cut short are made again, and what was decided after them is decided anew; of
a budget that rises, the launches stay up to the first decision that comes out otherwise
(search/budget.py)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from plumbline.campaign.states import violations
from plumbline.core.cell import Target
from plumbline.core.winner import (
    Sizes,
    deciding,
    holds,
    is_part,
    of_measured_sizes,
    without_sizes,
)
from plumbline.settings import AFRESH, Settings
from plumbline.settings.identity import settings_of, text_of
from plumbline.system import version
from plumbline_db import campaigns, cost, findings, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import (
    EVERY_FUNCTION,
    UNBOUNDED_BYTES,
    Campaign,
    Run,
    Verdict,
    Winner,
)
from plumbline_exporters.bundle import Refusal

# Hints of an earlier campaign, the last finished one of the same machine, library and settings.
# Its winners are confirmed before anything is searched, and a cell that it has searched is searched
# again only where a winner loses its place or a violation is new. Hints say what is tried first;
# everything that is exported is measured anew.


# A gain of less than this share of the one at another layout, both on a logarithmic scale, is short
# of it.
_SHORT = 0.5
# Many algorithms send the same messages between so few ranks: that nothing is faster there says
# little of more ranks.
_FEW_RANKS = 2


class Hints(msgspec.Struct, frozen=True):
    """Findings of the `campaign` of this id. `searched`: the cells that it, or one that it had
    hints of, has searched; `left`: guideline, function and bytes of what was violated in the end,
    or undecided. `before`: of a campaign of another layout, the violations of its first table
    (None: of the same one). `alike`: it was asked for as this one is, of the same release."""

    campaign: str
    winners: list[Winner]
    searched: set[Target]
    left: set[tuple[str, str, int]]
    before: set[tuple[str, str, int]] | None = None
    alike: bool = False

    @property
    def held(self) -> list[Winner]:
        """The winners whose results are known to be right, and which were tried where messages take
        long: the same calls of the same library."""
        return self.winners if self.alike else []

    def winners_for(self, table: Sequence[Verdict], sizes: Sizes) -> list[Winner]:
        """The winners as if a search had just found them, each with the violations of `table` that
        it is to remove; those of another layout as far as `sizes` are measured here."""
        violated = [verdict for verdict in table if verdict.verdict == "violated"]
        here = self.winners if self.before is None else _up_to_largest(self.winners, sizes)
        return [
            msgspec.structs.replace(
                winner,
                search_speedup=winner.speedup,
                tried=[],
                removes=sorted(
                    f"{verdict.guideline}@{verdict.bytes}"
                    for verdict in violated
                    if winner.function != EVERY_FUNCTION
                    and verdict.replaceable
                    and holds(winner, Target(verdict.function, verdict.bytes))
                ),
            )
            for winner in here
        ]

    def new(self, table: Iterable[Verdict]) -> set[Target]:
        """Cells with a violation that the earlier campaign did not leave."""
        return _cells(violations(list(table)).keys() - self.left)

    def unlike(self, table: Iterable[Verdict]) -> set[Target]:
        """Return the cells of a first table with a violation that the other layout did not have,
        and that it has no winner for."""
        new_violations = violations(list(table)).keys() - (self.before or set())
        cells = set() if self.before is None else _cells(new_violations)
        return {cell for cell in cells if deciding(self.winners, cell) is None}

    def short(self, winners: Sequence[Winner]) -> list[Winner]:
        """Return those of the `winners` that came from another layout and gain much less than
        there: something else may be faster here."""
        pairs = [(each, hint) for each in winners for hint in self.winners if is_part(each, hint)]
        return [
            winner
            for winner, hint in pairs
            if self.before is not None
            and math.log(winner.speedup) < _SHORT * math.log(hint.speedup)
        ]


def _up_to_largest(winners: Iterable[Winner], sizes: Sizes) -> list[Winner]:
    """Return what is left of winners up to the largest measured size of their function."""
    parts = [
        part
        for winner in winners
        for part in (
            [winner]
            if winner.bytes_to == UNBOUNDED_BYTES
            else without_sizes(
                winner, max(sizes.get(winner.function, ()), default=-1) + 1, winner.bytes_to
            )
        )
    ]
    return of_measured_sizes(parts, sizes)


def _cells(violated: Iterable[tuple[str, str, int]]) -> set[Target]:
    return {Target(function, size) for _, function, size in violated}


def hints_of(
    db: Database, id: str | None, refusal: Refusal, own: Campaign | None = None
) -> Hints | None:
    """The hints of a campaign for another one, `own` (None: of the same layout); None where `id`
    names none. A winner that `refusal` says something about is none. Raises PlumblineError where
    the database does not hold the campaign, and UsageError where it is not finished."""
    if id in (None, "", AFRESH):
        return None
    campaign = campaigns.get(db, id)
    if campaign.state != "finished":
        raise UsageError(f"earlier: campaign {id} is not finished")
    searched = {
        Target(search.function, search.bytes) for search in findings.all_searches(db, campaign.id)
    }
    own = own or campaign
    earlier = hints_of(db, settings_of(campaign.settings).search.earlier, refusal, own)
    searched |= earlier.searched if earlier else set()
    elsewhere = (campaign.nprocs, campaign.ppn) != (own.nprocs, own.ppn)
    before = (
        set(violations(findings.get_verdicts(db, campaign.id, "before"))) if elsewhere else None
    )
    every = [
        msgspec.structs.replace(winner, nprocs=own.nprocs, ppn=own.ppn)
        for winner in findings.get_winners(db, campaign.id)
    ]
    winners = [winner for winner in every if not refusal(winner)]
    gone = [winner for winner in every if winner not in winners]
    settled = {cell for cell in searched if not any(holds(winner, cell) for winner in gone)}
    if elsewhere and campaign.nprocs <= _FEW_RANKS:
        settled = {cell for cell in settled if any(holds(winner, cell) for winner in winners)}
    alike = own != campaign and _is_alike(db, campaign, own)
    left = {
        (verdict.guideline, verdict.function, verdict.bytes)
        for verdict in findings.get_verdicts(db, campaign.id, "after")
        # What seems violated here was perhaps so there, and was not searched.
        if verdict.verdict == "violated" or (alike and verdict.verdict == "undecided")
    }
    return Hints(campaign.id, winners, settled, left, before, alike)


def newest_hints(db: Database, campaign: Campaign) -> str:
    """The id of the last finished campaign that was asked for as this one is, and was measured by
    the same release of the probe; AFRESH where there is none."""
    every = campaigns.own(db)
    for relative in reversed(every[: every.index(campaign)]):
        if relative.state == "finished" and _is_alike(db, relative, campaign):
            return relative.id
    return AFRESH


def _is_alike(db: Database, relative: Campaign, campaign: Campaign) -> bool:
    """Return whether both campaigns were asked for with the same settings, and this release has
    measured the `relative`."""
    if relative.key.partition("-")[0] != campaign.key.partition("-")[0]:
        return False
    first = next(runs.one_by_one(db, relative.id), None)
    header = None if first is None else runs.header(db, first.id)
    return header is not None and header.probe == version.PLUMBLINE


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
        had = had.but(earlier=asked.search.earlier or newest_hints(db, campaign))
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
    suite_of = runs.suites(db, campaign.id)
    for run in runs.listing(db, campaign.id) if longer or cases else []:
        if suite_of[run.suite].parted:
            continue
        if longer and run.failure is not None and run.failure.timed_out:
            return run
        checks = runs.checks(db, campaign.id, run.suite, run.sequence) if cases else []
        if any(_GIVEN_UP.match(check.detail) for _, check in checks):
            return run
    return None
