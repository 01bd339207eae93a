"""What findings would save. Campaigns know the costs of the collectives that would take the place
of those made by hand: the newest one with the recording's library and host, on as many ranks as the
group has. A replay plays the messages of findings again under mpirun, beside the collective: in the
same launches, on the first ranks, called in the same way of use."""

from __future__ import annotations

import functools
import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import MESSAGE_FUNCTIONS_IN_BLOCKS, Data, Messages, Plan, PlanCase
from plumbline.core.winner import deciding
from plumbline.detect.findings import Call, HandMade, ReplaySaving, Saved, SavedInRun, SizeSaving
from plumbline.detect.patterns import HandPattern
from plumbline.detect.recording import Recording
from plumbline.libraries.space import Space
from plumbline.measure import settling, side_by_side
from plumbline.measure.comparison import Arm, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.results import saving as cold_savings
from plumbline.search.outcome import label
from plumbline.search.space.candidates import DEFAULT, index
from plumbline.verify.decision import Compare, compare_of
from plumbline.verify.significance.signed_rank import paired_ratio, paired_shift
from plumbline_db import campaigns, machines, runs
from plumbline_db.connection import Database
from plumbline_db.findings import get_verdicts, get_winners, stages
from plumbline_db.probe_records import CaseRecord, Check, ConfigRecord, ProbeRecord, Samples
from plumbline_db.records import Campaign, Suite

# The time that MPI's own collective would save a run in place of one that is made by hand. Pure:
# what calls take comes from a campaign or from a replay.
# What is made by hand takes `work_seconds`: that ranks wait for one that comes late no collective
# changes. With more ranks than cores the recorder's own work is in it, where it keeps other ranks
# from theirs: so what a replay takes is believed before what was recorded, where it is less.

_NORMAL = 1.96  # of 95 %


