"""Conditions that weaken a measurement: a closed list of warnings, each with its remedy. Pure:
headers and loads in, sentences out. What must not be joined at all is in factors.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.measure import factors, settling
from plumbline.measure.settling import FirstBlockTimes
from plumbline.system.words import counted
from plumbline.verify.independence import Dependence
from plumbline_db.probe_records import Footer, Header, Load, ProbeRecord
from plumbline_db.runs import Surroundings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Comparison of the ranks that launches visit: do they differ more than their visits do?
# A launch is the statistical replicate. Visits of the same ranks are as good as launches with ranks
# of their own where what a case takes depends on the moment, and not on the ranks that measure it:
# the mean of launches that visit the same ranks v times has 1 + (v - 1) r times the variance of the
# mean of as many with ranks of their own, r being the intraclass correlation (Kish, Survey Sampling
# (1965), section 5.4).
# Pure: no clock, file or database.

# An experiment visits FEWEST ranks, and more as its launches grow: none so often that the design
# effect, 1 + (v - 1) r, is above this. The correlation is taken for no smaller than LEAST.
FEWEST, LEAST_CORRELATION = 3, 0.1
_DESIGN_EFFECT = 1.4
_LEAST_MEMBERS = 6  # whose ranks are compared; how much fewer differ is luck
_LEAST_REVISITS = 9  # launches on ranks that had been visited; fewer say little


def correlation(cases: Iterable[Mapping[int, float]], members: Mapping[int, str]) -> float | None:
    """Return the intraclass correlation of logarithms of seconds, over all cases together; None
    where there were too few ranks, or too few launches on the same ones, or nothing varies.
    `cases`: seconds of each case by launch; `members`: the ranks of each launch.

    What a launch does to all of its cases is taken off first, as it does not show in ratios; then
    the mean of a case over all first visits of ranks, over all second ones and so on, as it changes
    with time. The sums of squares of all cases, each in units of its own variance, make one
    analysis of variance with unequal groups (Searle, Casella and McCulloch, Variance Components
    (1992), section 3.6)."""
    import numpy as np

    launches = {launch: place for place, launch in enumerate(sorted(members))}
    names, groups = np.unique([members[launch] for launch in launches], return_inverse=True)
    if len(names) < _LEAST_MEMBERS or len(launches) - len(names) < _LEAST_REVISITS:
        return None
    visits = np.array([(groups[:place] == group).sum() for place, group in enumerate(groups)])
    rows = list(cases)
    table = np.full((len(rows), len(launches)), np.nan)
    for row, seconds in zip(table, rows, strict=True):
        row[[launches[launch] for launch in seconds]] = np.log(list(seconds.values()))
    table = table[np.isfinite(table).sum(axis=1) > 1]
    has_cases = np.isfinite(table).any(axis=0)
    table, groups, visits = table[:, has_cases], groups[has_cases], visits[has_cases]
    table -= np.nanmean(table, axis=1, keepdims=True)
    table -= np.nanmedian(table, axis=0)
    of_cases = [sums for row in table if (sums := _of_case(row, groups, visits)) is not None]
    between, within, between_degrees, within_degrees, size = np.sum(of_cases or [np.zeros(5)], 0)
    if not within:
        return None
    between, within = between / between_degrees, within / within_degrees
    return float((between - within) / (between + (size / between_degrees - 1) * within))


def most_visits(correlation: float | None) -> float:
    """Return how often launches of an experiment may visit the same ranks on average, twice at
    least."""
    return max(2.0, 1 + (_DESIGN_EFFECT - 1) / max(correlation or 0.0, LEAST_CORRELATION))


def _of_case(
    row: NDArray[np.float64], groups: NDArray[np.intp], visits: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """Return the sums of squares between and within groups, the degrees of freedom of both, and the
    size of a group times those between; None where the case has nothing to say. As the unit is the
    variance of the case, large correlations come out somewhat too small."""
    import numpy as np

    there = np.isfinite(row)
    launches = np.bincount(visits[there], minlength=visits.max() + 1)
    there &= 2 * launches[visits] >= len(np.unique(groups[there]))  # a mean of few is theirs
    values, own = row[there], np.unique(groups[there], return_inverse=True)[1]
    rounds = np.unique(visits[there], return_inverse=True)[1]
    values = values - (np.bincount(rounds, values) / np.bincount(rounds))[rounds]
    counts = np.bincount(own)
    total = (values**2).sum()
    degrees = (len(counts) - 1, len(values) - len(counts) - int(rounds.max(initial=0)))
    if total == 0 or min(degrees) <= 0:
        return None
    between = (np.bincount(own, values) ** 2 / counts).sum()
    unit = total / sum(degrees)
    size = len(values) - (counts**2).sum() / len(values)
    return np.array([between / unit, (total - between) / unit, *degrees, size])


# Processors that others, or the hypervisor, may keep busy while a launch runs. A host's processor
# time comes in ticks of 10 ms: a launch must show more than some ticks. Of 1967 launches on two
# cores beside an editor and a shell, one showed as much by itself.
BUSY_PROCESSORS = 0.05
STOLEN_PROCESSORS = 0.05
LEAST_SECONDS = 0.05
# The same for many launches together, whose ticks and starts add up.
FOREIGN_PROCESSORS = 0.25


class Weakness(msgspec.Struct, frozen=True):
    """A sentence about a weakness, under a name that stays."""

    name: str
    text: str


class Conditions(msgspec.Struct, frozen=True):
    """The conditions of all launches of a result: the factors of the first one, and why some are
    missing; what varied and may; what weakens the result; of each table whether its launches depend
    on each other."""

    factors: dict[str, str]
    missing: dict[str, str]
    varied: list[str]
    warnings: list[Weakness]
    dependence: dict[str, Dependence] = {}


def summary(
    launches: Sequence[Surroundings],
    build: Mapping[str, str],
    dependence: Mapping[str, Dependence] | None = None,
    settled: Sequence[Weakness] = (),
) -> Conditions:
    """`launches` may be of several suites; `build` is what the library says of its build;
    `dependence` is that of each table, by stage; `settled`: what is to be said of cases."""
    tables = dict(dependence or {})
    weak = of_build(build) + of_tables(tables) + list(settled)
    if not launches:
        return Conditions({}, {}, [], weak, tables)
    first = launches[0].header
    missing = {factor.name: factor.missing for factor in first.factors if factor.missing}
    facts_known = {
        name: value for name, value in factors.facts(first).items() if name not in missing
    }
    differ = factors.differences(factors.named(launches), across_suites=True)
    varied = [difference.text() for difference in differ]
    warnings = of_launches(launches) + weak
    return Conditions(facts_known, missing, varied, warnings, tables)


class Foreign(msgspec.Struct, frozen=True):
    """Seconds of processor time that went to something else during a launch, and that the
    hypervisor took, on the host that had most of it; None: its kernel does not say. `high`: so much
    that this launch shows it by itself."""

    busy_seconds: float | None
    stolen_seconds: float | None
    wall_seconds: float
    high: bool


def foreign(load: Load, wall_seconds: float) -> Foreign:
    """`wall_seconds`: from header to footer, what `load` covers."""
    busy = [
        max(0.0, host.busy_seconds - host.own_seconds)
        for host in load.hosts
        if host.busy_seconds is not None and host.own_seconds is not None
    ]
    stolen = [host.stolen_seconds for host in load.hosts if host.stolen_seconds is not None]
    high = _is_high(max(busy, default=0.0), max(stolen, default=0.0), wall_seconds, BUSY_PROCESSORS)
    return Foreign(max(busy, default=None), max(stolen, default=None), wall_seconds, high)


def _is_high(
    busy_seconds: float, stolen_seconds: float, wall_seconds: float, processors: float
) -> bool:
    return busy_seconds > max(LEAST_SECONDS, processors * wall_seconds) or stolen_seconds > max(
        LEAST_SECONDS, STOLEN_PROCESSORS * wall_seconds
    )


def of_launches(launches: Sequence[Surroundings]) -> list[Weakness]:
    """Return what to know about the conditions of launches that became one result."""
    conditions = [] if not launches else of_header(launches[0].header)
    return conditions + _load_warnings(
        [
            foreign(launch.load, launch.wall_seconds)
            for launch in launches
            if launch.load is not None
        ],
        len(launches),
    )


def of_records(launches: Sequence[Sequence[ProbeRecord]]) -> list[Weakness]:
    """The same, of launches that are not in the database."""
    headers = [record for records in launches for record in records if isinstance(record, Header)]
    loads = []
    for records in launches:
        load = next((record for record in records if isinstance(record, Load)), None)
        footer = next((record for record in records if isinstance(record, Footer)), None)
        if load is not None and footer is not None:
            loads.append(foreign(load, footer.wall_ns / 1e9))
    return (of_header(headers[0]) if headers else []) + _load_warnings(loads, len(launches))


def _load_warnings(loads: Sequence[Foreign], launches: int) -> list[Weakness]:
    """Return how many launches ran beside what load. Launches that are too short to show it one by
    one show it together."""
    chosen = [load for load in loads if load.high]
    some = f"{len(chosen)} of {counted(launches, 'launch')}"
    if not chosen:
        chosen, some = list(loads), f"all {launches} launches together"
    wall = sum(foreign.wall_seconds for foreign in chosen)
    busy = sum(foreign.busy_seconds or 0.0 for foreign in chosen)
    stolen = sum(foreign.stolen_seconds or 0.0 for foreign in chosen)
    shown = any(load.high for load in loads)
    if not shown and not _is_high(busy, stolen, wall, FOREIGN_PROCESSORS):
        return []
    text = (
        f"{some} ran beside other work: {busy / wall:.1f} processors on average were busy with "
        f"something else, {stolen / wall:.2f} were taken by the hypervisor; wait until the machine "
        "is quiet (campaign and verify do with --wait-for-quiet), or expect wide intervals and "
        "undecided cells"
    )
    return [Weakness("load", text)]


def of_tables(tables: Mapping[str, Dependence]) -> list[Weakness]:
    """Tables whose launches are no independent replicates."""
    return [
        Weakness(
            "dependence",
            f"{counted(table.launches, 'launch')} of the table `{stage}` depend on each other: the "
            f"lag-1 autocorrelation of its log ratios is {table.value:.2f} (±{table.error:.2f} by "
            f"chance, p {table.p:.2g}), so that more violations are false than alpha says and "
            "intervals are too narrow; find what else runs by turns (frequency, other jobs), "
            "measure again at another time (--new), and believe what both tables show",
        )
        for stage, table in tables.items()
        if table.high
    ]


def of_starts(starts: Sequence[FirstBlockTimes], *, simulated: bool) -> list[Weakness]:
    """Cases whose times were not yet, or at first, what they come to."""
    sentences = {
        "unsettled": settling.unsettled(starts, simulated=simulated),
        "first_calls": settling.first_calls(starts) if simulated else "",
        "transit": settling.in_transit(starts),
    }
    return [Weakness(name, text) for name, text in sentences.items() if text]


def of_refusals(refusals: Sequence[tuple[str, str]]) -> list[Weakness]:
    """Return what is said of cases whose samples are no results, as label and reason, in the order
    of time. The last reason stands for all."""
    if not refusals:
        return []
    times = Counter(label for label, _ in refusals)
    names = [f"{label} ({counted(launches, 'launch')})" for label, launches in times.items()]
    label, reason = refusals[-1]
    text = f"{counted(len(times), 'case')} gave no result: {settling.some(names)}"
    return [Weakness("refused", f"{text}; of {label}, at last: {reason}")]


def of_header(header: Header) -> list[Weakness]:
    """Return what weakens every launch under these conditions."""
    values_of = {factor.name: factor.values for factor in header.factors}
    return [
        Weakness(name, text)
        for name, check in _CHECKS.items()
        if (text := check(header, values_of))
    ]


Known = Mapping[str, list[str]]


def _oversubscribed(header: Header, known: Known) -> str:
    del known
    if not header.oversubscribed:
        return ""
    return (
        f"{header.ppn} ranks on {counted(header.processing_units, 'processing unit')}: "
        "oversubscribed; results hold for that, not for a rank a core"
    )


def _unbound(header: Header, known: Known) -> str:
    """Return a weakness where ranks have cores of their own and may leave them."""
    del known
    if header.oversubscribed or header.processing_units < 2 or header.nprocs < 2:
        return ""
    loose = sum(_width(binding) >= header.processing_units for binding in header.binding)
    if not loose:
        return ""
    return (
        f"{loose} of {header.nprocs} ranks are not bound: the system moves them between cores; "
        "bind them (mpirun --bind-to core, srun --cpu-bind=cores)"
    )


def _width(binding: str) -> int:
    """Return how many processing units "0-3,8" names."""
    width = 0
    for part in binding.split(","):
        first, dash, last = part.partition("-")
        if first.isdigit():
            width += int(last) - int(first) + 1 if dash and last.isdigit() else 1
    return width


def _governor(header: Header, known: Known) -> str:
    del header
    poor = [value for value in known.get("governor", []) if value != "performance"]
    if not poor:
        return ""
    return (
        f"frequency governor {', '.join(poor)}: the frequency follows the load; "
        "cpupower frequency-set --governor performance"
    )


def _turbo(header: Header, known: Known) -> str:
    del header
    if "on" not in known.get("turbo", []):
        return ""
    return (
        "turbo is on: the frequency depends on temperature and on the other cores; switch it off "
        "in /sys/devices/system/cpu/intel_pstate/no_turbo or /sys/devices/system/cpu/cpufreq/boost"
    )


def _numa_balancing(header: Header, known: Known) -> str:
    del header
    if all(value == "0" for value in known.get("numa_balancing", [])):
        return ""
    return (
        "the kernel moves pages between NUMA nodes while ranks run; sysctl kernel.numa_balancing=0"
    )


def _quota(header: Header, known: Known) -> str:
    del header
    limits = [value for value in known.get("cgroup_cpu", []) if value != "no limit"]
    if not limits:
        return ""
    return (
        f"a cgroup limits processor time to {', '.join(limits)}: ranks are stopped when it is used "
        "up; measure without the limit"
    )


def _clocksource(header: Header, known: Known) -> str:
    slow = [
        value
        for value in known.get("clocksource", [])
        if value not in ("tsc", "arch_sys_counter", "kvm-clock", "timebase", "tod")
    ]
    if not slow or header.clock.name in ("tsc", "papi"):
        return ""
    return (
        f"clock source {', '.join(slow)}: each reading of the clock is a system call "
        f"({header.clock.cost_ns} ns); boot with a stable TSC (see the kernel's log)"
    )


_CHECKS: dict[str, Callable[[Header, Known], str]] = {
    "oversubscribed": _oversubscribed,
    "binding": _unbound,
    "governor": _governor,
    "turbo": _turbo,
    "numa_balancing": _numa_balancing,
    "cgroup_cpu": _quota,
    "clocksource": _clocksource,
}


def of_build(build: Mapping[str, str]) -> list[Weakness]:
    """Return what a library's build says against its times."""
    return [
        Weakness(key, f"the library was built with {what}: its times are not those of users")
        for key, what in (("debug", "debugging"), ("memory_debug", "memory debugging"))
        if build.get(key) == "yes"
    ]
