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
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import in_force, knowledge
from plumbline.campaign.in_force import ActiveFiles
from plumbline.campaign.knowledge import Knowledge, Place
from plumbline.core import application as applications
from plumbline.core.application import Application, Calls
from plumbline.results import profiling
from plumbline.results.profiling import ProfiledRun
from plumbline.settings import campaign_file, identity, ranks_asked, site_rules
from plumbline.settings.ranks_asked import Start
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system import paths, process, version
from plumbline.system.words import counted
from plumbline_db import campaigns, cost, lock, scratch, spool, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign
from plumbline_exporters.bundle import is_profile

# Seconds of a budget that are kept for the end of the campaign and for the proof.
_KEPT_SECONDS = 4.0
_KEPT_SHARE = 0.25
_LEAST_SECONDS = 4.0  # a campaign that has less time finds nothing
# The share of the campaign's time that its launches may take; the other part is starts and looks.
_IN_LAUNCHES = 0.7
_CONTROLLED_SHARE = "0.02"  # of replaced calls, which the library answers itself
_NAME = re.compile(r"[^A-Za-z0-9._+-]")
_TRY_LATER = 75

Tell = Callable[[str], None]


class Request(msgspec.Struct, frozen=True):
    """A command to start, and the seconds that measuring may take. `database`: the one that is
    asked first; `proves`: show that winners are in force before the application starts."""

    database: Path
    mpi_prefix: Path | None
    application: Sequence[str]
    binary: Path
    seconds: float
    proves: bool = True


class Prepared(msgspec.Struct, frozen=True):
    """The way in which the application is started. `profile`: the file for its calls, if it is to
    be recorded; `control`: the file for what winners saved in the application itself."""

    toolchain: Toolchain
    environment: dict[str, str]
    profile: Path | None
    control: Path | None


def prepare(request: Request, tell: Tell) -> Prepared:
    """Measure what is unknown and worth it, and put winners in force. Raises PlumblineError where
    the command or its library is not understood."""
    deadline = time.monotonic() + request.seconds
    start = ranks_asked.of(request.application, os.environ, request.binary)
    job = _Job(request, start, tell)
    profile = job.profile()
    found = job.knowledge()
    if profile is None:
        tell(f"{job.name}: no profile yet, so this run is recorded and the next one is tuned")
    else:
        calls = found.lacking(profile, job.place.settings)
        try:
            measured = job.measure(profile, calls, deadline)
        except (PlumblineError, OSError) as error:
            tell(f"not measured: {error}")
            measured = True  # the campaign may have finished before the error
        found = job.knowledge() if measured else found
    files = job.active_files(found)
    environment = profiling.usual_environment(
        job.place.toolchain.family, job.place.toolchain.installation
    )
    if files is not None:
        environment = job.in_force(files, environment)
    controls = files is not None and any(map(is_profile, files.winners))
    return Prepared(
        toolchain=job.place.toolchain,
        environment=environment,
        profile=job.profile_file if profile is None else None,
        control=job.profile_file.with_suffix(".control.json") if controls else None,
    )


def run(request: Request, prepared: Prepared, tell: Tell) -> int:
    """Run the application to its end, and keep its profile. Return its exit status, as a shell sees
    it. Raises PlumblineError where it was not started, and nothing once it was."""
    installation = prepared.toolchain.installation
    preload = paths.layout().preload(paths.build_id(installation.library))
    variables: dict[str, str] = {}
    if prepared.control is not None:
        variables = {
            "PLUMBLINE_CONTROL": _CONTROLLED_SHARE,
            "PLUMBLINE_CONTROL_OUT": str(prepared.control),
        }
    state = _state_folder(request.database)
    with scratch.folder(state) as folder:
        if prepared.profile is not None:
            variables["PLUMBLINE_CALLS"] = str(folder)
        ended = profiling.recorded_run(
            request.application, installation, preload, variables, folder, prepared.environment
        )
        if prepared.profile is not None:
            _keep_profile(request, prepared.profile, folder, ended, tell)
    return ended.status


