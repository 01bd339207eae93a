"""One job of an application that is tuned in its own allocation (`plumbline run --tune`).

Before the application starts, a campaign measures the calls that no database knows, within a budget
of seconds; then the winners that were confirmed are put in force. The campaign is a process of its
own: nothing that happens to it, or to a database, keeps the application from starting."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import in_force, place_knowledge
from plumbline.campaign.in_force import ActiveFiles
from plumbline.campaign.place_knowledge import Knowledge, KnownPlace
from plumbline.core import application as applications
from plumbline.core.application import Application, Calls
from plumbline.results import control_record, profiling
from plumbline.results.profiling import ProfiledRun
from plumbline.settings import (
    LAYOUT_ALONE,
    RANKS_ALONE,
    campaign_file,
    identity,
    ranks_asked,
    site_rules,
)
from plumbline.settings.ranks_asked import Start
from plumbline.settings.toolchain import find_toolchain
from plumbline.site import layouts
from plumbline.site.layouts import RankLayout
from plumbline.system import answers, paths, process, version
from plumbline.system.words import counted
from plumbline_db import campaigns, cost, lock, scratch, spool, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign
from plumbline_exporters.bundle import is_profile

# Seconds of a budget that are kept for the end of the campaign and for the proof.
_KEPT_SECONDS = 4.0
_KEPT_SHARE = 0.25
# Of a budget, for a call: with two ranks on two cores a campaign for two calls takes 11 s.
_SECONDS_A_CALL = 10.0
_LEAST_SECONDS = 4.0  # a campaign that has less time finds nothing
_LEAST_BUDGET = 6  # seconds of --tune with which a campaign has so much
_MOST_BUDGETS = 2  # that are spent on a call: a campaign that takes longer measures it no more
# The share of the campaign's time that its launches may take; the other part is starts and looks.
_IN_LAUNCHES = 0.7
_CONTROLLED_SHARE = "0.02"  # of replaced calls, which the library answers itself
_CONTROL, _SLOWER = ".control.json", ".slower.json"
_NAME = re.compile(r"[^A-Za-z0-9._+-]")
_TRY_LATER = 75

Tell = Callable[[str], None]


class TunedCommand(msgspec.Struct, frozen=True):
    """A command to start, and the seconds that measuring may take. `database`: the one that is
    asked first; `proves`: show that winners are in force before the application starts."""

    database: Path
    mpi_prefix: Path | None
    application: Sequence[str]
    binary: Path
    seconds: float
    proves: bool = True


class PreparedStart(msgspec.Struct, frozen=True):
    """The way in which the application is started. `profile`: the file for its calls, if it is to
    be recorded; `control`: the file for what winners saved in the application itself."""

    place: KnownPlace
    environment: dict[str, str]
    profile: Path | None
    control: Path | None


def prepare(request: TunedCommand, tell: Tell) -> PreparedStart:
    """Measure what is unknown and worth it, and put winners in force. Raises PlumblineError where
    the command or its library is not understood."""
    with answers.remembered(_folder_of_jobs(request.database) / "answers"):
        return _prepared(request, tell)


def _prepared(request: TunedCommand, tell: Tell) -> PreparedStart:
    deadline = time.monotonic() + request.seconds
    start = ranks_asked.of(request.application, os.environ, request.binary)
    job = _Job(request, start, tell)
    profile = job.profile()
    found = job.knowledge(profile)
    if profile is None:
        tell(f"{job.name}: no profile yet, so this run is recorded and the next one is tuned")
    else:
        found = job.tuned(profile, found, deadline)
    files = job.active_files(found)
    environment = profiling.usual_environment(
        job.place.toolchain.family, job.place.toolchain.installation
    )
    if files is not None:
        environment = job.in_force(files, environment)
    controls = files is not None and any(map(is_profile, files.winners))
    return PreparedStart(
        place=job.place,
        environment=environment,
        profile=job.profile_file if profile is None else None,
        control=job.profile_file.with_suffix(_CONTROL) if controls else None,
    )


def run(request: TunedCommand, prepared: PreparedStart, tell: Tell) -> int:
    """Run the application to its end, and keep its profile. Return its exit status, as a shell sees
    it. Raises PlumblineError where it was not started, and nothing once it was."""
    installation = prepared.place.toolchain.installation
    preload = paths.layout().preload(paths.build_id(installation.library))
    state = _state_folder(request.database)
    with scratch.folder(state) as folder:
        variables: dict[str, str] = {}
        record = folder / "control.json"
        if prepared.control is not None:
            variables["PLUMBLINE_CONTROL"] = _CONTROLLED_SHARE
            variables["PLUMBLINE_CONTROL_OUT"] = str(record)
        if prepared.profile is not None:
            variables["PLUMBLINE_CALLS"] = str(folder)
        ended = profiling.recorded_run(
            request.application, installation, preload, variables, folder, prepared.environment
        )
        if prepared.profile is not None:
            _keep_profile(request, prepared.profile, folder, ended, tell)
        if prepared.control is not None:
            own = state / request.database.name
            _take_control(record, prepared.control, prepared.place, own, tell)
    return ended.status


def _take_control(record: Path, kept: Path, place: KnownPlace, own: Path, tell: Tell) -> None:
    """Keep the record, and the rules that were switched off: for the application beside it, and for
    the place in the database `own` and in the spool."""
    try:
        slower = control_record.take(record, kept, _slower(kept), identity.now())
        for rule in slower:
            tell(
                f"{rule.function}, {rule.bytes_from}-{rule.bytes_to} B: its winner was slower than "
                "the library and was switched off; later jobs do not use it"
            )
        if slower:
            name = kept.name.removesuffix(_CONTROL)
            _put_into_spool(own, place_knowledge.store_slower(own, place, name, slower), tell)
    except PlumblineError as error:
        tell(str(error))


def _put_into_spool(own: Path, row: str, tell: Tell) -> None:
    """Write a campaign or a job of the database `own` into the spool of the site, if it has one."""
    folder = os.environ.get(spool.VARIABLE)
    if folder:
        try:
            spool.put(own, Path(folder), row, identity.now())
        except PlumblineError as error:
            tell(f"not put into the spool: {error}")


def _slower(control: Path) -> Path:
    """Return the file of the rules that jobs switched off."""
    return control.with_name(control.name.replace(_CONTROL, _SLOWER))


def _keep_profile(
    request: TunedCommand, file: Path, folder: Path, ended: ProfiledRun, tell: Tell
) -> None:
    """Write the profile of a run whose ranks all reached MPI_Finalize."""
    try:
        ranks = profiling.ranks(folder)
        if not ranks or not all(rank.finished for rank in ranks):
            what = "not every rank reached MPI_Finalize" if ranks else "no rank was recorded"
            tell(f"{what}, so the next run is recorded again (docs/application.md)")
            return
        profile = profiling.application(
            ranks,
            version=version.PLUMBLINE,
            command=request.application,
            started=ended.started,
            status=ended.status,
        )
        applications.write(file, profile)
        tell(f"{file}: {counted(len(profile.calls), 'kind')} of calls; the next run is tuned")
    except (PlumblineError, ArithmeticError, LookupError, OSError, ValueError) as error:
        tell(f"the profile is not kept: {error}")


def _state_folder(database: Path) -> Path:
    """Return the folder of what jobs of this user keep: that of the database where the user may
    write it, else the user's own. It is made where it does not exist."""
    for folder in (database.absolute().parent, paths.state_folder()):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        parts = (folder / database.name, folder / "applications")
        if os.access(folder, os.W_OK) and all(
            not part.exists() or os.access(part, os.W_OK) for part in parts
        ):
            return folder
    raise PlumblineError(f"{paths.state_folder()} cannot be written: set XDG_STATE_HOME")


