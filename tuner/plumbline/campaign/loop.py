"""The loop, once: measure, verify, search, export, confirm; again while new violations appear.

A campaign is a deterministic function of its settings and of its launches, and every launch is
stored before the next one starts. So there is no other state to save: an interrupted campaign is
run from the start, takes the launches it finds, and goes on where they end.
It ends, and the number of violations never rises on its way: docs/design/search.md says why."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import acceptance_in_turn, other_uses
from plumbline.campaign.acceptance import Acceptance
from plumbline.campaign.confirm import confirm, named
from plumbline.campaign.exported import Files
from plumbline.campaign.other_uses import Elsewhere
from plumbline.campaign.proven import Proven
from plumbline.campaign.trials import Trials
from plumbline.core.plan import PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure import tables
from plumbline.measure.experiment import REFERENCE_CELLS
from plumbline.measure.launches import Laboratory, Series
from plumbline.search import crossover, outcome, plausible, process, ranges
from plumbline.search.budget import NO_TIME, NOT_ASKED, TOO_FEW, Budget
from plumbline.search.candidates import Menu
from plumbline.search.cells import Target
from plumbline.search.fixed_point import FixedPoint, violations
from plumbline.search.order import Order
from plumbline.search.rounds import Rounds
from plumbline.settings import Settings, site_rules
from plumbline.settings.identity import chosen, now, require_sync
from plumbline.settings.stored import text_of
from plumbline.settings.way_of_use import BARRIER
from plumbline.settings.workbench import Variant, Workbench
from plumbline.system.words import counted
from plumbline_db import campaigns, verdicts
from plumbline_db import winners as winner_table
from plumbline_db.errors import UsageError
from plumbline_db.records import EVERY_FUNCTION, Campaign, Suite, Verdict, Winner
from plumbline_exporters.bundle import conditions


def check(bench: Workbench, settings: Settings, ranks: Starter) -> None:
    """Raises UsageError when the probe would refuse the plan of these settings."""
    require_sync(bench, settings)
    process.values(
        bench.space,
        bench.knobs,
        [],
        named=_named_settings(settings),
        spare_cores=spare_cores(bench, settings),
    )
    plan = tables.plan(settings, tables.cases(chosen(bench, settings), settings))
    refusal = ranks.refusal(msgspec.structs.replace(plan, name="check").text())
    if refusal is not None:
        raise UsageError(f"the probe refuses these settings: {refusal}")


# With fewer new cells, as a share of the violations at the start, a round has to fit the budget.
_WORTH_A_ROUND = 0.1

# More ranks than this on one processing unit stop the machine, and measure nothing.
MOST_RANKS_PER_UNIT = 32


def starter(bench: Workbench, settings: Settings) -> Starter:
    """Raises UsageError for more ranks than this machine can hold, and for variables that are not
    the user's to fix."""
    _require_free(bench, settings.fixed.environment)
    units = bench.launcher.processing_units()
    if units is not None and settings.ranks.ppn > MOST_RANKS_PER_UNIT * units:
        raise UsageError(
            f"{counted(settings.ranks.ppn, 'rank')} on {counted(units, 'processing unit')}: "
            f"at most {MOST_RANKS_PER_UNIT * units} are started there"
        )
    return Starter(
        family=bench.family,
        installation=bench.installation,
        launcher=bench.launcher,
        probe=bench.probe,
        placement=settings.ranks.placement(units),
        timeout_seconds=settings.sampling.launch_timeout_seconds,
        fixed=settings.fixed.environment,
        preloaded=settings.fixed.preload,
    )


def _require_free(bench: Workbench, fixed: Mapping[str, str]) -> None:
    """Raises UsageError for what a search tries or an exported file sets: it cannot be in force in
    every launch. Settings of the whole process can, as none is chosen for a function, and rules of
    the site, whose place the exported ones take."""
    if not fixed:
        return
    taken = {"LD_PRELOAD"} | {name for name in fixed if name.startswith("PLUMBLINE_")}
    of_the_process = {setting.knob for setting in bench.space.setting}
    for knob in bench.space.knobs().keys() - of_the_process:
        taken |= set(bench.family.in_environment({knob: ""}))
    refused = sorted((taken - site_rules.variables(bench)) & set(fixed))
    if refused:
        raise UsageError(
            f"environment: {', '.join(refused)}: a campaign searches and exports that itself"
        )


