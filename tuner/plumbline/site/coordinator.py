"""A site from its campaigns to its export. The campaigns are run by the caller: first those of the
layouts between which all others lie. Their winners, and what they predict for the layouts between,
are proven layout by layout with the merged files in force; a layout gets a campaign where that left
much open. At last a random sample over all layouts is measured.

A site is a deterministic function of its settings and of stored launches, like a campaign: after
`kill -9` the same command goes on, and a finished one is read again from what is stored."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from plumbline.campaign.exported import ExportedFiles, claim_folder, release_folder
from plumbline.core import profile_file
from plumbline.core.cell import Target
from plumbline.core.winner import holds
from plumbline.launch.simulated import MANY
from plumbline.measure.launches import LaunchStore, LimitReached, Progress
from plumbline.settings import (
    LAYOUT_ALONE,
    RANKS_ALONE,
    Settings,
    campaign_file,
    identity,
    site_rules,
    starting,
)
from plumbline.settings.campaign_file import Task
from plumbline.settings.ranks import PLACES
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.site import layouts as site_layouts
from plumbline.site import proposals
from plumbline.site.checks import (
    CheckedLayout,
    Prover,
    Purpose,
    SiteSample,
    counted,
    without_harm,
)
from plumbline.site.first_ranks import RanksUsed
from plumbline.site.layouts import Gap, RankLayout, SiteTable, gaps, grid, in_order, neighbour
from plumbline.site.proposals import IsLimited, MemberFindings, is_for_layout, is_from
from plumbline.system.toml import Document
from plumbline_db import campaigns, cost, findings
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.layout import SITE
from plumbline_db.records import Campaign, Winner
from plumbline_exporters.bundle import evidence, is_profile, ranks

# Campaigns plan with so much of the budget of a site; each stops, wherever it is, at the larger
# share of what is left when it begins. The checks get the rest.
_OF_CAMPAIGNS, _MOST_OF_REST = 0.6, 0.8
# A campaign with fewer seconds finds nothing.
LEAST_SECONDS = 2.0
# A rule that a check finds to take more than this share of the library's time gains nothing.
_NO_GAIN = 0.99
_UNCHECKED = "not checked: no measured size is in its range, or the budget of the site is used up"
# A layout that was asked for gets a campaign where more than this share of the rules of its
# neighbours, counted by cells, has no counterpart there.
_OPEN = 0.25
# Cells of the last sample on a layout, about.
_CELLS_OF_LAYOUT = 4


class SitePlan(msgspec.Struct, frozen=True):
    """A site that is asked for: `document` is the campaign file, `options` those of the command
    line; `largest` are the settings of the largest layout; `shares`: what a layout counts for in
    the budget (none: all layouts count alike)."""

    document: Document
    options: Mapping[str, Any]
    prefix: Path | None
    table: SiteTable
    largest: Settings
    layouts: list[RankLayout]
    shares: dict[RankLayout, float] = {}

    def first(self, missing: Collection[RankLayout]) -> list[RankLayout]:
        """Return the layouts whose campaigns come first: all, or those between which the others
        lie. `missing`: layouts whose campaign cannot be run."""
        layouts = [layout for layout in self.layouts if layout not in missing]
        return layouts if self.table.every or self.shares else site_layouts.ends(layouts)

    def task(
        self, layout: RankLayout, budget_seconds: float | None = None, earlier: str | None = None
    ) -> Task:
        """Return the campaign of a layout. What would hold for communicators of all sizes is not
        searched. A rules file goes by the number of ranks alone: on several nodes a rule of it
        needs a second measured placement of as many. `earlier`: the campaign of a neighbour, whose
        winners are confirmed first."""
        spread = self.largest.ranks.place is not None
        several = max(each.nodes for each in self.layouts) > 1
        placements = [each.nprocs for each in self.layouts].count(layout.nprocs)
        values: dict[str, Any] = {"earlier": earlier} if earlier else {}
        values |= self.document.values | {"nprocs": layout.nprocs, "settings": False}
        values["limited_to"] = RANKS_ALONE if placements > 1 or not several else LAYOUT_ALONE
        values |= {"nodes": layout.nodes} if spread else {}
        values.pop("layouts", None)
        values.pop("budget_seconds", None)
        if budget_seconds is not None:
            values["budget_seconds"] = budget_seconds
        return Task(campaign_file.of(self.document, values, self.options), self.prefix)

    def earlier(self, layout: RankLayout, members: Mapping[RankLayout, str]) -> str | None:
        """Return the campaign whose winners that of a layout confirms first: that of its nearest
        neighbour among the `members`. None where there is none, and on a simulated machine where
        one launch holds a whole search."""
        near = neighbour(layout, members)
        if near is None or (self.largest.ranks.simulate is not None and layout.nprocs < MANY):
            return None
        return members[near]

    def nodes(self, layout: RankLayout) -> int:
        """Return how many nodes a launch takes: one computer simulates all nodes."""
        return layout.nodes if self.largest.ranks.simulate is None else 1

    def spent_seconds(self, db: Database, members: Mapping[RankLayout, str]) -> float:
        """Return the seconds in launches of some campaigns, times their nodes."""
        return sum(cost.cost(db, id).seconds * self.nodes(layout) for layout, id in members.items())

    def limit_seconds(self, layout: RankLayout, spent_seconds: float) -> float:
        """Return the seconds in launches at which the campaign of a layout is stopped, after others
        have spent so many seconds times nodes."""
        if self.table.budget_seconds is None:
            return math.inf
        left_seconds = max(0.0, self.table.budget_seconds - spent_seconds)
        return _MOST_OF_REST * left_seconds / self.nodes(layout)

    def budget(self, rest: Sequence[RankLayout], spent_seconds: float) -> float | None:
        """Return the seconds for the campaign of the first one of these layouts, after others have
        spent so many seconds times nodes. None: its own; 0: the budget of the site is used up."""
        if self.table.budget_seconds is None:
            return None
        seconds_left = _OF_CAMPAIGNS * self.table.budget_seconds - spent_seconds
        shares = [self.shares.get(layout, 0.0) if self.shares else 1.0 for layout in rest]
        seconds = round(seconds_left * shares[0] / sum(shares) / self.nodes(rest[0]), 3)
        return seconds if seconds >= LEAST_SECONDS else 0.0


def plan(path: Path | None, options: Mapping[str, Any], prefix: Path | None) -> SitePlan:
    """Return the site that a campaign file and options ask for. --nprocs and --nodes name the
    largest layout, --budget the seconds of the whole site. Raises UsageError."""
    document = campaign_file.read(path)
    table = site_layouts.read(document) or SiteTable()
    if "libraries" in document.values:
        raise document.refused("a site has one library: leave libraries out, or name one by --mpi")
    own = dict(options)
    budget = own.pop("budget_seconds", None)
    if budget is not None:
        table = msgspec.structs.replace(table, budget_seconds=budget)
    shares = _of_application(document, own) if not table.ranks else {}
    if shares:
        return _of_shares(SitePlan(document, own, prefix, table, Settings(), [*shares], shares))
    largest = campaign_file.of(document, _without(document.values, "layouts"), own)
    if table.ranks and "nprocs" not in own and "nodes" not in own:
        largest = _at_most(document, own, table, largest)
    most = RankLayout(largest.ranks.node_count, largest.ranks.ppn)
    layouts = grid(table, most)
    if not layouts:
        raise UsageError(f"site: no layout on {most.nodes} nodes has these numbers of ranks")
    for name in ("nprocs", "nodes"):
        own.pop(name, None)
    return SitePlan(document, own, prefix, table, largest, layouts)


def _of_application(document: Document, own: Mapping[str, Any]) -> dict[RankLayout, float]:
    """Return the layouts of the application whose profile is named; none without a profile."""
    path = own.get("profile") or document.values.get("profile")
    return site_layouts.of_application(profile_file.read(Path(path))) if path else {}


def _of_shares(plan: SitePlan) -> SitePlan:
    """Return the plan of the layouts of an application, with the settings of the largest one. On
    this machine alone layouts of several nodes are left out."""
    own = _without(plan.options, "nprocs", "nodes")
    places = {*PLACES} & {*plan.document.values, *own}
    fitting = [layout for layout in plan.layouts if layout.nodes == 1 or places]
    if not fitting:
        raise UsageError("site: the communicators of this profile need several nodes")
    largest = {"nprocs": fitting[-1].nprocs} | ({"nodes": fitting[-1].nodes} if places else {})
    values = _without(plan.document.values, "layouts") | largest
    settings = campaign_file.of(plan.document, values, own)
    return msgspec.structs.replace(plan, options=own, largest=settings, layouts=fitting)


def _at_most(
    document: Document, own: Mapping[str, Any], table: SiteTable, settings: Settings
) -> Settings:
    """Return the settings with the largest number of ranks of the table, unless a machine of
    several nodes limits it."""
    simulate = settings.ranks.simulate
    unlimited = simulate is not None and not (simulate.shape or simulate.platform)
    if settings.ranks.place is not None and not unlimited:
        return settings
    values = _without(document.values, "layouts", "nodes") | {"nprocs": max(table.ranks)}
    return campaign_file.of(document, values, own)


def _without(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


class SiteOutcome(msgspec.Struct, frozen=True):
    """`members`: campaigns by layout; `missing`: layouts without one, with the reason; `winners`:
    the rules of the merged files; `dropped`: rules that are not in them, each with its reason;
    `sample` None: nothing was sampled; `ranks`: by layout the ranks that have measured it, where
    layouts share some."""

    campaign: Campaign
    members: dict[str, str]
    missing: dict[str, str]
    winners: list[Winner]
    dropped: list[tuple[str, str]]
    sample: SiteSample | None
    files: list[str]
    ranks: dict[str, str] = {}


MoreWanted = tuple[RankLayout, float | None, str]
"""One more layout to measure, the seconds for its campaign (None: its own), and the reason."""


class SiteRun:
    """A site whose campaigns have ended, under way to its export."""

    def __init__(
        self,
        db: Database,
        plan: SitePlan,
        members: Mapping[RankLayout, str],
        spent_seconds: float,
        progress: Progress,
    ) -> None:
        """`members`: the campaigns that have ended, by layout; `spent_seconds`: seconds in launches
        times nodes so far, with those of campaigns that have not."""
        self._db = db
        self._plan = plan
        self._progress = progress
        self._members = [
            MemberFindings(id, layout, findings.get_winners(db, id), findings.all_searches(db, id))
            for layout, id in members.items()
        ]
        self._by_layout = {member.layout: member for member in self._members}
        self._winners: list[Winner] = []
        self._provers: dict[RankLayout, Prover] = {}
        self._dropped: list[tuple[str, str]] = []
        self._spent = spent_seconds
        toolchain = find_toolchain(plan.prefix, settings=plan.largest, beside=Path(db.path).parent)
        self._row = self._entered(toolchain)
        starter = starting.starter(toolchain, plan.largest)
        store = LaunchStore(db, self._row.id, starter, progress)
        self._folder = claim_folder(db, Path(db.path), self._row)
        every = [search for member in self._members for search in member.searches]
        self._cells = {Target(search.function, search.bytes) for search in every}
        sizes: dict[str, list[int]] = {}
        for search in every:
            sizes.setdefault(search.function, []).append(search.bytes)
        rules = site_rules.find(toolchain, plan.largest)
        self._files = ExportedFiles(
            store,
            toolchain,
            self._row,
            self._folder,
            sizes,
            {},
            unsafe=plan.largest.search.unsafe,
            site_rules="" if rules is None else rules.text,
        )

    def _entered(self, toolchain: Toolchain) -> Campaign:
        settings = self._plan.largest
        own = {"command": SITE, "site": msgspec.to_builtins(self._plan.table)}
        units = toolchain.launcher.processing_units()
        identified = identity.Identity(
            msgspec.json.encode(identity.document(settings) | own).decode(),
            settings.ranks.placement(units),
            SITE,
            left_out=set(settings.fixed.environment),
            asked=msgspec.json.encode(identity.identifying(settings) | own).decode(),
        )
        return identity.enter(self._db, toolchain, identified, new=False)

    def prove(self, missing: Collection[RankLayout]) -> MoreWanted | None:
        """Propose rules from what the campaigns have found, and keep those that checks confirm.
        Return one more layout that wants a campaign; None where there is none, or no budget for
        one. `missing`: layouts whose campaign cannot be run."""
        known = dict(self._by_layout)
        self._winners = self._together(
            [
                winner
                for member in self._members
                for winner in proposals.measured(member, self._limits(member.layout))
            ]
        )
        for layout in in_order(known):
            self._check_rules(layout)
        left = {*self._plan.layouts} - known.keys()
        while asked := self._next_asked(known, left):
            left.discard(asked.middle())
            found = self._carry_over(asked, known)
            if found is not None:
                known[asked.middle()] = found
            open_share = proposals.open_share(asked, self._winners, self._cells)
            if open_share > _OPEN and asked.middle() not in missing:
                budget = self._budget(asked.middle())
                if budget != 0:
                    why = f"{open_share:.0%} of its neighbours' rules have no counterpart"
                    return asked.middle(), budget, why
        between = gaps(list(known))
        for gap in between:
            self._carry_over(gap, known)
        unproven = [each for each in self._winners if not _is_proven(each, self._by_layout)]
        self._lose(unproven, _UNCHECKED)
        return self._wanted_between(between, missing)

    def _next_asked(
        self, known: Collection[RankLayout], left: Collection[RankLayout]
    ) -> Gap | None:
        """Return the gap with one of the layouts `left` alone, in the middle of most of them."""
        inside = [
            (gap, [layout for layout in gap.layouts() if layout in left])
            for gap in gaps(list(known))
        ]
        gap, layouts = max(inside, key=lambda each: len(each[1]), default=(None, []))
        return gap.only(layouts[len(layouts) // 2]) if gap and layouts else None

    def _wanted_between(
        self, between: Iterable[Gap], missing: Collection[RankLayout]
    ) -> MoreWanted | None:
        """Return the middle of the gap in which most cells have a rule on both sides and none
        between, because neighbours differ or the check failed, where a budget is left for it."""
        if self._plan.table.budget_seconds is None:
            return None
        open_gaps = [
            (len(proposals.differing(gap, self._winners, self._cells)), gap) for gap in between
        ]
        open_gaps = [(count, gap) for count, gap in open_gaps if gap.middle() not in missing]
        count, gap = max(open_gaps, key=lambda counted: counted[0], default=(0, None))
        budget = self._budget(gap.middle()) if gap is not None and count else 0
        if gap is None or budget == 0:
            return None
        return gap.middle(), budget, "neighbours differ, or a check failed"

    def _budget(self, layout: RankLayout) -> float | None:
        """Return the seconds for one more campaign; None: its own; 0: too few are left."""
        budget = self._plan.table.budget_seconds
        if budget is None:
            return None
        seconds_left = _OF_CAMPAIGNS * (budget - self._spent_seconds())
        (near,) = site_layouts.nearest(layout, self._by_layout, 1)
        if seconds_left < self._plan.spent_seconds(self._db, {near: self._by_layout[near].id}):
            return 0.0
        return round(seconds_left / self._plan.nodes(layout), 3)

    def finish(
        self, missing: Mapping[RankLayout, str], ranks_used: Mapping[RankLayout, RanksUsed]
    ) -> SiteOutcome:
        """Measure the last sample and export. `missing`: layouts that have no campaign, with the
        reason; `ranks_used`: what has measured them, where layouts share ranks."""
        ids = {str(layout): self._by_layout[layout].id for layout in in_order(self._by_layout)}
        campaigns.put_site(self._db, self._row.id, list(ids.values()), identity.now())
        winners, sample = self._sampled(self._winners)
        finished = self._row
        if finished.state != "finished" or findings.get_winners(self._db, finished.id) != winners:
            finished = msgspec.structs.replace(finished, state="finished", finished=identity.now())
        self._files.finish(finished, winners)
        findings.put_winners(self._db, finished.id, winners)
        campaigns.put(self._db, finished)
        release_folder(self._folder)
        return SiteOutcome(
            campaign=finished,
            members={
                str(layout): self._by_layout[layout].id for layout in in_order(self._by_layout)
            },
            missing={str(layout): why for layout, why in missing.items()},
            winners=winners,
            dropped=self._dropped,
            sample=sample,
            files=[export.path for export in campaigns.exports(self._db, finished.id)],
            ranks={str(layout): str(used) for layout, used in ranks_used.items()},
        )

    # --- proposals ------------------------------------------------------------------------------

    def _carry_over(
        self, gap: Gap, known: Mapping[RankLayout, MemberFindings]
    ) -> MemberFindings | None:
        """Propose rules for a gap, check them in its middle and keep those that the check confirms.
        Return what that has found; None where nothing could be measured."""
        layout = gap.middle()
        proposed = proposals.carried(gap, known, self._limits(gap))
        self._winners = self._together([*self._winners, *proposed])
        rules = [winner for winner in self._winners if is_for_layout(winner, layout)]
        checked = self._check_rules(layout)
        unproven = [
            winner
            for winner in self._winners
            if is_for_layout(winner, layout) and not _is_proven(winner, self._by_layout)
        ]
        self._lose(unproven, _UNCHECKED)
        if checked is None:
            return None
        kept = [winner for winner in self._winners if is_for_layout(winner, layout)]
        return checked.findings(rules, kept, self._provers[layout].every_cell())

    def _limits(self, place: RankLayout | Gap) -> IsLimited:
        """Return whether files can limit a winner to a layout. A rules file goes by the number of
        ranks alone: on several nodes such a rule needs a second measured placement of as many."""
        several = max(member.layout.nodes for member in self._members) > 1
        numbers = [member.layout.nprocs for member in self._members]
        placed_twice = isinstance(place, RankLayout) and numbers.count(place.nprocs) > 1

        def is_limited(winner: Winner) -> bool:
            if is_profile(winner):
                return not winner.configuration
            return (not several or placed_twice) and not self._files.holds_for_process(winner)

        return is_limited

    def _together(self, winners: Sequence[Winner]) -> list[Winner]:
        kept, refused = self._files.together(winners)
        self._drop(refused)
        return kept

    def _drop(self, refused: Iterable[tuple[Winner, str]]) -> None:
        for winner, why in refused:
            based_on = evidence(winner)
            where = f"{ranks(winner)}, {winner.bytes_from}-{winner.bytes_to} B"
            self._dropped.append((f"{winner.function}, {where} ({based_on})", why))

    # --- proof ----------------------------------------------------------------------------------

    def _lose(self, lost: Sequence[Winner], why: str) -> None:
        self._drop((winner, why) for winner in lost)
        self._winners = [winner for winner in self._winners if winner not in lost]

    def _check_rules(self, layout: RankLayout) -> CheckedLayout | None:
        """Check the rules that no campaign has confirmed on a layout: those carried over to it, and
        on a measured one those in which another layout or the whole process took part. Return what
        was measured, if anything."""
        doubtful = [winner for winner in self._winners if self._is_doubtful(winner, layout)]
        prover = self._prover(layout, doubtful) if doubtful else None
        cells = prover.cells(doubtful) if prover else []
        checked = self._check("between", prover, cells, self._winners) if prover and cells else None
        if prover and checked:
            sizes, built_on = prover.sizes, prover.built_on
            winners, lost = without_harm(self._winners, checked, sizes, built_on)
            self._drop((winner, f"slower or wrong on {layout}") for winner in lost)
            self._winners = self._with_gain(winners, checked)
        return checked

    def _with_gain(self, winners: Sequence[Winner], checked: CheckedLayout) -> list[Winner]:
        """Return the winners with the gain that a check saw, without those that gained nothing."""
        kept = []
        for winner in winners:
            doubtful = self._is_doubtful(winner, checked.layout)
            confirmed = _confirmed(winner, checked) if doubtful else winner
            if confirmed is not None:
                kept.append(confirmed)
            else:
                self._drop([(winner, f"no gain on {checked.layout}")])
        return kept

    def _is_doubtful(self, winner: Winner, layout: RankLayout) -> bool:
        """Return whether a rule decides calls on a layout whose campaign has not confirmed it."""
        if not is_for_layout(winner, layout):
            return False
        members = [each for each in self._members if each.layout == layout]
        confirmed = any(_is_of(winner, member.winners) for member in members)
        return not (confirmed and is_from(winner, layout))

    def _prover(self, layout: RankLayout, doubtful: Sequence[Winner]) -> Prover | None:
        """Return the prover of a layout; None where the budget is used up, or no ranks can be
        started there."""
        budget = self._plan.table.budget_seconds
        if budget is not None and self._spent_seconds() >= budget:
            return None
        if layout not in self._provers:
            task = self._plan.task(layout)
            try:
                self._provers[layout] = Prover(self._db, layout, task, self._progress)
            except PlumblineError as error:
                self._drop((winner, f"{layout}: {error}") for winner in doubtful)
                return None
        return self._provers[layout]

    def _spent_seconds(self) -> float:
        return self._spent + sum(
            prover.spent_seconds * self._plan.nodes(layout)
            for layout, prover in self._provers.items()
        )

    def _check(
        self, purpose: Purpose, prover: Prover, cells: Sequence[Target], winners: Sequence[Winner]
    ) -> CheckedLayout | None:
        """Return what a check shows; None where the budget ends before it does."""
        budget = self._plan.table.budget_seconds
        left_seconds = math.inf if budget is None else budget - self._spent_seconds()
        limit_seconds = left_seconds / self._plan.nodes(prover.layout)
        environment = self._files.with_winners(winners)
        with contextlib.suppress(LimitReached):
            return prover.check(purpose, sorted(cells), winners, environment, limit_seconds)
        return None

    # --- the last sample ------------------------------------------------------------------------

    def _sampled(self, winners: list[Winner]) -> tuple[list[Winner], SiteSample | None]:
        """Measure cells drawn at random over all layouts, measured or not. A rule that makes one of
        them slower leaves the files."""
        measured = [member.layout for member in self._members]
        inside = [layout for gap in gaps(measured) for layout in gap.layouts()]
        every = in_order({*measured, *inside})
        drawn = random.Random(self._plan.largest.sampling.seed)  # noqa: S311 - no secret
        count = min(-(-self._plan.table.samples // _CELLS_OF_LAYOUT), len(every))
        chosen = in_order(drawn.sample(every, count))
        cells_of = {
            layout: prover.every_cell()
            for layout in chosen
            if winners and (prover := self._prover(layout, []))
        }
        pool = [(layout, cell) for layout, cells in cells_of.items() for cell in cells]
        sampled = drawn.sample(pool, min(self._plan.table.samples, len(pool)))
        checks = []
        for layout in cells_of:
            cells = [cell for where, cell in sampled if where == layout]
            if not cells:
                continue
            prover = self._provers[layout]
            checked = self._check("sample", prover, cells, winners)
            if checked is None:
                break
            checks.append((checked, prover.limit))
            winners, lost = without_harm(winners, checked, prover.sizes, prover.built_on)
            self._drop((winner, f"slower or wrong on {layout}, in the sample") for winner in lost)
        return winners, counted(checks, measured)


def _is_of(winner: Winner, of_member: Sequence[Winner]) -> bool:
    """Return whether a campaign has confirmed this configuration for all of these sizes."""
    return any(
        each.function == winner.function
        and (each.variant, each.configuration) == (winner.variant, winner.configuration)
        and each.bytes_from <= winner.bytes_from
        and winner.bytes_to <= each.bytes_to
        for each in of_member
    )


def _is_proven(winner: Winner, members: Mapping[RankLayout, MemberFindings]) -> bool:
    words = [word for word in winner.restrictions if word.startswith("checked=")]
    own = [layout for layout in members if is_from(winner, layout)]
    return bool(words) or any(_is_of(winner, members[layout].winners) for layout in own)


def _confirmed(winner: Winner, checked: CheckedLayout) -> Winner | None:
    """Return a rule with the check that confirms it, and the gain that the check saw; None where it
    saw none in the middle of the cells."""
    comparisons = [comparison for cell, comparison in checked.ratios.items() if holds(winner, cell)]
    if not comparisons or any(word.startswith("checked=") for word in winner.restrictions):
        return winner
    middle = sorted(comparisons, key=lambda comparison: comparison.ratio)[len(comparisons) // 2]
    if middle.ratio > _NO_GAIN:
        return None
    return msgspec.structs.replace(
        winner,
        restrictions=[*winner.restrictions, f"checked={checked.layout}"],
        speedup=1 / middle.ratio,
        speedup_low=1 / (middle.high or middle.ratio),
        speedup_high=1 / (middle.low or middle.ratio),
    )
