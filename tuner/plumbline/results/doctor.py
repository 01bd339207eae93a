"""Checks of what works here and what does not, with what to do about it: one check a function, in
order."""

from __future__ import annotations

import configparser
import os
import pwd
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from plumbline import libraries
from plumbline.applied import standing
from plumbline.campaign import applied_proof
from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.selectors import SELECTORS
from plumbline.daemon import configuration, status
from plumbline.daemon.windows import Clock, moment_of
from plumbline.launch import allocation
from plumbline.libraries import space_file
from plumbline.libraries.space import differences
from plumbline.measure import conditions
from plumbline.settings import Settings, campaign_file, site_rules, starting
from plumbline.settings.ranks import default_nprocs
from plumbline.settings.toolchain import OUT, Toolchain, find_toolchain, set_by_site
from plumbline.system import machine, paths, process
from plumbline.system.machine import processing_units
from plumbline.system.version import absent_extras, missing_extra
from plumbline.system.words import counted
from plumbline_db import user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError, command_name, typed
from plumbline_db.probe_records import Header, ProbeRecord
from plumbline_exporters import families
from plumbline_exporters.lint import formats

UNITS = ("plumbline-watch.service", "plumbline-watch-once.service", "plumbline-watch-once.timer")
_FOLDERS = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
# Launches with these settings are not joined with launches of a campaign that a person started.
_CHANGES_RUN_TIMES = ("Nice", "CPUSchedulingPolicy", "CPUAffinity", "CPUQuota", "AllowedCPUs")
_SILENT_FOR = timedelta(minutes=10)  # between two steps that measure nothing


def examine_daemon(
    database: Path, clock: Clock, folders: Sequence[str] = _FOLDERS
) -> Iterator[DoctorFinding]:
    """All findings, as they come."""
    units = _installed(folders)
    if not units:
        text = "none is installed: packaging/systemd has them (docs/daemon.md)"
        yield DoctorFinding("units", "notes", text)
    for unit in units:
        yield from _unit(unit)
    yield from _daemon(database, clock())


def _installed(folders: Sequence[str]) -> list[Path]:
    """The units of ours, those heard first where there are several."""
    first: dict[str, Path] = {}
    for folder in folders:
        for name in UNITS:
            path = Path(folder) / name
            if path.is_file():
                first.setdefault(name, path)
    return list(first.values())


def _unit(path: Path) -> Iterator[DoctorFinding]:
    subject = path.name
    verified = _verified(path)
    yield verified or DoctorFinding(subject, "fine", str(path))
    if path.suffix != ".service":
        return
    try:
        text = user_files.text(path)
    except (OSError, ValueError) as error:
        yield DoctorFinding(subject, "fails", f"{path} cannot be read: {error}")
        return
    service = _section(text)
    user = service.get("User", "root")
    try:
        pwd.getpwnam(user)
    except KeyError:
        add = f"useradd --system --home-dir /var/lib/plumbline {user}"
        yield DoctorFinding(subject, "fails", f"the user {user} does not exist: {add}")
    for key in _CHANGES_RUN_TIMES:
        if key in service:
            yield DoctorFinding(
                subject,
                "warns",
                f"{key}={service[key]}: run times depend on it, and launches are not joined with "
                "those of a campaign that was started without it; take it out, or let the daemon "
                "measure the table itself (search.whole = true)",
            )
    yield from _configuration(subject, service.get("ExecStart", ""))


def _section(text: str) -> dict[str, str]:
    """Return the section of a service; the last value of each key."""
    reader = configparser.ConfigParser(
        strict=False, interpolation=None, comment_prefixes=("#", ";"), delimiters=("=",)
    )
    reader.optionxform = str  # type: ignore[assignment]
    try:
        reader.read_string(text)
    except configparser.Error:
        return {}
    return dict(reader["Service"]) if reader.has_section("Service") else {}


def _verified(path: Path) -> DoctorFinding | None:
    """None: systemd finds nothing wrong, or is not there."""
    if shutil.which("systemd-analyze") is None:
        text = f"{path}; not verified, because systemd-analyze is not installed"
        return DoctorFinding(path.name, "notes", text)
    done = process.run(["systemd-analyze", "verify", str(path)], timeout_seconds=60)
    complaints = [line for line in done.stderr.splitlines() if path.name in line]
    if done.status == 0 and not complaints:
        return None
    why = "; ".join(complaints[:3]) or f"status {done.status}"
    return DoctorFinding(path.name, "fails", f"systemd-analyze verify: {why}")


