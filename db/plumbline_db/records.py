"""The records that cross rooms: what the probe writes, and what the database keeps.

Frozen and typed; units are in the names (`_ns`, `_seconds`, `_bytes`; plain `bytes` is a
communication volume as docs/plan-and-records.md defines it). No behaviour lives here.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

# What the probe writes is checked as it is decoded, each sample too: SQLite's integers are these.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Signed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything in this module."""


# --- what the probe writes (docs/plan-and-records.md) ------------------------------------------


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
    factors: list[Factor] = []


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


class Begin(Record, frozen=True, tag_field="record", tag="begin"):
    case: Count


class Check(Record, frozen=True, tag_field="record", tag="check"):
    """Of a case that is looked at several times the last one is what holds."""

    case: Count
    outcome: Literal["ok", "wrong", "unsupported", "error", "not_in_force"]
    detail: str


class Order(Record, frozen=True, tag_field="record", tag="order"):
    block: Count
    cases: list[Count]


class Samples(Record, frozen=True, tag_field="record", tag="samples"):
    """One case in one block. `late` and `overrun` count repetitions that the start scheme found
    invalid (not in `ns`). `window_ns`: the window that starts on the global clock ended with (0:
    none); `budget_spent`: `budget_ms` ended the series before all repetitions were taken;
    `settled`: times fell no more when samples were taken (the plan's `settle`), or repeated
    themselves (`cycle`: then `ns` is the mean of a cycle, and all repetitions are warm-up).
    `counts`: what kernel and processor counted, over all ranks, warm-up and start scheme too:
    `voluntary_switches`, `involuntary_switches`, `migrations`, and events of PAPI by name; what the
    machine cannot count is not there (the header's factors say why)."""

    case: Count
    block: Count
    warmup_ns: list[Count]
    ns: list[Count]
    late: Count = 0
    overrun: Count = 0
    counts: dict[str, Count] = {}
    window_ns: Count = 0
    budget_spent: bool = False
    settled: bool = True


class ClockModel(Record, frozen=True, tag_field="record", tag="clock_model"):
    """How one clock domain (a node; a single rank where the timer is not shared) reads the global
    clock: global = local + offset_ns + slope * (local - origin_ns), local its own timer."""

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
    bounds_ns: list[Count] = []


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
    """How many repetitions a case took until its stopping rule was met, or what ended it."""

    case: Count
    nrep: Count
    ended_by: Literal["criteria", "maximum", "budget"]
    criteria: list[Criterion]


Pair = Literal["same_core", "same_socket", "other_socket", "other_node"]


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
    """What happened when on a rank in one repetition of an overlap cell, in the order in which it
    ended; stamps on the launch's global clock. `names`: MPI calls, "computation", "await" and
    "signal" (empty words of the probe), "arrival" of a message (its last byte came after the begin
    and before the end), "full" (there was no room for more). `peers`: the rank on the other side;
    -1: none, or several. `numbers`: of an arrival, which message from that rank; else 0."""

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
    """Of one host, from header to footer: load averages over a minute, and CPU seconds of the whole
    host, of this launch, and stolen by the hypervisor. None: the kernel does not say."""

    host: str
    load_start: float | None
    load_end: float | None
    busy_seconds: float | None
    own_seconds: float | None
    stolen_seconds: float | None


class Load(Record, frozen=True, tag_field="record", tag="load"):
    hosts: list[HostLoad]


class Footer(Record, frozen=True, tag_field="record", tag="footer"):
    """Where the time of a launch went (docs/design/plan-and-records.md): of `wall_ns`, `start_ns`
    until the first check, `checks_ns`, `timed_ns`, of which `warmup_ns`; the rest is
    synchronisation."""

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


# --- what the database keeps -------------------------------------------------------------------


class Machine(Record, frozen=True):
    """`id` is a hash over the facts that must be equal before results may be compared."""

    id: str
    host: str
    cpu_model: str
    processing_units: int
    numa_nodes: int
    memory_bytes: int
    kernel: str
    system: str


