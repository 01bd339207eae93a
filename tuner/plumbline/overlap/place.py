"""The launches of an overlap suite: where the ranks are (this machine, or what a campaign file
says), and what each aid to progress needs of the launch, the library and the machine. Nothing is
started here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries.space import ProgressThread
from plumbline.overlap import benches
from plumbline.overlap.benches import OverlapSettings
from plumbline.settings import Settings, campaign_file, identity
from plumbline.settings.cases import Sampling
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import ConfigRecord

if TYPE_CHECKING:
    from plumbline.launch.starter import Starter

HELPERS = ("helper", "spare")  # a thread of the probe


def aid_environment(plan: Plan) -> dict[str, str]:
    """Return how the probe is to start MPI for the cells of a plan; MPI_Init where nothing is
    set."""
    from plumbline.launch.starter import THREADS

    if any(overlap.helper or overlap.bench == benches.MULTIPLE for overlap in plan.overlaps):
        return {THREADS: "multiple"}
    if any(overlap.bench in (benches.LOAD, benches.OPENMP) for overlap in plan.overlaps):
        return {THREADS: "funneled"}
    return {}


def aid_in_force(
    settings: OverlapSettings, toolchain: Toolchain, where: Settings
) -> OverlapSettings:
    """The settings with the knobs that their aid wants. Raises UsageError where the library or the
    machine of the ranks does not have what it takes."""
    units = toolchain.launcher.processing_units() or processing_units()
    ranks = where.ranks.ppn
    if settings.aid == "spare":
        every = [benches.of(name).bench for name in settings.benches]
        if not benches.THREADED.isdisjoint(every):
            raise UsageError(
                "--aid spare: threads of load, multiple and openmp take the spare cores"
            )
        pairs = all(toolchain in benches.IN_PAIRS for toolchain in every)
        require_spare(ranks, min(2, ranks) if pairs else ranks, units)
    if settings.aid != "library":
        return settings
    values = {name: knob.value for name, knob in toolchain.knobs.items()} | settings.knobs.as_dict()
    knobs = aids_of_library(
        toolchain.space.progress, toolchain.installation.library.id, values, ranks, units
    )
    merged = settings.knobs.as_dict() | knobs
    return msgspec.structs.replace(settings, knobs=Configuration.of(merged))


def require_spare(ranks: int, threads: int, units: int) -> None:
    """Raises UsageError where there are fewer processing units than ranks and threads beside them
    that never sleep."""
    if ranks + threads > units:
        raise UsageError(
            f"{counted(ranks, 'rank')} and {counted(threads, 'thread')} that help them never "
            f"sleep, and want {ranks + threads} processing units; there are {units}. Start fewer "
            "ranks, or take --aid helper (beside the work) or --aid test"
        )


def aids_of_library(
    progress: ProgressThread, library: str, values: Mapping[str, str], ranks: int, units: int
) -> dict[str, str]:
    """Knobs that start the library's own progress threads; `values`: of its knobs, as they are.
    Raises UsageError where it has none, or none that would do anything."""
    if progress.none:
        raise UsageError(
            f"{library} has no progress thread of its own: {progress.none}. Take --aid helper, or "
            "--aid test"
        )
    for knob, good in progress.where.items():
        if values.get(knob, "") not in good:
            raise UsageError(
                f"the progress thread of {library} moves no messages with {knob} = "
                f"{values.get(knob, '') or 'not set'}, only with {' or '.join(good)}. Set that, or "
                "take --aid helper"
            )
    if progress.spins:
        require_spare(ranks, ranks, units)
    return dict(progress.knobs)


def given(toolchain: Toolchain, words: Sequence[str], where: Settings) -> Configuration:
    """Return the configuration that `NAME=VALUE` words give, with what the library wants beside
    them. Raises UsageError for what it does not know, and for threads that want cores which are not
    there."""
    from plumbline.search.process import Settable

    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--knob takes NAME=VALUE, not {word!r}")
        if toolchain.knobs and name not in toolchain.knobs:
            raise UsageError(f"{toolchain.installation.library.id} reports no parameter {name}")
        for knob, need in toolchain.space.with_needs(name, value).items():
            if values.setdefault(knob, need) != need:
                raise UsageError(f"--knob: {knob} cannot be {values[knob]} and {need}")
    Settable.of(toolchain, where).require_core(values)
    return Configuration.of(values)


def require_in_force(starter: Starter, chosen: Configuration) -> None:
    """A short launch with these settings, which reads them back where the library shows them.
    Raises UsageError for one that is not in force, PlumblineError where the launch fails."""
    if not chosen:
        return
    case = PlanCase("MPI_Allreduce", 64, configuration=chosen)
    plan = Plan("settings", 1, (case,), blocks=1, reps=1, warmup=1, knobs="start")
    environment = starter.family.in_environment(chosen.as_dict())
    run, records = starter.start("settings", "settings", 0, plan.text(), environment)
    if not run.finished:
        names = str(chosen).replace(" ", ", ")
        raise PlumblineError(
            f"a launch with {names} fails; leave the setting out, or correct it: {run.reason}\n"
            f"{run.stderr[-1500:]}"
        )
    for record in records:
        if isinstance(record, ConfigRecord) and not record.in_force:
            raise UsageError(f"--knob is not in force: {record.reason}")


_WHERE = ("nodes", "bind", "map_by", "hosts", "job", "environment")
_TAKEN = ("nprocs", "launch_timeout_seconds", *_WHERE)
_ELSEWHERE = {
    "simulate": "computation takes no time on a simulated machine, and cannot overlap",
    "libraries": "overlap is measured with one library; name it with --mpi",
    "layouts": "overlap is measured in one layout; name it with --nprocs and --nodes",
}
NPROCS = 2


def settings(file: Path | None, options: dict[str, Any]) -> Settings:
    """Return the settings that say where ranks are, from a campaign file; its other keys are about
    collectives. `options` are put over them. Raises UsageError."""
    source = campaign_file.read(file)
    for key, why in _ELSEWHERE.items():
        if key in source.values:
            raise source.refused(f"{key}: {why}")
    taken = {key: source.values[key] for key in _TAKEN if key in source.values}
    standing = {"nprocs": NPROCS}
    return bound(campaign_file.of(source, standing | taken, options))


def bound(chosen: Settings) -> Settings:
    """On this machine, where each rank has a processing unit, ranks are bound to cores unless
    something else is asked for: one that wanders computes at another speed. Raises UsageError."""
    if chosen.ranks.nprocs < NPROCS:
        raise UsageError(f"--nprocs {chosen.ranks.nprocs}: overlap needs {NPROCS} ranks at least")
    fits = not facts(chosen) and chosen.ranks.nprocs <= processing_units()
    return chosen.but(bind="core") if fits else chosen


def patient(chosen: Settings, seconds: float) -> Settings:
    """Return the settings with so many seconds for a launch, unless they set another limit."""
    is_set = chosen.sampling.launch_timeout_seconds != Sampling().launch_timeout_seconds
    return chosen if is_set else chosen.but(launch_timeout_seconds=seconds)


def facts(chosen: Settings) -> list[str]:
    """Return what makes launches elsewhere another campaign; nothing on this machine."""
    values = identity.identifying(chosen)
    places = {key: values[key] for key in _WHERE if key in values}
    return [msgspec.json.encode(places).decode()] if places else []
