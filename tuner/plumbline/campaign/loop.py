"""The loop, once: measure, verify, search, export, confirm; again while new violations appear.

A campaign is a deterministic function of its settings and of its launches, and every launch is
stored before the next one starts. So there is no other state to save: an interrupted campaign is
run from the start, takes the launches it finds, and goes on where they end.
It ends, and no winner makes a cell slower: docs/design/search.md says why."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import going_on, other_uses, states
from plumbline.campaign.confirm import named
from plumbline.campaign.exported import ExportedFiles
from plumbline.campaign.going_on import Hints
from plumbline.campaign.other_uses import OtherUses
from plumbline.campaign.states import CampaignStep, FixedPoint, Standing
from plumbline.campaign.vetting import CampaignSetup, Vetting
from plumbline.core.cell import Target
from plumbline.core.winner import deciding, exported_alike, joined_ranges, with_measured_range
from plumbline.launch.starter import Starter
from plumbline.measure import repetitions, tables
from plumbline.measure.exclusions import HINTS, NO_TIME, NOT_ASKED
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search import crossover, process
from plumbline.search.budget import Budget
from plumbline.search.order import DependencyOrder
from plumbline.search.rounds import Around, Rounds
from plumbline.search.space.candidates import CandidateSpace
from plumbline.settings import Settings, site_rules
from plumbline.settings.identity import chosen, now, require_sync, text_of
from plumbline.settings.toolchain import Toolchain, variants_tried
from plumbline.system.words import counted
from plumbline_db import campaigns, findings
from plumbline_db.records import EVERY_FUNCTION, Campaign, Suite, Verdict, Winner


def check(toolchain: Toolchain, settings: Settings, ranks: Starter) -> None:
    """Raises UsageError when the probe would refuse the plan of these settings."""
    require_sync(toolchain, settings)
    process.tried(toolchain, settings, [])
    cases = tables.cases(chosen(toolchain, settings), settings)
    for plan in (tables.until_sure(settings, cases), tables.counting(settings, cases)):
        if plan is not None:
            ranks.require(msgspec.structs.replace(plan, name="check").text(), "these settings")


class CampaignLoop:
    """One campaign under way. `folder` is where the exported files go."""

    def __init__(
        self,
        store: LaunchStore,
        toolchain: Toolchain,
        campaign: Campaign,
        settings: Settings,
        folder: Path,
        *,
        earlier: Settings | None = None,
    ) -> None:
        """`earlier`: the settings by which launches that are stored were decided upon, where their
        budget is another one."""
        self._store = store
        self._db = store.db
        self._toolchain = toolchain
        self._campaign = campaign
        self._settings = settings
        self._guidelines = chosen(toolchain, settings)
        store.aside.made_of = {
            pattern.variant: pattern.uses for pattern in toolchain.guidelines.patterns
        }
        self._sizes = tables.sizes_of(self._guidelines, settings)
        self._weights = settings.weights(self._sizes) or {}
        plan = tables.until_sure(settings, [])
        plan = msgspec.structs.replace(plan, knobs=toolchain.space.switch)
        self._site = site_rules.find(toolchain, settings)
        space = toolchain.space if self._site is None else site_rules.over(toolchain.space)
        self._searched_under = space.hot_environment
        self._files = ExportedFiles(
            store,
            toolchain,
            campaign,
            folder,
            self._sizes,
            self._weights,
            unsafe=settings.search.unsafe,
            site_rules="" if self._site is None else self._site.text,
        )
        candidate_space = CandidateSpace(
            msgspec.structs.replace(toolchain, space=space),
            settings.ranks.nprocs,
            tried=variants_tried(toolchain, settings, oversubscribed=campaign.oversubscribed),
            unsafe=settings.search.unsafe,
        )
        if settings.search.limited_to:
            limited_to = settings.search.limited_to
            candidate_space = self._files.limited(candidate_space, limited_to)
        self._hints: Hints | None = None
        if not settings.search.verifies_only:
            earlier_id, refusal = settings.search.earlier, candidate_space.refusal_here(self._sizes)
            self._hints = going_on.hints_of(store.db, earlier_id, refusal, campaign)
        self._short: list[Target] = []  # cells with a winner of another layout that gains less here
        self._compared = False  # all of the table with what an earlier campaign has left
        self._searches_first = False  # what hints do not tell of is searched before they are tried
        self._order = DependencyOrder(self._guidelines)
        self._budget = Budget(store, settings, earlier=earlier, parted=self._part)
        setup = CampaignSetup(
            store,
            settings,
            candidate_space,
            plan,
            self._sizes,
            toolchain=toolchain,
            guidelines=self._guidelines,
            crowded=campaign.oversubscribed,
            held=self._hints.held if self._hints else (),
        )
        self._rounds = Rounds(
            setup,
            self._order,
            self._budget,
            switches=crossover.switches(toolchain.space, toolchain.knobs),
            uses=[]
            if settings.ranks.simulate
            else other_uses.other_uses(settings, crowded=campaign.oversubscribed),
        )
        self._vetting = Vetting(
            setup, self._files, self._rounds.seconds, self._replaced, self._budget.is_open
        )
        self._only_in_loops: list[Verdict] = []
        self._ridden: dict[str, str] = {}  # by stage, the suite of its table in other uses
        self._table_before: list[Verdict] = []
        self._table: list[Verdict] = []  # the last that was measured
        self._fixed = FixedPoint([])
        self._winners: list[Winner] = []
        self._changed = False  # the table was measured with other winners
        self._opened = False  # the last search had cells
        self._may_set = bool(settings.search.settings) or settings.search.tries_usual_settings
        self._searched = self._turn = 0  # searches, confirmations

    def run(self) -> Campaign:
        self._tell_what_is_in_force()
        return states.run(self, self._store, searches=not self._settings.search.verifies_only)

    def standing(self) -> Standing:
        return Standing(
            winners=bool(self._winners),
            changed=self._changed,
            opened=self._opened,
            may_search=self._settings.search.goes_on(self._searched),
            may_set=self._may_set,
            sets_first=self._settings.search.tries_usual_settings,
            searches_first=self._searches_first,
        )

    def has_time(self) -> bool:
        stuck = self._stuck()
        return self._budget.has_room(len(stuck)) if stuck else self._has_time_for(self._fresh())

    def _has_time_for(self, fresh: Sequence[Target]) -> bool:
        if self._rounds.is_named(fresh, self._verdicts()):
            return self._budget.has_room(len(fresh))
        return self._budget.has_room_for_others(len(fresh), len(self._cells()))

    def _verdicts(self) -> list[Verdict]:
        return [*self._only_in_loops, *self._table]

    def _fresh(self) -> list[Target]:
        return self._rounds.fresh(self._verdicts())

    def _stuck(self) -> list[Target]:
        """Return the cells that are violated with the winners in force, as the table says where it
        is that of these winners, and those where the winners gain less than at another layout."""
        if self._changed or not self._winners:
            return []
        stuck = self._rounds.stuck(self._table, self._table_before)
        return list(dict.fromkeys([*stuck, *self._short]))

    def take(self, step: CampaignStep) -> None:
        if step is CampaignStep.BEFORE:
            self._before()
        elif step is CampaignStep.SEARCH:
            self._search()
        elif step is CampaignStep.SETTINGS:
            self._of_the_process()
        else:
            self._confirm()

    def _tell_what_is_in_force(self) -> None:
        environment = os.environ | self._toolchain.installation.environment
        for name in self._toolchain.family.settings_in(environment):
            if name not in self._settings.fixed.environment:
                named = name in site_rules.variables(self._toolchain)
                hint = " (the table environment of a campaign file may name it)" if named else ""
                self._store.tell("left out", f"{name} is set here, and in force in no launch{hint}")
        if self._site is not None:
            self._store.tell(
                "site",
                f"{self._site.path}, by {self._site.where}, is in force in the library as it is; "
                "candidates are tried without it, and an exported file takes its place",
            )

    def _before(self) -> None:
        settings, store = self._settings, self._store
        cases = tables.cases(self._guidelines, settings)
        counting = tables.counting(settings, cases)
        if counting is not None:
            store.progress.step("counting the repetitions that each case needs")
            store.repetitions = repetitions.counts(repetitions.predict(store, counting))
        store.progress.step("measuring the library as it is")
        plan = tables.until_sure(settings, cases, store.repetitions)
        # All later tables are compared with this one.
        plan = store.no_surer(plan, is_first=False)
        before = Suite("before")
        Series(store, before, plan, {}).advance(settings.sampling.launches)
        # With more ranks than cores the table is of calls after a barrier, and loops are alike.
        uses = self._other_uses(whole=not self._campaign.oversubscribed)
        table = tables.ViolationTable(
            store, "before", self._guidelines, settings, before, riders=uses.riders
        )
        verdicts_before = table.decide(self._budget.is_open)
        if self._settings.ranks.simulate is None:
            elsewhere = uses.look(store, "before", {}, verdicts_before, table.ridden)
            verdicts_before, self._only_in_loops = elsewhere.table, elsewhere.only
        findings.put_verdicts(self._db, self._campaign.id, "before", verdicts_before)
        self._table_before = self._table = verdicts_before
        self._fixed = FixedPoint(verdicts_before)
        if self._settings.search.tries_usual_settings:
            self._may_set = any(verdict.verdict == "violated" for verdict in verdicts_before)
        if self._hints is not None:
            self._begin_with(self._hints)
        self._budget.measured()

    def _begin_with(self, hints: Hints) -> None:
        unlike = hints.unlike(self._table)
        self._winners = hints.winners_for(self._table, self._sizes)
        self._changed, self._may_set = bool(self._winners), False
        self._searches_first = bool(unlike)
        self._rounds.leave_out(hints.searched)
        self._doubt(unlike)
        number = counted(len(self._winners), "winner")
        self._store.tell(
            HINTS,
            f"{number} of {hints.campaign} are confirmed first; what it has searched is searched "
            "again where they lose their place and where a violation is new (--earlier none: "
            "everything)",
        )

    def _doubt(self, cells: set[Target]) -> None:
        """Search these cells, though the earlier campaign has done so."""
        if self._hints is not None:
            self._rounds.take_up(cells & self._hints.searched)
            self._hints.searched.difference_update(cells)

    def _other_uses(self, *, whole: bool, winners: Sequence[Winner] = ()) -> OtherUses:
        return OtherUses(
            self._guidelines,
            self._settings,
            crowded=self._campaign.oversubscribed,
            whole=whole,
            only=self._only_in_loops,
            winners=winners,
        )

    def _search(self) -> None:
        """The searches that the table asks for."""
        number, winners = self._searched + 1, self._winners
        begun = self._store.spent_seconds
        fresh, stuck = self._fresh(), self._stuck()
        if stuck and not self._has_time_for(fresh):
            fresh = []
        around = Around(number, self._searched_under, winners, self._files.with_winners)
        if stuck:
            winners = self._rounds.second(around, stuck, self._table)
            self._short = []
        if fresh:
            around = msgspec.structs.replace(around, standing=winners)
            winners = winners + self._rounds.first(
                around, self._verdicts(), refine=self._budget.left
            )
            self._rounds.rescue(number)
        self._budget.searched(len(fresh) + len(stuck), begun)
        self._opened = bool(fresh or stuck)
        self._searched += self._opened
        # What has won again, for another reason, changes nothing.
        if not exported_alike(self._winners, winners):
            self._changed, self._winners = True, winners

    def _cells(self) -> list[Target]:
        return [Target(name, size) for name, sizes in self._sizes.items() for size in sizes]

    def _of_the_process(self) -> None:
        """One value for the whole process, beside the winners that are in force, if there are
        any: the usual values come first, and all that follows is measured with the winner."""
        self._may_set, winners = False, self._winners
        tried = process.tried(self._toolchain, self._settings, list(self._sizes), winners)
        search = process.ProcessWide(
            self._store,
            self._settings,
            {cell: self._weights.get((cell.function, cell.bytes), 1.0) for cell in self._cells()},
            process.Settable.of(self._toolchain, self._settings),
            has_time=self._budget.left,
        )
        environment = self._files.with_winners(winners) if winners else {}
        settings = search.search(tried, environment)
        self._changed, self._winners = bool(settings), winners + settings
        for winner in settings:
            self._rounds.stands_on(winner, search.suite)

    def _confirm(self) -> None:
        """Afterwards what is kept, or takes the place of what was dropped, and the table."""
        self._turn += 1
        begun = self._store.spent_seconds
        uses = self._other_uses(whole=False)
        # Whatever it says, the first search looks into all cells, and changes the table.
        search = self._settings.search
        waits = search.tries_usual_settings and search.all and search.goes_on(0)
        waits = waits and not self._searched and self._hints is None
        vetted = self._vetting.turn(self._turn, self._winners, self._table, uses, table_waits=waits)
        self._winners, self._table, self._changed = vetted.winners, vetted.table, vetted.changed
        self._ridden[vetted.stage] = vetted.ridden
        self._budget.confirmed(begun)
        if self._hints is not None and vetted.stage and not self._compared:
            # On an unchanged machine a violation that comes up later is one of chance.
            self._compared = self._hints.alike
            self._doubt(self._hints.new(self._table))
        if not self._changed:
            self._fixed.enter(vetted.stage, self._winners, self._table)
            if self._hints is not None and self._turn == 1:
                short = self._hints.short(self._winners)
                self._short = [cell for cell in self._cells() if deciding(short, cell) is not None]
            findings.put_verdicts(self._db, self._campaign.id, vetted.stage, self._table)
        elif not self._winners:
            # All are lost: the table was measured with what is in force no more.
            self._table, self._changed = self._fixed.last.table, False

    def _replaced(self, left: list[Winner], lost: Sequence[Winner]) -> list[Winner]:
        """The winners that are left, with the second choices for cells of those that are lost."""
        for gone in self._fixed.withdraw(lost):
            findings.put_verdicts(self._db, self._campaign.id, gone.stage, [])
        self._doubt({cell for cell in self._cells() if deciding(lost, cell) is not None})
        if self._budget.left():
            return left + self._rounds.seconds.instead(lost, left, self._files.with_winners)
        self._rounds.seconds.refuse(lost)
        return left

    def _part(self) -> None:
        """Note that from here on launches are others than those that the earlier budget has led
        to."""
        self._store.part()
        self._keep_settings()

    def _keep_settings(self) -> None:
        self._campaign = campaigns.settle(self._db, self._campaign.id, text_of(self._settings))

    def end(self) -> Campaign:
        winners = joined_ranges(self._fixed.last.winners, self._sizes)
        current = self._fixed.last.table
        search = self._settings.search
        searches = not search.verifies_only
        unsearched = self._rounds.unsearched(current) if searches else []
        if unsearched and (out := not self._budget.left()) | search.goes_on(self._searched):
            is_named = self._rounds.is_named(unsearched, current)
            text = self._budget.not_searched(unsearched, named=is_named)
            self._store.tell(NO_TIME if out or is_named else NOT_ASKED, text)
        if searches and (text := self._rounds.not_asked(winners, current)):
            self._store.tell(NOT_ASKED, text)
        # What is undecided in the end is not removed.
        held = named(current, "holds")
        # Nor is what only a winner of this campaign brought about.
        before = findings.get_verdicts(self._db, self._campaign.id, "before")
        removed = held & named(before, "violated")
        winners = [
            msgspec.structs.replace(
                with_measured_range(winner, self._sizes),
                removes=_removed_by(winner, winners, removed),
            )
            for winner in winners
        ]
        self._keep_settings()
        finished = msgspec.structs.replace(self._campaign, state="finished", finished=now())
        # The same rules once more, beside them what the confirmation found out about the winners.
        self._campaign = finished
        self._files.finish(finished, winners)
        after = [msgspec.structs.replace(verdict, stage="after") for verdict in current]
        if self._settings.ranks.simulate is None and winners:
            environment, ridden = self._files.environment(), self._ridden[self._fixed.last.stage]
            uses = self._other_uses(whole=False, winners=winners)
            after = uses.look(self._store, "after", environment, after, ridden).table
        if winners or searches:  # a table that was only verified has no after
            findings.put_verdicts(self._db, self._campaign.id, "after", after)
        findings.put_winners(self._db, self._campaign.id, winners)
        campaigns.put(self._db, finished)
        return finished


def _removed_by(
    winner: Winner, winners: Sequence[Winner], removed: Collection[tuple[str, str]]
) -> list[str]:
    """Return the `removed` violations that a winner was kept for; a setting of the process removes
    what no winner of a function decides."""
    if winner.function != EVERY_FUNCTION:
        return [name for name in winner.removes if (winner.function, name) in removed]
    removed_cells = {
        (name.partition("@")[0], size)
        for function, name in removed
        if deciding(winners, Target(function, size := int(name.rpartition("@")[2]))) is winner
    }
    return [f"{guideline}@{size}" for guideline, size in sorted(removed_cells)]
