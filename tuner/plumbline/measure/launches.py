"""Launches: from a plan to records in the database, each launch once.

A launch is known by (campaign, suite, sequence). One that is in the database is never started
again: a campaign that was interrupted replays its decisions from what is stored, and goes on
where the records end. A launch that fails is an outcome, kept with its reason, never an exception;
only a library that cannot start the probe at all is."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from plumbline.core.configuration import AS_IT_IS
from plumbline.core.plan import Plan, PlanCase, is_same, named
from plumbline.launch.groups import parts
from plumbline.launch.panel import PanelExperiment
from plumbline.launch.starter import Starter
from plumbline.measure import conditions, factors
from plumbline.measure.exclusions import LIBRARY, MEMBERS_DIFFER, PUT_ASIDE, Aside
from plumbline.measure.other_work import OtherWork
from plumbline.settings.identity import now
from plumbline.system.placement import Placement
from plumbline_db import campaigns, cost, runs, started
from plumbline_db.connection import Database
from plumbline_db.cost import LaunchCost
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.layout import FACTORS
from plumbline_db.probe_records import Header, ProbeRecord
from plumbline_db.records import Event, Failure, Run, Suite

# The amount that a launch measures: several times as long as it takes to start.
# A launch of a few short cases is over before mpirun and MPI_Init have paid for themselves. More
# samples make what it says surer, for little more time: with four ranks on two cores two thirds of
# the variance between launches, in the median cell, come from within them. What a launch takes is
# known from those before it: what a call of each case took, and how much more time there was beside
# the calls. A launch whose ranks were alive already measures for as long as one that starts them,
# so that both are equally sure. Nor is a case measured longer in a launch than launches differ: its
# standard error may be as large as that in races and at first looks, which decide most cells
# however they are measured, and a quarter of that in the first table and at later looks. Pure.

# A launch measures for so many times of a start: where it judges a table, and elsewhere. Ranks
# stay alive, so that most launches do not start any.
_STARTS_OF_TABLES = 4
STARTS = 2
_EXPLORES = frozenset(("search",))  # kinds of launches that judge no table
# A block of a case costs some 27 us beside its calls, and blocks tell no more than samples do:
# first so many times the samples of a block that were asked for, then so many times the blocks.
MOST_REPS = 16
MOST_BLOCKS = 1.5
_ANY = ""  # kind of launch
_USUAL_SPREAD = 0.1  # of medians of a case between launches, until launches have shown theirs
# Launches in different states of the machine differ by more; comparisons rest on those in one.
_MOST_SPREAD = 0.15


class Filling:
    """The filling of one campaign, launch by launch."""

    def __init__(self) -> None:
        self._start_seconds: float | None = None  # the least so far
        self._call_seconds: dict[PlanCase, float] = {}  # in the last launch that has timed it
        self._times_calls: dict[str, float] = {}  # seconds of measuring in those of calls, by kind
        self._spread = _USUAL_SPREAD  # of a case's medians, launch by launch

    def differ(self, spread: float) -> None:
        """The medians of a case in launches have this relative standard deviation."""
        self._spread = min(spread, _MOST_SPREAD)

    def learn(self, kind: str, plan: Plan, cost: LaunchCost) -> None:
        """Learn what a finished launch of `plan` has cost; `kind`: its stage and arm, as ranks
        start and are looked at alike."""
        if cost.start is not None:
            least = self._start_seconds
            self._start_seconds = cost.start if least is None else min(least, cost.start)
        seconds = 0.0
        for number, (samples, call) in cost.timed.items():
            case = plan.cases[number]
            self._call_seconds[_named(case)] = call
            seconds += samples * plan.calls_of_a_sample(case) * call
        if seconds:
            self._times_calls[kind] = self._times_calls[_ANY] = cost.measuring / seconds

    def filled(self, kind: str, plan: Plan, *, is_first: bool = True) -> Plan:
        """`plan` with as many samples as can be taken in the time of STARTS starts: first more of
        them in a block, then more blocks; never fewer than it has. `is_first`: it is for a first
        look."""
        usual = self._seconds(kind, plan)
        plan = self.no_surer(plan, is_first=is_first)
        if self._start_seconds is None or not usual:
            return plan
        judges = bool(plan.precision) and kind not in _EXPLORES
        starts = _STARTS_OF_TABLES if judges else STARTS
        times = max(1.0, starts * self._start_seconds / usual)
        reps = int(plan.reps * min(times, MOST_REPS))
        blocks = int(plan.blocks * min(times * plan.reps / reps, MOST_BLOCKS))
        return msgspec.structs.replace(plan, reps=reps, blocks=blocks)

    def no_surer(self, plan: Plan, *, is_first: bool = True) -> Plan:
        """`plan`, if it has a `precision`, with one no finer than what launches differ by; where it
        is not for a first look, than a quarter of that."""
        enough = self._spread if is_first else self._spread / 4
        precise = max(plan.precision, enough) if plan.precision else 0.0
        return msgspec.structs.replace(plan, precision=precise)

    def _seconds(self, kind: str, plan: Plan) -> float:
        """Return what measuring takes if each case takes all blocks; 0: nothing is known. A case
        that was never timed takes what the library's own call does, or as long as the others."""
        times = self._times_calls.get(kind, self._times_calls.get(_ANY, 0.0))
        known = calls = 0
        seconds = 0.0
        for case in plan.cases:
            own = plan.blocks * plan.calls_of_a_block(case)
            call = self._call_seconds.get(_named(case), self._call_seconds.get(_default(case)))
            calls += own
            if call is not None:
                known += own
                seconds += own * call
        return times * seconds * calls / known if known else 0.0


