"""Which settings of the whole process are tried for overlap: those that the search space marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from plumbline.core.configuration import Configuration
from plumbline.libraries import Knob
from plumbline.libraries.space import Setting, Space
from plumbline.overlap import benches
from plumbline.search.process import is_read, refuse_without_core, values_of
from plumbline_db.errors import UsageError


def values(
    space: Space,
    installed: Mapping[str, Knob],
    names: Sequence[str],
    *,
    nodes: int,
    named: Collection[str] | None = None,
    fixed: Collection[str] = (),
    spare_cores: bool,
) -> tuple[list[Configuration], list[str]]:
    """What is tried for the benchmarks `names`: of settings that the installed library has, and
    reads as it is, or of those that are `named`. Then the knobs that are left out because no core
    is free. Raises UsageError for a name that no setting has, or whose setting needs a spare core,
    or that is `fixed` already."""
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
    refuse_without_core(space, named or (), spare_cores=spare_cores)
    found: dict[Configuration, None] = {}
    left_out = []
    for setting in space.setting:
        if (
            setting.knob not in installed
            or setting.knob in fixed
            or not _wanted(setting, names, nodes, named)
        ):
            continue
        if named is None and not is_read(space, installed, setting):
            continue
        if setting.needs_spare_core and not spare_cores:
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
