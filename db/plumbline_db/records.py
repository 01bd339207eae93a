"""Records that the database keeps, and the base of all records: those that the probe writes
(probe_records.py) and those beside their tables, too. `by_number` orders their names for people.

Frozen and typed; units are in the names (`_ns`, `_seconds`, `_bytes`; plain `bytes` is a
communication volume as docs/plan-and-records.md defines it). No behaviour lives in records."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import msgspec

# The limits of SQLite's integers; each value of the probe's records is checked when it is decoded.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Signed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of them."""


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
    build: dict[str, str] = msgspec.field(default_factory=dict)


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

    @property
    def imported_from(self) -> str:
        """The host that an imported campaign left; empty: it was measured here. The key is written
        where a campaign is imported (campaigns.key_from), never taken from a file."""
        host, mark, _ = self.key.partition(FROM)
        return host if mark else ""

    @property
    def foreign(self) -> bool:
        """Return whether another program has printed it: its nodes, for one, are not known."""
        return self.machine == FOREIGN_MACHINE

    @property
    def named(self) -> str:
        """The id, with the host that an imported campaign comes from."""
        return f"{self.id} (imported from {self.imported_from})" if self.imported_from else self.id


FROM: Final = ": "
"""Between a host and the key that a campaign had there."""

FOREIGN_MACHINE: Final = "foreign"
"""Id of the machine of what another program has printed."""

NOT_KNOWN: Final = "not known"
"""Host, library … of what another program has printed, where it does not say them."""

BESIDE = "default"
"""`arm` of launches of the library as it is, in turn with what their suite is about."""

REPEATED = "repeated"
"""Last word of the `arm` of launches that were repeated because they ran beside other work."""

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

    @property
    def experiment(self) -> str:
        """The label of all looks, steps and arms of this round of its stage: their launches are
        joined, compared, or confirm each other."""
        return Suite(self.stage, self.round, parted=self.parted).name

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

    def repeated(self) -> Suite:
        """The launches of this suite that were repeated: kept, and used for no decision."""
        return self.of(REPEATED)

    @property
    def was_repeated(self) -> bool:
        return self.arm.rpartition("-")[2] == REPEATED

    def of(self, arm: str) -> Suite:
        """One of its candidates; of a candidate, a part of its launches."""
        return msgspec.structs.replace(self, arm=f"{self.arm}-{arm}" if self.arm else arm)


FailureKind = Literal["hung", "too long", "ended", "bad records", "no records", "not in force"]


class Failure(Record, frozen=True):
    """The reason why a launch failed. `kind`: when its time was up it gave no sign of life any more
    (hung) or was still at work (too long), it ended with a signal or an exit status (ended), left
    bad records or none, or its library said that a setting is not in force. `how`: the same with
    its circumstances, for people. `case`, `under_way`: the number in its plan and the name of the
    case that it was busy with (None, ``: no case is to blame)."""

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
    text; `failure` None: it finished. `member` names the ranks that stay alive between launches,
    `visit` counts the launches that they have answered, from 1 (empty, 0: ranks of its own)."""

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
    member: str = ""
    visit: int = 0

    @property
    def finished(self) -> bool:
        return self.failure is None

    @property
    def reason(self) -> str:
        """The reason why it failed, for people; empty where it did not."""
        return "" if self.failure is None else self.failure.text


class Case(Record, frozen=True):
    """A case that was measured in a run: one row of its plan, with the knobs spelled out. `ranks`:
    it ran on the first ones of the launch; 0: on all. `use`: the way of use ("": the plan's own).
    `counts`: the count shape, of functions whose ranks may have different counts."""

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
    counts: str = "equal"


class Medians(Record, frozen=True):
    """Per-launch medians of one case over the launches of some suites, in seconds. `runs[i]` is the
    launch number that `seconds[i]` belongs to: unique in the database, so that it pairs the two
    sides of a comparison."""

    case: Case
    runs: list[int]
    seconds: list[float]


class OtherUse(Record, frozen=True):
    """The verdict of a cell of a violation table in another way of use: `loop`, `stream` …"""

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
    same cell in other ways of use, as far as it was measured there. `freedom`: the degrees of
    freedom of the interval, where other cells tell of the variance (0: the launches alone)."""

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
    uses: list[OtherUse] = msgspec.field(default_factory=list)
    freedom: float = 0.0

    @property
    def right(self) -> str:
        """The variant of the right side: `default` is the function's own call."""
        return "default" if self.rhs == self.function else self.rhs

    @property
    def sides(self) -> tuple[tuple[str, str, int], tuple[str, str, int]]:
        """Function, variant and bytes of the left and of the right side."""
        left_side = (self.function, self.lhs, self.bytes)
        return left_side, (self.function, self.right, self.other_bytes or self.bytes)

    @property
    def depends(self) -> bool:
        """Another way of use has another answer."""
        words = {self.verdict, *(use.verdict for use in self.uses)}
        return {"holds", "violated"} <= words

    @property
    def violated_in(self) -> list[str]:
        """The ways of use in which the cell is violated; "" is that of its table."""
        own = [""] if self.verdict == "violated" else []
        return own + [use.use for use in self.uses if use.verdict == "violated"]

    @property
    def violated_everywhere(self) -> bool:
        """Return whether a cell is violated in its table and not known to hold in another way."""
        return self.verdict == "violated" and not self.depends

    @property
    def in_other_use(self) -> bool:
        """The verdict is not of its table's way of use, as its name says (`GL12
        (loop)`)."""
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
    """A circumstance that a winner was tried in: a way of use, a datatype, an operator (empty where
    the function has none), a count shape, a binding (as asked for; "user": as the user's own
    launcher binds), over `cells` message sizes. `speedup`: default over winner, the mean over the
    cells, `speedup_low` the lower end of its interval; `worst_low`: that in the cell where it lies
    lowest."""

    use: str
    type: str
    op: str
    binding: str
    cells: int
    speedup: float
    speedup_low: float
    worst_low: float
    counts: str = "equal"


class Winner(Record, frozen=True):
    """A configuration that replaces the default for `bytes_from <= bytes <= bytes_to`. The smallest
    and the largest size at which it was measured are `measured_from` and `measured_to` (both 0:
    unknown).

    `speedup` is default over winner, cold, with the exported files in force, or, where cold
    launches cannot show it, beside the default in the launches of acceptance; `search_speedup` as
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
    tried: list[Tried] = msgspec.field(default_factory=list)
    measured_from: int = 0
    measured_to: int = 0


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


class Export(Record, frozen=True):
    format: str
    path: str
    sha256: str
    created: str


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
        """The text, with what it tells of, for people."""
        about = self.run or self.suite
        return f"{about}: {self.text}" if about else self.text


_NUMBER = re.compile(r"(\d+)")


def by_number(name: str) -> tuple[tuple[int, str], ...]:
    """A key for `sorted`."""
    return tuple((int(part) if part.isdecimal() else -1, part) for part in _NUMBER.split(name))