def _named(case: PlanCase) -> PlanCase:
    return msgspec.structs.replace(case, reps=0, plain_duplicate=False)


def _default(case: PlanCase) -> PlanCase:
    return msgspec.structs.replace(_named(case), variant="default", configuration=AS_IT_IS)


# So many different calls end launches one after the other before an earlier one is looked for.
_SUSPICIOUS = 3

_Fails = Callable[[Sequence[PlanCase]], bool]


class Progress(Protocol):
    """Told of each launch; shows it to people."""

    def launched(self, suite: str, run: Run) -> None: ...

    def step(self, text: str) -> None: ...

    def expect(self, seconds: float) -> None:
        """Launches may take so many seconds from now on."""
        ...

    def phase(self, number: int, of: int, name: str, spent_seconds: float) -> None:
        """A phase of a campaign begins; its launches so far took `spent_seconds`."""
        ...


class Silent:
    def launched(self, suite: str, run: Run) -> None:
        del suite, run

    def step(self, text: str) -> None:
        del text

    def expect(self, seconds: float) -> None:
        del seconds

    def phase(self, number: int, of: int, name: str, spent_seconds: float) -> None:
        del number, of, name, spent_seconds


# Different ranks with the same environment that launches of an experiment visit, by stage: where
# they only choose what others are then asked about, or wait for a state of the machine, and where
# levels of factors share the ranks of a turn.
_MEMBERS = {"search": 2, "process": 2, "wait": 1, FACTORS: 1}
# Messages of a launch take long from so many times the shortest ones on.
_LONG = 1.6
# Stages that prove what is exported start as many ranks as it is for. OWN_RANKS: what these stages
# and others see is compared.
OWN_RANKS = "own-ranks"
# The stage that shows whether groups of ranks may measure at the same time.
IN_COMPANY = "in-company"
_ON_OWN_RANKS = frozenset(("proof", "trial", "confirm", OWN_RANKS))
# What was seen is looked for again, on other ranks.
_FRESH = frozenset(("again", "once-more", "lost"))
# What shows that exported files are read at a start, and give right results then.
_COLD = frozenset(("proof", "trial"))


class LaunchOutcome(msgspec.Struct, frozen=True):
    """A launch; `stored`: an earlier run of the campaign has made it."""

    run: Run
    stored: bool


class SlowLaunches(msgspec.Struct, frozen=True):
    """The `numbers` of launches in which messages take long: `factor` times as long as usual."""

    numbers: frozenset[int] = frozenset()
    factor: float = 1.0


