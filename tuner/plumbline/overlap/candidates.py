"""Which settings of the whole process are tried for overlap: those that the search space marks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from plumbline.core.configuration import Configuration
from plumbline.libraries.space import Setting
from plumbline.overlap import benches
from plumbline.search.process import Settable, values_of
from plumbline_db.errors import UsageError


def values(
    settable: Settable,
    names: Sequence[str],
    *,
    nodes: int,
    named: Collection[str] | None = None,
) -> tuple[list[Configuration], list[str]]:
    """Return what is tried for the benchmarks `names`: settings that the installed library has, and
    reads as it is, or those that are `named`. Then the knobs that are left out because no core is
    free. Raises UsageError for a name that no setting has, or whose setting needs a spare core, or
    that is fixed already."""
    space, installed, fixed = settable.space, settable.installed, settable.fixed
    unknown = sorted(set(named or ()) - {setting.knob for setting in space.setting})
    if unknown:
        raise UsageError(
            f"settings: {', '.join(unknown)}: not in the search space; those for overlap are "
            f"{', '.join(setting.knob for setting in space.setting if setting.overlap)}"
        )
    missing = sorted(set(named or ()) - installed.keys())
    if missing:
        raise UsageError(f"settings: the installed library has no {', '.join(missing)}")
    taken = sorted(set(named or ()) & set(fixed))
    if taken:
        raise UsageError(f"settings: {', '.join(taken)}: in force in every launch by `environment`")
    settable.require_core(named or ())
    found: dict[Configuration, None] = {}
    left_out = []
    for setting in space.setting:
        if (
            setting.knob not in installed
            or setting.knob in fixed
            or not _wanted(setting, names, nodes, named)
        ):
            continue
        if named is None and not settable.is_read(setting):
            continue
        if setting.needs_spare_core and not settable.spare_cores:
            left_out.append(setting.knob)
            continue
        found |= dict.fromkeys(values_of(installed, setting))
    return list(found), left_out


def _wanted(one: Setting, names: Sequence[str], nodes: int, named: Collection[str] | None) -> bool:
    if named is not None:
        return one.knob in named
    collective = any(benches.of(name).function for name in names)
    fits = one.overlap == "messages" or (one.overlap == "collectives" and collective)
    return fits and (nodes > 1 or not one.between_nodes)
