"""Messages of findings played again under mpirun, beside the collective that would take their
place: in the same launches, on the first ranks, called in the same way of use."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Messages, Plan, PlanCase
from plumbline.detect.findings import HandMade
from plumbline.detect.known_costs import Winners, call_of
from plumbline.detect.patterns import HandPattern
from plumbline.detect.predicted import saved_in_a_run, saving, volume
from plumbline.detect.savings import Call, SavedInUse, SizeSaving
from plumbline.measure import settling, unkept
from plumbline.measure.experiment import Arm, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.measure.side_by_side import Compare
from plumbline.search.outcome import label
from plumbline.verify.statistics import exact_ratio, paired_ratio
from plumbline_db.probe_records import CaseRecord, Check, ConfigRecord, ProbeRecord, Samples
from plumbline_db.records import Suite

SUITE = Suite("replay")
LAUNCHES = 8
# Where more than this share of instances follow each other without a pause, so do calls.
_IN_A_ROW, STREAM = 0.5, "stream"
# Ways of use that no recording can rule out for the next run: ranks run ahead of each other, or are
# met by a barrier before each call.
_USES = (STREAM, "loop")
# What ranks compute between calls is played where it is neither nothing nor too long for a launch.
_LEAST_BETWEEN_NS, _MOST_BETWEEN_NS = 500, 200_000

_Way = tuple[str, int]  # a way of use, and what ranks compute between calls in ns


class _Trio(msgspec.Struct, frozen=True):
    """The cases of a pattern in one way of use."""

    by_hand: PlanCase
    default: PlanCase
    tuned: PlanCase | None


class _Replay(msgspec.Struct, frozen=True):
    """A pattern of a finding in several ways of use; the first is the likely one."""

    finding: int
    pattern: HandPattern
    uses: tuple[_Trio, ...]


class Replayed(msgspec.Struct, frozen=True):
    """`findings`: the same, those that were replayed with a saving; `failures`: what could not be
    replayed, and why."""

    findings: list[HandMade]
    failures: list[str]


def replayed(
    store: LaunchStore,
    found: Sequence[HandMade],
    nprocs: int,
    use: str,
    winners: Winners,
    *,
    launches: int = LAUNCHES,
    seed: int = 1,
    knobs: str = "communicator",
    hot: Mapping[str, str] = {},
) -> Replayed:
    """`launches` launches of `nprocs` ranks. `use`: the way of use, unless instances follow each
    other without a pause; `hot`: variables under which winners can be switched. Raises
    PlumblineError where launches fail and no case is to blame."""
    simulated = store.starter.family.simulates
    replays = [
        _Replay(
            number,
            pattern,
            tuple(
                _trio(finding, pattern, nprocs, way, winners)
                for way in _ways(finding, use, simulated=simulated)
            ),
        )
        for number, finding in enumerate(found)
        if finding.category == "collective"
        for pattern in finding.patterns
    ]
    if not replays:
        return Replayed(list(found), [])
    plan = settling.until_settled(_plan(replays, seed, knobs), simulated=simulated)
    any_tuned = any(each.uses[0].tuned is not None for each in replays)
    arm = Arm(SUITE, plan, hot if any_tuned else {})
    take_turns(store, [arm], launches)
    seconds, wrong = _measured(unkept.records(store, SUITE))
    compare = exact_ratio if simulated else paired_ratio
    sizes: dict[int, list[SizeSaving]] = {}
    failures = []
    for each in replays:
        size = _size(each, seconds, compare)
        if size is not None:
            sizes.setdefault(each.finding, []).append(size)
        else:
            likely = each.uses[0]
            why = wrong.get(likely.by_hand) or wrong.get(likely.default) or "launches ended with it"
            failures.append(
                f"{found[each.finding].function}, {each.pattern.bytes} bytes: not replayed: {why}"
            )
    return Replayed(
        [
            finding
            if number not in sizes
            else msgspec.structs.replace(
                finding, saving=saving(finding, "replay", "", sizes[number])
            )
            for number, finding in enumerate(found)
        ],
        failures,
    )


def _ways(finding: HandMade, use: str, *, simulated: bool) -> list[_Way]:
    likely = STREAM if finding.in_a_row > _IN_A_ROW else use
    if simulated:
        return [(likely, 0)]
    ways = [(way, 0) for way in dict.fromkeys((likely, use, *_USES))]
    between = min(round(finding.between_seconds * 1e9), _MOST_BETWEEN_NS)
    return [*ways, (STREAM, between)] if between >= _LEAST_BETWEEN_NS else ways


def _plan(replays: Sequence[_Replay], seed: int, knobs: str) -> Plan:
    patterns = {each.uses[0].by_hand.variant: played(each.pattern) for each in replays}
    trios = [trio for each in replays for trio in each.uses]
    cases = [case for trio in trios for case in (trio.by_hand, trio.default, trio.tuned) if case]
    return Plan(
        "replay",
        seed,
        tuple(dict.fromkeys(cases)),
        knobs=knobs,
        patterns=tuple(patterns.values()),
    )


def played(pattern: HandPattern) -> Messages:
    """Known by what it is, so that equal ones are one case."""
    digest = hashlib.sha256("\n".join(pattern.steps).encode()).hexdigest()
    return Messages(digest[:12], pattern.steps)


def _trio(
    finding: HandMade, pattern: HandPattern, nprocs: int, way: _Way, winners: Winners
) -> _Trio:
    use, between_ns = way
    size = volume(finding, pattern.bytes)
    ranks = 0 if len(pattern.group) == nprocs else len(pattern.group)
    root = max(pattern.root, 0)
    operation = f"MPI_{finding.operation}" if finding.operation else "MPI_BOR"
    data = Data(pattern.type, operation, root)
    if not finding.operation or not _defined(data):
        data = Data(root=root)
    by_hand = PlanCase(
        finding.function,
        size,
        played(pattern).variant,
        ranks=ranks,
        use=use,
        delay_ns=between_ns,
        data=Data(root=root),
    )
    default = PlanCase(finding.function, size, ranks=ranks, use=use, delay_ns=between_ns, data=data)
    winner = winners.get((finding.function, len(pattern.group), size))
    tuned = None
    if winner is not None:
        tuned = msgspec.structs.replace(
            default, variant=winner.variant, configuration=winner.configuration
        )
    return _Trio(by_hand, default, tuned)


def _defined(data: Data) -> bool:
    """Whether MPI has the operator on the type, of those that a plan knows."""
    whole = data.type in ("MPI_INT", "MPI_INT64_T")
    if data.op in ("MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN"):
        return data.type != "MPI_BYTE"
    if data.op in ("MPI_BAND", "MPI_BOR", "MPI_BXOR"):
        return whole or data.type == "MPI_BYTE"
    return whole and data.op in ("MPI_LAND", "MPI_LOR", "MPI_LXOR")


Seconds = dict[PlanCase, dict[int, float]]  # by launch


def _measured(raw: Sequence[Sequence[ProbeRecord]]) -> tuple[Seconds, dict[PlanCase, str]]:
    seconds: Seconds = {}
    wrong: dict[PlanCase, str] = {}
    for launch, records in enumerate(raw):
        cases = dict(_cases(records))
        samples: dict[int, list[int]] = {}
        for record in records:
            if isinstance(record, Samples):
                samples.setdefault(record.case, []).extend(record.ns)
            elif isinstance(record, Check) and record.outcome != "ok":
                wrong[cases[record.case]] = f"{record.outcome}: {record.detail}"
        for number, ns in samples.items():
            if ns and cases[number] not in wrong:
                seconds.setdefault(cases[number], {})[launch] = statistics.median(ns) / 1e9
    return seconds, wrong


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
                    ranks=record.ranks,
                    use=record.use,
                    delay_ns=record.delay_ns,
                    data=Data(record.type, record.op, record.root),
                ),
            )


def _size(replay: _Replay, seconds: Seconds, compare: Compare) -> SizeSaving | None:
    likely, pattern = replay.uses[0], replay.pattern
    by_hand, default = seconds.get(likely.by_hand), seconds.get(likely.default)
    if not by_hand or not default:
        return None
    middle = call_of(list(by_hand.values()))
    own = _beside(middle, by_hand, default, compare)
    if own is None:
        return None
    tuned, name = None, ""
    if likely.tuned is not None:
        tuned = _beside(middle, by_hand, seconds.get(likely.tuned, {}), compare)
        name = label(likely.tuned.variant, likely.tuned.configuration.as_dict()) if tuned else ""
    uses = tuple(saved for trio in replay.uses if (saved := _in_use(trio, seconds)) is not None)
    return SizeSaving(pattern.bytes, pattern.instances, middle, own, tuned, name, uses)


def _in_use(trio: _Trio, seconds: Seconds) -> SavedInUse | None:
    by_hand, default = seconds.get(trio.by_hand), seconds.get(trio.default)
    if not by_hand or not default:
        return None
    theirs = list(by_hand.values())
    tuned = seconds.get(trio.tuned) if trio.tuned is not None else None
    return SavedInUse(
        trio.by_hand.use,
        trio.by_hand.delay_ns / 1e9,
        saved_in_a_run(theirs, list(default.values())),
        saved_in_a_run(theirs, list(tuned.values())) if tuned else None,
    )


def _beside(
    by_hand: Call, theirs: Mapping[int, float], ours: Mapping[int, float], compare: Compare
) -> Call | None:
    """A call by its ratio to the one that is made by hand, launch by launch."""
    logs = [math.log(ours[launch] / theirs[launch]) for launch in ours if launch in theirs]
    if not logs:
        return None
    found = compare(logs)
    low = math.exp(min(logs)) if found.low is None else found.low
    high = math.exp(max(logs)) if found.high is None else found.high
    return Call(*(by_hand.seconds * ratio for ratio in (found.ratio, low, high)))
