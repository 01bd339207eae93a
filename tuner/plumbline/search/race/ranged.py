"""One value for all sizes that names an algorithm for each range of them, put together from what
the algorithms have shown alone. It is a candidate like any other, and measured as it is exported.

Pure. Every size is in a range, and gets an algorithm: the library has no way to be told to decide
itself at some."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from plumbline.core.configuration import Configuration
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.select import fewest_rules, tie
from plumbline_db.records import Trial
from plumbline_exporters import by_size, families
from plumbline_exporters.by_size import Range


def candidate(knob: str, trials: Mapping[int, Sequence[Trial]]) -> Candidate | None:
    """At each size, of which `trials` tell, one of the best, with as few changes as there can be; a
    range ends in the geometric middle. None where a size has none, where one algorithm is among the
    best everywhere, or where there is nothing to be gained."""
    options: dict[int, list[Trial]] = {}
    for size, tried in trials.items():
        known = [(trial.ratio, trial) for trial in tried if trial.ratio and _is_number(knob, trial)]
        limit = min((ratio * tie(trial) for ratio, trial in known), default=math.inf)
        options[size] = [trial for ratio, trial in known if ratio <= limit]
    sizes = sorted(options)
    if not all(options.values()):
        return None
    chosen = fewest_rules(options, sizes, dict.fromkeys(sizes, 1.0))
    runs = [list(alike) for _, alike in groupby(sizes, key=lambda size: chosen[size].knobs[knob])]
    if len(runs) < 2 or sum(math.log(trial.ratio or 1.0) for trial in chosen.values()) >= 0:
        return None
    starts = [0, *(math.isqrt(left[-1] * right[0]) + 1 for left, right in pairwise(runs))]
    lasts = [*(start - 1 for start in starts[1:]), None]
    ranges = [
        Range(int(chosen[run[0]].knobs[knob]), first, last)
        for run, first, last in zip(runs, starts, lasts, strict=True)
    ]
    return Candidate(configuration=Configuration.of({knob: by_size.write(ranges)}))


def _is_number(knob: str, trial: Trial) -> bool:
    """Whether it is an algorithm of the library, and nothing else, that may stand in a range."""
    plain = trial.variant == DEFAULT.variant and trial.state == "measured"
    if not plain or trial.knobs.keys() != {knob}:
        return False
    value = trial.knobs[knob]
    return value.isdecimal() and int(value) in families.in_ranges(knob)