def _keep_profile(
    request: Request, file: Path, folder: Path, ended: ProfiledRun, tell: Tell
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
        file = folder / database.name
        if os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
            return folder
    raise PlumblineError(f"{paths.state_folder()} cannot be written: set XDG_STATE_HOME")


class _Job:
    """One job: its place, its application's profile, and the databases that know about them."""

    def __init__(self, request: Request, start: Start, tell: Tell) -> None:
        if not start.launcher or start.ranks is None or start.ranks < 2:
            raise PlumblineError(
                "the command is no mpirun, mpiexec or srun with a number of ranks before the "
                "program (-n, at least 2)"
            )
        if ranks_asked.names_hosts(start):
            raise PlumblineError("the command names hosts of its own (docs/application.md)")
        self._request, self._start, self._tell = request, start, tell
        (task,) = campaign_file.tasks(None, {"nprocs": start.ranks}, request.mpi_prefix)
        folder = _state_folder(request.database)
        self._own = folder / request.database.name
        toolchain = find_toolchain(request.mpi_prefix, settings=task.settings, beside=folder)
        _, installation = profiling.library_of(request.binary, request.mpi_prefix)
        if installation.library.fingerprint != toolchain.installation.library.fingerprint:
            raise PlumblineError(
                f"{request.binary} belongs to {installation.library.id}, and mpirun on PATH to "
                f"another library: name the library with --mpi"
            )
        settings = task.settings.on(toolchain.launcher.processing_units())
        rules = site_rules.find(toolchain, settings)
        self.place = Place(toolchain, settings, rules.text if rules else "")
        ranks = settings.ranks
        program = _NAME.sub("_", Path(request.application[len(start.launcher)]).name)
        self.name = f"{program}-{ranks.node_count}x{ranks.ppn}"
        self._folder = folder / "applications"
        self._folder.mkdir(exist_ok=True)
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

    def knowledge(self) -> Knowledge:
        databases = dict.fromkeys((self._request.database.absolute(), self._own))
        existing = [path for path in databases if path.exists()]
        try:
            return knowledge.read(existing, self.place, datetime.datetime.now(datetime.UTC))
        except PlumblineError as error:
            self._tell(f"nothing is known: {error}")
            return Knowledge([], {})

    def active_files(self, known: Knowledge) -> ActiveFiles | None:
        try:
            return known.active_files(self.place, self._folder)
        except PlumblineError as error:
            self._tell(f"no winners are in force: {error}")
            return None

    def in_force(self, files: ActiveFiles, usual: dict[str, str]) -> dict[str, str]:
        """Return the application's environment with the winners that are shown to be in force."""
        try:
            environment = in_force.environment(files)
            shown = in_force.unproven(self._start)
            if self._request.proves:
                shown = in_force.shown(files, environment, self._start, self._own.parent)
        except PlumblineError as error:
            self._tell(f"no winners are in force: {error}")
            return usual
        for line in (*shown.statements, in_force.applying(files, environment, shown)):
            self._tell(line)
        if elsewhere := in_force.elsewhere(files, self._request.application):
            self._tell(elsewhere)
        return in_force.for_program(environment, self._request.binary)

    # --- measuring ------------------------------------------------------------------------------

    def measure(self, profile: Application, calls: Sequence[Calls], deadline: float) -> bool:
        """Run a campaign for these calls until it ends, or until the budget is used up. Return
        whether one was run. Raises PlumblineError where it failed, OSError for files."""
        if not calls:
            self._tell(f"{self.name}: every call that matters is known; nothing is measured")
            return False
        seconds = deadline - time.monotonic()
        seconds -= min(_KEPT_SECONDS, _KEPT_SHARE * self._request.seconds)
        if seconds < _LEAST_SECONDS:
            self._tell(f"not measured: a budget of {self._request.seconds:g} s is too short")
            return False
        holder = lock.writer(self._own)
        if holder is not None:
            self._tell(f"not measured: {self._own} is being written by {holder.named}")
            return False
        reduced = msgspec.structs.replace(profile, calls=list(calls))
        share = sum(each.work_seconds for each in calls) / (profile.seconds or 1.0)
        self._tell(
            f"{self.name}: measuring {counted(len(calls), 'kind')} of calls, {share:.1%} of its "
            f"time, for at most {seconds:.0f} s"
        )
        begun = time.monotonic()
        with scratch.folder(self._folder) as folder:
            file = folder / "calls.json"
            applications.write(file, reduced)
            ended = process.run(
                self._campaign(file, reduced, seconds), timeout_seconds=seconds, cap_bytes=1 << 16
            )
        self._tell(self._outcome(ended, reduced, time.monotonic() - begun))
        return True

    def _campaign(self, profile: Path, reduced: Application, seconds: float) -> list[str]:
        """Return the words of the campaign. One that an earlier job began goes on, and the budget
        is added to what its launches took."""
        words = ["--db", str(self._own), "--nprocs", str(self.place.settings.ranks.nprocs)]
        words += ["--profile", str(profile), "--set", "settings=none"]
        if self._request.mpi_prefix is not None:
            words += ["--mpi", str(self._request.mpi_prefix)]
        budget = _IN_LAUNCHES * seconds
        if self._own.exists():
            with Database.open(self._own) as db:
                earlier = self._last_with(db, reduced)
                if earlier is not None:
                    budget += cost.cost(db, earlier.id).seconds
                    is_old = earlier.state == "finished" and self._is_old(earlier)
                    words += ["--new"] if is_old else []
        words += ["--budget", f"{budget:.1f}"]
        return [sys.executable, "-m", "plumbline", "campaign", *words]

    def _is_old(self, earlier: Campaign) -> bool:
        age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(
            earlier.finished
        )
        return age >= knowledge.STALE

    def _outcome(self, ended: process.Finished, reduced: Application, seconds: float) -> str:
        """Return what became of the campaign, and put one that is finished into the spool."""
        if ended.timed_out:
            return f"stopped after {seconds:.0f} s, the budget; the next job goes on from there"
        if ended.status == _TRY_LATER:
            return "not measured: another job measures now"
        if ended.status not in (0, 3):
            lines = ended.stderr.strip().splitlines()
            reason = lines[-1].removeprefix("plumbline: ") if lines else f"status {ended.status}"
            return f"not measured: {reason}"
        with Database.open(self._own) as db:
            campaign = self._last_with(db, reduced)
        if campaign is None or campaign.state != "finished":
            return "not measured: the campaign is not finished; the next job goes on from there"
        folder = os.environ.get(spool.VARIABLE)
        if folder:
            try:
                spool.put(self._own, Path(folder), campaign.id, identity.now())
            except PlumblineError as error:
                self._tell(f"not put into the spool: {error}")
        return f"measured in {seconds:.0f} s: {campaign.id}"

    def _last_with(self, db: Database, profile: Application) -> Campaign | None:
        """Return the campaign of this profile on this machine that was started last."""
        toolchain = self.place.toolchain
        here = (toolchain.machine.id, toolchain.installation.library.fingerprint)
        for campaign in reversed(campaigns.own(db)):
            if (campaign.machine, campaign.library_fingerprint) == here:
                with contextlib.suppress(PlumblineError):
                    if identity.settings_of(campaign.settings).cases.profile == profile:
                        return campaign
        return None
