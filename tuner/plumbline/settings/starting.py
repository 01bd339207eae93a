"""The start of the ranks that settings ask for, on what is installed, and what none are started
for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.launch.local import Local
from plumbline.launch.starter import Programs, Starter, Typed
from plumbline.system.words import counted
from plumbline_db.errors import UsageError

from . import Settings, site_rules
from .toolchain import Toolchain

# More ranks than this on one processing unit make a machine unusable.
_MOST_RANKS_PER_UNIT = 32


def starter(toolchain: Toolchain, settings: Settings) -> Starter:
    """Raises UsageError for more ranks than this machine can hold, and for variables that are not
    the user's to fix."""
    _require_free(toolchain, settings.fixed.environment)
    if settings.ranks.node_count > 1 and isinstance(toolchain.launcher, Local):
        raise UsageError(
            f"{settings.ranks.node_count} nodes, and no table that says where they come from "
            "(earlier versions submitted a job for each launch): measure it anew (docs/clusters.md)"
        )
    units = toolchain.launcher.processing_units()
    if units is not None and settings.ranks.ppn > _MOST_RANKS_PER_UNIT * units:
        raise UsageError(
            f"{counted(settings.ranks.ppn, 'rank')} on {counted(units, 'processing unit')}: "
            f"at most {_MOST_RANKS_PER_UNIT * units} are started there"
        )
    return Starter(
        Programs(toolchain.family, toolchain.installation, toolchain.launcher, toolchain.probe),
        placement=settings.ranks.placement(units),
        timeout_seconds=settings.sampling.launch_timeout_seconds,
        fixed=settings.fixed.environment,
        preloaded=settings.fixed.preload,
    )


def as_typed(
    toolchain: Toolchain, settings: Settings, words: Sequence[str], shared: Path
) -> Starter:
    """Ranks that a user's own command starts, whose launcher has these `words`: as many of them,
    and there, as it has them. `shared`: a folder that all hosts see."""
    typed = Typed(words, shared)
    return starter(msgspec.structs.replace(toolchain, launcher=typed), settings)


def spare_cores(toolchain: Toolchain, settings: Settings) -> bool:
    """Return whether each rank may have a second processing unit; where nobody knows, it may."""
    units = toolchain.launcher.processing_units()
    return units is None or 2 * settings.ranks.ppn <= units


def _require_free(toolchain: Toolchain, fixed: Mapping[str, str]) -> None:
    """Raises UsageError for what a search tries or an exported file sets: it cannot be in force in
    every launch. Settings of the whole process can, as none is chosen for a function, and rules of
    the site, whose place the exported ones take."""
    if not fixed:
        return
    taken = {"LD_PRELOAD"} | {name for name in fixed if name.startswith("PLUMBLINE_")}
    of_the_process = {setting.knob for setting in toolchain.space.setting}
    for knob in toolchain.space.knobs().keys() - of_the_process:
        taken |= set(toolchain.family.in_environment({knob: ""}))
    refused = sorted((taken - site_rules.variables(toolchain)) & set(fixed))
    if refused:
        raise UsageError(
            f"environment: {', '.join(refused)}: a campaign searches and exports that itself"
        )