class LimitReached(PlumblineError):
    """No launch may start any more. What was measured is kept."""


class LaunchStore:
    """Starts launches for one campaign and keeps every one of them. `spent_seconds` is the wall
    time of the launches this process has asked for, stored or started: a decision that rests on it
    comes out the same when a campaign is replayed. After `limit_seconds` of it none starts, and
    LimitReached is raised. With `other_work`, a launch that ran beside some is repeated at once."""

    def __init__(
        self,
        db: Database,
        campaign: str,
        starter: Starter,
        progress: Progress | None = None,
        other_work: OtherWork | None = None,
    ) -> None:
        self.other_work = other_work
        self.db = db
        self.campaign = campaign
        self.starter = starter
        self.progress = progress or Silent()
        self.spent_seconds = 0.0
        self.limit_seconds = math.inf
        self.aside = Aside()
        self.repetitions: Mapping[PlanCase, int] = {}  # counted by a stopping rule
        self._asked: set[str] = set()
        self._filling = Filling()
        self._most_visits = conditions.most_visits(None)
        self._begun = False  # the first launch has been started

    @property
    def is_quiet(self) -> bool:
        """Return whether the last launch ran beside nothing else, as far as its record shows."""
        return self.other_work is None or self.other_work.is_quiet

    def filled(self, suite: Suite, plan: Plan) -> Plan:
        """`plan` with more samples, where its launches would measure for less than a few times
        what they take to start. A simulated machine has nothing to be surer of, and repetitions
        that were counted are enough."""
        counted = bool(self.repetitions) and any(case.reps for case in plan.cases)
        if counted or self.starter.family.simulates:
            return plan
        return self._filling.filled(
            _kind(suite), plan, is_first=suite.look == 1 or suite.stage in _EXPLORES
        )

    def no_surer(self, plan: Plan, *, is_first: bool = True) -> Plan:
        """Return `plan`, whose cases end when they are as sure as launches allow (Filling)."""
        return self._filling.no_surer(plan, is_first=is_first)

    def differ(self, spread: float) -> None:
        """Launches of this campaign differ by that much: so sure a case need be in one of them."""
        self._filling.differ(spread)

    def compare_members(
        self, cases: Iterable[Mapping[int, float]], members_of: Mapping[int, str]
    ) -> None:
        """Let later launches that judge visit more ranks if ranks differ more than visits do.
        `cases`: seconds of each case by launch; `members_of`: the ranks of each launch."""
        correlation = conditions.correlation(cases, members_of)
        visits = conditions.most_visits(correlation)
        if visits < self._most_visits:
            self._most_visits = visits
            self.tell(
                MEMBERS_DIFFER,
                f"ranks that stay alive differ (intraclass correlation {correlation:.2f}), so that "
                f"the same ones measure {visits:.1f} launches of an experiment at most",
            )

    def slow_messages(self) -> SlowLaunches:
        """Return the launches so far in which messages between two ranks took long at both ends,
        against those of the fastest tenth of all launches."""
        trips_ns = runs.trips(self.db, self._asked)
        shortest = {number: min(trips) for number, trips in trips_ns.items()}
        fast = sorted(shortest.values())[len(shortest) // 10] if shortest else 0
        slow = {number: trip for number, trip in shortest.items() if trip > _LONG * fast}
        factor = statistics.median(slow.values()) / fast if slow and fast else 1.0
        return SlowLaunches(frozenset(slow), factor)

    def _experiment(self, suite: Suite) -> PanelExperiment:
        whole = f"{self.campaign} {suite.experiment}"  # campaigns may share ranks
        if suite.stage in _MEMBERS:
            sets_knobs = suite.stage == "search"
            return PanelExperiment(whole, _MEMBERS[suite.stage], sets_knobs=sets_knobs)
        fresh = suite.step in _FRESH
        return PanelExperiment(
            name=f"{whole}-{suite.step}" if fresh else whole,
            members=conditions.FEWEST,
            most_visits=self._most_visits,
            part_of=whole if fresh else "",
            own_ranks=suite.stage in _ON_OWN_RANKS,
            in_company=suite.stage == IN_COMPANY,
            fresh=suite.stage in _COLD,
        )

    def part(self) -> None:
        """Keep under other names what is stored and was not asked for yet: it is of another way
        that this campaign has gone, with other limits."""
        runs.part(self.db, self.campaign, kept=self._asked)

    def tell(self, kind: str, text: str, suite: str = "", function: str = "") -> None:
        """Keeps what is worth remembering: `text` about a suite, about a function."""
        event = Event(time=now(), kind=kind, text=text, suite=suite, function=function)
        campaigns.put_event(self.db, self.campaign, event)

    def tell_aside(self, case: PlanCase, run: Run) -> None:
        """Tell that it was put aside, when `run` had failed."""
        what = named(
            case.function, case.variant, case.configuration.as_dict(), case.bytes, case.ranks
        )
        text = f"{what} {self.aside.why(case).removeprefix('it ')}; it is not measured again"
        if case.variant in LIBRARY and not case.configuration:
            text += ", nor is what is compared with it or made of it"
        event = Event(time=run.started, kind=PUT_ASIDE, text=text, function=case.function)
        campaigns.put_event(self.db, self.campaign, event)

    def launch(
        self,
        suite: Suite,
        sequence: int,
        plan: Plan,
        environment: Mapping[str, str],
        placement: Placement | None = None,
    ) -> LaunchOutcome:
        """The launch (suite, sequence): from the database when it is there, else from the machine.

        `environment` is what this launch has beyond the clean environment (hot switches, exported
        files in force), `placement` another one than that of the campaign: the same for all of a
        suite. Raises PlumblineError when the stored launch had another plan, or when this one ran
        under other conditions than those it would be joined with."""
        plan = self._in_equal_areas(suite, sequence, plan)
        text = plan.text()
        watched = self.other_work
        done = self._stored(suite, sequence, text)
        earlier = self._stored(suite.repeated(), sequence, text) if watched else None
        while done is None:
            if self.spent_seconds >= self.limit_seconds:
                raise LimitReached(
                    f"the budget was used up after {self.spent_seconds:.0f} s in launches; they "
                    "are kept, and the same command with a larger budget goes on"
                )
            self._begin()
            self.starter.begin(
                self._experiment(suite), lambda groups: parts(plan, groups, sequence)
            )
            run, records = self.starter.start(
                self.campaign, suite.name, sequence, text, dict(environment), placement
            )
            if watched and earlier is None and watched.asks_again(plan, records):
                earlier = self._keep(suite.repeated(), _of(suite.repeated(), run), records)
                self.starter.withdraw()
                watched.wait(self.progress.step)
            else:
                done = self._keep(suite, run, records)
        if watched:
            watched.learn(runs.load(self.db, done.run.id), repeated=earlier is not None)
        self._learn(suite, plan, done.run)
        return done

    def _in_equal_areas(self, suite: Suite, sequence: int, plan: Plan) -> Plan:
        """Return `plan` with the area for cold caches that the first launch has had. The probe
        chooses it by the memory of the node, which may grow between two launches."""
        if plan.cache != "cycle":
            return plan
        first = runs.first_header(self.db, self.campaign)
        if first is None or first[0] == runs.run_id(self.campaign, suite.name, sequence):
            return plan
        area_bytes = first[1].cache.bytes
        return msgspec.structs.replace(plan, cache=f"cycle:{area_bytes}") if area_bytes else plan

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if self.other_work:
                self.other_work.wait(self.progress.step)
            self.starter.start_by_choice()

    def _learn(self, suite: Suite, plan: Plan, run: Run) -> None:
        if run.finished and (launch_cost := cost.of_launch(self.db, run.id)):
            self._filling.learn(_kind(suite), plan, launch_cost)

    def _stored(self, suite: Suite, sequence: int, text: str) -> LaunchOutcome | None:
        self._asked.add(runs.run_id(self.campaign, suite.name, sequence))
        stored = runs.get(self.db, self.campaign, suite.name, sequence)
        if stored is None:
            return None
        if not is_same(stored.plan, text):
            raise PlumblineError(
                f"launch {suite.name} {sequence} of campaign {self.campaign} was made with another "
                "plan (another version of Plumbline?); start afresh with --new"
            )
        self.spent_seconds += stored.seconds
        return LaunchOutcome(run=stored, stored=True)

    def _keep(self, suite: Suite, run: Run, records: Sequence[ProbeRecord]) -> LaunchOutcome:
        self._require_same_conditions(run, records)
        runs.put(self.db, run, records, suite)
        if not run.finished:
            event = Event(time=run.started, kind="launch failed", text=run.reason, run=run.id)
            campaigns.put_event(self.db, self.campaign, event)
        self.spent_seconds += run.seconds
        self.progress.launched(run.suite, run)
        return LaunchOutcome(run=run, stored=False)

    def _require_same_conditions(self, run: Run, records: Sequence[ProbeRecord]) -> None:
        """Raises PlumblineError, before the launch is stored, when what run times depend on is not
        as it was in the first launch of the campaign, in the first that was started alike, and in
        the first of the suite."""
        header = next((record for record in records if isinstance(record, Header)), None)
        if not run.finished or header is None:
            return
        for first, across_suites, started_alike in (
            (runs.first_header(self.db, self.campaign), True, False),
            (started.first_alike(self.db, run), True, True),
            (runs.first_header(self.db, self.campaign, run.suite), False, True),
        ):
            if first is not None:
                factors.require_joinable(
                    [first, (f"{run.id}, now", header)],
                    across_suites=across_suites,
                    started_alike=started_alike,
                    may_differ=self.starter.may_differ,
                )


def _of(suite: Suite, run: Run) -> Run:
    """Return a launch as one of another suite."""
    id = runs.run_id(run.campaign, suite.name, run.sequence)
    return msgspec.structs.replace(run, id=id, suite=suite.name)


def _kind(suite: Suite) -> str:
    """Launches of one kind take alike."""
    return f"{suite.stage} {suite.arm}".rstrip()


# A launch may fail by chance: so many in a row condemn what was under way or in force.
IN_A_ROW = 2


class Series:
    """Launches of one plan under one name, each with a seed of its own; `launches`: so many so far.
    A case under which launches fail is left out of the following ones, here (`dropped`) and, where
    no exported files are in force, in the whole campaign (exclusions.py). Where one case after the
    other fails, an earlier one that they have in common is looked for.

    With `on_trial` what is in force is to blame instead of a case: then `condemned` says how
    launches fail, and there are no more of them."""

    def __init__(
        self,
        store: LaunchStore,
        suite: Suite,
        plan: Plan,
        environment: Mapping[str, str],
        placement: Placement | None = None,
        *,
        on_trial: bool = False,
    ) -> None:
        self.dropped: set[PlanCase] = set()
        self.condemned: Failure | None = None
        self._on_trial = on_trial
        self._failed_in_a_row = 0
        self._store = store
        self._suite = suite
        self._plan = plan
        self._environment = environment
        self._placement = placement
        self.launches = 0
        self._blamed: Counter[PlanCase] = Counter()  # since the last launch that has finished
        self._blameless = 0
        self._dropped_since: list[tuple[PlanCase, Run]] = []  # likewise
        self._trials = 0

    def advance(self, launches: int = 1) -> None:
        """Goes on until `launches` more launches have finished. Raises PlumblineError when launches
        fail and no case is to blame."""
        missing = launches
        while missing and not self.condemned:
            missing -= self._finishes()

    def _finishes(self) -> bool:
        """Return whether one more launch has finished; True where no case is left to measure."""
        cases = tuple(
            case
            for case in self._plan.cases
            if case not in self.dropped and not self._store.aside.why(case, self._environment)
        )
        if not cases and self._plan.cases:
            return True
        sequence = self.launches
        plan = msgspec.structs.replace(
            self._plan,
            name=self._suite.launch(sequence),
            seed=self._plan.seed + sequence,
            cases=cases,
        )
        outcome = self._store.launch(
            self._suite, sequence, plan, self._environment, self._placement
        )
        self.launches += 1
        return self._judge(outcome, cases)

    def _judge(self, outcome: LaunchOutcome, cases: Sequence[PlanCase]) -> bool:
        """Return whether the launch has finished; one that has not may have a case to drop."""
        failure = outcome.run.failure
        if self._on_trial:
            return self._try(failure)
        if failure is None:
            self._blamed.clear()
            for dropped in self._dropped_since if self._puts_aside else ():
                self._store.tell_aside(*dropped)
            self._dropped_since.clear()
            return True
        if failure.case is not None:
            case = cases[failure.case]
            self._blamed[case] += 1
            if self._blamed[case] >= self._enough(failure):
                self._condemn(case, outcome.run, failure)
                if len(self._dropped_since) % _SUSPICIOUS == 0:
                    self._look_before(case, cases[: failure.case], outcome.run, failure)
            return False
        if outcome.stored:
            return False  # what failed then may be put right now
        self._blameless += 1
        if self._blameless >= 3:
            raise PlumblineError(
                f"three launches of {self._suite.name} failed and no case is to blame; the last "
                f"one: {failure.text}\n{outcome.run.stderr[-1500:].strip()}\n"
                f"`{command_name()} doctor` tries the steps one by one; the same command goes on"
            )
        return False

    def _try(self, failure: Failure | None) -> bool:
        self._failed_in_a_row = self._failed_in_a_row + 1 if failure else 0
        if failure and self._failed_in_a_row >= self._enough(failure):
            self.condemned = failure
        return failure is None

    def _enough(self, failure: Failure) -> int:
        """Return whether so many failures are enough: what hangs is too dear to be tried again, and
        a simulated machine repeats itself."""
        once = self._store.starter.family.simulates or failure.timed_out
        return 1 if once else IN_A_ROW

    @property
    def _puts_aside(self) -> bool:
        return self._store.aside.is_as_it_is(self._environment)

    def _condemn(self, case: PlanCase, run: Run, failure: Failure) -> None:
        self.dropped.add(case)
        self._dropped_since.append((case, run))
        if self._puts_aside:
            self._store.aside.put(case, failure.how)

    def _look_before(
        self, victim: PlanCase, before: Sequence[PlanCase], run: Run, failure: Failure
    ) -> None:
        """Blame an earlier case in place of those condemned since the last launch that finished: at
        all sizes, for what it leaves behind does not depend on them."""
        culprit = guilty(before, victim, self._fails)
        if culprit is None:
            return
        for case, _ in self._dropped_since:
            self.dropped.discard(case)
            self._store.aside.take_back(case)
        self._dropped_since.clear()
        for case in self._plan.cases:
            if msgspec.structs.replace(case, bytes=culprit.bytes) == culprit:
                self.dropped.add(case)
                self._dropped_since.append((case, run))
                if self._puts_aside:
                    self._store.aside.put(case, f"in later calls, {failure.how}")

    def _fails(self, cases: Sequence[PlanCase]) -> bool:
        """Return whether a launch of these cases alone does."""
        suite = self._suite.of("blame")
        plan = msgspec.structs.replace(
            self._plan,
            name=suite.launch(self._trials),
            cases=tuple(dict.fromkeys(cases)),
        )
        done = self._store.launch(suite, self._trials, plan, self._environment, self._placement)
        self._trials += 1
        return not done.run.finished


def guilty(before: Sequence[PlanCase], victim: PlanCase, fails: _Fails) -> PlanCase | None:
    """The one of `before`, in the order in which a launch calls them, without which `victim` does
    not end it. None where `victim` ends launches by itself, or where no single one is to blame."""
    if not before or fails([victim]):
        return None
    suspects = list(before)
    while len(suspects) > 1:
        half = len(suspects) // 2
        suspects = suspects[:half] if fails([*suspects[:half], victim]) else suspects[half:]
    return suspects[0] if fails([suspects[0], victim]) else None
