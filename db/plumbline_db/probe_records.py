"""Records that the probe writes (docs/plan-and-records.md)."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import Annotated, Literal

import msgspec

from plumbline_db.records import Count, Record, Signed


class Clock(Record, frozen=True):
    """`shared`: all processes of a node read the same counter with the same origin."""

    name: str
    resolution_ns: Count
    cost_ns: Count
    shared: bool = True


class Cache(Record, frozen=True):
    """`bytes`: what is cycled through, or overwritten, before a repetition; 0 when warm."""

    mode: Literal["warm", "cycle", "overwrite"] = "warm"
    bytes: Count = 0


class Factor(Record, frozen=True):
    """Something that run times depend on. `values` are the distinct values over the hosts of a
    launch, sorted; where they could not be had, `missing` says why (and of which hosts)."""

    name: str
    values: list[str]
    missing: str = ""


class Header(Record, frozen=True, tag_field="record", tag="header"):
    schema: Count
    run: str
    probe: str
    library: str
    mpi: str
    nprocs: Count
    nodes: Count
    ppn: Count
    hosts: list[str]
    processing_units: Count
    oversubscribed: bool
    binding: list[str]
    sync: str
    clock: Clock
    seed: int
    blocks: Count
    warmup: Count
    rewarm: Count
    environment: dict[str, str]
    runtime: Literal["local", "global"] = "local"
    cache: Cache = Cache()
    factors: list[Factor] = msgspec.field(default_factory=list)


class KnobReading(Record, frozen=True):
    wanted: str
    read: str


class ConfigRecord(Record, frozen=True, tag_field="record", tag="config"):
    id: str
    in_force: bool
    reason: str
    knobs: dict[str, KnobReading]


class CaseRecord(Record, frozen=True, tag_field="record", tag="case"):
    case: Count
    function: str
    variant: str
    config: str
    bytes: Count
    bytes_moved: Count
    type: str
    op: str
    root: Count
    reps: Count
    delay_ns: Count = 0
    ranks: Count = 0
    use: str = ""
    calls: Count = 0
    least: Count = 0
    mean: Count = 0
    by_rank: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    counts: str = "equal"


class Begin(Record, frozen=True, tag_field="record", tag="begin"):
    case: Count


class Check(Record, frozen=True, tag_field="record", tag="check"):
    """The outcome of a check. If a case is looked at several times, the last one holds."""

    case: Count
    outcome: Literal["ok", "wrong", "unsupported", "error", "not_in_force"]
    detail: str


class Order(Record, frozen=True, tag_field="record", tag="order"):
    block: Count
    cases: list[Count]


class UnderWay(Record, frozen=True, tag_field="record", tag="under_way"):
    """The case that was timed when the records ended; None in a launch that comes to its end."""

    block: Count | None
    case: Count | None


class Samples(Record, frozen=True, tag_field="record", tag="samples"):
    """All that a case has taken, in its `blocks`, which rise. `warmups` and `samples`: how many of
    the times in `warmup_ns` and `ns` are of each block. The lists after them have an element a
    block, or none where all blocks are as usual: `late` counts repetitions that began late (not in
    `ns`), `overrun` those that ended after the next start. `window_ns`: the window that starts on
    the global clock ended with (0: none); `budget_spent`: `budget_ms` ended the series before all
    repetitions were taken; `settled`: times fell no more when samples were taken (the plan's
    `settle`), or repeated themselves (`cycle`: then `ns` has the mean of a cycle, and all
    repetitions are warm-up). `counts`: what kernel and processor counted, over all ranks, warm-up
    and start scheme too: `voluntary_switches`, `involuntary_switches`, `migrations`, and events of
    PAPI by name; what the machine cannot count is not there (the header's factors say why).
    Raises ValueError where lists do not fit together."""

    case: Count
    blocks: list[Count]
    warmups: list[Count]
    samples: list[Count]
    warmup_ns: list[Count]
    ns: list[Count]
    late: list[Count] = msgspec.field(default_factory=list)
    overrun: list[Count] = msgspec.field(default_factory=list)
    window_ns: list[Count] = msgspec.field(default_factory=list)
    budget_spent: list[bool] = msgspec.field(default_factory=list)
    settled: list[bool] = msgspec.field(default_factory=list)
    counts: dict[str, list[Count]] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        blocks = len(self.blocks)
        if self.blocks != sorted(set(self.blocks)):
            raise ValueError(f"blocks of case {self.case} do not rise")
        if sum(self.warmups) != len(self.warmup_ns) or sum(self.samples) != len(self.ns):
            raise ValueError(f"case {self.case} has not as many times as its blocks say")
        exact = (self.warmups, self.samples, *self.counts.values())
        usual = (self.late, self.overrun, self.window_ns, self.budget_spent, self.settled)
        if any(len(column) != blocks for column in exact) or any(
            len(column) not in (0, blocks) for column in usual
        ):
            raise ValueError(f"case {self.case} has not a number for each block")

    def counts_of_call(self) -> dict[str, float]:
        """Return what was counted, over all ranks, for each call: warm-up is counted too."""
        calls = len(self.warmup_ns) + len(self.ns)
        return {name: sum(values) / calls for name, values in self.counts.items() if calls}

    def from_block(self, number: int) -> list[int]:
        """Return the samples of this block and of those after it, in nanoseconds."""
        return self.ns[sum(self.samples[: bisect_left(self.blocks, number)]) :]

    def by_block(self) -> list[list[int]]:
        """Return the samples of each block, in nanoseconds."""
        ends = list(accumulate(self.samples, initial=0))
        return [self.ns[start:end] for start, end in pairwise(ends)]


class RankSamples(Record, frozen=True, tag_field="record", tag="rank_samples"):
    """The samples of a case in a block, as each rank timed them: a list a rank of the case, in
    their order, each as long as the samples of the block."""

    case: Count
    block: Count
    ns: list[list[Count]]


class ClockModel(Record, frozen=True, tag_field="record", tag="clock_model"):
    """The way in which one clock domain (a node; a single rank where the timer is not shared) reads
    the global clock: global = local + offset_ns + slope * (local - origin_ns), local its own
    timer."""

    domain: Count
    host: str
    rank: Count
    origin_ns: Signed
    offset_ns: Signed
    slope: float


class ClockSync(Record, frozen=True, tag_field="record", tag="clock_sync"):
    """The synchronisation of a launch that needs a global clock."""

    algorithm: str
    domains: Count
    seconds: float


class ClockError(Record, frozen=True, tag_field="record", tag="clock_error"):
    """The residual error of the global clock, measured after synchronisation and after the last
    block, by fresh ping-pongs of each domain with the reference. By domain: `errors_ns`, the
    largest deviation seen if messages take equally long both ways; `bounds_ns`, the largest that
    unequal ways could hide, whatever they were. `since_ns`: time since synchronisation."""

    when: Literal["start", "end"]
    since_ns: Count
    errors_ns: list[Count]
    bounds_ns: list[Count] = msgspec.field(default_factory=list)


class Refused(Record, frozen=True, tag_field="record", tag="refused"):
    """The samples of a case are not results, and why (too short for the global clock)."""

    case: Count
    reason: str


class Transit(Record, frozen=True, tag_field="record", tag="transit"):
    """The samples of so many first blocks of a case lie above all that follow: they are of a
    library that was still changing how it does it, and no results."""

    case: Count
    blocks: Count


class Criterion(Record, frozen=True):
    name: str
    threshold: float
    value: float | None


class Nrep(Record, frozen=True, tag_field="record", tag="nrep"):
    """The number of repetitions that a case took until its stopping rule was met, or what ended
    it."""

    case: Count
    nrep: Count
    ended_by: Literal["criteria", "maximum", "budget"]
    criteria: list[Criterion]


# Classes of pairs of ranks, from near to far. `same_cache`: the last data cache is shared;
# `other_numa`: of the same socket.
Pair = Literal["same_core", "same_cache", "same_socket", "other_numa", "other_socket", "other_node"]


class PingPong(Record, frozen=True, tag_field="record", tag="pingpong"):
    """Round trips between two ranks. `pair`: the class of the pair."""

    first: Count
    second: Count
    pair: Pair
    bytes: Count
    round_trip_ns: list[Count]


class Overlap(Record, frozen=True, tag_field="record", tag="overlap"):
    """A cell of an overlap benchmark on one rank: nanoseconds of communication alone, computation
    alone and both, triple by triple. A time of communication is (ns - `latencies` times that of an
    empty message) / `halves`. `bytes` as asked for, `sent` as the layout has it; `units` of work
    for `work_ns` by the calibration; `requests` pending to each peer; `function` of a collective
    benchmark, else empty; `helper`: a thread of the probe asks the library meanwhile, on a
    `spare` core. Without `delivered` the data that came were not those that were sent, and nothing
    was timed."""

    cell: Count
    bench: str
    bytes: Count
    sent: Count
    kernel: str
    work_ns: Count
    test_ns: Count
    units: Count
    latencies: Count
    halves: Count
    rank: Count
    function: str
    requests: Count
    threads: Count
    helper: bool
    spare: bool
    delivered: bool
    communication_ns: list[Count]
    computation_ns: list[Count]
    both_ns: list[Count]


class OverlapTrace(Record, frozen=True, tag_field="record", tag="overlap_trace"):
    """Events on a rank in one repetition of an overlap cell, in the order in which it ended; stamps
    on the launch's global clock. `names`: MPI calls, "computation", "await" and "signal" (empty
    words of the probe), "arrival" of a message (its last byte came after the begin and before the
    end), "full" (there was no room for more). `peers`: the rank on the other side; -1: none, or
    several. `numbers`: of an arrival, which message from that rank; else 0."""

    cell: Count
    rank: Count
    triple: Count
    part: Literal["communication", "computation", "both"]
    names: list[str]
    peers: list[Signed]
    numbers: list[Count]
    begin_ns: list[Signed]
    end_ns: list[Signed]


class OverlapLatency(Record, frozen=True, tag_field="record", tag="overlap_latency"):
    """Half round trips of an empty message between the two ranks of the overlap cells."""

    when: Literal["start", "end"]
    ns: list[Count]


class HostLoad(Record, frozen=True):
    """The load of one host, from header to footer: load averages over a minute, and CPU seconds of
    the whole host, of this launch, and stolen by the hypervisor. None: the kernel does not say."""

    host: str
    load_start: float | None
    load_end: float | None
    busy_seconds: float | None
    own_seconds: float | None
    stolen_seconds: float | None


class Load(Record, frozen=True, tag_field="record", tag="load"):
    """`trips_ns`: the shortest round trips of a byte between ranks 0 and 1, before and after all
    cases; empty where none was made (one rank, a simulation, an older probe)."""

    hosts: list[HostLoad]
    trips_ns: list[Count] = msgspec.field(default_factory=list)


class Footer(Record, frozen=True, tag_field="record", tag="footer"):
    """The last record: where the time of a launch went (docs/design/plan-and-records.md): of
    `wall_ns`, `start_ns` until the first check, `checks_ns`, `timed_ns`, of which `warmup_ns`; the
    rest is synchronisation."""

    cases: Count
    timed_ns: Count
    wall_ns: Count
    start_ns: Count = 0
    checks_ns: Count = 0
    warmup_ns: Count = 0


ProbeRecord = (
    Header
    | ConfigRecord
    | CaseRecord
    | Begin
    | Check
    | Order
    | Samples
    | UnderWay
    | RankSamples
    | ClockModel
    | ClockSync
    | ClockError
    | Refused
    | Transit
    | Nrep
    | PingPong
    | Overlap
    | OverlapTrace
    | OverlapLatency
    | Load
    | Footer
)
