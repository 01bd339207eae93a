"""POSIX shell files for MVAPICH2 and MVAPICH: variables that hold for every call of a process, by
size where the library can be told so."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import env, hydra, installed, mv2_ranges, quoting
from plumbline_exporters.bundle import Bundle, groups, heading, sizes
from plumbline_exporters.knobs import is_profile
from plumbline_exporters.mv2_ranges import Range
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
    if values.get(mv2_ranges.INDEXED) == "0":
        _refuse_only_indexed(values)
    return dict(sorted(values.items()))


def _of(function: str, group: Sequence[Winner]) -> dict[str, str]:
    """One value where it is the same for all sizes, else one with sizes."""
    first = group[0].configuration
    if group[0].bytes_from != 0 or group[-1].bytes_to != UNBOUNDED_BYTES:
        raise PlumblineError(
            f"{function}: there are winners from {sizes(group[0])} to {sizes(group[-1])} alone; "
            "the library cannot be told to decide itself at the others"
        )
    if len(group) == 1:
        return dict(first)
    knob = next((name for name in first if name in mv2_ranges.BY_VOLUME), None)
    rest = {name: value for name, value in first.items() if name != knob}
    if knob is None or any(
        {name: value for name, value in one.configuration.items() if name != knob} != rest
        for one in group
    ):
        raise PlumblineError(
            f"{function}: winners differ by size in what has one value for all sizes; drop all but "
            "one of them"
        )
    ranges = []
    for one in group:
        algorithm = one.configuration[knob]
        if not re.fullmatch(r"[0-9]{1,9}", algorithm):
            raise PlumblineError(f"{function}: {knob}={algorithm} is no number of an algorithm")
        last = None if one is group[-1] else one.bytes_to
        ranges.append(Range(int(algorithm), one.bytes_from, last))
    try:
        text = mv2_ranges.write(ranges)
    except ValueError as error:
        raise PlumblineError(
            f"{function}: {error}; the library wants an algorithm there"
        ) from error
    return rest | {knob: text} | mv2_ranges.companions(knob)


def _refuse_only_indexed(values: dict[str, str]) -> None:
    for name, algorithms in mv2_ranges.ONLY_INDEXED.items():
        for word in values.get(name, "").split(","):
            number = word.partition(":")[0]
            if re.fullmatch(r"[0-9]{1,9}", number) and int(number) in algorithms:
                raise PlumblineError(
                    f"{name}: algorithm {number} is there only without sizes, in any variable"
                )
