"""Winners are vetted: tried wherever a user stands, exported, proven to be in force, called
hundreds of times, and measured cold with the whole table. What fails in one of these loses its
place, and the next turn begins with what takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign.acceptance import Acceptance
from plumbline.campaign.acceptance_in_turn import AcceptanceInTurn
from plumbline.campaign.confirm import Confirmation, ConfirmTurn, confirm
from plumbline.campaign.exported import Files
from plumbline.campaign.other_uses import OtherUses
from plumbline.campaign.pairs import ConfirmContext
from plumbline.campaign.proven import Proven
from plumbline.campaign.trials import Trials
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.winner import (
    changed_between,
    exported_alike,
    functions_built_on,
    is_in_force,
    side_changes,
)
from plumbline.measure import tables
from plumbline.measure.comparison import enough_of
from plumbline.measure.launches import LaunchStore
from plumbline.search import outcome
from plumbline.search.second_choice import SecondChoices
from plumbline.search.space.candidates import CandidateSpace
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system.words import counted
from plumbline_db.records import Suite, Verdict, Winner
from plumbline_exporters.bundle import only, sizes


class Vetted(msgspec.Struct, frozen=True):
    """What a turn has led to: the `winners` that are kept, with what takes the place of others; the
    `table`. `changed`: some were dropped, so that what is exported is not yet what was measured,
    and the table has one look. `stage`: of the table; `ridden`: the suite that has its cells in
    other uses."""

    winners: list[Winner]
    table: list[Verdict]
    changed: bool
    stage: str = ""
    ridden: str = ""


class Vetting:
    """Of one campaign. `seconds`: the second choices; `replaced`: the winners that are left, with
    what takes the place of those that are lost; `has_time`: whether launches may be added for what
    is not clear. `environment`: what lets knobs be switched inside a launch."""

    def __init__(
        self,
        store: LaunchStore,
        toolchain: Toolchain,
        settings: Settings,
        guidelines: Guidelines,
        plan: Plan,
        sizes: Mapping[str, Sequence[int]],
        candidate_space: CandidateSpace,
        environment: Mapping[str, str],
        files: Files,
        seconds: SecondChoices,
        replaced: Callable[[list[Winner], Sequence[Winner]], list[Winner]],
        has_time: Callable[[], bool],
        *,
        crowded: bool,
    ) -> None:
        self._store = store
        self._settings = settings
        self._guidelines = guidelines
        self._sizes = sizes
        self._files = files
        self._seconds = seconds
        self._replaced = replaced
        self._real = settings.ranks.simulate is None
        self._acceptance = Acceptance(
            store,
            candidate_space,
            plan,
            settings,
            sizes,
            environment,
            files.with_winners,
            placement=store.starter.plain,
            crowded=crowded,
        )
        self._in_turn = AcceptanceInTurn(store, settings, sizes, crowded=crowded)
        self._proven = Proven(store, toolchain, plan, sizes)
        self._trials = Trials(store, settings, sizes)
        self._context = ConfirmContext(
            store,
            settings,
            guidelines,
            files.with_winners,
            self._unchanged(candidate_space),
            has_time,
        )
        self._confirmed: Confirmation | None = None  # the last one, with its table
        self._table: tables.ViolationTable | None = None
        self._harmless: list[Winner] = []  # of whole launches: tried where users stand
        self._standing: Vetted | None = None  # of the files that were measured last, if all stayed

    def turn(
        self,
        number: int,
        winners: Sequence[Winner],
        current: Sequence[Verdict],
        uses: OtherUses,
    ) -> Vetted:
        """`current`: the table so far; `uses`: its cells in other ways of use. Files that would be
        the same as those measured last are not measured again."""
        suite = Suite("confirm", number)
        winners = self._accepted(winners)
        if winners:
            winners = self._held_together(suite, winners)
        if not winners:
            return Vetted([], list(current), True)
        if self._standing and exported_alike(self._standing.winners, winners):
            return self._standing
        self._standing = None
        vetted = self._cold(number, suite, winners, current, uses)
        if not vetted.changed:
            self._standing = vetted
        return vetted

    def _cold(
        self,
        number: int,
        suite: Suite,
        winners: Sequence[Winner],
        current: Sequence[Verdict],
        uses: OtherUses,
    ) -> Vetted:
        """With the exported files in force, in launches of their own."""
        store, stage = self._store, f"round-{number}"
        environment = self._files.put_in_force(winners)
        store.progress.step(f"confirming {counted(len(winners), 'winner')}, cold, with the files")
        missed = self._proven.missed(number, winners, environment)
        if lost := missed or self._wrong(number, winners, environment):
            return Vetted(self._without(lost, winners), list(current), True)
        table = self._table = self._new_table(stage, suite, winners, environment, uses)
        faster = [winner for winner in winners if self._acceptance.shows_gain(winner)]
        done = self._confirmed = confirm(
            self._context,
            ConfirmTurn(suite, table, winners, environment, self._confirmed, faster),
        )
        if lost := self._tell_dropped(suite, done.dropped):
            return Vetted(self._replaced(done.winners, lost), done.verdicts, True)
        if lost := self._harmful(number, done.winners, environment):
            return Vetted(self._without(lost, done.winners), done.verdicts, True)
        # The table that a campaign ends with is looked at to its end, whatever time it takes.
        verdicts = table.decide()
        return Vetted(done.winners, verdicts, False, stage, table.ridden)

    def _new_table(
        self,
        stage: str,
        suite: Suite,
        winners: Sequence[Winner],
        environment: Mapping[str, str],
        uses: OtherUses,
    ) -> tables.ViolationTable:
        """With what the last one knows of cells that no winner reaches which has changed since."""
        last = self._confirmed
        changed = changed_between(last.in_force, winners) if last else None
        built_on = functions_built_on(self._guidelines)
        return tables.ViolationTable(
            *(self._store, stage, self._guidelines, self._settings, suite, environment),
            riders=uses.riders,
            earlier=None if changed is None else self._table,
            changed=lambda side: side_changes(changed or [], side, built_on, winners),
            in_force=partial(is_in_force, winners),
        )

    def _accepted(self, winners: Sequence[Winner]) -> list[Winner]:
        """Those that hold wherever a user stands, and second choices that do for the others."""
        if not self._real:
            return list(winners)
        done = self._acceptance.judge(winners, self._seconds.reserves)
        while done.suite is not None:
            lost = self._tell_dropped(done.suite, done.refused)
            for winner, why in done.narrowed:
                tell(self._store, "winner narrowed", done.suite.name, winner, why)
            self._seconds.keep(done.reserves, done.held, lost)
            left = self._replaced(done.winners, lost) if lost else done.winners
            done = self._acceptance.judge(left, self._seconds.reserves)
        return done.winners

    def _held_together(self, suite: Suite, winners: Sequence[Winner]) -> list[Winner]:
        """Those that files can hold together, and second choices for the others."""
        held, refused = self._files.together(winners)
        while refused:
            left = self._replaced(held, self._tell_dropped(suite, refused))
            held, refused = self._files.together(self._accepted(left))
        return held

    def _wrong(
        self, number: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Those that give wrong results somewhere in their ranges."""
        found = self._trials.wrong(number, winners, environment) if self._real else []
        return self._tell_dropped(Suite("trial", number), found)

    def _harmful(
        self, number: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Of the winners that hold for whole launches those that are slower where a user stands."""
        if not self._real:
            return []
        suite = Suite("accept", number, "cold")
        whole = [winner for winner in winners if not self._acceptance.fits(winner)]
        if all(winner in self._harmless for winner in whole):
            return []
        found = self._in_turn.harm(suite, winners, whole, environment)
        self._harmless += whole
        return self._tell_dropped(suite, found)

    def _without(self, lost: Sequence[Winner], winners: Sequence[Winner]) -> list[Winner]:
        return self._replaced([winner for winner in winners if winner not in lost], lost)

    def _tell_dropped(self, suite: Suite, lost: Sequence[tuple[Winner, str]]) -> list[Winner]:
        for winner, why in lost:
            tell(self._store, "winner dropped", suite.name, winner, why)
        return [winner for winner, _ in lost]

    def _unchanged(self, candidate_space: CandidateSpace) -> Sequence[PlanCase]:
        """Calls that no exported file changes: variants of ours that send messages, by name. What
        two launches differ by is seen in them; on a simulated machine that is nothing."""
        return enough_of(
            [
                PlanCase(function, size, names[0])
                for function, sizes in self._sizes.items()
                if self._real and (names := candidate_space.reference_variants(function))
                for size in sizes
            ]
        )


def tell(store: LaunchStore, kind: str, suite: str, winner: Winner, why: str) -> None:
    """What has become of a winner."""
    what = outcome.label(winner.variant, winner.configuration)
    text = f"{winner.function} {sizes(winner, ' B')} {what}{only(winner)}: {why}"
    store.tell(kind, text, suite, winner.function)
