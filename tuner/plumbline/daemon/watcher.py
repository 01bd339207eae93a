"""The knowledge of the campaigns that are watched, and the next step of them: step.py says which,
taking.py takes it. One at a time; all of it is in the database afterwards.

Windows, budget and the load of the host say whether the daemon may measure now; `why_not` is pure.
Once a day old rows are removed by their age. A clock that has jumped makes everything old: then the
removal waits a day for somebody to put the clock right."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from plumbline.daemon import looking, notify, step, taking, watched, windows
from plumbline.daemon.configuration import DaemonConfiguration, Neighbour, Retention
from plumbline.daemon.step import DaemonStep, Next, Paused, Situation, StepProgress, Work
from plumbline.daemon.taking import Advance
from plumbline.daemon.watched import Finder, Here, WatchedTask
from plumbline.daemon.windows import Clock, iso, moment_of
from plumbline.settings import Settings
from plumbline.system.machine import processing_units
from plumbline.system.words import counted
from plumbline_db import old_samples, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, of_machine
from plumbline_db.records import Campaign
from plumbline_db.watching import WatchDay, WatchedCampaign

# The installation and the active files are checked this often, and at each step.
LOOK_EVERY = timedelta(minutes=10)
# After an error a campaign pauses, each time twice as long.
REST, LONGEST_REST = timedelta(minutes=1), timedelta(hours=1)
_NEVER = datetime.min.replace(tzinfo=UTC)
_ERROR = "an error; it is tried again"
_AT_ONCE = 200  # canaries; the rest in the next steps
# The time since the last canary or the last call; afterwards the daemon waits as long.
_JUMP, _WAIT = timedelta(days=7), timedelta(days=1)


class WatchConditions(msgspec.Struct, frozen=True):
    """`closed`: why windows forbid it; `load` a processing unit (None: ranks run elsewhere);
    node-seconds of today and of the last seven days, this one too."""

    closed: str
    load: float | None
    today_seconds: float
    week_seconds: float


class Watcher:
    """`configuration` may be another one from one step to the next. `alive` is called while a step
    is under way."""

    def __init__(
        self,
        configuration: DaemonConfiguration,
        clock: Clock,
        find: Finder = watched.find,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self.configuration = configuration
        self._clock = clock
        self._find = find
        self._alive = alive
        self._looked: dict[str, datetime] = {}
        self._resting: dict[str, tuple[datetime, timedelta]] = {}
        self._removal = _Removal()

    def advance(self, db: Database) -> Advance:
        """The first step that a campaign has; else Step.WAIT, with the reason. Raises
        PlumblineError where it is not known what is to be watched."""
        waits: list[Advance] = []
        lines = self._removal.once_a_day(db, self.configuration.keep, self._clock())
        for each in watched.asked(db, self.configuration):
            done = self._campaign(db, each)
            if done.step is not DaemonStep.WAIT or done.told or done.error:
                return msgspec.structs.replace(done, said=[*lines, *done.said])
            waits.append(done)
        due = min((waiting.due for waiting in waits if waiting.due is not None), default=None)
        because = next((waiting.because for waiting in waits if waiting.because), "")
        return Advance(DaemonStep.WAIT, because=because, due=due, said=lines)

    def plan(self, db: Database) -> list[tuple[WatchedTask, Next, windows.Due]]:
        """Return what would be done now, and when the next canary is due, of each campaign."""
        plans = []
        for each in watched.asked(db, self.configuration):
            _, following, due = self._following(db, each, self._clock())
            plans.append((each, following, due))
        return plans

    def _campaign(self, db: Database, asked: WatchedTask) -> Advance:
        now = self._clock()
        until, _ = self._resting.get(asked.name, (now, REST))
        if until > now:
            return Advance(DaemonStep.WAIT, asked.name, _ERROR, until)
        row, following, due = self._following(db, asked, now)
        looked = self._looked.get(asked.name, _NEVER)
        if following.step is DaemonStep.WAIT and (row is None or now - looked < LOOK_EVERY):
            return Advance(DaemonStep.WAIT, asked.name, following.because, due.at)
        try:
            with of_machine():
                done = self._taken(db, asked, following, due)
        except Paused as pause:
            return Advance(DaemonStep.WAIT, asked.name, str(pause), due.at)
        except PlumblineError as error:
            return self._failed(db, asked, following, error)
        self._resting.pop(asked.name, None)
        return done

    def _taken(
        self, db: Database, asked: WatchedTask, following: Next, due: windows.Due
    ) -> Advance:
        """After a look at what is installed, which may make another step of it."""
        here = Here(*self._find(asked.settings, asked.mpi_prefix, db.path.parent))
        if asked.campaign is None:
            return self._whole(db, asked, here)
        work = self._work(db, asked, asked.campaign, here, following.step)
        self._looked[asked.name] = self._clock()
        if changed := looking.look(work):
            news = notify.of_changes(work.campaign.id, changed)
            stale = looking.stale(watching.campaign(db, work.campaign.id))
            return Advance(
                DaemonStep.WAIT, asked.name, stale, due.at, said=[news.what], told=[news]
            )
        if following.step is DaemonStep.WAIT:
            return Advance(DaemonStep.WAIT, asked.name, following.because, due.at)
        if following.step is DaemonStep.CAMPAIGN:
            return self._whole(db, asked, here)
        return taking.take(work, following.step, due)

    def _whole(self, db: Database, asked: WatchedTask, here: Here) -> Advance:
        settings = asked.settings.on(here.toolchain.launcher.processing_units())
        asked = msgspec.structs.replace(asked, settings=settings)
        begun = taking.begun(db, here, settings)
        return taking.whole(self._work(db, asked, begun, here, DaemonStep.CAMPAIGN))

    def _work(
        self, db: Database, asked: WatchedTask, campaign: Campaign, here: Here, taken: DaemonStep
    ) -> Work:
        long = taken in (DaemonStep.SEARCH, DaemonStep.CAMPAIGN)
        progress = StepProgress(
            db,
            self._clock,
            campaign.nodes,
            self._alive,
            (lambda: self._why_not(db, asked, under_way=True)) if long else str,
        )
        return Work(
            db=db,
            campaign=campaign,
            settings=asked.settings,
            here=here,
            configuration=self.configuration,
            in_force=watched.files_in_force(db, campaign, here, self.configuration.apply),
            clock=self._clock,
            progress=progress,
            tries_again=self._rest(asked) < LONGEST_REST,
        )

    # --- what is known ---------------------------------------------------------------------------

    def _following(
        self, db: Database, asked: WatchedTask, now: datetime
    ) -> tuple[WatchedCampaign | None, Next, windows.Due]:
        """The row of a campaign, its next step, and when its next canary is due."""
        row = None if asked.campaign is None else watching.campaign(db, asked.campaign.id)
        stored = moment_of(row.due) if row else None
        interval, times = self.configuration.canary.interval, self.configuration.schedule.times
        due = windows.due(stored, interval, times, now)
        return row, step.following(self._known(db, asked, row, due=due.now(now))), due

    def _known(
        self, db: Database, asked: WatchedTask, row: WatchedCampaign | None, *, due: bool
    ) -> Situation:
        situation = Situation(
            table=asked.campaign is not None,
            may_run_whole=self.configuration.search.whole,
            may_search=self.configuration.search.open,
            why_not=self._why_not(db, asked),
            due=due,
        )
        if asked.campaign is None:
            return situation
        id = asked.campaign.id
        states = {alarm.state for _, alarm in watching.still_open(db, id)}
        retunings = [retuning for _, retuning in watching.retunings(db, id) if not retuning.ended]
        return msgspec.structs.replace(
            situation,
            stale=looking.stale(row),
            under_way=watching.under_way(db, id) is not None,
            raised="raised" in states,
            confirmed="confirmed" in states,
            applied=any(retuning.state == "applied" for retuning in retunings),
            searching=any(retuning.state == "searching" for retuning in retunings),
        )

    def _why_not(self, db: Database, asked: WatchedTask, *, under_way: bool = False) -> str:
        """Return why nothing is to be measured now; the load of what is `under_way` is no
        reason."""
        now = self._clock()
        days = watching.days(db, iso(now - timedelta(days=7))[:10])
        situation = look(self.configuration, asked.settings, days, now)
        if under_way:
            situation = msgspec.structs.replace(situation, load=None)
        return why_not(self.configuration.neighbour, situation)

    def _rest(self, asked: WatchedTask) -> timedelta:
        """After the last error."""
        return self._resting[asked.name][1] if asked.name in self._resting else REST / 2

    def _failed(
        self, db: Database, asked: WatchedTask, following: Next, error: PlumblineError
    ) -> Advance:
        now = self._clock()
        rest = min(2 * self._rest(asked), LONGEST_REST)
        self._resting[asked.name] = now + rest, rest
        watching.add(db, WatchDay(iso(now)[:10], errors=1))
        text = f"{asked.name}: {following.step.value}: {error}"
        return Advance(DaemonStep.WAIT, asked.name, _ERROR, now + rest, text, said=[text])


class _Removal:
    """Knows on which day it was done last."""

    def __init__(self) -> None:
        self._day = ""
        self._asked: datetime | None = None
        self._jumped: datetime | None = None

    def once_a_day(self, db: Database, keeping: Retention, now: datetime) -> list[str]:
        """Says what is gone."""
        today = iso(now)[:10]
        if today == self._day:
            return []
        before = self._asked or _last_canary(db) or now
        self._asked = now
        if now - before > _JUMP:
            self._jumped = now
            return [
                f"the clock jumped {(now - before).days} days ahead: nothing is removed by age for "
                "a day"
            ]
        if self._jumped is not None and self._jumped <= now < self._jumped + _WAIT:
            return []
        launches, rows = keeping.ages
        gone = old_samples.launches(db, iso(now - launches), _AT_ONCE)
        if gone.canaries < _AT_ONCE:
            self._day = today
        old = old_samples.rows(db, iso(now - rows))
        lines = []
        if gone.canaries:
            day = WatchDay(today, pruned_canaries=gone.canaries, pruned_launches=gone.launches)
            watching.add(db, day)
            lines.append(
                f"removed by age: {counted(gone.launches, 'launch')} of "
                f"{gone.canaries} canaries that were begun from {gone.first} to {gone.last}"
            )
        if old:
            lines.append(f"removed by age: {counted(old, 'row')} of older things")
        return lines


def _last_canary(db: Database) -> datetime | None:
    return next((moment_of(canary.started) for _, canary in watching.canaries(db, last=1)), None)


def why_not(limits: Neighbour, situation: WatchConditions) -> str:
    """Return why nothing is measured now, for people; "": it may be."""
    if situation.closed:
        return situation.closed
    for spent, limit, when in (
        (situation.today_seconds, limits.node_seconds_a_day, "today"),
        (situation.week_seconds, limits.node_seconds_a_week, "in the last seven days"),
    ):
        if spent >= limit:
            return f"{spent:.0f} node-seconds were used {when}, of {limit:.0f}"
    if situation.load is not None and situation.load > limits.load:
        return f"the load is {situation.load:.2f} for each processing unit, above {limits.load:.2f}"
    return ""


def look(
    configuration: DaemonConfiguration, settings: Settings, days: Sequence[WatchDay], now: datetime
) -> WatchConditions:
    """Return what there is to judge."""
    here = settings.ranks.place is None
    today = now.date().isoformat()
    since = (now - timedelta(days=6)).date().isoformat()
    return WatchConditions(
        closed=configuration.schedule.times.closed(now),
        load=os.getloadavg()[0] / processing_units() if here else None,
        today_seconds=sum(day.node_seconds for day in days if day.day == today),
        week_seconds=sum(day.node_seconds for day in days if since <= day.day <= today),
    )
