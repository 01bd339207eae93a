"""Messages of findings played again under mpirun, beside the collective that would take their
place: in the same launches, on the first ranks, called in the same way of use."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterator, Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Messages, Plan, PlanCase
from plumbline.detect.findings import Call, HandMade, SavedInRun, SizeSaving
from plumbline.detect.known_costs import Winners, call_of, saving, volume
from plumbline.detect.patterns import HandPattern
from plumbline.libraries.space import Space
from plumbline.measure import settling, side_by_side
from plumbline.measure.comparison import Arm, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.search.outcome import label
from plumbline.verify.decision import Compare, compare_of
from plumbline_db.probe_records import CaseRecord, Check, ConfigRecord, ProbeRecord, Samples
from plumbline_db.records import Suite

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