def _configuration(subject: str, started: str) -> Iterator[DoctorFinding]:
    try:
        words = shlex.split(started)
    except ValueError:
        words = []
    files = [word for word in words[1:] if word.endswith(".toml")]
    if "watch" not in words:
        yield DoctorFinding(
            subject, "fails", f"ExecStart={started!r} does not start plumbline watch"
        )
        return
    if not os.access(words[0], os.X_OK):
        yield DoctorFinding(
            subject, "fails", f"{words[0]} is no program: put the path of plumbline there"
        )
    for name in files or [""]:
        try:
            configuration.read(Path(name) if name else None)
        except UsageError as error:
            yield DoctorFinding("configuration", "fails", str(error))
        else:
            yield DoctorFinding("configuration", "fine", name or "none is named: all defaults")


def _daemon(database: Path, now: datetime) -> Iterator[DoctorFinding]:
    try:
        daemon = status.read(database, now)
    except PlumblineError as error:
        yield DoctorFinding("daemon", "notes", str(error))
        return
    watch, holder = daemon.watch, daemon.holder
    if watch is None:
        yield DoctorFinding("daemon", "notes", f"nobody has ever watched {database}")
        return
    if holder is None:
        ended = "has stopped" if watch.state == "stopped" else "ended without a word"
        yield DoctorFinding("daemon", "notes", f"nobody watches now; the last one {ended}")
    else:
        stepped = moment_of(watch.stepped or watch.started)
        quiet = watch.step == "wait" and stepped is not None and now - stepped > _SILENT_FOR
        text = f"{holder.named}; last step: {watch.step}, {watch.stepped or 'none yet'}"
        yield DoctorFinding("daemon", "warns" if quiet else "fine", text)
    for subject, text in (
        ("configuration", watch.refused and f"refused at {watch.refused_at}: {watch.refused}"),
        ("daemon", watch.error and f"last error, {watch.failed}: {watch.error}"),
    ):
        if text:
            yield DoctorFinding(subject, "warns", text)
    for campaign in daemon.campaigns:
        if campaign.stale:
            yield DoctorFinding("table", "warns", f"{campaign.campaign}: {campaign.stale}")
    missed = sum(day.missed for day in daemon.days)
    if missed:
        yield DoctorFinding("canaries", "warns", f"{missed} were missed in the last seven days")


class DoctorFinding(msgspec.Struct, frozen=True):
    """`fails` stops a campaign; `warns` weakens its results; `notes` is only said; `inactive`: the
    library ignores what was applied."""

    subject: str
    state: Literal["fine", "notes", "warns", "fails", "inactive"]
    text: str


def examine(mpi_prefix: Path | None, database: Path) -> Iterator[DoctorFinding]:
    """All findings, as they come. A check that cannot go on is a finding too."""
    checks = [
        ("library", _library(mpi_prefix)),
        ("probe", _probe(mpi_prefix)),
        ("applied", _applied(mpi_prefix, database)),
        ("rules", _rules(mpi_prefix)),
        ("search space", _space(mpi_prefix)),
        ("launch", _launch(mpi_prefix)),
        ("libraries", _untried(mpi_prefix)),
        ("machine", _machine()),
        ("environment", _environment(mpi_prefix)),
        ("database", _database(database)),
        ("tools", _tools()),
        ("extras", _extras()),
        ("simulator", _simulator()),
        ("schedulers", _schedulers()),
    ]
    for subject, findings in checks:
        try:
            yield from findings
        except PlumblineError as error:
            yield DoctorFinding(subject, "fails", str(error))