def _folder_of_jobs(database: Path) -> Path:
    """Return the folder of profiles, files and answers beside the database of jobs."""
    folder = _state_folder(database) / "applications"
    folder.mkdir(exist_ok=True)
    return folder


class _Job:
    """One job: its place, its application's profile, and the databases that know about them."""

    def __init__(self, request: TunedCommand, start: Start, tell: Tell) -> None:
        if not start.launcher or start.ranks is None or start.ranks < 2:
            raise PlumblineError(
                "the command is no mpirun, mpiexec or srun with a number of ranks before the "
                "program (-n, at least 2)"
            )
        if ranks_asked.names_hosts(start):
            raise PlumblineError("the command names hosts of its own (docs/application.md)")
        self._request, self._start, self._tell = request, start, tell
        (task,) = campaign_file.tasks(None, {"nprocs": start.ranks}, request.mpi_prefix)
        self._folder = _folder_of_jobs(request.database)
        self._own = self._folder.parent / request.database.name
        toolchain = find_toolchain(
            request.mpi_prefix, settings=task.settings, beside=self._own.parent
        )
        _, installation = profiling.library_of(request.binary, request.mpi_prefix)
        if installation.library.fingerprint != toolchain.installation.library.fingerprint:
            raise PlumblineError(
                f"{request.binary} belongs to {installation.library.id}, and mpirun on PATH to "
                f"another library: name the library with --mpi"
            )
        settings = task.settings.on(toolchain.launcher.processing_units())
        rules = site_rules.find(toolchain, settings)
        self.place = KnownPlace(toolchain, settings, rules.text if rules else "")
        ranks = settings.ranks
        program = _NAME.sub("_", Path(request.application[len(start.launcher)]).name)
        self.name = f"{program}-{ranks.node_count}x{ranks.ppn}"
        self.profile_file = self._folder / f"{self.name}.json"

    def profile(self) -> Application | None:
        """Return the stored profile of the application, if it fits the command and the program was
        not changed since."""
        file = self.profile_file
        program = Path(self._request.application[len(self._start.launcher)])
        try:
            changed = program.stat().st_mtime if program.exists() else 0.0
            if changed > file.stat().st_mtime:
                return None
            return applications.decoded(user_files.read(file), file)
        except (OSError, PlumblineError):
            return None

    def knowledge(self, profile: Application | None) -> list[Knowledge]:
        """Return what the databases contain, as far as they can be read: about all ranks, then
        about the communicators of fewer ranks in a profile."""
        readable: list[Path] = []
        for path in dict.fromkeys((self._request.database.absolute(), self._own)):
            with self._telling("nothing is known from it"):
                if path.exists():
                    Database.open(path).close()
                    readable.append(path)
        known: list[Knowledge] = []
        for place in [self.place, *(self._parts(profile) if profile else ())]:
            found = Knowledge(place)
            with self._telling("nothing is known"):
                now = datetime.datetime.now(datetime.UTC)
                found = place_knowledge.read(readable, place, now)
            known.append(found)
        return known

    def _parts(self, profile: Application) -> Iterator[KnownPlace]:
        """Yield the places of communicators of fewer ranks, those with most work first. Where ranks
        share cores, some of them alone are faster than beside the others: there is none."""
        settings = self.place.settings
        ranks = settings.ranks
        units = self.place.toolchain.launcher.processing_units()
        if ranks.placement(units).oversubscribed:
            return
        own = RankLayout(ranks.node_count, ranks.ppn)
        work = layouts.of_application(profile)
        for layout in sorted(work, key=lambda each: -work[each]):
            if layout == own or layout.nodes > own.nodes or layout.ppn > own.ppn:
                continue
            nodes = None if ranks.place is None else layout.nodes
            few = settings.but(
                nprocs=layout.nprocs,
                nodes=nodes,
                within=str(own),
                limited_to=RANKS_ALONE if own.nodes == 1 else LAYOUT_ALONE,
            )
            yield msgspec.structs.replace(self.place, settings=few, is_part=True)

    @contextlib.contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Report an error of the block, and go on without what it was for."""
        try:
            yield
        except PlumblineError as error:
            self._tell(f"{what}: {error}")

    def active_files(self, known: Sequence[Knowledge]) -> ActiveFiles | None:
        files = None
        with self._telling("no winners are in force"):
            slower = control_record.slow_rules(self.profile_file.with_suffix(_SLOWER))
            files = place_knowledge.active_files(known, self._folder, slower)
        return files

    def in_force(self, files: ActiveFiles, usual: dict[str, str]) -> dict[str, str]:
        """Return the application's environment with the winners that are shown to be in force."""
        try:
            environment = in_force.environment(files)
            shown = in_force.unproven(self._start)
            if self._request.proves:
                shown = in_force.shown_lately(files, environment, self._start, self._own.parent)
        except PlumblineError as error:
            self._tell(f"no winners are in force: {error}")
            return usual
        for line in (*shown.statements, in_force.applying(files, environment, shown)):
            self._tell(line)
        if elsewhere := in_force.elsewhere(files, self._request.application):
            self._tell(elsewhere)
        return in_force.for_program(environment, self._request.binary)

    # --- measuring ------------------------------------------------------------------------------

    def tuned(
        self, profile: Application, known: list[Knowledge], deadline: float
    ) -> list[Knowledge]:
        """Measure what is unknown and worth it, a portion after the other, as long as time is left.
        Return what is known then."""
        lacking = [calls for each in known for calls in each.lacking(profile)]
        wanted = self._wanted(profile, known)
        left = len(lacking) - len(self._not_given_up(profile, lacking))
        if left:
            self._tell(
                f"{self.name}: {counted(left, 'kind')} of calls left to the "
                f"library: {_MOST_BUDGETS} budgets, or a whole campaign, did not decide"
            )
        if wanted is None:
            self._tell(f"{self.name}: every call that matters is known; nothing is measured")
        finished = "none yet"
        while wanted and finished:
            measured: list[Calls] = []
            try:
                finished, measured = self._measure(profile, *wanted, deadline)
            except (PlumblineError, OSError) as error:
                self._tell(f"not measured: {error}")
                finished = ""
            known = self.knowledge(profile)
            wanted = self._wanted(profile, known)
            if finished and not (wanted and any(each in wanted[1] for each in measured)):
                # A campaign that a later job continues is left out: it is imported once.
                _put_into_spool(self._own, finished, self._tell)
        return known

    def _wanted(
        self, profile: Application, known: Sequence[Knowledge]
    ) -> tuple[KnownPlace, list[Calls]] | None:
        """Return the calls that are measured next, all of one place: those of the place with the
        calls that may save most. None: nothing is worth it."""
        best: tuple[KnownPlace, list[Calls]] | None = None
        most_seconds = 0.0
        for each in known:
            calls = self._not_given_up(profile, each.lacking(profile))
            if calls and each.saving(calls[0]) > most_seconds:
                best, most_seconds = (each.place, calls), each.saving(calls[0])
        return best

    def _not_given_up(self, profile: Application, lacking: Sequence[Calls]) -> list[Calls]:
        """Return the calls without those that are measured no more until results are old: of a
        campaign that has taken the budgets of several jobs, or that was for one kind of calls and
        has ended."""
        if not self._own.exists():
            return list(lacking)
        given_up: list[Calls] = []
        most_seconds = _MOST_BUDGETS * _IN_LAUNCHES * self._request.seconds
        with self._telling("nothing is given up"), Database.open(self._own) as db:
            for campaign, own in self._campaigns_of(db, profile):
                if campaign.state == "finished":
                    is_over = len(own.calls) == 1
                else:
                    is_over = cost.cost(db, campaign.id).seconds >= most_seconds
                if is_over and not self._is_old(campaign):
                    given_up += own.calls
        return [each for each in lacking if each not in given_up]

    def _measure(
        self, profile: Application, place: KnownPlace, calls: Sequence[Calls], deadline: float
    ) -> tuple[str, list[Calls]]:
        """Run a campaign for the first of these calls of a place until it ends, or until the budget
        is used up. Return its id if it ended and another one may follow, else an empty text, and
        its calls. Raises PlumblineError where the database cannot be read, OSError for files."""
        seconds = deadline - time.monotonic()
        seconds -= min(_KEPT_SECONDS, _KEPT_SHARE * self._request.seconds)
        if seconds < _LEAST_SECONDS:
            enough = self._request.seconds >= _LEAST_BUDGET
            next_step = "the next job goes on" if enough else f"--tune {_LEAST_BUDGET}s measures"
            kinds = counted(len(calls), "kind")
            self._tell(f"{kinds} of calls not measured: the time is up; {next_step}")
            return "", []
        holder = lock.writer(self._own)
        if holder is not None:
            by = f"{self._own} is being written by {holder.named}"
            self._tell(f"not measured: {by}; this job starts with what is known")
            return "", []
        reduced, earlier = self._portion(profile, applications.alike(calls))
        way = applications.way(reduced.calls)
        share = sum(each.work_seconds for each in reduced.calls) / (profile.seconds or 1.0)
        ranks = place.settings.ranks
        where = f" on communicators of {counted(ranks.nprocs, 'rank')}" if place.is_part else ""
        self._tell(
            f"{self.name}: measuring {counted(len(reduced.calls), 'kind')} of calls{where}, "
            f"{share:.1%} "
            f"of its time, for at most {seconds:.0f} s"
            + "".join(f", {key} {value}" for key, value in way.items())
        )
        begun = time.monotonic()
        with scratch.folder(self._folder) as folder:
            file = folder / "calls.json"
            applications.write(file, reduced)
            words = self._campaign(file, place, earlier, _IN_LAUNCHES * seconds)
            for key, value in way.items():
                words += ["--type", value] if key == "type" else ["--set", f"{key}={value}"]
            ended = process.run(words, timeout_seconds=seconds, cap_bytes=1 << 16)
        finished, what = self._outcome(ended, reduced, time.monotonic() - begun)
        self._tell(what)
        return finished, reduced.calls

    def _portion(
        self, profile: Application, calls: Sequence[Calls]
    ) -> tuple[Application, Campaign | None]:
        """Return the profile with the calls of one campaign, and the earlier campaign of just these
        calls, if there is one. It goes on; of one that ended before it had searched them, there are
        fewer calls this time."""
        number = max(1, int(self._request.seconds / _SECONDS_A_CALL))
        reduced = msgspec.structs.replace(profile, calls=list(calls[:number]))
        if not self._own.exists():
            return reduced, None
        with Database.open(self._own) as db:
            for campaign, begun in self._campaigns_of(db, profile):
                here = (begun.calls[0].nprocs, begun.calls[0].nodes)
                if campaign.state != "finished" and here == (calls[0].nprocs, calls[0].nodes):
                    return begun, campaign
            while (earlier := self._last_with(db, reduced)) is not None and number > 1:
                if self._is_old(earlier):
                    break
                number //= 2
                reduced = msgspec.structs.replace(profile, calls=list(calls[:number]))
        return reduced, earlier

    def _campaign(
        self, profile: Path, place: KnownPlace, earlier: Campaign | None, seconds: float
    ) -> list[str]:
        """Return the words of the campaign. The seconds are added to those of an earlier one."""
        ranks = place.settings.ranks
        words = ["--db", str(self._own), "--nprocs", str(ranks.nprocs)]
        words += ["--profile", str(profile), "--set", "settings=none"]
        if place.is_part:
            words += ["--set", f"within={ranks.within}"]
            words += ["--set", f"limited_to={place.settings.search.limited_to}"]
            words += [] if ranks.nodes is None else ["--set", f"nodes={ranks.nodes}"]
        if self._request.mpi_prefix is not None:
            words += ["--mpi", str(self._request.mpi_prefix)]
        if earlier is not None and earlier.state == "finished" and self._is_old(earlier):
            words += ["--new"]
        elif earlier is not None:
            with Database.open(self._own) as db:
                spent = cost.cost(db, earlier.id).seconds
            seconds += max(spent, identity.settings_of(earlier.settings).budget)
        words += ["--budget", f"{seconds:.1f}"]
        return [sys.executable, "-m", "plumbline", "campaign", *words]

    def _is_old(self, earlier: Campaign) -> bool:
        finished = datetime.datetime.fromisoformat(earlier.finished or earlier.started)
        return datetime.datetime.now(datetime.UTC) - finished >= place_knowledge.STALE

    def _outcome(
        self, ended: process.Finished, reduced: Application, seconds: float
    ) -> tuple[str, str]:
        """Return the id of the campaign if it is finished, else an empty text, and what became of
        it."""
        if ended.timed_out:
            return "", f"stopped after {seconds:.0f} s, the budget; the next job goes on"
        if ended.status == _TRY_LATER:
            return "", "not measured: another job measures now; this one starts with what is known"
        if ended.status not in (0, 3):
            lines = ended.stderr.strip().splitlines()
            reason = lines[-1].removeprefix("plumbline: ") if lines else f"status {ended.status}"
            return "", f"not measured: {reason}"
        with Database.open(self._own) as db:
            campaign = self._last_with(db, reduced)
        if campaign is None or campaign.state != "finished":
            return "", "not measured: the campaign is not finished; the next job goes on"
        return campaign.id, f"measured in {seconds:.0f} s: {campaign.id}"

    def _campaigns_of(
        self, db: Database, profile: Application
    ) -> Iterator[tuple[Campaign, Application]]:
        """Yield the campaigns on this machine for some calls of this profile, the newest first, and
        these calls."""
        toolchain = self.place.toolchain
        here = (toolchain.machine.id, toolchain.installation.library.fingerprint)
        for campaign in reversed(campaigns.own(db)):
            if (campaign.machine, campaign.library_fingerprint) != here:
                continue
            with contextlib.suppress(PlumblineError):
                own = identity.settings_of(campaign.settings).cases.profile
                if own is not None and msgspec.structs.replace(own, calls=profile.calls) == profile:
                    yield campaign, own

    def _last_with(self, db: Database, reduced: Application) -> Campaign | None:
        """Return the campaign of just these calls that was started last."""
        every = self._campaigns_of(db, reduced)
        return next((campaign for campaign, own in every if own == reduced), None)
