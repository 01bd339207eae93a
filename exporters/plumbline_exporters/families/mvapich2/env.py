"""POSIX shell files for MVAPICH2 and MVAPICH: variables that hold for every call of a process, by
size where the library can be told so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import env, hydra, installed, mv2_ranges, quoting
from plumbline_exporters.bundle import Bundle, groups, heading, sizes
from plumbline_exporters.knobs import is_profile
from plumbline_exporters.registry import exporter


@exporter(
    "mvapich2-env",
    "shell file to source before mpiexec",
    needs=("profile",),
    family="mvapich2",
)
def files_2(bundle: Bundle) -> dict[str, str]:
    said = "The library says nothing of a value that it does not take."
    return _files(bundle, "Environment for MVAPICH2, written by Plumbline.", said)


@exporter(
    "mvapich-env",
    "shell file to source before mpiexec",
    needs=("profile",),
    family="mvapich",
)
def files(bundle: Bundle) -> dict[str, str]:
    said = "MPIR_CVAR_ENABLE_DYNAMIC_TUNING is left as it is: what is set here is not tuned."
    return _files(bundle, "Environment for MVAPICH, written by Plumbline.", said)


def _files(bundle: Bundle, what: str, remark: str) -> dict[str, str]:
    lines = heading(bundle, what)
    lines.append(env.use(bundle))
    lines.append(
        "# mpiexec carries the environment to all nodes; mpirun_rsh wants the variables as"
    )
    lines.append(f"# arguments. {remark}")
    text = "\n".join(lines) + "\n" + installed.check_sh(bundle)
    text += quoting.exports(variables(bundle))
    if not any(is_profile(winner) for winner in bundle.winners):
        return {env.FILE_NAME: text}
    return hydra.files(bundle) | {env.FILE_NAME: text + hydra.script(bundle)}


def variables(bundle: Bundle) -> dict[str, str]:
    """What holds for a whole process. Two winners that want different values are an error."""
    values: dict[str, str] = {}
    chosen = [winner for winner in bundle.winners if not is_profile(winner)]
    for (function, nprocs), group in groups(chosen).items():
        for name, value in _of(function, group).items():
            if values.setdefault(name, value) != value:
                raise PlumblineError(
                    f"{function}, {nprocs} ranks: wants {name}={value}, another winner wants "
                    f"{values[name]}; a process has one value: drop one of them"
                )
    for name in values:
        if why := mv2_ranges.refused(name, values):
            raise PlumblineError(f"{name}={values[name]}: {why}")
    return dict(sorted(values.items()))


def _of(function: str, group: Sequence[Winner]) -> dict[str, str]:
    """What one winner wants, which holds for all sizes, be it with an algorithm for each range."""
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
    ranged = [name for name, value in first.configuration.items() if mv2_ranges.has_sizes(value)]
    beside = [mv2_ranges.companions(name) for name in ranged if name in mv2_ranges.SWITCHES]
    return reduce(or_, beside, dict(first.configuration))