class Library(Record, frozen=True):
    """One installed MPI. `id` is readable (`openmpi-4.1.4`); `fingerprint` tells builds apart;
    `build` is what the library says about its making (`compiler`, `configure`, …)."""

    id: str
    family: str
    version: str
    version_string: str
    prefix: str
    fingerprint: str
    build: dict[str, str] = {}


class Campaign(Record, frozen=True):
    """`settings` is the campaign's own JSON, kept as it was asked for; `key` hashes machine,
    library and settings: the same key is the same campaign, to be continued. `site_rules`: the text
    of the site's rules file that was in force (None: there was none)."""

    id: str
    key: str
    machine: str
    library_fingerprint: str
    nprocs: int
    nodes: int
    ppn: int
    oversubscribed: bool
    settings: str
    state: Literal["running", "finished"]
    started: str
    finished: str
    site_rules: str | None = None


BESIDE = "default"
"""`arm` of launches of the library as it is, in turn with what their suite is about."""

EXPLAINING = "explain"
"""`stage` of launches that somebody has asked for afterwards: they are none of the campaign's."""

CANARY: Final = "canary"
RECHECK: Final = "recheck"
"""`stage` of launches that watch a finished campaign, and of those that confirm alarms."""

AFTERWARDS = (EXPLAINING, CANARY, RECHECK)
"""Stages whose launches the campaign itself knows nothing of: it costs and decides without them."""


class Suite(Record, frozen=True):
    """Launches of one purpose in one environment, and what they are to each other: those that took
    turns differ in `arm` alone.

    `stage`: what for; `round`: the how many-th of the stage (0: there is one alone); `step`: which
    part of it ("again", "in-force"; "": the main one); `look`: of a group-sequential design or of a
    race, from 1; `arm`: "" for what it is about, BESIDE, else one of several candidates; `parted`:
    the campaign has gone another way since, for the how many-th time (0: it is in use)."""

    stage: str
    round: int = 0
    step: str = ""
    look: int = 1
    arm: str = ""
    parted: int = 0

    @property
    def name(self) -> str:
        """The label for people: `confirm-2-again-default`."""
        words = [
            f"parted-{self.parted}" if self.parted else "",
            self.stage,
            str(self.round) if self.round else "",
            self.step,
            f"look-{self.look:02d}" if self.look > 1 else "",
            self.arm,
        ]
        return "-".join(word for word in words if word)

    def launch(self, sequence: int) -> str:
        """The label of one of its launches."""
        return f"{self.name}-{sequence:03d}"

    def part(self, step: str) -> Suite:
        return msgspec.structs.replace(self, step=step)

    def at(self, look: int) -> Suite:
        return msgspec.structs.replace(self, look=look)

    def beside(self) -> Suite:
        """The launches of the library as it is that take turns with these."""
        return msgspec.structs.replace(self, arm=BESIDE)

    def of(self, arm: str) -> Suite:
        """One of its candidates; of a candidate, a part of its launches."""
        return msgspec.structs.replace(self, arm=f"{self.arm}-{arm}" if self.arm else arm)


FailureKind = Literal["hung", "too long", "ended", "bad records", "no records", "not in force"]


class Failure(Record, frozen=True):
    """Why a launch failed. `kind`: when its time was up it gave no sign of life any more (hung) or
    was still at work (too long), it ended with a signal or an exit status (ended), left bad records
    or none, or its library said that a setting is not in force. `how`: the same with its
    circumstances, for people. `case`, `under_way`: the number in its plan and the name of the case
    that it was busy with (None, ``: no case is to blame)."""

    kind: FailureKind
    how: str
    case: int | None = None
    under_way: str = ""

    @property
    def text(self) -> str:
        """`SIGSEGV, exit status 139, with MPI_Reduce at 8 B under way (case 3)`."""
        busy_with = f", with {self.under_way} under way" if self.under_way else ""
        return self.how + busy_with + ("" if self.case is None else f" (case {self.case})")

    @property
    def timed_out(self) -> bool:
        return self.kind in ("hung", "too long")


