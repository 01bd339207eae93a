"""What works here, what does not, and what to do about it: one check a function, in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from plumbline import campaign, libraries, process
from plumbline import settings as settings_file
from plumbline.machine import processing_units
from plumbline.plan import Plan, PlanCase
from plumbline.search.space import differences
from plumbline.workbench import Workbench, set_by_site, workbench
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError


class Finding(msgspec.Struct, frozen=True):
    """`fails` stops a campaign; `warns` weakens its results; `notes` is only said."""

    subject: str
    state: Literal["fine", "notes", "warns", "fails"]
    text: str


Check = Callable[[Path | None, Path], Iterator[Finding]]


def examine(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    """All findings, as they come. A check that cannot go on is a finding too."""
    checks: list[tuple[str, Check]] = [
        ("library", _library),
        ("probe", _probe),
        ("search space", _space),
        ("launch", _launch),
        ("machine", _machine),
        ("environment", _environment),
        ("database", _database),
        ("tools", _tools),
    ]
    for subject, check in checks:
        try:
            yield from check(mpi_prefix, database)
        except PlumblineError as error:
            yield Finding(subject, "fails", str(error))


def _library(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del database
    _, found = libraries.find(mpi_prefix)
    library = found.library
    text = f"{library.version_string} ({library.fingerprint}), {found.mpirun}"
    yield Finding("library", "fine", text)


def _probe(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del database
    bench = workbench(mpi_prefix)
    variants = len(bench.catalogue.variants)
    yield Finding("probe", "fine", f"{bench.probe}, {variants} variants; {bench.preload}")


def _space(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del database
    bench = workbench(mpi_prefix)
    for text in set_by_site(bench):
        yield Finding("search space", "fails", f"{text}: take it out while a campaign runs")
    found = differences(bench.space, bench.knobs)
    for text in found:
        yield Finding("search space", "warns", text)
    if not found:
        count = len(bench.space.knobs())
        yield Finding("search space", "fine", f"all {count} parameters agree with the library")


def _launch(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del database
    bench = workbench(mpi_prefix)
    settings = settings_file.load(None, {"launch_timeout_seconds": 60.0})
    yield _one_launch(bench, settings, {}, (), "starts")
    knob = (("coll_tuned_bcast_algorithm", "binomial"),)
    yield _one_launch(bench, settings, bench.space.hot.environment, knob, "switches knobs")


def _one_launch(
    bench: Workbench,
    settings: settings_file.Settings,
    environment: dict[str, str],
    knobs: tuple[tuple[str, str], ...],
    what: str,
) -> Finding:
    case = PlanCase("MPI_Bcast", 64, knobs=knobs)
    plan = Plan("doctor", 1, (case,), blocks=1, reps=5)
    starter = campaign.starter(bench, settings)
    run, records = starter.start("doctor", "doctor", 0, plan.text(), environment)
    if run.outcome == "failed":
        return Finding("launch", "fails", f"{run.reason}: {run.stderr.strip()[-500:]}")
    bad = [one for one in records if getattr(one, "outcome", "ok") != "ok"]
    if bad:
        return Finding("launch", "fails", f"the probe under mpirun: {bad[0]}")
    text = f"the probe {what} on {settings.nprocs} ranks in {run.seconds:.1f} s"
    return Finding("launch", "fine", text)


def _machine(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del mpi_prefix, database
    units, ranks = processing_units(), settings_file.default_nprocs()
    if ranks > units:
        text = f"{units} processing units for {ranks} ranks by default: oversubscribed"
        yield Finding("machine", "warns", text + "; results hold for that, not for a rank a core")
    else:
        yield Finding("machine", "fine", f"{units} processing units")
    load = os.getloadavg()[0]
    if load > 0.5 * units:
        text = f"load {load:.1f}: other work disturbs measurements; wait, or expect undecided cells"
        yield Finding("machine", "warns", text)
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if not governor.exists():
        yield Finding("machine", "notes", "frequency governor: not visible here")
    elif governor.read_text().strip() != "performance":
        text = f"frequency governor {governor.read_text().strip()}: set `performance`"
        yield Finding("machine", "warns", text)


def _environment(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del database
    family, _ = libraries.find(mpi_prefix)
    for name in family.settings_in(dict(os.environ)):
        text = f"{name} is set; campaigns leave it out, applications do not: unset it"
        yield Finding("environment", "warns", text)


def _database(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del mpi_prefix
    import apsw

    version = apsw.sqlite_lib_version()
    if database.exists():
        Database.open(database).close()
        yield Finding("database", "fine", f"{database}, SQLite {version}")
        return
    folder = database.parent
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK):
        yield Finding("database", "fine", f"{database} will be made, SQLite {version}")
    else:
        text = f"{folder} is not writable: name another file with --db"
        yield Finding("database", "fails", text)


def _tools(mpi_prefix: Path | None, database: Path) -> Iterator[Finding]:
    del mpi_prefix, database
    promtool = shutil.which("promtool")
    if promtool is None:
        text = "promtool is not installed (Debian: prometheus); only the tests use it"
        yield Finding("tools", "notes", text)
        return
    done = process.run([promtool, "--version"], timeout_seconds=10)
    first = (done.stdout or done.stderr).splitlines()[:1]
    yield Finding("tools", "fine", first[0] if first else promtool)
