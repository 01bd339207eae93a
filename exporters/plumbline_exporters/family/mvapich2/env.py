"""POSIX shell files for MVAPICH2, and for MVAPICH: variables that hold for every call of a process,
by size where the library can be told so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import by_size, plumbline_sh
from plumbline_exporters.bundle import Bundle, groups, is_profile, put, sizes
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mvapich2 import ranges
from plumbline_exporters.registry import exporter


@exporter(
    "mvapich2-env",
    "shell file to source before mpiexec",
    needs=("profile",),
    family="mvapich2",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "The library says nothing of a value that it does not take."
    return sourced(bundle, "MVAPICH2", remark)


def sourced(bundle: Bundle, library: str, remark: str) -> dict[str, str]:
    remarks = [
        "# mpiexec carries the environment to all nodes; mpirun_rsh wants the variables as",
        f"# arguments. {remark}",
    ]
    return hydra.files(bundle, plumbline_sh.text(bundle, library, remarks, variables(bundle)))


def variables(bundle: Bundle) -> dict[str, str]:
    """Return what holds for a whole process. Two winners that want different values are an
    error."""
    values: dict[str, str] = {}
    chosen = [winner for winner in bundle.winners if not is_profile(winner)]
    for (function, _), group in groups(chosen).items():
        for name, value in _of(function, group).items():
            put(values, group[0], name, value)
    for name in values:
        if why := ranges.refused(name, values):
            raise PlumblineError(f"{name}={values[name]}: {why}")
    return dict(sorted(values.items()))


def _of(function: str, group: Sequence[Winner]) -> dict[str, str]:
    """Return what one winner wants, which holds for all sizes, be it with an algorithm for each
    range."""
    (first, *others) = group
    if first.bytes_from != 0 or group[-1].bytes_to != UNBOUNDED_BYTES:
        raise PlumblineError(
            f"{function}: there are winners from {sizes(first)} to {sizes(group[-1])} alone; "
            "the library cannot be told to decide itself at the others"
        )
    if others:
        raise PlumblineError(
            f"{function}: winners differ by size in what has one value for all sizes; drop all but "
            "one of them"
        )
    ranged = [name for name, value in first.configuration.items() if by_size.has_sizes(value)]
    beside = [ranges.companions(name) for name in ranged if name in ranges.SWITCHES]
    return reduce(or_, beside, dict(first.configuration))
