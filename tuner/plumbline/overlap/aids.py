"""Aids that help messages on beside computation: what each aid needs of the launch, of the library
and of the machine. Nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan
from plumbline.launch.starter import THREADS
from plumbline.libraries.space import ProgressThread
from plumbline.overlap import benches
from plumbline.overlap.benches import OverlapSettings
from plumbline.settings import Settings as CampaignSettings
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.words import counted
from plumbline_db.errors import UsageError

HELPERS = ("helper", "spare")  # a thread of the probe


def environment(plan: Plan) -> dict[str, str]:
    """Return how the probe is to start MPI for the cells of a plan; MPI_Init where nothing is
    set."""
    if any(overlap.helper or overlap.bench == benches.MULTIPLE for overlap in plan.overlaps):
        return {THREADS: "multiple"}
    if any(overlap.bench == benches.LOAD for overlap in plan.overlaps):
        return {THREADS: "funneled"}
    return {}


def in_force(
    settings: OverlapSettings, toolchain: Toolchain, where: CampaignSettings
) -> OverlapSettings:
    """The settings with the knobs that their aid wants. Raises UsageError where the library or the
    machine of the ranks does not have what it takes."""
    units = toolchain.launcher.processing_units() or processing_units()
    ranks = where.ranks.ppn
    if settings.aid == "spare":
        every = [benches.of(name).bench for name in settings.benches]
        if benches.LOAD in every or benches.MULTIPLE in every:
            raise UsageError("--aid spare: threads of load and multiple take the spare cores")
        pairs = all(toolchain in benches.IN_PAIRS for toolchain in every)
        require_spare(ranks, min(2, ranks) if pairs else ranks, units)
    if settings.aid != "library":
        return settings
    values = {name: knob.value for name, knob in toolchain.knobs.items()} | settings.knobs.as_dict()
    knobs = of_library(
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


def of_library(
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
