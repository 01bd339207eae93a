"""A comparison of the records of a launch with what its plan asks for (docs/plan-and-records.md):
of its run and seed, with its configurations, cases and cells, each as the plan has it and in its
turn, with as many samples as it can have and no more time than there was. Pure; what a plan means
is the probe's to say."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    Nrep,
    Order,
    Overlap,
    OverlapLatency,
    OverlapTrace,
    PingPong,
    ProbeRecord,
    RankSamples,
    Refused,
    Samples,
    Transit,
)


class UnplannedError(ValueError):
    """`case`: the one whose records are missing, where one is to blame."""

    def __init__(self, text: str, case: int | None = None) -> None:
        super().__init__(text)
        self.case = case


class _Set(msgspec.Struct, frozen=True):
    """The values that records show of a plan's line `set`. Without `blocks` a stopping rule says
    how many samples there are; other keys that may be missing say that there is no such thing."""

    run: str
    seed: int
    warmup: int
    rewarm: int
    sync: str
    clock: str
    runtime: str
    cache: str
    blocks: int = 0
    settle: int = 0
    cycle: int = 0
    plain: str = ""
    use: str = ""
    nrep: str = ""
    nrep_min: int = 0
    nrep_step: int = 0
    nrep_max: int = 0


class _Cell(msgspec.Struct, frozen=True):
    """A line `overlap`."""

    id: int
    bench: str
    bytes: int
    work_ns: int
    kernel: str
    test_ns: int
    triples: int
    requests: int
    function: str = ""
    threads: int = 0
    helper: bool = False
    spare: bool = False
    traced: int = 0


class _Allowance(msgspec.Struct, frozen=True):
    """The limits of the samples of a case in a block. `checked`: the start scheme leaves out
    some."""

    warmups: int
    samples: int
    checked: bool
    by_rank: bool


_SHOWN = ("bench", "bytes", "work_ns", "kernel", "test_ns", "function", "threads")  # as they are
_ASKED = [name for name in CaseRecord.__struct_fields__ if name != "bytes_moved"]
_asked = attrgetter(*_ASKED)
# Start schemes that find repetitions invalid, or have a budget.
_CHECKED = frozenset(("window", "roundtime", "synchronised", "late"))


class Planned:
    """Takes the records of a launch one by one, in an order that is right (ndjson.py). Raises
    UnplannedError at the first that is not as the plan has it; `end` where some are missing."""

    def __init__(self, plan: str, seconds: float = math.inf) -> None:
        """`seconds`: what the launch took, or could have taken, by another clock than its own."""
        self._most_ns = (1.01 * seconds + 1) * 1e9
        self._timed_ns = 0  # at least, by what is recorded
        self._configs: dict[str, dict[str, str]] = {}
        self._cases: dict[int, CaseRecord] = {}
        self._pingpongs: dict[int, int] = {}  # repetitions by size
        self._cells: dict[int, _Cell] = {}
        by_word: dict[str, list[dict[str, str]]] = {}
        for word, values in lines(plan):
            by_word.setdefault(word, []).append(values)
        set_values = dict(ChainMap(*by_word.get("set", ())))
        self._set = msgspec.convert(set_values, _Set, strict=False)
        # A stopping rule says how many samples a block has; beside blocks it ends cases.
        self._by_samples = "blocks" not in set_values
        for values in by_word.get("config", ()):
            self._configs[values.pop("id")] = values
        for values in by_word.get("case", ()):
            case_record = self._case(values)
            self._cases[case_record.case] = case_record
        for values in by_word.get("pingpong", ()):
            self._pingpongs[int(values["bytes"])] = int(values["reps"])
        for values in by_word.get("overlap", ()):
            cell = msgspec.convert(values, _Cell, strict=False)
            self._cells[cell.id] = cell
        self._nprocs = 0
        self._good: set[int] = set()
        self._orders: dict[int, frozenset[int]] = {}
        self._turns: dict[int, list[int]] = {}  # the blocks of each case without samples so far
        self._allowances: dict[tuple[int, int], _Allowance] = {}
        self._taken: dict[int, int] = {}  # samples by case
        self._seen: set[tuple[str, object]] = set()
        self._by_rank: dict[tuple[int, int], int] = {}  # times of each rank, by case and block

    def _case(self, values: dict[str, str]) -> CaseRecord:
        """A trial is not timed, and a stopping rule takes as many repetitions as there may be."""
        reps = self._set.nrep_max if self._by_samples and "calls" not in values else 0
        more = {"case": values.pop("id"), "reps": reps, "bytes_moved": 0}
        return msgspec.convert(more | values, CaseRecord, strict=False)

    @property
    def _blocks(self) -> int:
        """The number of blocks that there can be."""
        if self._by_samples:
            return 1 - (self._set.nrep_min - self._set.nrep_max) // self._set.nrep_step
        return self._set.blocks

    def accept(self, record: ProbeRecord) -> None:
        match record:
            case Samples():
                self._samples(record)
            case Header():
                self._header(record)
            case ConfigRecord():
                knobs = {name: reading.wanted for name, reading in record.knobs.items()}
                _require(f"the knobs of config {record.id}", knobs, self._configs.get(record.id))
                self._seen.add(("config", record.id))
            case CaseRecord():
                self._require_case(record)
                self._seen.add(("case", record.case))
            case Check():
                self._seen.add(("check", record.case))
                # A result that was right may become wrong later.
                if record.outcome != "ok":
                    self._good.discard(record.case)
                elif not self._cases[record.case].calls:
                    self._good.add(record.case)
            case Order():
                self._order(record)
            case RankSamples():
                self._rank_samples(record)
            case Refused():
                if record.case not in self._good:
                    raise UnplannedError(f"case {record.case} is refused, which was not timed")
            case Transit():
                if record.case not in self._good or not self._set.settle:
                    raise UnplannedError(f"a transit of case {record.case}, which has none")
                if not 0 < record.blocks < self._blocks:
                    raise UnplannedError(f"case {record.case} has no {record.blocks} first blocks")
            case Nrep():
                if not self._set.nrep:
                    raise UnplannedError("an nrep record, and the plan has no stopping rule")
                _require(
                    f"nrep of case {record.case}, by its samples,",
                    record.nrep,
                    self._taken.get(record.case, 0),
                )
                self._seen.add(("nrep", record.case))
            case PingPong():
                _require(
                    f"the number of round trips of {record.bytes} B",
                    len(record.round_trip_ns),
                    self._pingpongs.get(record.bytes),
                )
                self._times(record.round_trip_ns)
                self._timed_ns += sum(record.round_trip_ns)
                self._require_ranks(record.first, record.second)
            case Overlap():
                self._overlap(record)
            case OverlapLatency():
                self._times(record.ns)
            case OverlapTrace():
                self._trace(record)
            case Footer():
                self._footer(record)

    def _header(self, header: Header) -> None:
        for name in ("run", "seed", "warmup", "rewarm", "sync", "runtime"):
            _require(name, getattr(header, name), getattr(self._set, name))
        _require("blocks", header.blocks, self._blocks)
        _require("the clock", header.clock.name, self._set.clock)
        _require("the state of the caches", header.cache.mode, self._set.cache.partition(":")[0])
        _require("the number of bindings", len(header.binding), header.nprocs)
        _require("the number of hosts", len(header.hosts), header.nodes)
        self._nprocs = header.nprocs

    def _require_case(self, record: CaseRecord) -> None:
        planned = self._cases.get(record.case)
        if planned is None:
            raise UnplannedError(f"case {record.case} is not in the plan")
        if _asked(record) != _asked(planned):
            for name in _ASKED:
                what = f"{name} of case {record.case}"
                _require(what, getattr(record, name), getattr(planned, name))

    def _order(self, order: Order) -> None:
        cases = frozenset(order.cases)
        blocks = 1 if self._set.plain else self._blocks
        if order.block != len(self._orders) or order.block >= blocks:
            raise UnplannedError(f"block {order.block} after {len(self._orders)} of {blocks}")
        if len(cases) < len(order.cases) or not cases <= self._good:
            raise UnplannedError(
                f"the order of block {order.block} has a case twice, or one that is not to be timed"
            )
        self._orders[order.block] = cases
        for case in order.cases:
            self._turns.setdefault(case, []).append(order.block)

    def _samples(self, record: Samples) -> None:
        case = record.case
        turns = self._turns.pop(case, [])
        if record.blocks != turns:
            missing = next((block for block in turns if block not in record.blocks), None)
            if missing is not None:
                raise UnplannedError(f"no samples of case {case} in block {missing}", case)
            raise UnplannedError(f"samples of case {case} in blocks {record.blocks}, not {turns}")
        nothing = [0] * len(turns)
        late, overrun = record.late or nothing, record.overrun or nothing
        spent = record.budget_spent or nothing
        for place, block in enumerate(turns):
            self._require_room(
                (case, block),
                (record.warmups[place], record.samples[place]),
                (late[place], overrun[place]),
                spent=bool(spent[place]),
            )
        self._taken[case] = len(record.ns)
        self._times(record.warmup_ns, record.ns)
        if reps := self._reps_of_mean(case):  # rounded means of a series; rank 0's stands first
            firsts = record.ns[:: self._nprocs] if self._set.plain else record.ns
            self._timed_ns += sum(max(0, mean * reps - reps // 2) for mean in firsts)
        else:  # of a cycle the sample is a mean of what stands before it
            self._timed_ns += sum(record.warmup_ns) + (0 if self._set.cycle else sum(record.ns))

    def _require_room(
        self,
        where: tuple[int, int],
        times: tuple[int, int],
        invalid: tuple[int, int],
        *,
        spent: bool,
    ) -> None:
        """`where`: case and block; `times`: to warm up, and samples; `invalid`: late, overrun."""
        case, block = where
        key = (case, block if self._by_samples else min(block, 1))  # later blocks are alike
        allowance = self._allowances.get(key)
        if allowance is None:
            allowance = self._allowances[key] = self._allowance(case, block)
        warmups, count = times
        late, overrun = invalid
        if not allowance.checked and (late + overrun > 0 or spent):
            raise UnplannedError(
                f"repetitions of {_where(*where)} are left out, which nothing checks"
            )
        if count > allowance.samples or warmups > allowance.warmups:
            raise UnplannedError(
                f"{count} samples of {_where(*where)} after {warmups} to warm up, "
                f"the plan asks for {allowance.samples} after {allowance.warmups}"
            )
        if overrun > count:
            raise UnplannedError(f"{overrun} of {count} samples overran")
        if count + late < allowance.samples and not spent:
            samples_planned = allowance.samples - late
            _require(f"the number of samples of {_where(*where)}", count, samples_planned)
        if allowance.by_rank:
            self._require_as_many((case, block), count)

    def _require_as_many(self, where: tuple[int, int], count: int) -> None:
        """Ranks have timed as many repetitions as there are samples; whichever record is first."""
        earlier_count = self._by_rank.pop(where, None)
        if earlier_count is None:
            self._by_rank[where] = count
        else:
            _require(f"the number of times of a rank in {_where(*where)}", count, earlier_count)

    def _allowance(self, case: int, block: int) -> _Allowance:
        planned = self._cases[case]
        warmups, samples = self._room(case, block)
        return _Allowance(
            warmups,
            samples,
            checked=self._use(case) in _CHECKED,
            by_rank=bool(planned.by_rank),
        )

    def _use(self, case: int) -> str:
        return self._cases[case].use or self._set.use or self._set.sync

    def _reps_of_mean(self, case: int) -> int:
        """Return how many repetitions a sample is the mean of; 0 where each has its own."""
        is_mean = self._use(case) == "stream" or bool(self._set.plain)
        return self._cases[case].reps if is_mean else 0

    def _rank_samples(self, record: RankSamples) -> None:
        planned = self._cases.get(record.case)
        where = _where(record.case, record.block)
        if planned is None or not planned.by_rank:
            raise UnplannedError(f"ranks' times of {where}, which did not ask for them")
        if record.case not in self._orders.get(record.block, ()):
            raise UnplannedError(f"ranks' times of {where}, which was not timed")
        _require(f"the number of ranks of {where}", len(record.ns), planned.ranks or self._nprocs)
        for ns in record.ns:
            _require(f"the number of times of a rank in {where}", len(ns), len(record.ns[0]))
        self._times(*record.ns)
        self._require_as_many((record.case, record.block), len(record.ns[0]))

    def _room(self, case: int, block: int) -> tuple[int, int]:
        """Return how many repetitions to warm up, and how many samples, a case can have in a
        block."""
        if self._set.plain:
            return 0, self._nprocs
        if (self._cases[case].use or self._set.use) == "stream":
            return 0, 1
        warmup = self._set.rewarm if block else max(self._set.warmup, self._set.settle)
        warmup = max(warmup, self._set.cycle)
        if not self._by_samples:
            return warmup, self._cases[case].reps
        least, step = self._set.nrep_min, self._set.nrep_step
        if block == 0:
            return warmup, least
        return warmup, min(step, self._set.nrep_max - least - (block - 1) * step)

    def _overlap(self, record: Overlap) -> None:
        planned = self._cells.get(record.cell)
        if planned is None:
            raise UnplannedError(f"overlap cell {record.cell} is not in the plan")
        for name in (*_SHOWN, "helper", "spare"):
            what = f"{name} of overlap cell {record.cell}"
            _require(what, getattr(record, name), getattr(planned, name))
        # `multiple` sends a message in each thread.
        requests = planned.threads if planned.bench == "multiple" else planned.requests
        _require(f"requests of overlap cell {record.cell}", record.requests, requests)
        for times in (record.communication_ns, record.computation_ns, record.both_ns):
            what = f"the number of times of overlap cell {record.cell}"
            _require(what, len(times), planned.triples if record.delivered else 0)
            self._times(times)
            self._timed_ns += sum(times) if record.rank == 0 else 0
        if record.sent < record.bytes or record.halves == 0:
            raise UnplannedError(f"overlap cell {record.cell} has sent less than it was to send")
        self._require_ranks(record.rank)
        self._seen.add(("overlap", record.cell))

    def _trace(self, record: OverlapTrace) -> None:
        planned = self._cells.get(record.cell)
        where = f"overlap cell {record.cell}, triple {record.triple}"
        traced = range(planned.triples - planned.traced, planned.triples) if planned else ()
        if record.triple not in traced:
            raise UnplannedError(f"events of {where}, of which the plan asks for none")
        for values in (record.peers, record.numbers, record.begin_ns, record.end_ns):
            _require(f"the number of events of {where}", len(values), len(record.names))
        self._require_ranks(record.rank)

    def _times(self, *lists: Sequence[int]) -> None:
        for times in lists:
            if times and max(times) > self._most_ns:
                raise UnplannedError(f"a time of {max(times)} ns, longer than the launch")

    def _footer(self, footer: Footer) -> None:
        _require("the number of cases", footer.cases, len(self._cases))
        if footer.timed_ns < self._timed_ns:
            raise UnplannedError(
                f"timed_ns is {footer.timed_ns}, and the times together {self._timed_ns}"
            )
        # If nothing synchronises ranks, one may begin a call while another is in the previous one.
        if footer.timed_ns > self._most_ns and self._set.sync != "none":
            raise UnplannedError(f"timed_ns is {footer.timed_ns}, longer than the launch")
        if footer.warmup_ns > footer.timed_ns:
            raise UnplannedError(f"warmup_ns is {footer.warmup_ns}, of {footer.timed_ns} timed")
        if footer.start_ns + footer.checks_ns > footer.wall_ns:
            raise UnplannedError("start_ns and checks_ns are together more than wall_ns")

    def _require_ranks(self, *ranks: int) -> None:
        if max(ranks) >= self._nprocs:
            raise UnplannedError(f"rank {max(ranks)}, of {self._nprocs}")

    def end(self) -> None:
        """All that the plan asks for has been seen."""
        for kind, planned_records in (
            ("config", self._configs),
            ("case", self._cases),
            ("check", self._cases),
            ("nrep", self._good if self._set.nrep else ()),
            ("overlap", self._cells),
        ):
            for record in planned_records:
                if (kind, record) not in self._seen:
                    raise UnplannedError(f"no {kind} record of {record}")
        for case, blocks in self._turns.items():
            raise UnplannedError(f"no samples of case {case} in block {blocks[0]}", case)
        for case, block in self._by_rank:
            raise UnplannedError(f"no ranks' times of {_where(case, block)}", case)
        for block in range(0 if self._set.nrep else 1 if self._set.plain else self._set.blocks):
            for case in sorted(self._good - self._orders.get(block, frozenset())):
                raise UnplannedError(f"no samples of case {case} in block {block}", case)


def _where(case: int, block: int) -> str:
    return f"case {case} in block {block}"


def _require(what: str, value: object, planned: object) -> None:
    if value != planned:
        raise UnplannedError(f"{what} is {value}, {planned} in the plan")


def lines(plan: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The word that each line begins with, and its values."""
    for line in plan.splitlines():
        word, *pairs = line.split() or [""]
        yield word, dict(pair.split("=", 1) for pair in pairs if "=" in pair)