class Run(Record, frozen=True):
    """One launch. `(suite, sequence)` is its key, the suite by name; `plan` is the whole plan
    text; `failure` None: it finished."""

    id: str
    campaign: str
    suite: str
    sequence: int
    failure: Failure | None
    argv: list[str]
    environment: dict[str, str]
    plan: str
    stderr: str
    started: str
    seconds: float
    timed_seconds: float

    @property
    def finished(self) -> bool:
        return self.failure is None

    @property
    def reason(self) -> str:
        """Why it failed, for people; empty where it did not."""
        return "" if self.failure is None else self.failure.text


class Case(Record, frozen=True):
    """What was measured in a run: one row of its plan, with the knobs spelled out. `ranks`: it ran
    on the first ones of the launch; 0: on all. `use`: the way of use ("": the plan's own)."""

    function: str
    variant: str
    knobs: dict[str, str]
    config: str
    bytes: int
    type: str
    op: str
    root: int
    delay_ns: int = 0
    ranks: int = 0
    use: str = ""


class Medians(Record, frozen=True):
    """Per-launch medians of one case over the launches of some suites, in seconds. `runs[i]` is the
    launch number that `seconds[i]` belongs to: unique in the database, so that it pairs the two
    sides of a comparison."""

    case: Case
    runs: list[int]
    seconds: list[float]


class OtherUse(Record, frozen=True):
    """What a cell of a violation table is in another way of use: `loop`, `stream` …"""

    use: str
    verdict: Literal["holds", "violated", "undecided"]
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None


class Verdict(Record, frozen=True):
    """One cell of the violation table. Ratios are left over right; `stage` is `before`, `round-1`
    … or `after`; `suites` name the samples it rests on. `function` and `lhs`, a variant or
    `default`, are the left side, on `ranks` of the launch's `nprocs` ranks (0: all); `rhs` is the
    right side: a function, its own call, or a variant. `other_bytes` is the right side's size: for
    monotony the larger one, for a split that was computed the size that is sent `factor` times. Of
    overlap and nonblocking `function` is a benchmark, and the sides are ways to run it. `uses`: the
    same cell in other ways of use, as far as it was measured there."""

    stage: str
    guideline: str
    kind: Literal["monotony", "split", "pattern", "rank", "overlap", "nonblocking"]
    function: str
    rhs: str
    nprocs: int
    ppn: int
    bytes: int
    other_bytes: int
    factor: int
    verdict: Literal["holds", "violated", "undecided"]
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_adjusted: float | None
    launches: int
    reason: str
    suites: list[str]
    lhs: str = "default"
    ranks: int = 0
    uses: list[OtherUse] = []

    @property
    def right(self) -> str:
        """The variant of the right side: `default` is the function's own call."""
        return "default" if self.rhs == self.function else self.rhs

    @property
    def sides(self) -> tuple[tuple[str, str, int], tuple[str, str, int]]:
        """Function, variant and bytes of the left and of the right side."""
        left = (self.function, self.lhs, self.bytes)
        return left, (self.function, self.right, self.other_bytes or self.bytes)

    @property
    def depends(self) -> bool:
        """Another way of use has another answer."""
        words = {self.verdict, *(use.verdict for use in self.uses)}
        return {"holds", "violated"} <= words

    @property
    def in_other_use(self) -> bool:
        """It is not of its table's way of use, as its name says (`GL12 (loop)`)."""
        return self.guideline.endswith(")")

    @property
    def replaceable(self) -> bool:
        """The left side is what a call of the function gets on all ranks: another configuration may
        stand in for it. A violation with another left side cannot be removed that way."""
        return self.lhs == "default" and self.ranks == 0


class Trial(Record, frozen=True):
    """One candidate of a search: its time over the default's, in the same launches. `slower`: it
    is, much, in another way of use (`detail`)."""

    variant: str
    knobs: dict[str, str]
    state: Literal[
        "measured", "wrong", "failed", "not_in_force", "unsupported", "not_exportable", "slower"
    ]
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    launches: int
    detail: str


