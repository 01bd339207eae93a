"""Winners are vetted: tried wherever a user stands, exported, proven to be in force, called
hundreds of times, and measured cold with the whole table. What fails in one of these loses its
place, and the next turn begins with what takes it.

Winners that hold for whole launches only (cold knobs, settings of the process) are accepted here:
launches with the exported files in force take turns with launches of the library as it is, and the
cells of these winners are called in all circumstances in both. Two launches differ by more than two
calls of one launch, so that this finds harm where it is clear; what is called beside the default in
one launch (acceptance.py) has to be shown harmless."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from plumbline.campaign import pairs
from plumbline.campaign.acceptance import BLOCKS, WinnerAcceptance
from plumbline.campaign.confirm import Confirmation, ConfirmTurn, confirm
from plumbline.campaign.exported import ExportedFiles
from plumbline.campaign.other_uses import OtherUses, everywhere, planned
from plumbline.campaign.pairs import ConfirmContext, told, untouched
from plumbline.campaign.proof import Proven
from plumbline.core.cell import Target
from plumbline.core.guidelines import MESSAGE_PATTERNS, Guidelines
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.winner import (
    changed_between,
    deciding,
    exported_alike,
    far_sizes,
    functions_built_on,
    is_in_force,
    is_part,
    islands,
    side_changes,
)
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, ArmComparison, NextLook, claim_of, enough_of
from plumbline.measure.exclusions import SLOW_MESSAGES
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search import outcome
from plumbline.search.races import Setup
from plumbline.search.second_choice import SecondChoices
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system.words import counted
from plumbline.verify.decision import Design, by_interval
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Suite, Verdict, Winner
from plumbline_exporters.bundle import only, sizes

# Trials: hundreds of calls under each rule of the exported files, before anybody gets them.
# What a race has checked are the measured sizes, a few times. Here the files are in force as for a
# user. Each rule is called at volumes that nobody has measured, odd counts among them, with the
# types that applications have, with every root, and with fresh data each time. The probe draws for
# each call what a rule matches as well: another communicator, buffers at odd addresses,
# MPI_IN_PLACE, derived types, operations of a program, other counts. Every result is compared with
# what each rank computes for itself. A rule with one wrong result, or that fails, is not exported.

# Of a rule with the campaign's own type; more where that is enough for every count of its range.
CALLS = 1000
_MOST_CALLS = 5000
_OTHERS = 160  # with each of the other types
# So many in a row, the last one of them is special (probes/measure/trial.c): of any volume.
_SPECIAL = 8
# Data of all ranks in a trial. Large volumes are rare in it; where the smallest are too large for
# so many calls, there are fewer.
_MOST_BYTES = 128 << 20
_EVERY_BYTES = 512 << 20  # where every count has its turn
_FEWEST = 100


class Trials:
    """The trials of the winners of one campaign; what went well is not tried again, nor what is
    known to be `right`. `sizes` are the measured sizes by function; no kind of data has more than
    `most_calls`."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        most_calls: int = _MOST_CALLS,
        right: Sequence[Winner] = (),
    ) -> None:
        self._store = store
        self._most_calls = most_calls
        self._settings = settings
        self._sizes = sizes
        self._right = list(right)

    def wrong(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[tuple[Winner, str]]:
        """Return the `winners` with a wrong result where `environment` puts them in force, each
        with that result."""
        fresh = [
            winner for winner in winners if not any(is_part(winner, right) for right in self._right)
        ]
        cases = {
            replace(case, calls=min(case.calls, self._most_calls)): winner
            for winner in reversed(fresh)
            for case in trials(winner, self._settings, self._sizes)
        }
        if not cases:
            return []
        store, suite = self._store, Suite("trial", turn)
        calls = sum(case.calls for case in cases)
        store.progress.step(
            f"checking {counted(calls, 'result')} of {counted(len(fresh), 'winner')}"
        )
        seed = self._settings.sampling.seed
        plan = Plan(suite.name, seed, tuple(cases), blocks=1, warmup=0, rewarm=0)
        series = Series(store, suite, plan, environment)
        series.advance()
        wrong_cases = {
            case: "launches fail with calls of it under way"
            for case in cases
            if case in series.dropped
        }
        checked = [case for case in cases if case not in series.dropped]
        done = runs.listing(store.db, store.campaign, [suite.name])[-1]
        for _, check in runs.checks(store.db, store.campaign, suite.name, done.sequence):
            if check.outcome != "ok":
                case = checked[check.case]
                data = (case.data or plan.data).of(case.function)
                what = f"{data.type}/{data.op}" if data.op else data.type
                wrong_cases[case] = f"{check.outcome} result ({what}): {check.detail}"
        wrong = [(cases[case], why) for case, why in wrong_cases.items()]
        culprits = [trial for trial in wrong if not _is_around_another(trial[0], wrong)]
        self._right += [winner for winner in fresh if not any(winner is bad for bad, _ in wrong)]
        if not wrong:
            store.tell(
                "results checked",
                f"{counted(len(fresh), 'winner')}, {counted(calls, 'call')} at volumes in their "
                "ranges: all results are right",
                Suite("confirm", turn).name,
            )
        return list({id(winner): (winner, why) for winner, why in reversed(culprits)}.values())


def trials(
    winner: Winner, settings: Settings, sizes: Mapping[str, Sequence[int]]
) -> list[PlanCase]:
    """The trials of a winner: a case for each kind of data. The probe tries functions only; each
    launch checks the results of messages between two ranks."""
    functions = [winner.function]
    if winner.function == EVERY_FUNCTION:
        functions = [name for name in sizes if name not in MESSAGE_PATTERNS]
    checks = []
    for function in functions:
        most = winner.bytes_to
        if most == UNBOUNDED_BYTES:
            most = max(winner.bytes_from, *sizes[function], *far_sizes(winner, sizes[function]))
        here = PlanCase(function, most, least=winner.bytes_from)
        kinds = dict.fromkeys(  # count shapes are among what the probe draws for special calls
            circumstance.data
            for circumstance in everywhere(settings, here, crowded=False)
            if circumstance.data.counts == settings.cases.data.counts
        )
        for number, data in enumerate(kinds):
            own = number == 0 and winner.function != EVERY_FUNCTION
            counts = (most - winner.bytes_from) // data.width(function) + 1
            every = counts <= _MOST_CALLS and counts * most * settings.ranks.nprocs <= _EVERY_BYTES
            turns = counts + counts // (_SPECIAL - 1) + 1
            wanted = (max(CALLS, turns) if every else CALLS) if own else _OTHERS
            fewest = max(1, winner.bytes_from) * settings.ranks.nprocs
            calls = min(wanted, max(_FEWEST, _MOST_BYTES // fewest))
            mean = _MOST_BYTES // (calls * settings.ranks.nprocs)
            mean = min(most, max(winner.bytes_from, mean))
            checks.append(replace(here, calls=calls, mean=mean, data=data))
    return checks


def _is_around_another(winner: Winner, wrong: Sequence[tuple[Winner, str]]) -> bool:
    """Return whether its calls were those of a narrower rule too, which is wrong."""
    return any(
        inner is not winner
        and winner.function in (inner.function, EVERY_FUNCTION)
        and (winner.bytes_from, winner.bytes_to) != (inner.bytes_from, inner.bytes_to)
        and winner.bytes_from <= inner.bytes_from
        and inner.bytes_to <= winner.bytes_to
        for inner, _ in wrong
    )


FIRST = 4  # pairs of launches after which what does not even seem slower is measured no more


class Vetted(msgspec.Struct, frozen=True):
    """The outcome of a turn: the `winners` that are kept, with what takes the place of others; the
    `table`. `changed`: some were dropped, so that what is exported is not yet what was measured,
    and the table has one look, or the table waits for a search. `stage`: of the table; `ridden`:
    the suite that has its cells in other uses."""

    winners: list[Winner]
    table: list[Verdict]
    changed: bool
    stage: str = ""
    ridden: str = ""


class CampaignSetup(Setup, frozen=True, kw_only=True):
    """The setup of a campaign. `crowded`: more ranks than cores; `held`: winners of one like it."""

    toolchain: Toolchain
    guidelines: Guidelines
    crowded: bool
    held: Sequence[Winner] = ()


class Vetting:
    """The vetting of one campaign. `seconds`: the second choices; `replaced`: the winners that are
    left, with what takes the place of those that are lost; `has_time`: whether launches may be
    added for what is not clear. What an earlier campaign held is not tried again for its results,
    nor where messages take long."""

    def __init__(
        self,
        setup: CampaignSetup,
        files: ExportedFiles,
        seconds: SecondChoices,
        replaced: Callable[[list[Winner], Sequence[Winner]], list[Winner]],
        has_time: Callable[[], bool],
    ) -> None:
        store, settings, sizes = setup.store, setup.settings, setup.sizes
        self._store = store
        self._settings = settings
        self._guidelines = setup.guidelines
        self._sizes = sizes
        self._files = files
        self._seconds = seconds
        self._replaced = replaced
        self._real = settings.ranks.simulate is None
        # A program's sizes are worth a rule each.
        self._chosen_sizes = sizes if self._real and settings.cases.profile is None else {}
        crowded = setup.crowded
        self._acceptance = WinnerAcceptance(
            setup, files.with_winners, placement=store.starter.plain, crowded=crowded
        )
        self._in_turn = AcceptanceInTurn(store, settings, sizes, crowded=crowded)
        self._proven = Proven(store, setup.toolchain, setup.plan, sizes)
        self._trials = Trials(store, settings, sizes, right=setup.held)
        self._held = setup.held
        self._context = ConfirmContext(
            store,
            settings,
            setup.guidelines,
            files.with_winners,
            self._unchanged(setup.candidate_space),
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
        *,
        table_waits: bool = False,
    ) -> Vetted:
        """`current`: the table so far; `uses`: its cells in other ways of use; `table_waits`: it is
        measured after the search that comes next. Files that would be the same as those measured
        last are not measured again."""
        suite = Suite("confirm", number)
        winners = self._accepted(winners)
        if winners:
            winners = self._held_together(suite, winners)
            lost = self._tell_dropped(suite, islands(winners, self._chosen_sizes))
            winners = [winner for winner in winners if winner not in lost]
        if not winners:
            return Vetted([], list(current), True)
        if self._standing and exported_alike(self._standing.winners, winners):
            return self._standing
        self._standing = None
        vetted = self._cold(number, winners, current, uses, table_waits=table_waits)
        if not vetted.changed:
            self._standing = vetted
        return vetted

    def _cold(
        self,
        number: int,
        winners: Sequence[Winner],
        current: Sequence[Verdict],
        uses: OtherUses,
        *,
        table_waits: bool,
    ) -> Vetted:
        """Confirm with the exported files in force, in launches of their own."""
        store, suite, stage = self._store, Suite("confirm", number), f"round-{number}"
        environment = self._files.put_in_force(winners)
        store.progress.step(f"confirming {counted(len(winners), 'winner')}, cold, with the files")
        missed = self._proven.missed(number, winners, environment)
        if lost := missed or self._wrong(number, winners, environment):
            return Vetted(self._without(lost, winners), list(current), True)
        table = self._new_table(stage, suite, winners, environment, uses)
        self._table = None if table_waits else table
        faster = [winner for winner in winners if self._acceptance.shows_gain(winner)]
        done = self._confirmed = confirm(
            self._context,
            ConfirmTurn(
                suite, table, winners, environment, self._confirmed, faster, table_waits=table_waits
            ),
        )
        for cell, logs in done.beside.items():
            winner = deciding(done.in_force, cell)
            if winner is not None:
                self._acceptance.ratios.add(Candidate.of_winner(winner), cell, logs)
        kept, slow = self._where_messages_are_slow(done.winners)
        if lost := self._tell_dropped(suite, [*done.dropped, *slow]):
            return Vetted(self._replaced(kept, lost), done.verdicts, True)
        if lost := self._harmful(number, done.winners, environment):
            return Vetted(self._without(lost, done.winners), done.verdicts, True)
        if table_waits:
            return Vetted(done.winners, list(current), True)
        self._tell_unknown(done.winners)
        # The table that a campaign ends with is looked at to its end, whatever time it takes.
        verdicts = table.decide()
        return Vetted(done.winners, verdicts, False, stage, table.ridden)

    def _where_messages_are_slow(
        self, winners: Sequence[Winner]
    ) -> tuple[list[Winner], list[tuple[Winner, str]]]:
        """Return what is left of the winners without those sizes at which they are slower, or may
        well be, in launches in which messages take long, and these sizes, with the reason."""
        ratios, claim = self._acceptance.ratios, claim_of(self._settings)
        slow = self._store.slow_messages()
        if cells := self._unknown(winners):
            self._acceptance.measure_where_slow(winners, cells)
            slow = self._store.slow_messages()
        slower = ratios.slower(winners, slow.numbers, claim)
        doubtful = ratios.doubtful(winners, slow, claim) if slow.numbers else {}
        doubtful = {cell: doubtful[cell] for cell in self._without_held(winners, doubtful)}

        def why(cell: Target, comparison: Comparison) -> str:
            if cell in slower:
                return f"slower where messages take longer: {told(comparison)}"
            return (
                f"may be slower where messages take {slow.factor:.1f} times as long, which few of "
                f"the launches that measured it met; else {told(comparison)}"
            )

        return pairs.without(winners, {**doubtful, **slower}, self._sizes, why)

    def _unknown(self, winners: Sequence[Winner]) -> list[Target]:
        """Return the cells not measured where messages take long, if they ever did."""
        slow = self._store.slow_messages()
        if not slow.numbers:
            return []
        return self._without_held(winners, self._acceptance.ratios.unknown(winners, slow.numbers))

    def _without_held(self, winners: Sequence[Winner], cells: Iterable[Target]) -> list[Target]:
        """Return the `cells` whose winner no earlier campaign has tried."""
        return [
            cell
            for cell in cells
            if (winner := deciding(winners, cell)) is None
            or not any(is_part(winner, held) for held in self._held)
        ]

    def _tell_unknown(self, winners: Sequence[Winner]) -> None:
        slow = self._store.slow_messages()
        if cells := self._unknown(winners):
            self._store.tell(
                SLOW_MESSAGES,
                f"messages between two ranks took {slow.factor:.1f} times as long as usual in "
                f"{counted(len(slow.numbers), 'launch')}; whether winners are slower then is "
                f"not known of {counted(len(cells), 'cell')}, which few of these have measured",
            )

    def _new_table(
        self,
        stage: str,
        suite: Suite,
        winners: Sequence[Winner],
        environment: Mapping[str, str],
        uses: OtherUses,
    ) -> tables.ViolationTable:
        """Return the new table, with what the last one knows of cells that no winner reaches which
        has changed since."""
        last = self._confirmed
        changed = changed_between(last.in_force, winners) if last else None
        built_on = functions_built_on(self._guidelines)
        return tables.ViolationTable(
            self._store,
            stage,
            self._guidelines,
            self._settings,
            suite,
            environment,
            riders=uses.riders,
            earlier=None if changed is None else self._table,
            changed=lambda side: side_changes(changed or [], side, built_on, winners),
            in_force=partial(is_in_force, winners),
        )

    def _accepted(self, winners: Sequence[Winner]) -> list[Winner]:
        """Return the winners that hold wherever a user stands, and second choices for the other
        winners."""
        if not self._real:
            return list(winners)
        while True:
            winners = self._judged(winners)
            kept, slow = self._where_messages_are_slow(winners)
            if not slow:
                return winners
            winners = self._replaced(kept, self._tell_dropped(Suite("accept", step="slow"), slow))

    def _judged(self, winners: Sequence[Winner]) -> list[Winner]:
        """Return those that are no slower in any way of use, and second choices for the others."""
        done = self._acceptance.judge(winners, self._seconds.reserves)
        while done.suite is not None:
            lost = self._tell_dropped(done.suite, done.refused)
            for winner, why in done.narrowed:
                tell(self._store, "winner narrowed", done.suite.name, winner, why)
            self._seconds.keep(done.reserves, done.held, lost)
            replaced = self._replaced(done.winners, lost) if lost else done.winners
            done = self._acceptance.judge(replaced, self._seconds.reserves)
        return done.winners

    def _held_together(self, suite: Suite, winners: Sequence[Winner]) -> list[Winner]:
        """Return the winners that files can hold together, and second choices for the other
        winners."""
        held, refused = self._files.together(winners)
        while refused:
            replaced = self._replaced(held, self._tell_dropped(suite, refused))
            held, refused = self._files.together(self._accepted(replaced))
        return held

    def _wrong(
        self, number: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Return the winners that give wrong results somewhere in their ranges."""
        wrong = self._trials.wrong(number, winners, environment) if self._real else []
        return self._tell_dropped(Suite("trial", number), wrong)

    def _harmful(
        self, number: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Return the winners for whole launches that are slower where a user stands."""
        if not self._real:
            return []
        suite = Suite("accept", number, "cold")
        whole = [winner for winner in winners if not self._acceptance.fits(winner)]
        if all(winner in self._harmless for winner in whole):
            return []
        harm = self._in_turn.harm(suite, winners, whole, environment)
        self._harmless += whole
        return self._tell_dropped(suite, harm)

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
    """Tell what has become of a winner."""
    what = outcome.label(winner.variant, winner.configuration)
    text = f"{winner.function} {sizes(winner, ' B')} {what}{only(winner)}: {why}"
    store.tell(kind, text, suite, winner.function)


class AcceptanceInTurn:
    """The acceptance, in turn, of the winners of one campaign; `sizes` are the measured ones by
    function."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        *,
        crowded: bool,
    ) -> None:
        self._store = store
        self._settings = settings
        plan = tables.until_sure(settings, [])
        self._plan = msgspec.structs.replace(plan, blocks=min(BLOCKS, plan.blocks))
        self._cells = [
            PlanCase(name, size) for name, measured in sizes.items() for size in measured
        ]
        self._crowded = crowded

    def harm(
        self,
        suite: Suite,
        winners: Sequence[Winner],
        cold: Sequence[Winner],
        environment: Mapping[str, str],
    ) -> list[tuple[Winner, str]]:
        """Return the `cold` winners that are slower than the default somewhere, with the reason.
        `environment` puts all `winners` in force."""
        asked = self._asked(winners, cold)
        if not asked:
            return []
        pairs = self._compared(suite, list(asked), untouched(self._cells, winners), environment)
        harm_by_winner: dict[str, tuple[Winner, str]] = {}
        for case in pairs.lost:
            winner, name = asked[case]
            text = f"no right result {name} with it in force"
            harm_by_winner.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
        for decision in pairs.family.decisions:
            winner, name = asked[decision.key]
            own = paired_ratio(pairs.ratios[decision.key])
            # Of the hundreds of cells of a setting some seem slower by chance.
            rule = winner.function != EVERY_FUNCTION
            seems = rule and by_interval(own, pairs.claim.tolerance) == "slower"
            if decision.word == "slower" or seems:
                text = f"slower {name}: {told(own)}"
                harm_by_winner.setdefault(f"{winner.function} {winner.bytes_from}", (winner, text))
        return list(harm_by_winner.values())

    def _compared(
        self,
        suite: Suite,
        asked: Sequence[PlanCase],
        others: Sequence[PlanCase],
        environment: Mapping[str, str],
    ) -> ArmComparison[PlanCase]:
        """Pairs of launches; `others`, which no winner touches, tell launches apart."""
        store, count = self._store, self._settings.sampling.of_few_cells
        store.progress.step(
            f"trying winners as users call them, in turn with the library as it is: "
            f"{counted(len(asked), 'case')}, {counted(count, 'pair')} of launches"
        )
        # Before the last look nothing is decided, but for what does not seem slower.
        design = Design((FIRST, count), (0.05, 0.95))
        claim = msgspec.structs.replace(claim_of(self._settings), design=design)
        seconds = partial(self._seconds, [*asked, *others])
        pairs = ArmComparison(store, claim, seconds, others)

        def arms(look: NextLook, cases: Sequence[PlanCase]) -> tuple[Arm, Arm]:
            every = tuple(dict.fromkeys([*cases, *others]))
            plan = look.plan(store.no_surer(msgspec.structs.replace(self._plan, cases=every)))
            arm = Arm(look.suite(suite), plan, environment, store.starter.plain)
            return arm, arm.beside()

        def wanted() -> list[PlanCase]:
            seem = pairs.family.open()
            return [case.key for case in seem if case.suspicion() > math.sqrt(claim.limit)]

        pairs.until_decided(asked, arms, wanted)
        return pairs

    def _asked(
        self, winners: Sequence[Winner], cold: Sequence[Winner]
    ) -> dict[PlanCase, tuple[Winner, str]]:
        """The cells of the `cold` winners in all circumstances, in words."""
        asked: dict[PlanCase, tuple[Winner, str]] = {}
        for case in self._cells:
            winner = deciding(winners, Target(case.function, case.bytes))
            if winner is None or winner not in cold:
                continue
            whole = winner.function == EVERY_FUNCTION
            name = f"{case.function} at" if whole else "at"
            for where in everywhere(self._settings, case, crowded=self._crowded):
                # The cells of a setting were confirmed in the campaign's own use.
                if where.use or not whole:
                    text = f"{name} {case.bytes} B ({where.label(self._settings)})"
                    asked[where.case(case)] = winner, text
        return asked

    def _seconds(self, cases: Sequence[PlanCase], suite: str) -> dict[PlanCase, list[float]]:
        """The medians of each case, in the order of the launches."""
        store, data = self._store, self._plan.data
        own = {
            msgspec.structs.replace(case, data=(case.data or data).of(case.function)): case
            for case in cases
        }
        medians = runs.medians(store.db, store.campaign, [suite], use=None)
        return {own[planned(each.case, data.root)]: each.seconds for each in medians}
