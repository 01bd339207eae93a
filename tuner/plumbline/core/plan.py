"""Plans: what the probe is to measure in one launch, as text (docs/plan-and-records.md).

Pure: cells and candidates in, text out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

import msgspec

from plumbline.core.configuration import Configuration
from plumbline_db.errors import UsageError
from plumbline_db.planned import lines

_NONBLOCKING, _PERSISTENT = "MPI_I", "_init"


# Names of collectives, and of their non-blocking and persistent forms, which are functions of their
# own: MPI_Ibcast, begun and waited for, and MPI_Bcast_init, set up before and then started and
# waited for. What holds for the arguments and the volume of a function holds for its forms.


def name_of(text: str) -> str:
    """`MPI_Gather` of `gather`, `MPI_GATHER`, `Gather`."""
    bare = text.strip()
    if bare[:4].upper() == "MPI_":
        bare = bare[4:]
    return "MPI_" + bare.lower().capitalize()


def blocking(function: str) -> str:
    """`MPI_Bcast` of `MPI_Ibcast`, of `MPI_Bcast_init` and of itself."""
    if function.endswith(_PERSISTENT):
        return function.removesuffix(_PERSISTENT)
    if function.startswith(_NONBLOCKING):
        rest = function.removeprefix(_NONBLOCKING)
        return "MPI_" + rest[:1].upper() + rest[1:]
    return function


def is_form(function: str) -> bool:
    return blocking(function) != function


def with_forms(functions: Iterable[str]) -> frozenset[str]:
    """Return these functions and their forms."""
    with_their_forms: set[str] = set()
    for function in functions:
        name = function.removeprefix("MPI_")
        with_their_forms |= {function, _NONBLOCKING + name.lower(), function + _PERSISTENT}
    return frozenset(with_their_forms)


MESSAGE_FUNCTIONS_IN_BLOCKS = with_forms(
    {
        "MPI_Gather",
        "MPI_Scatter",
        "MPI_Allgather",
        "MPI_Alltoall",
        "MPI_Reduce_scatter_block",
    }
)
# Functions with blocks that may differ in length; all blocks together are the volume.
FUNCTIONS_IN_PARTS = with_forms(
    {
        "MPI_Gatherv",
        "MPI_Scatterv",
        "MPI_Allgatherv",
        "MPI_Alltoallv",
        "MPI_Reduce_scatter",
    }
)
IN_BLOCKS = MESSAGE_FUNCTIONS_IN_BLOCKS | FUNCTIONS_IN_PARTS
"""Functions whose volume is made of a block for each rank."""
# Functions whose data are combined by an operator.
REDUCTIONS = with_forms(
    {
        "MPI_Allreduce",
        "MPI_Exscan",
        "MPI_Reduce",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
    }
)
# Functions that apply an operator, including those that send nothing.
_WITH_OPERATOR = REDUCTIONS | {"MPI_Reduce_local"}
WITHOUT_SIZE = with_forms({"MPI_Barrier"})
TYPE_BYTES = {
    "MPI_BYTE": 1,
    "MPI_CHAR": 1,
    "MPI_INT": 4,
    "MPI_FLOAT": 4,
    "MPI_INT64_T": 8,
    "MPI_DOUBLE": 8,
}
# Calls of a stream, which gives one sample for each block; large messages have fewer. There must be
# many more calls than ranks can run ahead: a stream of sixteen can show the opposite result.
STREAM_CALLS = 100
_STREAM_BYTES = 8192
_VALUE = re.compile(r"[^\s#=]+\Z")
# Start schemes in which the harness calls the library's barrier between calls (probes/sync,
# probes/use).
_WITH_BARRIER = frozenset({"after_barrier", "at_root", "loop", "stream"})


# Ways to divide a volume among ranks with different counts; the probe defines the shapes.
EQUAL_COUNTS = "equal"
COUNT_SHAPES = (EQUAL_COUNTS, "linear", "last", "half")


class Data(msgspec.Struct, frozen=True):
    """The data that are sent: MPI names of datatype and reduction operator, the root, and the count
    shape, which changes nothing where all ranks have the same count. An empty name means the usual
    one of a function (`of`)."""

    type: str = ""
    op: str = ""
    root: int = 0
    counts: str = EQUAL_COUNTS

    def of(self, function: str) -> Data:
        """Return the data of a call of `function`, with the usual names in place of empty ones:
        reductions add floats, as OSU and IMB do, and other functions send bytes. Without counts the
        shape is the equal one."""
        type = self.type or ("MPI_FLOAT" if function in _WITH_OPERATOR else "MPI_BYTE")
        op = self.op or ("MPI_BOR" if type == "MPI_BYTE" else "MPI_SUM")
        counts = self.counts if function in FUNCTIONS_IN_PARTS else EQUAL_COUNTS
        return Data(type, op, self.root, counts)

    def width(self, function: str) -> int:
        """Return the bytes of an element."""
        return TYPE_BYTES[self.of(function).type]

    def whole(self, function: str, size: int) -> int:
        """Return `size`, of a reduction rounded up to a multiple of the element."""
        width = self.width(function) if function in _WITH_OPERATOR else 1
        return -(-size // width) * width


class PlanCase(msgspec.Struct, frozen=True):
    """One case: without a `configuration` it is the library as it is, on MPI_COMM_WORLD; others are
    in force on a duplicate of it. `delay_ns` is planted into every repetition; `reps` 0 means those
    of the plan; `ranks` 0 means all, else the first ones; `use` is the way it is called ("": the
    plan's); `data` None means the plan's; `by_rank`: each rank's own times are kept too. A trial
    has `calls`: it is only checked, at volumes from `least` to `bytes`, which are `mean` on
    average, at most."""

    function: str
    bytes: int
    variant: str = "default"
    configuration: Configuration = Configuration()
    plain_duplicate: bool = False
    delay_ns: int = 0
    reps: int = 0
    ranks: int = 0
    use: str = ""
    data: Data | None = None
    calls: int = 0
    least: int = 0
    mean: int = 0
    by_rank: bool = False


class StoppingRule(msgspec.Struct, frozen=True):
    """The rule for how many samples a case takes, in place of blocks and reps: `least`, then `step`
    more at a time until every criterion is below its threshold, at most `most`. `criteria` as the
    plan has it ("rse:0.025,cov_mean:0.01/20"); the defaults are those of Hunold et al., Euro-Par
    2016, figure 1."""

    criteria: str = "rse:0.025,cov_mean:0.01/20"
    least: int = 20
    step: int = 10
    most: int = 1000

    def values(self) -> list[tuple[str, object]]:
        return [
            *(("nrep", self.criteria), ("nrep_min", self.least)),
            *(("nrep_step", self.step), ("nrep_max", self.most)),
        ]


class RoundTrips(msgspec.Struct, frozen=True):
    """Ping-pongs of one message size, between a pair of ranks of every class there is."""

    bytes: int
    reps: int


class OverlapCell(msgspec.Struct, frozen=True):
    """A message of `bytes` beside work that takes about `work_ns`; `test_ns` of it between two
    MPI_Test (0: none). `bench`, `kernel`: names of the probe (overlaps, kernels); `requests` to
    each peer at the same time; `function`: the blocking form of a collective that is begun;
    `threads`: by benchmark; `helper`: a thread of the probe asks the library meanwhile; `traced`:
    of how many last triples events are recorded; `spare`: the helper has a processing unit to
    itself."""

    bench: str
    bytes: int
    work_ns: int
    kernel: str = "registers"
    test_ns: int = 0
    triples: int = 50
    function: str = ""
    requests: int = 1
    threads: int = 0
    helper: bool = False
    traced: int = 0
    spare: bool = False

    def line(self, number: int) -> str:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return _line("overlap", [("id", number), *((k, _number(v)) for k, v in values.items())])


class Messages(msgspec.Struct, frozen=True):
    """Messages that a case with the variant `replay:messages=ID` plays: by rank, its steps with
    commas between ("": none)."""

    id: str
    steps: tuple[str, ...]

    @property
    def variant(self) -> str:
        return f"replay:messages={self.id}"

    def lines(self) -> list[str]:
        return [
            _line("messages", [("id", self.id), ("rank", rank), ("steps", steps)])
            for rank, steps in enumerate(self.steps)
            if steps
        ]


class Plan(msgspec.Struct, frozen=True):
    """All cases of one launch, in the order of their ids. `plain` names a loop of the probe that
    takes the place of the blocks (`set plain=`), with the timer that such programs read.
    `precision`: a case takes no more blocks when the relative standard error of its median is
    below (0: it takes all); a plan has this or `nrep`. These are the only defaults of plans: the
    probe has none (docs/plan-and-records.md)."""

    name: str
    seed: int
    cases: tuple[PlanCase, ...]
    data: Data = Data()
    blocks: int = 12
    reps: int = 4
    warmup: int = 16
    rewarm: int = 2
    settle: int = 0
    cycle: int = 0
    sync: str = "barrier"
    plain: str = ""
    cache: str = "warm"
    nrep: StoppingRule | None = None
    precision: float = 0.0
    budget_ms: int = 0
    pingpongs: tuple[RoundTrips, ...] = ()
    overlaps: tuple[OverlapCell, ...] = ()
    clock: str = "monotonic_raw"
    clock_sync: str = "hca3"
    clock_fit_ms: int = 500
    runtime: str = "local"
    window_us: int = 0
    clock_multiple: int = 10
    knobs: str = "communicator"
    use: str = ""
    arrival: str = ""
    patterns: tuple[Messages, ...] = ()

    @property
    def harness(self) -> tuple[str, ...]:
        """The functions of the library that the harness calls around those that it times."""
        uses = {case.use or self.use for case in self.cases} or {self.use}
        own = bool(self.plain) or ("" in uses and self.sync == "barrier")
        return ("MPI_Barrier",) if own or not uses.isdisjoint(_WITH_BARRIER) else ()

    def once(self) -> Plan:
        """The same, with one call of each case: whether it works, and not how long it takes."""
        return msgspec.structs.replace(
            self, blocks=1, reps=1, warmup=0, rewarm=0, settle=0, cycle=0
        )

    def calls_of_a_sample(self, case: PlanCase) -> int:
        """All calls of a stream are one sample."""
        return self.calls_of_a_block(case) if self._streams(case) else 1

    def calls_of_a_block(self, case: PlanCase) -> int:
        """Return how many there are, where blocks and not a stopping rule say it."""
        if case.reps or not self._streams(case):
            return case.reps or self.reps
        return STREAM_CALLS if case.bytes <= _STREAM_BYTES else STREAM_CALLS // 3

    def _streams(self, case: PlanCase) -> bool:
        return (case.use or self.use) == "stream"

    def configs(self) -> dict[Configuration | None, str]:
        """Config ids by configuration, in order of first use; None is the plain duplicate."""
        ids: dict[Configuration | None, str] = {Configuration(): "default"}
        for case in self.cases:
            if case.plain_duplicate:
                ids.setdefault(None, "plain")
            elif case.configuration not in ids:
                ids[case.configuration] = f"c{len(ids)}"
        return ids

    def text(self) -> str:
        """Return it as the probe reads it. It is complete: what stands in it is all there is."""
        configs = self.configs()
        text_lines = ["plumbline-plan 1", self._set()]
        for configuration, name in configs.items():
            if name != "default":
                knobs = configuration.values if configuration is not None else ()
                text_lines.append(_line("config", [("id", name), *knobs]))
        for pattern in self.patterns:
            text_lines += pattern.lines()
        for number, case in enumerate(self.cases):
            config = configs[None if case.plain_duplicate else case.configuration]
            text_lines.append(self._case(number, case, config))
        text_lines += [
            _line("pingpong", [("bytes", pingpong.bytes), ("reps", pingpong.reps)])
            for pingpong in self.pingpongs
        ]
        text_lines += [overlap.line(number) for number, overlap in enumerate(self.overlaps)]
        return "\n".join(text_lines) + "\n"

    def _case(self, number: int, case: PlanCase, config: str) -> str:
        data = (case.data or self.data).of(case.function)
        how_often: list[tuple[str, object]] = []
        if case.calls:
            how_often = [("calls", case.calls), ("least", case.least), ("mean", case.mean)]
        elif not self.nrep:
            how_often = [("reps", self.calls_of_a_block(case))]
        return _line(
            "case",
            [
                *(("id", number), ("function", case.function), ("variant", case.variant)),
                *(("config", config), ("bytes", case.bytes), ("type", data.type), ("op", data.op)),
                *(("root", data.root), ("counts", data.counts), *how_often),
                *(("delay_ns", case.delay_ns), ("ranks", case.ranks), ("use", case.use)),
                ("by_rank", int(case.by_rank)),
            ],
        )

    def _set(self) -> str:
        values: list[tuple[str, object]] = [("run", self.name), ("seed", self.seed)]
        if self.nrep:
            values += self.nrep.values()
        else:
            rule = f"block_medians:{self.precision:.4g}" if self.precision else ""
            values += [("blocks", self.blocks), ("nrep", rule)]
        values += [(name, getattr(self, name)) for name in ("warmup", "rewarm", "sync")]
        values += [("clock", "wtime" if self.plain else self.clock), ("plain", self.plain)]
        any_knobs = any(case.configuration for case in self.cases)
        values += [("knobs", self.knobs if any_knobs else _PLAIN_SWITCH)]
        values += [(name, getattr(self, name)) for name in _ALWAYS]
        values += [(name, getattr(self, name)) for name in ("settle", "cycle", "use", "arrival")]
        values += [("budget_ms", self.budget_ms or (_BUDGET_MS if self._repeats_starts else 0))]
        return _line("set", values)

    @property
    def _repeats_starts(self) -> bool:
        """Starts that fail are made again, in some case: within a budget."""
        uses = {case.use or self.use for case in self.cases}
        return self.sync in _REPEATING_STARTS or not uses.isdisjoint(_REPEATING_STARTS)


_PLAIN_SWITCH = "communicator"
_ALWAYS = ("cache", "clock_sync", "clock_fit_ms", "clock_multiple", "runtime", "window_us")
_BUDGET_MS = 2000
_REPEATING_STARTS = frozenset({"window", "roundtime", "synchronised", "late"})
# What plans did not say before they were complete.
_UNSAID = {
    "set": {"budget_ms": str(_BUDGET_MS)}
    | {
        field.name: str(field.default)
        for field in msgspec.structs.fields(Plan)
        if field.name in (*_ALWAYS, "clock", "knobs")
    },
    "case": {"counts": EQUAL_COUNTS},
    "overlap": {"requests": "1"},
}


def is_same(stored: str, text: str) -> bool:
    """Return whether two texts ask for the same. `stored` may be older than complete plans."""
    return stored == text or _meaning(stored) == _meaning(text)


def _meaning(text: str) -> list[tuple[str, dict[str, str]]]:
    return [(word, _UNSAID.get(word, {}) | values) for word, values in lines(text)]


def named(
    function: str, variant: str, knobs: Mapping[str, str], bytes_: int, ranks: int = 0
) -> str:
    """A case in words: `MPI_Gather gather_binomial at 1024 B on 2 ranks`."""
    words = [function] + [variant] * (variant != "default")
    words += [f"{name}={value}" for name, value in sorted(knobs.items())]
    return " ".join(words) + f" at {bytes_} B" + (f" on {ranks} ranks" if ranks else "")


def named_in(text: str, number: int) -> str:
    """The case `number` of a plan's text in words; '' where it has none."""
    configs: dict[str, dict[str, str]] = {}
    for word, keys in lines(text):
        if word == "config":
            configs[keys.pop("id", "")] = keys
        elif word == "case" and keys.get("id") == str(number):
            return named(
                keys["function"],
                keys["variant"],
                configs.get(keys["config"], {}),
                int(keys["bytes"]),
                int(keys.get("ranks", 0)),
            )
    return ""


def least_bytes(function: str, nprocs: int, data: Data) -> int:
    """The smallest volume that moves data: one element, in each block where there are blocks."""
    if function in WITHOUT_SIZE:
        return 0
    return data.width(function) * (nprocs if function in MESSAGE_FUNCTIONS_IN_BLOCKS else 1)


def part_bytes(function: str, size: int, nprocs: int, ranks: int, data: Data) -> int:
    """The volume on the first `ranks` of `nprocs` ranks that leaves each of them the counts that it
    has at the volume `size` on all: the same vector, or the same blocks."""
    width = data.width(function)
    elements = -(-size // width)
    if function in MESSAGE_FUNCTIONS_IN_BLOCKS:
        return -(-elements // nprocs) * ranks * width
    if function in FUNCTIONS_IN_PARTS:
        share, remainder = divmod(elements, nprocs)
        return (share * ranks + min(remainder, ranks)) * width
    return size


def measurable(function: str, sizes: Iterable[int], nprocs: int, data: Data) -> list[int]:
    """Return the sizes that are distinct cells of `function`. Sizes of a reduction are multiples of
    the element; where blocks are equal, sizes that round up to the same block are one cell (the
    smallest that is not padded, if there is one); no size is below one element, and a barrier has
    the size 0 alone."""
    if function in WITHOUT_SIZE:
        return [0]
    unit = least_bytes(function, nprocs, data)
    chosen: dict[int, int] = {}
    for size in sorted({data.whole(function, size) for size in sizes}):
        blocks = -(-size // unit)
        if blocks and (blocks not in chosen or size == blocks * unit):
            chosen[blocks] = size
    return [size for size in chosen.values() if size >= unit]


def rounding(asked: Mapping[str, Iterable[int]], data: Data) -> str:
    """Return a sentence about the sizes, by function, that are rounded up to whole elements; empty
    where none is."""
    rounded: dict[tuple[int, int], list[str]] = {}
    for function, sizes in asked.items():
        for size in sorted(set(sizes)):
            if (whole := data.whole(function, size)) != size:
                rounded.setdefault((size, whole), []).append(function)
    if not rounded:
        return ""
    functions = sorted({name for names in rounded.values() for name in names})
    sizes_told = ", ".join(f"{size} B to {whole} B" for size, whole in rounded)
    types = sorted({data.of(function).type for function in functions})
    return (
        f"sizes of reductions are multiples of the element ({', '.join(types)}): rounded up "
        f"{sizes_told} for {', '.join(functions)}; --type MPI_BYTE measures every size"
    )


# Keys that say of nothing that there is none: without them a plan has no such thing.
_WITHOUT = {
    "set": {"nrep", "plain", "settle", "cycle", "use", "arrival", "budget_ms"},
    "case": {"delay_ns", "ranks", "use", "by_rank"},
    "overlap": {"function", "threads", "helper", "spare", "traced"},
}


def _line(word: str, values: Iterable[tuple[str, object]]) -> str:
    """A line of a plan. Raises UsageError for a value that cannot stand in one."""
    without = _WITHOUT.get(word, set())
    words = [
        f"{_value(name)}={_value(str(value), also='=' if name == 'variant' else '')}"
        for name, value in values
        if value or name not in without
    ]
    return " ".join([word, *words])


def _number(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


@functools.lru_cache(maxsize=1 << 14)
def _value(text: str, also: str = "") -> str:
    """`also`: what else may stand in it, as in `name:parameter=value` of a variant."""
    if not _VALUE.match(text.replace(also, "") if also else text):
        raise UsageError(f"{text!r} is not allowed in a plan: no white space, '#' or '='")
    return text
