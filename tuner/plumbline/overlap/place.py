"""The place of the ranks of an overlap suite: this machine, or what a campaign file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from plumbline.settings import Settings, campaign_file, identity
from plumbline.settings.sampling import Sampling
from plumbline.system.machine import processing_units
from plumbline_db.errors import UsageError

_WHERE = ("nodes", "bind", "map_by", "hosts", "job", "environment")
_TAKEN = ("nprocs", "launch_timeout_seconds", *_WHERE)
_ELSEWHERE = {
    "simulate": "computation takes no time on a simulated machine, and cannot overlap",
    "libraries": "overlap is measured with one library; name it with --mpi",
    "layouts": "overlap is measured in one layout; name it with --nprocs and --nodes",
}
NPROCS = 2


def settings(file: Path | None, options: dict[str, Any]) -> Settings:
    """Return those of the keys of a campaign file that say where ranks are; what else it holds is
    about collectives. `options` are put over them. Raises UsageError."""
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
    """Return it with so many seconds for a launch, where nobody has said otherwise."""
    is_set = chosen.sampling.launch_timeout_seconds != Sampling().launch_timeout_seconds
    return chosen if is_set else chosen.but(launch_timeout_seconds=seconds)


def facts(chosen: Settings) -> list[str]:
    """Return what makes launches elsewhere another campaign; nothing on this machine."""
    values = identity.identifying(chosen)
    places = {key: values[key] for key in _WHERE if key in values}
    return [msgspec.json.encode(places).decode()] if places else []