def _library(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    _, installation = libraries.find(mpi_prefix)
    library = installation.library
    text = f"{library.version_string} ({library.fingerprint}), {installation.mpirun}"
    yield DoctorFinding("library", "fine", text)
    build = library.build
    if build:
        text = f"built with {build.get('compiler', 'an unknown compiler')}"
        text += f", {build['built']}" if "built" in build else ""
        yield DoctorFinding("library", "fine", f"{text}, debugging {build.get('debug', 'unknown')}")
    for weakness in conditions.of_build(build):
        yield DoctorFinding("library", "warns", weakness.text)


def _probe(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    toolchain = find_toolchain(mpi_prefix)
    variants = len(toolchain.catalogue.variants)
    yield DoctorFinding(
        "probe", "fine", f"{toolchain.probe}, {variants} variants; {toolchain.preload}"
    )


def _applied(mpi_prefix: Path | None, database: Path) -> Iterator[DoctorFinding]:
    """A parameter file cannot tell whether the library uses it, so short launches check that."""
    for state in standing.standing(mpi_prefix):
        applied = state.applied
        campaigns = ", ".join(source.campaign.named for source in applied.sources)
        text = f"generation {applied.number} of {applied.name} is applied (--{state.scope}): "
        if state.other is not None:
            remedy = f"{command_name()} apply --undo --{state.scope} takes it out"
            yield DoctorFinding("applied", "warns", f"{text}{campaigns}; {state.other}; {remedy}")
            continue
        yield DoctorFinding("applied", "notes", text + campaigns)
        folder = state.root / applied.name / str(applied.number)
        verdict = applied_proof.check(applied, folder, mpi_prefix, database)
        for sentence in verdict.active:
            yield DoctorFinding("applied", "fine", f"active: {sentence}")
        for sentence in verdict.not_checked:
            yield DoctorFinding("applied", "warns", f"not checked: {sentence}")
        for sentence in verdict.not_active:
            yield DoctorFinding("applied", "inactive", f"NOT ACTIVE: {sentence}")


def _rules(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    """Return what rules files may say to the library, and what is wrong with those in force."""
    family, installation = libraries.find(mpi_prefix)
    if isinstance(family, libraries.ReadsRules):
        for sentence in family.rules(installation):
            yield DoctorFinding("rules", "fine" if sentence.agrees else "warns", sentence.text)
    id = installation.library.id
    parameters = space_file.known_parameters(paths.layout().search_spaces)
    own = families.of(installation.library).lint
    for variable in own.files if own else ():
        path = os.environ.get(variable, "")
        if path and os.path.isfile(path):
            linted = formats.lint(Path(path), families.Context(id, parameters))
            wrong = sum(len(file.wrong) for file in linted)
            text = f"{variable}: {path}: {counted(wrong, 'finding')}"
            advice = f"; {typed('lint', '--library', id, path)} prints them" if wrong else ""
            yield DoctorFinding("rules", "warns" if wrong else "fine", text + advice)


def _space(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    toolchain = find_toolchain(mpi_prefix)
    for text in set_by_site(toolchain):
        yield DoctorFinding("search space", "fails", f"{text}: {OUT}")
    whole = toolchain.family.reports_all
    disagreements = differences(toolchain.space, toolchain.knobs, reports_all=whole)
    for text in disagreements:
        yield DoctorFinding("search space", "warns", text)
    parameters = toolchain.space.knobs()
    shown = len(parameters.keys() & toolchain.knobs.keys())
    if not disagreements:
        which = "all" if whole else f"{shown} of"
        text = f"{which} {len(parameters)} parameters agree with the library"
        yield DoctorFinding("search space", "fine", text)
    if not whole:
        hidden = len(parameters) - shown
        text = f"{hidden} parameters cannot be checked: the library does not report them"
        yield DoctorFinding("search space", "notes", text)


def _launch(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    toolchain = find_toolchain(mpi_prefix)
    settings = campaign_file.load(None, {"launch_timeout_seconds": 60.0})
    finding, records = _one_launch(toolchain, settings, {}, AS_IT_IS, "starts")
    yield finding
    yield from _switched(toolchain, settings)
    yield from _components(toolchain, settings)
    yield from _factors(records)
    if toolchain.family.untried:
        yield DoctorFinding("launch", "notes", toolchain.family.untried)


def _switched(toolchain: Toolchain, settings: Settings) -> Iterator[DoctorFinding]:
    """A broadcast with the first algorithm that any number of ranks can take: in a launch, or for
    the whole of one."""
    site = site_rules.find(toolchain, settings)
    if site is not None:
        text = f"{site.path}, by {site.where}, is in force: a campaign takes it for part of the "
        yield DoctorFinding("launch", "notes", text + "library, and tries all else in its place")
        return
    space, entry = toolchain.space, toolchain.space.of("MPI_Bcast")
    algorithms = entry.algorithms if entry else []
    chosen = next(
        (algorithm for algorithm in algorithms if algorithm.fits(settings.ranks.nprocs)), None
    )
    if entry is None or chosen is None:
        return
    settings_needed = space.with_needs(entry.knob, chosen.name)
    if space.hot:
        hot, environment = Configuration.of(settings_needed), space.hot_environment
        yield _one_launch(toolchain, settings, environment, hot, "switches knobs")[0]
    else:
        environment = toolchain.family.in_environment(settings_needed)
        yield _one_launch(
            toolchain, settings, environment, AS_IT_IS, f"takes {entry.knob}={chosen.name}"
        )[0]


def _components(toolchain: Toolchain, settings: Settings) -> Iterator[DoctorFinding]:
    """Who answers collectives, where the library says so."""
    family = toolchain.family
    if not isinstance(family, libraries.TellsComponents):
        return
    plan = Plan("doctor", 1, (PlanCase("MPI_Bcast", 64),), blocks=1, reps=1)
    starter = starting.starter(toolchain, settings)
    run, _ = starter.start("doctor", "doctor", 0, plan.text(), family.component_talk)
    if components := family.components(run.stderr):
        first, *others = components
        text = f"{first} implements the collectives; {', '.join(others)} implement the rest"
        yield DoctorFinding("launch", "fine", text)


def _untried(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    """Return what nobody has seen run, of families that are not in use here."""
    try:
        used = libraries.find(mpi_prefix)[0].name
    except PlumblineError:
        used = ""
    for family in libraries.families().values():
        if family.untried and family.name != used:
            yield DoctorFinding("libraries", "notes", family.untried)


def _factors(records: Sequence[ProbeRecord]) -> Iterator[DoctorFinding]:
    """Return what the probe sees of the machine under mpirun, as far as results depend on it."""
    header = next((record for record in records if isinstance(record, Header)), None)
    if header is None:
        return
    for weakness in conditions.of_header(header):
        if weakness.name != "oversubscribed":  # of the default number of ranks: see `_machine`
            yield DoctorFinding("factors", "warns", weakness.text)
    missing: dict[str, list[str]] = {}
    for factor in header.factors:
        if factor.missing:
            missing.setdefault(factor.missing.rpartition("; ")[2], []).append(factor.name)
    for reason, names in missing.items():
        yield DoctorFinding("factors", "notes", f"not known: {', '.join(names)}: {reason}")
    known_factors = sum(bool(factor.values) for factor in header.factors)
    yield DoctorFinding(
        "factors", "fine", f"{known_factors} of {len(header.factors)} are recorded here"
    )


def _one_launch(
    toolchain: Toolchain,
    settings: Settings,
    environment: dict[str, str],
    chosen: Configuration,
    what_it_does: str,
) -> tuple[DoctorFinding, Sequence[ProbeRecord]]:
    case = PlanCase("MPI_Bcast", 64, configuration=chosen)
    plan = Plan("doctor", 1, (case,), blocks=1, reps=5, knobs=toolchain.space.switch)
    starter = starting.starter(toolchain, settings)
    run, records = starter.start("doctor", "doctor", 0, plan.text(), environment)
    if not run.finished:
        text = f"{run.reason}: {run.stderr.strip()[-500:]}"
        return DoctorFinding("launch", "fails", text), records
    bad = [record for record in records if getattr(record, "outcome", "ok") != "ok"]
    if bad:
        return DoctorFinding("launch", "fails", f"the probe under mpirun: {bad[0]}"), records
    text = f"the probe {what_it_does} on {settings.ranks.nprocs} ranks in {run.seconds:.1f} s"
    return DoctorFinding("launch", "fine", text), records


def _machine() -> Iterator[DoctorFinding]:
    units, ranks = processing_units(), default_nprocs()
    if ranks > units:
        text = f"{counted(units, 'processing unit')} for {ranks} ranks by default: oversubscribed"
        yield DoctorFinding(
            "machine", "warns", text + "; results hold for that, not for a rank a core"
        )
    else:
        yield DoctorFinding("machine", "fine", counted(units, "processing unit"))
    others = machine.look()
    if others is not None and others.processors > conditions.FOREIGN_PROCESSORS:
        text = f"{others.text()}; wait, or expect undecided cells"
        yield DoctorFinding("machine", "warns", text)


def _environment(mpi_prefix: Path | None) -> Iterator[DoctorFinding]:
    family, _ = libraries.find(mpi_prefix)
    for name in family.settings_in(dict(os.environ)):
        text = f"{name} is set; campaigns leave it out, applications do not: unset it"
        yield DoctorFinding("environment", "warns", text)


def _database(database: Path) -> Iterator[DoctorFinding]:
    import apsw

    version = apsw.sqlite_lib_version()
    if database.exists():
        Database.open(database).close()
        yield DoctorFinding("database", "fine", f"{database}, SQLite {version}")
        return
    network = user_files.network(database)
    where = "" if network is None else f" on a network file system ({network})"
    folder = database.parent
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK):
        yield DoctorFinding("database", "fine", f"{database} will be made{where}, SQLite {version}")
    else:
        text = f"{folder} is not writable: name another file with --db"
        yield DoctorFinding("database", "fails", text)


def _tools() -> Iterator[DoctorFinding]:
    promtool = shutil.which("promtool")
    if promtool is None:
        text = "promtool is not installed (Debian: prometheus); only the tests use it"
        yield DoctorFinding("tools", "notes", text)
        return
    done = process.run([promtool, "--version"], timeout_seconds=10)
    first = (done.stdout or done.stderr).splitlines()[:1]
    yield DoctorFinding("tools", "fine", first[0] if first else promtool)


def _extras() -> Iterator[DoctorFinding]:
    absent = absent_extras()
    for modules in absent.values():
        yield DoctorFinding("extras", "notes", str(missing_extra(modules[0])))
    if not absent:
        yield DoctorFinding("extras", "fine", "pages and pictures are installed")


# What a job of each is submitted with, and how it says its version.
_SCHEDULERS = {
    "slurm": (("sbatch", "squeue"), ("sbatch", "--version")),
    "pbs": (("qsub", "qstat", "qselect"), ("qstat", "--version")),
    "flux": (("flux",), ("flux", "version")),
    "lsf": (("bsub", "bjobs"), ("lsid",)),
}


def _schedulers() -> Iterator[DoctorFinding]:
    """Only `campaign --submit` needs one."""
    around = allocation.found()
    if around is not None:
        hosts = counted(len(around.hosts), "host")
        text = f"in an allocation of {around.scheduler}: {hosts}, {around.slots} ranks on each"
        where = "ranks go there where no campaign file says otherwise"
        yield DoctorFinding("allocation", "fine", text + ("" if around.is_here else f"; {where}"))
    for name, (commands, version) in _SCHEDULERS.items():
        missing = [command for command in commands if shutil.which(command) is None]
        if missing:
            text = f"--submit {name} does not work here: there is no {', '.join(missing)}"
            yield DoctorFinding("schedulers", "notes", text)
            continue
        done = process.run(version, timeout_seconds=30)
        answer = " ".join((done.stdout + done.stderr).split())[:100]
        if done.status == 0:
            yield DoctorFinding("schedulers", "fine", f"--submit {name}: {answer}")
        else:
            text = f"--submit {name} does not work here: {' '.join(version)} fails: {answer}"
            yield DoctorFinding("schedulers", "notes", text)


def _simulator() -> Iterator[DoctorFinding]:
    """Only `--simulate` needs it, so what is missing is just said."""
    try:
        settings = campaign_file.load(None, {"simulate": SELECTORS[0], "nprocs": 4})
        toolchain = find_toolchain(None, settings=settings)
    except PlumblineError as error:
        yield DoctorFinding("simulator", "notes", f"--simulate does not work: {error}")
        return
    finding, _ = _one_launch(toolchain, settings, {}, AS_IT_IS, "starts under SimGrid")
    yield msgspec.structs.replace(finding, subject="simulator")
    for text in differences(toolchain.space, toolchain.knobs):
        yield DoctorFinding("simulator", "warns", text)