def volume(finding: HandMade, size: int) -> int:
    """Bytes of a finding as the guidelines count them (docs/plan-and-records.md)."""
    if finding.function == "MPI_Barrier":
        return 0
    if finding.function in MESSAGE_FUNCTIONS_IN_BLOCKS:
        return size * finding.group_size
    if finding.function == "MPI_Alltoallv":
        return -(-size // finding.group_size)
    return size


def saving(
    finding: HandMade,
    source: Literal["campaign", "replay"],
    campaign: str,
    sizes: Sequence[SizeSaving],
) -> ReplaySaving | None:
    """None where nothing was measured."""
    if not sizes:
        return None
    spoken_for = sum(size.instances for size in sizes)
    replayed = [size.by_hand.seconds * size.instances for size in sizes if size.by_hand]
    per_group = 1 / max(1, len(finding.groups))
    tuned = any(size.tuned is not None for size in sizes)
    return ReplaySaving(
        source=source,
        campaign=campaign,
        replayed_seconds=sum(replayed) * per_group if replayed else None,
        default=_saved(finding, sizes, tuned=False),
        tuned=_saved(finding, sizes, tuned=True) if tuned else None,
        share=min(1.0, spoken_for / max(1, finding.instances)),
        sizes=tuple(sizes),
    )


def _saved(finding: HandMade, sizes: Sequence[SizeSaving], *, tuned: bool) -> Saved:
    """Return the saving of a finding: after a replay, what its launches saved, or as much less as
    the recording took less; otherwise the difference to the recording. Nothing saves more than what
    is made by hand takes."""
    calls = [(size.tuned if tuned and size.tuned else size.default, size) for size in sizes]
    spoken_for = sum(size.instances for size in sizes) / max(1, finding.instances)
    by_hand = finding.work_seconds * min(1.0, spoken_for)
    own, scale = by_hand * _spread(finding.instance_seconds), 1 / max(1, len(finding.groups))
    replayed = scale * sum(size.by_hand.seconds * size.instances for size in sizes if size.by_hand)
    if replayed:
        scale *= min(1.0, by_hand / replayed)
        by_hand, own = min(by_hand, replayed), 0.0
    if all(size.in_run for size in sizes):
        return _of_launches(sizes, scale, by_hand, tuned=tuned)
    parts = [scale * size.instances * call.seconds for call, size in calls]
    faster = [scale * size.instances * (call.seconds - call.low_seconds) for call, size in calls]
    slower = [scale * size.instances * (call.high_seconds - call.seconds) for call, size in calls]
    seconds = by_hand - sum(parts)
    # Errors of sizes are independent.
    high = min(seconds + math.hypot(own, *faster), by_hand + own)
    return Saved(seconds, seconds - math.hypot(own, *slower), high)


def _of_launches(
    sizes: Sequence[SizeSaving], scale: float, by_hand: float, *, tuned: bool
) -> Saved:
    """Both sides are of the same launches, and so are all sizes: what makes a launch slow is in
    their difference once. A launch that was interrupted shows a difference above `by_hand`, all
    that there is to save; it counts as that."""
    of_sizes = [
        [scale * size.instances * saved for saved in (tuned and run.tuned) or run.default]
        for size in sizes
        if (run := size.in_run)
    ]
    launches = zip(*of_sizes, strict=True)
    return Saved(*paired_shift([min(sum(launch), by_hand) for launch in launches]))


def _spread(seconds: Sequence[float]) -> float:
    """Half the interval of the mean of instances, over it."""
    if len(seconds) < 2 or not sum(seconds):
        return 0.0
    mean = statistics.fmean(seconds)
    return _NORMAL * statistics.stdev(seconds) / math.sqrt(len(seconds)) / mean


# The cost of a size is interpolated from its measured neighbours, and extrapolated up to this
# factor beyond the last one.
_REACH = 2.0


class Tuned(msgspec.Struct, frozen=True):
    """The choice of a campaign for a cell; it can be put in force while a launch runs."""

    variant: str
    configuration: Configuration


Winners = Mapping[tuple[str, int, int], Tuned]  # by function, ranks and volume


class _Cost(msgspec.Struct, frozen=True):
    """The cost of a cell: a call of the library as it is, and of it with winners in force."""

    default: Call
    tuned: Call | None
    configuration: str


class _Costs(msgspec.Struct, frozen=True):
    campaign: str
    cells: Mapping[Target, _Cost]


def predicted(db: Database, recording: Recording, findings: Sequence[HandMade]) -> list[HandMade]:
    """The same findings; those that a campaign can speak for have a saving."""
    costs = functools.cache(lambda nprocs: _costs(db, recording, nprocs))
    return [
        finding
        if finding.category != "collective"
        else msgspec.structs.replace(finding, saving=_saving(finding, costs))
        for finding in findings
    ]


def newest(db: Database, recording: Recording, nprocs: int) -> Campaign | None:
    """The campaign of this site that speaks for a group of so many ranks."""
    hosts = {rank.host for rank in recording.ranks}
    for campaign in reversed(campaigns.own(db)):
        if campaign.nprocs != nprocs or not stages(db, campaign.id):
            continue
        library = machines.library(db, campaign.library_fingerprint)
        same_host = machines.machine(db, campaign.machine).host in hosts
        if same_host and library.version_string.split() == recording.library.split():
            return campaign
    return None


def chosen(
    db: Database, recording: Recording, findings: Sequence[HandMade], is_hot: Callable[[str], bool]
) -> Winners:
    """Return the winners for the patterns of findings; `is_hot` tells whether a knob can be
    switched in a launch."""
    speaks = functools.cache(lambda nprocs: newest(db, recording, nprocs))
    every: dict[tuple[str, int, int], Tuned] = {}
    for finding in findings:
        campaign = speaks(finding.group_size)
        if campaign is None:
            continue
        for pattern in finding.patterns:
            size = volume(finding, pattern.bytes)
            winner = deciding(get_winners(db, campaign.id), Target(finding.function, size))
            if winner is not None and all(map(is_hot, winner.configuration)):
                tuned = Tuned(winner.variant, Configuration.of(winner.configuration))
                every[finding.function, finding.group_size, size] = tuned
    return every


def _costs(db: Database, recording: Recording, nprocs: int) -> _Costs | None:
    campaign = newest(db, recording, nprocs)
    if campaign is None:
        return None
    names = [
        name for name, suite in runs.suites(db, campaign.id).items() if suite.stage == "before"
    ]
    measured = index(runs.medians(db, campaign.id, names))
    kept = get_winners(db, campaign.id)
    after = get_verdicts(db, campaign.id, "after")
    cold = cold_savings.cold(db, campaign, after, kept) if kept and after else {}
    cost_by_cell = {}
    for (cell, candidate), seconds in measured.items():
        if candidate == DEFAULT and seconds:
            default = call_of(list(seconds.values()))
            winner = deciding(kept, cell)
            tuned = None
            if winner is not None and cell in cold:
                ratio = cold[cell].ratio
                low, high = ratio.low or ratio.ratio, ratio.high or ratio.ratio
                tuned = Call(*(default.seconds * share for share in (ratio.ratio, low, high)))
            name = label(winner.variant, winner.configuration) if winner and tuned else ""
            cost_by_cell[cell] = _Cost(default, tuned, name)
    return _Costs(campaign.id, cost_by_cell)


def call_of(seconds: Sequence[float]) -> Call:
    """Return the time of a call over launches. Where they are too few for an interval it is as wide
    as they lie apart."""
    estimate = paired_ratio([math.log(value) for value in seconds])
    return Call(estimate.ratio, estimate.low or min(seconds), estimate.high or max(seconds))


def _saving(finding: HandMade, costs: Callable[[int], _Costs | None]) -> ReplaySaving | None:
    costs_known = costs(finding.group_size)
    if costs_known is None:
        return None
    sizes = []
    for size, instances in sorted(Counter(finding.instance_bytes).items()):
        cost = _at(costs_known.cells, finding.function, volume(finding, size))
        if cost is not None:
            sizes.append(
                SizeSaving(size, instances, None, cost.default, cost.tuned, cost.configuration)
            )
    return saving(finding, "campaign", costs_known.campaign, sizes)


def _at(cells: Mapping[Target, _Cost], function: str, size: int) -> _Cost | None:
    """Between two measured sizes on the line between them; None where none is near."""
    sizes = sorted(cell.bytes for cell in cells if cell.function == function)
    below = [measured for measured in sizes if measured <= size]
    above = [measured for measured in sizes if measured >= size]
    if below and above:
        lower, right = cells[Target(function, below[-1])], cells[Target(function, above[0])]
        span = above[0] - below[-1]
        part = (size - below[-1]) / span if span else 0.0
        near = lower if part < 0.5 else right
        default = _between(lower.default, right.default, part)
        if near.tuned is None:
            return _Cost(default, None, "")
        share = default.seconds / near.default.seconds
        return _Cost(default, _scaled(near.tuned, share), near.configuration)
    for nearest in below[-1:] or above[:1]:
        if max(size, 1) <= _REACH * max(nearest, 1) and max(nearest, 1) <= _REACH * max(size, 1):
            return cells[Target(function, nearest)]
    return None


def _between(lower: Call, right: Call, part: float) -> Call:
    return Call(
        lower.seconds + part * (right.seconds - lower.seconds),
        lower.low_seconds + part * (right.low_seconds - lower.low_seconds),
        lower.high_seconds + part * (right.high_seconds - lower.high_seconds),
    )


def _scaled(call: Call, share: float) -> Call:
    return Call(share * call.seconds, share * call.low_seconds, share * call.high_seconds)


SUITE = Suite("replay")
LAUNCHES = 8
STREAM = "stream"
# The computation between calls is replayed if it takes time, but not too long for a launch.
_LEAST_BETWEEN_NS, _MOST_BETWEEN_NS = 500, 200_000
# A block has as many calls as the recording, within these bounds and about this long: ranks that
# run ahead of each other do so in a long loop only as far as the library lets them.
_BLOCKS, _FEWEST_CALLS, _MOST_CALLS, _BLOCK_SECONDS = 8, 32, 2000, 0.02


class _Trio(msgspec.Struct, frozen=True):
    """The cases of a pattern, called in one way."""

    by_hand: PlanCase
    default: PlanCase
    tuned: PlanCase | None

    @property
    def cases(self) -> list[PlanCase]:
        return [case for case in (self.by_hand, self.default, self.tuned) if case is not None]


class _Replay(msgspec.Struct, frozen=True):
    """A pattern of a finding: its calls back to back, and as they follow each other in the run."""

    finding: int
    pattern: HandPattern
    calls: _Trio
    in_run: _Trio


class Replayed(msgspec.Struct, frozen=True):
    """`findings`: the same, those that were replayed with a saving; `failures`: what could not be
    replayed, and why."""

    findings: list[HandMade]
    failures: list[str]


def replayed(
    store: LaunchStore,
    findings: Sequence[HandMade],
    winners: Winners,
    space: Space,
    launches: int = LAUNCHES,
) -> Replayed:
    """Replay findings in `launches` launches; `space` says how winners can be switched in them.
    Raises PlumblineError where launches fail and no case is to blame."""
    simulated, nprocs = store.starter.family.simulates, store.starter.placement.nprocs
    replays = [
        _Replay(
            number,
            pattern,
            _trio(finding, pattern, nprocs, winners, simulated=simulated),
            _trio(finding, pattern, nprocs, winners, _between_ns(finding), simulated=simulated),
        )
        for number, finding in enumerate(findings)
        if finding.category == "collective"
        for pattern in finding.patterns
    ]
    if not replays:
        return Replayed(list(findings), [])
    plan = settling.until_settled(_plan(replays, space.switch), simulated=simulated)
    any_tuned = any(replay.calls.tuned is not None for replay in replays)
    arm = Arm(SUITE, plan, space.hot_environment if any_tuned else {})
    take_turns(store, [arm], launches)
    seconds, wrong = _measured(side_by_side.unkept_records(store, SUITE))
    compare = compare_of(simulated=simulated)
    sizes: dict[int, list[SizeSaving]] = {}
    failures = []
    for one_replay in replays:
        size = _size(one_replay, seconds, compare)
        if size is not None:
            sizes.setdefault(one_replay.finding, []).append(size)
        else:
            why = next(
                filter(None, map(wrong.get, one_replay.calls.cases)), "launches ended with it"
            )
            failures.append(
                f"{findings[one_replay.finding].function}, {one_replay.pattern.bytes} bytes: "
                f"not replayed: {why}"
            )
    return Replayed(
        [
            finding
            if number not in sizes
            else msgspec.structs.replace(
                finding, saving=saving(finding, "replay", "", sizes[number])
            )
            for number, finding in enumerate(findings)
        ],
        failures,
    )


def _between_ns(finding: HandMade) -> int:
    between = min(round(finding.between_seconds * 1e9), _MOST_BETWEEN_NS)
    return between if between >= _LEAST_BETWEEN_NS else 0


def _calls(finding: HandMade) -> int:
    """Return the number of calls of a block."""
    seconds = finding.work_seconds / finding.instances + _between_ns(finding) / 1e9
    return max(_FEWEST_CALLS, min(finding.instances, _MOST_CALLS, round(_BLOCK_SECONDS / seconds)))


def _plan(replays: Sequence[_Replay], knobs: str) -> Plan:
    patterns = {replay.calls.by_hand.variant: played(replay.pattern) for replay in replays}
    cases = [
        case for replay in replays for trio in (replay.calls, replay.in_run) for case in trio.cases
    ]
    return Plan(
        "replay",
        1,
        tuple(dict.fromkeys(cases)),
        blocks=_BLOCKS,
        knobs=knobs,
        patterns=tuple(patterns.values()),
    )


def played(pattern: HandPattern) -> Messages:
    """Known by what it is, so that equal ones are one case."""
    digest = hashlib.sha256("\n".join(pattern.steps).encode()).hexdigest()
    return Messages(digest[:12], pattern.steps)


def _trio(
    finding: HandMade,
    pattern: HandPattern,
    nprocs: int,
    winners: Winners,
    between_ns: int = 0,
    *,
    simulated: bool,
) -> _Trio:
    """A simulated machine has one way of use, repeats itself, and makes nobody wait."""
    size = volume(finding, pattern.bytes)
    ranks = 0 if len(pattern.group) == nprocs else len(pattern.group)
    root = max(pattern.root, 0)
    operation = f"MPI_{finding.operation}" if finding.operation else "MPI_BOR"
    data = Data(pattern.type, operation, root)
    played_data = Data("MPI_BYTE", "MPI_BOR", root)  # messages are played as bytes
    if not finding.operation or not _defined(data):
        data = played_data
    default = PlanCase(finding.function, size, ranks=ranks, data=data)
    if not simulated:
        default = msgspec.structs.replace(
            default, reps=_calls(finding), use=STREAM, delay_ns=between_ns
        )
    by_hand = msgspec.structs.replace(default, variant=played(pattern).variant, data=played_data)
    winner = winners.get((finding.function, len(pattern.group), size))
    tuned = None
    if winner is not None:
        tuned = msgspec.structs.replace(
            default, variant=winner.variant, configuration=winner.configuration
        )
    return _Trio(by_hand, default, tuned)


def _defined(data: Data) -> bool:
    """Return whether MPI has the operator on the type, of those that a plan knows."""
    whole = data.type in ("MPI_INT", "MPI_INT64_T")
    if data.op in ("MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN"):
        return data.type != "MPI_BYTE"
    if data.op in ("MPI_BAND", "MPI_BOR", "MPI_BXOR"):
        return whole or data.type == "MPI_BYTE"
    return whole and data.op in ("MPI_LAND", "MPI_LOR", "MPI_LXOR")


Seconds = dict[PlanCase, list[float]]  # by launch, the same ones for all


def _measured(raw: Sequence[Sequence[ProbeRecord]]) -> tuple[Seconds, dict[PlanCase, str]]:
    """Return what a call takes in each launch, on the average of its blocks: a program pays for
    slow ones, too."""
    launches: list[dict[PlanCase, float]] = []
    wrong: dict[PlanCase, str] = {}
    for records in raw:
        cases = dict(_cases(records))
        samples: dict[int, list[int]] = {}
        for record in records:
            if isinstance(record, Samples):
                samples[record.case] = record.ns
            elif isinstance(record, Check) and record.outcome != "ok":
                wrong[cases[record.case]] = f"{record.outcome}: {record.detail}"
        launches.append(
            {cases[number]: statistics.fmean(ns) / 1e9 for number, ns in samples.items() if ns}
        )
    everywhere = set.intersection(*map(set, launches)) if launches else set()
    return {
        case: [launch[case] for launch in launches] for case in everywhere - wrong.keys()
    }, wrong


def _cases(records: Sequence[ProbeRecord]) -> Iterator[tuple[int, PlanCase]]:
    configurations = {
        record.id: Configuration.of(
            {name: reading.wanted for name, reading in record.knobs.items()}
        )
        for record in records
        if isinstance(record, ConfigRecord)
    }
    for record in records:
        if isinstance(record, CaseRecord):
            yield (
                record.case,
                PlanCase(
                    record.function,
                    record.bytes,
                    record.variant,
                    configurations.get(record.config, Configuration()),
                    reps=record.reps if record.use == STREAM else 0,
                    ranks=record.ranks,
                    use=record.use,
                    delay_ns=record.delay_ns,
                    data=Data(record.type, record.op, record.root),
                ),
            )


def _size(replay: _Replay, seconds: Seconds, compare: Compare) -> SizeSaving | None:
    calls, pattern = replay.calls, replay.pattern
    by_hand, default = seconds.get(calls.by_hand), seconds.get(calls.default)
    if not by_hand or not default:
        return None
    middle = call_of(by_hand)
    tuned, name = None, ""
    if calls.tuned is not None and calls.tuned in seconds:
        tuned = _beside(middle, by_hand, seconds[calls.tuned], compare)
        name = label(calls.tuned.variant, calls.tuned.configuration.as_dict())
    return SizeSaving(
        pattern.bytes,
        pattern.instances,
        middle,
        _beside(middle, by_hand, default, compare),
        tuned,
        name,
        _in_run(replay.in_run, seconds),
    )


def _in_run(trio: _Trio, seconds: Seconds) -> SavedInRun | None:
    if trio.by_hand not in seconds or trio.default not in seconds:
        return None
    default, tuned = (
        tuple(
            hand_made - collective
            for hand_made, collective in zip(seconds[trio.by_hand], seconds[case], strict=True)
        )
        if case in seconds
        else ()
        for case in (trio.default, trio.tuned)
    )
    return SavedInRun(trio.by_hand.delay_ns / 1e9, default, tuned)


def _beside(
    by_hand: Call, hand_made: Sequence[float], collective: Sequence[float], compare: Compare
) -> Call:
    """A call by its ratio to the one that is made by hand, launch by launch."""
    logs = [math.log(own / hand) for own, hand in zip(collective, hand_made, strict=True)]
    estimate = compare(logs, 0.95)
    low = math.exp(min(logs)) if estimate.low is None else estimate.low
    high = math.exp(max(logs)) if estimate.high is None else estimate.high
    return Call(*(by_hand.seconds * ratio for ratio in (estimate.ratio, low, high)))