def spare_cores(bench: Workbench, settings: Settings) -> bool:
    """Whether each rank may have a second processing unit; where nobody knows, it may."""
    units = bench.launcher.processing_units()
    return units is None or 2 * settings.ranks.ppn <= units


def _named_settings(settings: Settings) -> list[str] | None:
    return settings.search.settings if isinstance(settings.search.settings, list) else None


def candidates(bench: Workbench, settings: Settings, *, oversubscribed: bool) -> list[Variant]:
    """Of our variants, those that a search may try. With more ranks than cores and barrier starts
    no messages in pieces: the next barrier pays most of their gain (docs/design/campaign.md)."""
    tried = settings.search.tried(bench.catalogue.variants_of())
    paid_later = oversubscribed and settings.start_scheme == BARRIER
    left_out = set(bench.guidelines.split.names()) if paid_later else set()
    return [
        variant
        for variant in bench.catalogue.variants
        if variant.name in tried[variant.function] and variant.name not in left_out
    ]


class Loop:
    """One campaign under way. `folder` is where the exported files go."""

    def __init__(
        self,
        lab: Laboratory,
        bench: Workbench,
        campaign: Campaign,
        settings: Settings,
        folder: Path,
        *,
        earlier: Settings | None = None,
    ) -> None:
        """`earlier`: the settings by which launches that are stored were decided upon, where their
        budget is another one."""
        self._lab = lab
        self._db = lab.db
        self._bench = bench
        self._campaign = campaign
        self._settings = settings
        self._guidelines = chosen(bench, settings)
        lab.aside.made_of = {pattern.variant: pattern.uses for pattern in bench.guidelines.patterns}
        self._sizes = tables.sizes_of(self._guidelines, settings)
        self._weights = settings.weights(self._sizes) or {}
        self._plan = msgspec.structs.replace(tables.plan(settings, []), knobs=bench.space.switch)
        self._site = site_rules.find(bench, settings)
        space = bench.space if self._site is None else site_rules.over(bench.space)
        self._searched_under = space.hot_environment
        self._files = Files(
            lab,
            bench,
            campaign,
            folder,
            unsafe=settings.search.unsafe,
            site_rules="" if self._site is None else self._site.text,
        )
        menu = Menu(
            space,
            bench.installation.library,
            bench.knobs,
            candidates(bench, settings, oversubscribed=campaign.oversubscribed),
            settings.ranks.nprocs,
            unsafe=settings.search.unsafe,
            witnesses=bench.catalogue.variants,
        )
        self._proven = Proven(lab, bench, self._plan, self._sizes)
        self._trials = Trials(lab, settings, self._sizes)
        self._anchors = self._unchanged(menu)
        self._order = Order(self._guidelines)
        self._budget = Budget(lab, settings, earlier=earlier, parted=self._part)
        self._rounds = Rounds(
            lab,
            menu,
            self._plan,
            settings,
            self._sizes,
            self._order,
            self._budget,
            switches=crossover.switches(bench.space, bench.knobs),
        )
        self._acceptance = Acceptance(
            lab,
            menu,
            self._plan,
            settings,
            self._sizes,
            self._searched_under,
            self._with_files,
            placement=lab.starter.plain,
            crowded=campaign.oversubscribed,
        )
        self._only_in_loops: list[Verdict] = []
        self._table_before: list[Verdict] = []
        self._round_seconds = 0.0  # what the last confirmation has taken
        self._confirmed: list[Winner] = []

    def _unchanged(self, menu: Menu) -> list[PlanCase]:
        """Calls that no exported file changes: variants of ours that send messages, by name. What
        two launches differ by is seen in them; on a simulated machine that is nothing."""
        cases = [
            PlanCase(function, size, menu.anchors(function)[0])
            for function, sizes in self._sizes.items()
            for size in sizes
            if menu.anchors(function) and self._settings.ranks.simulate is None
        ]
        return cases[:: max(1, len(cases) // (2 * REFERENCE_CELLS))]

    def run(self) -> Campaign:
        """To the end. Everything a report needs is in the database afterwards."""
        environment = os.environ | self._bench.installation.environment
        for name in self._bench.family.settings_in(environment):
            if name not in self._settings.fixed.environment:
                named = name in site_rules.variables(self._bench)
                hint = " (the table environment of a campaign file may name it)" if named else ""
                self._lab.tell("left out", f"{name} is set here, and in force in no launch{hint}")
        if self._site is not None:
            self._lab.tell(
                "site",
                f"{self._site.path}, by {self._site.where}, is in force in the library as it is; "
                "candidates are tried without it, and an exported file takes its place",
            )
        current = self._before()
        fixed = FixedPoint(current, self._order)
        winners: list[Winner] = []
        turn = searched = 0
        changed = False  # `current` was measured with other winners
        of_the_process = self._settings.search.settings is not False
        while True:
            opened = False
            if searched < self._settings.search.rounds and self._budget.left():
                opened, found = self._search(searched + 1, current, winners, changed)
                searched += opened
                if found != winners:
                    self._budget.earned()
                changed, winners = changed or found != winners, found
            stands = not winners or fixed.stands(winners)
            if of_the_process and stands and not (changed or opened) and self._budget.left():
                of_the_process = False
                more = self._of_the_process(winners)
                changed, winners = bool(more), winners + more
            if changed and winners:
                turn += 1
                begun = self._lab.spent_seconds
                winners, current, changed = self._confirm(turn, winners, current, fixed)
                self._round_seconds = self._lab.spent_seconds - begun
                if not changed:
                    self._round(f"round-{turn}", winners, current, fixed)
                elif not winners:
                    # All are lost: the table was measured with what is in force no more.
                    current, changed = fixed.last.table, False
            elif stands:
                if not opened:
                    break
            elif not opened:
                winners, changed = self._undo(winners, current, fixed)
                if not changed:
                    current = fixed.last.table
                    if not (of_the_process and self._budget.left()):
                        break
        return self._end(fixed.last.winners, fixed.last.table)

    def _round(
        self, stage: str, winners: list[Winner], table: list[Verdict], fixed: FixedPoint
    ) -> None:
        """Keeps the table of a round that stands."""
        before = fixed.last
        if fixed.enter(stage, winners, table):
            verdicts.put(self._db, self._campaign.id, stage, table)
        else:
            count = counted(len(violations(table)), "violation")
            text = f"{stage}: {count}, after {len(violations(before.table))} in {before.stage}"
            self._lab.tell("more violations", text)

    def _undo(
        self, winners: list[Winner], table: list[Verdict], fixed: FixedPoint
    ) -> tuple[list[Winner], bool]:
        """What is left without the winners that raised violations which no search has removed, and
        whether that is to be measured."""
        culprits = fixed.culprits(winners, table)
        for culprit in culprits:
            self._dropped("undone", culprit, "it raises more violations than it removes")
        self._rounds.refuse(culprits)
        left = ranges.measured(fixed.without(culprits, winners), self._sizes)
        return left, not fixed.stands(left)

    def _before(self) -> list[Verdict]:
        settings, lab = self._settings, self._lab
        lab.progress.step("measuring the library as it is")
        plan = tables.plan(settings, tables.cases(self._guidelines, settings))
        if settings.ranks.simulate is None:
            plan = msgspec.structs.replace(plan, pingpongs=plausible.ROUND_TRIPS)
        before = Suite("before")
        Series(lab, before, plan, {}).advance(settings.sampling.launches)
        found = tables.decide(lab, "before", self._guidelines, settings, before, {})
        if self._settings.ranks.simulate is None:
            # With more ranks than cores the table is of calls after a barrier, and loops are alike.
            whole = not self._campaign.oversubscribed
            elsewhere = self._in_other_uses("before", found, {}, whole=whole)
            found, self._only_in_loops = elsewhere.table, elsewhere.only
        verdicts.put(self._db, self._campaign.id, "before", found)
        self._table_before = found
        self._budget.measured()
        return found

    def _in_other_uses(
        self,
        stage: str,
        table: list[Verdict],
        environment: Mapping[str, str],
        only: Sequence[Verdict] = (),
        *,
        whole: bool,
    ) -> Elsewhere:
        return other_uses.look(
            self._lab,
            stage,
            self._guidelines,
            self._settings,
            environment,
            table,
            only,
            crowded=self._campaign.oversubscribed,
            whole=whole,
        )

    def _search(
        self, number: int, current: Sequence[Verdict], winners: list[Winner], changed: bool
    ) -> tuple[bool, list[Winner]]:
        """Opens the searches that the table asks for; whether there were any, and all winners."""
        wanted = [*self._only_in_loops, *current]
        fresh = self._rounds.fresh(wanted)
        # The table that says so is that of these winners, if none changed.
        stuck = [] if changed or not winners else self._rounds.stuck(current)
        few = len(fresh) < _WORTH_A_ROUND * len(violations(self._table_before))
        if few and not self._budget.has_room(self._round_seconds):
            if fresh:
                self._lab.tell(TOO_FEW, f"{counted(len(fresh), 'cell')} after {number - 1} rounds")
            fresh, stuck = [], []
        if stuck:
            winners = self._rounds.second(number, current, winners, self._with_files)
        if fresh:
            winners = winners + self._rounds.first(
                number,
                wanted,
                self._searched_under,
                winners,
                self._with_files,
                refine=self._budget.left,
            )
            self._rounds.rescue(number)
        return bool(fresh or stuck), winners

    def _with_files(self, winners: Sequence[Winner], stage: str) -> dict[str, str]:
        """Puts winners in force for launches; what they add to a clean environment."""
        self._files.stage(stage)
        return self._in_force(self._together(winners)[0])

    def _in_force(self, winners: Sequence[Winner]) -> dict[str, str]:
        """The files of these winners, written; the environment that puts them in force."""
        self._files.write(winners)
        environment = self._files.environment()

        def answers(function: str, size: int) -> bool:
            return outcome.deciding(winners, Target(function, size)) is not None

        self._lab.aside.in_force(environment, answers)
        return environment

    def _together(self, winners: Sequence[Winner]) -> tuple[list[Winner], list[tuple[Winner, str]]]:
        return self._files.together(winners, self._sizes, self._weights)

    def _of_the_process(self, winners: Sequence[Winner]) -> list[Winner]:
        """What one value for the whole process adds to the winners that are in force."""
        bench, family = self._bench, self._bench.family
        # Those that name a site's rules belong to every knob of an algorithm.
        given = self._settings.fixed.environment.keys() - site_rules.variables(bench)
        fixed = [
            knob for knob in bench.knobs if not given.isdisjoint(family.in_environment({knob: ""}))
        ]
        tried = process.values(
            bench.space,
            bench.knobs,
            list(self._sizes),
            standing=winners,
            named=_named_settings(self._settings),
            fixed=fixed,
            spare_cores=spare_cores(bench, self._settings),
        )
        cells = [Target(name, size) for name, sizes in self._sizes.items() for size in sizes]
        search = process.ProcessWide(
            self._lab,
            self._settings,
            cells,
            read_back=bench.space.hot is not None,
            has_time=self._budget.left,
            weights=self._weights,
        )
        return search.search(tried, self._with_files(winners, "process-1") if winners else {}, 1)

    def _confirm(
        self, turn: int, winners: Sequence[Winner], current: Sequence[Verdict], fixed: FixedPoint
    ) -> tuple[list[Winner], list[Verdict], bool]:
        """Exports, proves and measures; returns what is kept or takes the place of what was
        dropped, the table, and whether anything was (then what is exported is not yet what was
        measured, and the table has one look)."""
        lab, suite, stage = self._lab, Suite("confirm", turn), f"round-{turn}"
        winners = self._accepted(winners, fixed)
        if not winners:
            return [], list(current), True
        winners, refused = self._together(winners)
        while refused:
            for winner, why in refused:
                self._dropped(suite.name, winner, why)
            left = self._replaced(winners, [winner for winner, _ in refused], fixed)
            winners, refused = self._together(self._accepted(left, fixed))
            if not winners:
                return [], list(current), True
        self._files.stage(stage)
        environment = self._in_force(winners)
        lab.progress.step(f"confirming {counted(len(winners), 'winner')}, cold, with the files")
        if missed := self._proven.missed(turn, winners, environment):
            left = [winner for winner in winners if winner not in missed]
            return self._replaced(left, missed, fixed), list(current), True
        if wrong := self._wrong(turn, winners, environment):
            left = [winner for winner in winners if winner not in wrong]
            return self._replaced(left, wrong, fixed), list(current), True
        done = confirm(
            lab,
            suite,
            stage,
            self._guidelines,
            self._settings,
            environment,
            winners,
            self._anchors,
            confirmed=self._confirmed,
            faster=[winner for winner in winners if self._acceptance.shows_gain(winner)],
        )
        self._confirmed = done.winners
        for winner, reason in done.dropped:
            self._dropped(suite.name, winner, reason)
        if done.dropped:
            lost = [winner for winner, _ in done.dropped]
            return self._replaced(done.winners, lost, fixed), done.verdicts, True
        hurt = self._harm_in_turn(turn, done.winners, environment)
        for winner, reason in hurt:
            self._dropped(_in_turn(turn).name, winner, reason)
        if hurt:
            lost = [winner for winner, _ in hurt]
            left = [winner for winner in done.winners if winner not in lost]
            return self._replaced(left, lost, fixed), done.verdicts, True
        found = tables.decide(lab, stage, self._guidelines, self._settings, suite, environment)
        return done.winners, found, False

    def _wrong(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Those that give wrong results somewhere in their ranges."""
        if self._settings.ranks.simulate is not None:
            return []
        found = self._trials.wrong(turn, winners, environment)
        for winner, reason in found:
            self._dropped(Suite("trial", turn).name, winner, reason)
        return [winner for winner, _ in found]

    def _harm_in_turn(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[tuple[Winner, str]]:
        """Of the winners that hold for whole launches those that are slower where a user stands."""
        if self._settings.ranks.simulate is not None:
            return []
        own = [winner for winner in winners if winner.function != EVERY_FUNCTION]
        return acceptance_in_turn.harm(
            self._lab,
            _in_turn(turn),
            tables.plan(self._settings, []),
            self._settings,
            environment,
            winners,
            [winner for winner in own if not self._acceptance.fits(winner)],
            self._sizes,
            placement=self._lab.starter.plain,
            crowded=self._campaign.oversubscribed,
        )

    def _accepted(self, winners: Sequence[Winner], fixed: FixedPoint) -> list[Winner]:
        """Those that hold wherever a user stands, and second choices that do for the others."""
        if self._settings.ranks.simulate is not None:
            return list(winners)
        done = self._acceptance.judge(winners)
        while done.suite is not None:
            for winner, why in done.refused:
                self._dropped(done.suite.name, winner, why)
            for winner, why in done.narrowed:
                self._tell("winner narrowed", done.suite.name, winner, why)
            left, lost = done.winners, [winner for winner, _ in done.refused]
            done = self._acceptance.judge(self._replaced(left, lost, fixed) if lost else left)
        return done.winners

    def _replaced(
        self, left: list[Winner], lost: Sequence[Winner], fixed: FixedPoint
    ) -> list[Winner]:
        """The winners that are left, with the second choices for cells of those that are lost."""
        for gone in fixed.withdraw(lost):
            verdicts.put(self._db, self._campaign.id, gone.stage, [])
        if self._budget.left():
            return left + self._rounds.instead(lost, left, self._with_files)
        self._rounds.refuse(lost)
        return left

    def _dropped(self, suite: str, winner: Winner, reason: str) -> None:
        self._tell("winner dropped", suite, winner, reason)

    def _tell(self, kind: str, suite: str, winner: Winner, why: str) -> None:
        what = outcome.label(winner.variant, winner.configuration)
        only = "".join(f" only {word}" for word in conditions(winner))
        text = f"{winner.function} {winner.bytes_from}-{winner.bytes_to} B {what}{only}: {why}"
        self._lab.tell(kind, text, suite, winner.function)

    def _part(self) -> None:
        """From here on launches are others than those that the earlier budget has led to."""
        self._lab.part()
        self._keep_settings()

    def _keep_settings(self) -> None:
        self._campaign = campaigns.settle(self._db, self._campaign.id, text_of(self._settings))

    def _end(self, winners: list[Winner], current: Sequence[Verdict]) -> Campaign:
        left = self._rounds.fresh(current) if self._settings.search.rounds else []
        if left and not self._budget.left():
            self._lab.tell(
                NO_TIME, f"{counted(len(left), 'cell')} not searched; --budget asks for it"
            )
        if self._settings.search.rounds and (text := self._rounds.not_asked(winners, current)):
            self._lab.tell(NOT_ASKED, text)
        # What is undecided in the end is not removed.
        held = named(current, "holds")
        # Nor is what only a winner of this campaign brought about.
        before = verdicts.get(self._db, self._campaign.id, "before")
        removed = held & named(before, "violated")
        winners = [
            msgspec.structs.replace(
                winner,
                removes=[name for name in winner.removes if (winner.function, name) in removed],
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
            environment = self._files.environment()
            only = self._only_in_loops
            after = self._in_other_uses("after", after, environment, only, whole=False).table
        if winners or self._settings.search.rounds:  # a table that was only verified has no after
            verdicts.put(self._db, self._campaign.id, "after", after)
        winner_table.put(self._db, self._campaign.id, winners)
        campaigns.put(self._db, finished)
        return finished


def _in_turn(turn: int) -> Suite:
    return Suite("accept", turn, "cold")