class Search(Record, frozen=True):
    """The search for one cell: who opened it, what it found, why it stopped. `bound` names the
    violation with the fastest right-hand side ('': the default is the bound), `bound_ratio` is that
    side's time over the default's in the same launches (None: not measured there)."""

    round: int
    function: str
    nprocs: int
    ppn: int
    bytes: int
    opened_by: list[str]
    outcome: Literal["winner", "nothing better"]
    reason: str
    trials: list[Trial]
    suites: list[str]
    bound: str = ""
    bound_ratio: float | None = None


UNBOUNDED_BYTES = 2**63 - 1
"""`bytes_to` of a winner that has no upper end (`inf` in exported files)."""


EVERY_FUNCTION = "*"
"""`function` of a winner that holds for the whole process."""


class Tried(Record, frozen=True):
    """What a winner was tried for: a way of use, a datatype, an operator (empty where the function
    has none), a binding (as asked for; "user": as the user's own launcher binds), over `cells`
    message sizes. `speedup`: default over winner, the mean over the cells, `speedup_low` the lower
    end of its interval; `worst_low`: that in the cell where it lies lowest."""

    use: str
    type: str
    op: str
    binding: str
    cells: int
    speedup: float
    speedup_low: float
    worst_low: float


class Winner(Record, frozen=True):
    """A configuration that replaces the default for `bytes_from <= bytes <= bytes_to`.

    `speedup` is default over winner, cold, with the exported files in force; `search_speedup` as
    seen hot in the race. `restrictions` are words of the search space ("commutative", …), and the
    condition of a profile's rule that it holds under ("type=floating")."""

    function: str
    nprocs: int
    ppn: int
    bytes_from: int
    bytes_to: int
    variant: str
    configuration: dict[str, str]
    search_speedup: float
    speedup: float
    speedup_low: float
    speedup_high: float
    removes: list[str]
    restrictions: list[str]
    tried: list[Tried] = []


class Wrong(Record, frozen=True):
    """Results of one call that were not right: of so many `launches`, and what the first of them
    said (rank, element, bytes)."""

    function: str
    variant: str
    knobs: dict[str, str]
    bytes: int
    type: str
    op: str
    launches: int
    detail: str


class HalfTrips(Record, frozen=True):
    """Messages of one size between ranks of one class of pairs: `seconds[i]` is the median over the
    launch `runs[i]` of half a round trip."""

    pair: Pair
    bytes: int
    runs: list[int]
    seconds: list[float]


class Hockney(Record, frozen=True):
    """t(m) = alpha + beta m between ranks of one class of pairs, for bytes_from <= m <= bytes_to.
    `piece` 0: one line for all sizes; 1 and 2: before and after a change of protocol. Intervals
    are of 95 %, None for too few launches. `deviation`: mean of |t(m) - measured| / measured."""

    pair: Pair
    piece: int
    bytes_from: int
    bytes_to: int
    alpha_seconds: float
    alpha_low: float | None
    alpha_high: float | None
    beta_seconds_per_byte: float
    beta_low: float | None
    beta_high: float | None
    deviation: float
    launches: int


class Export(Record, frozen=True):
    format: str
    path: str
    sha256: str
    created: str


class Pruned(Record, frozen=True):
    """Samples of a campaign that were thrown away: so many, warm-up too, of so many `series` (a
    case in a launch), by which rule."""

    campaign: str
    time: str
    series: int
    samples: int
    why: str


class Transfer(Record, frozen=True):
    """A campaign has left a database, as a whole: `sha256` of what it was then, on which host."""

    campaign: str
    sha256: str
    host: str
    time: str


class Event(Record, frozen=True):
    """Something worth remembering: a launch that failed, a winner that was dropped and why. `text`
    is for people. `run`: id of the launch that it tells of ("": it is concluded from launches);
    `suite` and `function`: name of those that it tells of ("": none)."""

    time: str
    kind: str
    text: str
    run: str = ""
    suite: str = ""
    function: str = ""

    @property
    def said(self) -> str:
        """With what it tells of, for people."""
        about = self.run or self.suite
        return f"{about}: {self.text}" if about else self.text


# --- what `plumbline watch` keeps (docs/daemon.md) ----------------------------------------------


class Watch(Record, frozen=True):
    """What the daemon said of itself last; whether it still lives, its lock says. `step`: the last
    one; `waits_for`: why it measures nothing now ("": it may). `configuration` is JSON; `refused`:
    why a later one was not taken. Empty times: never."""

    daemon: str
    state: Literal["running", "stopped"]
    pid: int
    host: str
    started: str
    stepped: str
    step: str
    waits_for: str
    next_canary: str
    error: str
    failed: str
    file: str
    configuration: str
    read: str
    refused: str = ""
    refused_at: str = ""


class WatchDay(Record, frozen=True):
    """A day of UTC (`2026-11-24`). `canaries` were judged, `busy` ones said nothing, at `missed`
    moments none was taken though one was due."""

    day: str
    node_seconds: float = 0.0
    canaries: int = 0
    busy: int = 0
    missed: int = 0
    errors: int = 0
    pruned_canaries: int = 0
    pruned_launches: int = 0


class WatchedCampaign(Record, frozen=True):
    """`design` (JSON) and `fingerprint` are what the states of its cells rest on; `generation` of
    `plumbline apply` was in force (0: none). `canaries`: so many were begun; `due`: when the next
    one is. `stale`: why its table is not of what is there now ("": it is)."""

    campaign: str
    begun: str
    design: str
    fingerprint: dict[str, str]
    generation: int
    canaries: int = 0
    due: str = ""
    stale: str = ""
    stale_since: str = ""


class Canary(Record, frozen=True):
    """A few launches, in suites of `stage` and `round`; `cells` were measured, of which
    `reference_cells` are changed by no exported file. `busy`: the machine was, so that it says
    nothing; `failed`, `given up`: not measured to its end. `pruned`: its launches are gone."""

    campaign: str
    round: int
    stage: Literal["canary", "recheck"]
    due: str
    started: str
    finished: str = ""
    seconds: float = 0.0
    node_seconds: float = 0.0
    launches: int = 0
    cells: int = 0
    reference_cells: int = 0
    outcome: Literal["under way", "judged", "busy", "failed", "given up"] = "under way"
    disturbance: float | None = None
    alarms: int = 0
    detail: str = ""
    pruned: bool = False


class WatchedCell(Record, frozen=True):
    """`role`: why it is watched (`table`: few others matter). `seconds`: what ratios are over, in
    its first canary; `state` of the detector is JSON; `ratio`: the last one of its time to what was
    learnt."""

    campaign: str
    function: str
    variant: str
    bytes: int
    role: Literal["winner", "violation", "application", "table", "reference"]
    seconds: float
    state: str
    ratio: float
    measured: str


AlarmState = Literal["raised", "confirmed", "refuted", "searching", "removed", "stays"]


class CellAlarm(Record, frozen=True):
    """A cell that may have changed. `canary`: number of the one that raised it, with `canaries`
    behind it; `ratio` as it was `seen` last, `largest`: farthest from 1. `refuted`, `removed` and
    `stays` (nothing better was found) are ends; `retuning`: number of the search that it opened."""

    campaign: str
    function: str
    variant: str
    bytes: int
    direction: Literal["slower", "faster"]
    found: str
    canary: int
    canaries: int
    ratio: float
    largest: float
    seen: str
    state: AlarmState = "raised"
    ended: str = ""
    retuning: int | None = None
    detail: str = ""

    @property
    def is_open(self) -> bool:
        return not self.ended


class Retuning(Record, frozen=True):
    """A search that watching has opened, for cells of `campaign`, because of a change. `search`:
    the campaign that searches (None: not begun). `offered`: there is something better, which
    somebody may apply; `applied`: `generation` took the place of `previous`; `kept`: and it was
    confirmed."""

    campaign: str
    opened: str
    because: str
    settings: str
    search: str | None = None
    state: Literal[
        "searching", "nothing better", "offered", "applied", "kept", "rolled back", "failed"
    ] = "searching"
    previous: int = 0
    generation: int = 0
    ended: str = ""
    detail: str = ""


class Notice(Record, frozen=True):
    """What was told by mail or webhook; `held back`: too many went before it."""

    time: str
    way: Literal["mail", "webhook"]
    subject: str
    state: Literal["sent", "failed", "held back"]
    detail: str = ""
