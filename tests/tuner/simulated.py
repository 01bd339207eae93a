"""A simulated MPI library: answers plans with records, from cost functions and seeded noise.

It obeys what a real one obeys: knobs of a plan, a rules file and a preload profile in the
environment of the launch, the canaries in either. Noise depends on the name of a launch alone, so
that an interrupted campaign meets the same machine when it goes on."""

from __future__ import annotations

import contextlib
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from plumbline.core.guidelines import Guidelines
from plumbline.core.guidelines import load as load_guidelines
from plumbline.launch import launcher_for
from plumbline.launch.starter import Starter, ended, under_way, with_case
from plumbline.libraries import Installation, Knob, space_file
from plumbline.libraries.openmpi import OpenMpi
from plumbline.libraries.space import Space
from plumbline.settings.toolchain import Catalogue, Toolchain, Variant, _Named
from plumbline.system.placement import Placement
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    Clock,
    ConfigRecord,
    Criterion,
    Footer,
    Header,
    KnobReading,
    Nrep,
    Order,
    PingPong,
    ProbeRecord,
    Samples,
)
from plumbline_db.records import Failure, Library, Run
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from tests.db import build
from tests.exporters import rules_reader

ROOT = Path(__file__).resolve().parents[2]
SPACE = space_file.for_library(ROOT / "search-spaces", build.LIBRARY)
# Those of the paper; no variant of this library sends pieces.
GUIDELINES = load_guidelines().selected([f"GL{n}" for n in range(3, 18)])
GUIDELINES = msgspec.structs.replace(
    GUIDELINES, split=msgspec.structs.replace(GUIDELINES.split, functions=[])
)
PARTS = {one.variant: one.uses for one in GUIDELINES.patterns}
LACKED = ("coll_acoll_", "coll_hcoll_", "coll_ucc_", "coll_xhc_")
OURS = {"gather_binomial": "MPI_Gather", "reduce_ring": "MPI_Reduce"}

# Microseconds of an empty message; every pattern guideline holds among these.
LATENCY = {
    "MPI_Bcast": 2.0,
    "MPI_Gather": 2.5,
    "MPI_Scatter": 1.8,
    "MPI_Scatterv": 2.0,
    "MPI_Allgather": 4.2,
    "MPI_Alltoall": 8.0,
    "MPI_Reduce": 3.0,
    "MPI_Allreduce": 4.5,
    "MPI_Reduce_scatter": 4.4,
    "MPI_Reduce_scatter_block": 4.6,
    "MPI_Scan": 4.0,
    "MPI_Exscan": 4.0,
    "MPI_Reduce_local": 0.3,
}


EXIT = Failure("ended", "exit status 1")


def failed(run: Run, failure: Failure = EXIT) -> tuple[Run, list[ProbeRecord]]:
    """The launch, at its end before any case has begun."""
    return msgspec.structs.replace(run, failure=failure), []


class Interrupted(Exception):
    """What a power cut is to a campaign."""


Factor = Callable[[int, Mapping[str, str]], float]


@dataclass
class Costs:
    """`default[function](bytes)` and `algorithm[function, name](bytes, knobs)` multiply the base
    cost; algorithms that are not named here take 1.2 times the base. `own[variant]` likewise.
    `in_force[function, name]` besides, where a rules file says so and not a knob of the race.
    `everything[function, bytes]` slows a cell down whatever computes it. `where[name, words]`:
    an algorithm or a variant takes so many times as long in a use, with a datatype, at a size, in a
    count shape."""

    default: dict[str, Callable[[int], float]] = field(default_factory=dict)
    algorithm: dict[tuple[str, str], Factor] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    in_force: dict[tuple[str, str], float] = field(default_factory=dict)
    everything: dict[tuple[str, int], float] = field(default_factory=dict)
    where: dict[tuple[str, str], float] = field(default_factory=dict)

    def library(
        self, function: str, size: int, knobs: Mapping[str, str], *, cold: bool = False
    ) -> float:
        """Microseconds of the library's function; no knobs: by its own decision."""
        name = knobs.get(f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm")
        if name is None:
            factor = self.default.get(function, lambda _: 1.0)(size)
        else:
            factor = self.algorithm.get((function, name), lambda *_: 1.2)(size, knobs)
            factor *= self.in_force.get((function, name), 1.0) if cold else 1.0
        factor *= self.everything.get((function, size), 1.0)
        return factor * LATENCY[function] * (1 + size / 2000)


class Rules:
    """The exported files in force in one launch."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get("OMPI_MCA_coll_tuned_dynamic_rules_filename")
        self._rules = rules_reader.read(Path(name).read_text()) if name else None
        listed = environment.get("OMPI_MCA_mca_base_env_list_internal", "").split(";")
        profile = dict(word.partition("=")[::2] for word in listed).get("PLUMBLINE_PROFILE")
        self._profile = _profile(Path(profile).read_text()) if profile else []

    def variant(self, function: str, size: int) -> str:
        for name, low, high, variant in self._profile:
            if name == function and low <= size <= high:
                return variant
        return "default"

    def knobs(self, function: str, nprocs: int, size: int) -> dict[str, str] | None:
        """What the file decides; empty where it leaves it to the library, None for the canary."""
        collective = COLLECTIVES.get(function)
        if self._rules is None or collective is None:
            return {}
        algorithm, _, segment, _ = self._rules.decision(collective.rule_id, nprocs, size)
        if not 0 <= algorithm <= len(collective.algorithms):
            return None
        prefix = f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"
        if algorithm == 0:
            return {}
        name = collective.name_of(algorithm)
        return {prefix: name, f"{prefix}_segmentsize": str(segment)}


def _profile(text: str) -> list[tuple[str, int, float, str]]:
    rules = []
    for line in text.splitlines():
        if line.startswith("rule "):
            words = dict(word.split("=", 1) for word in line.split()[1:])
            low, high = words["bytes"].split("-")
            bound = math.inf if high == "inf" else int(high)
            rules.append((words["function"], int(low), bound, words["variant"]))
    return rules


class SimulatedStarter(Starter):
    """Launches of the simulated library. `stop_after`: so many launches, then Interrupted.
    `crashes(case)`: the launch dies when that case is checked. `corrupt(case)`: the outcome of a
    check that is not ok. Other libraries take over `seen` and `answered`."""

    def __init__(
        self,
        costs: Costs,
        *,
        nprocs: int = 4,
        stop_after: int | None = None,
        crashes: Callable[[CaseRecord, Mapping[str, str]], bool] = lambda *_: False,
        corrupt: Callable[[CaseRecord], str] = lambda _: "ok",
        launch_noise: float = 0.25,
        case_noise: float = 0.01,
        sample_noise: float = 0.02,
        seconds: float = 0.5,
        parts: Mapping[str, Sequence[str]] = PARTS,
    ) -> None:
        self.family = OpenMpi()
        self.refusal = lambda text: None  # type: ignore[method-assign]
        self.placement = Placement(nodes=1, ppn=nprocs)
        self._launcher = launcher_for(None)
        self._fixed: dict[str, str] = {}
        self.extra: dict[str, str] = {}  # what the last launch was started with
        self.launches: list[tuple[str, int]] = []
        self._costs = costs
        self._parts = parts
        self._stop_after = stop_after
        self._crashes, self._corrupt = crashes, corrupt
        self._launch_noise, self._case_noise = launch_noise, case_noise
        self._most = 1 + sample_noise
        self._seconds = seconds

    def start_by_choice(self) -> None:
        """A simulated library chooses nothing."""

    def keeping_ranks(self, shared: object = None) -> AbstractContextManager[None]:
        """A simulated library has no ranks."""
        return contextlib.nullcontext()

    def clean_environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin"}

    def start(
        self,
        campaign: str,
        suite: str,
        sequence: int,
        text: str,
        extra: dict[str, str],
        placement: Placement | None = None,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        if self._stop_after is not None and len(self.launches) >= self._stop_after:
            raise Interrupted
        self.launches.append((suite, sequence))
        where = placement or self.placement
        self.extra = extra = self.seen(suite, extra)
        records = self._records(text, extra)
        if where.held:
            held = [str(rank % 2) for rank in range(where.nprocs)]
            records[0] = msgspec.structs.replace(records[0], binding=held)  # type: ignore[type-var]
        finished = isinstance(records[-1], Footer)
        case = under_way(records)
        failure = None if finished else with_case(ended(139), text, case)
        run = Run(
            id=f"{campaign}/{suite}-{sequence:03d}",
            campaign=campaign,
            suite=suite,
            sequence=sequence,
            failure=failure,
            argv=["mpirun", *self.family.words(where), "probe", "--plan", "plan", "--out", "out"],
            environment=extra,
            plan=text,
            stderr="" if finished else "Segmentation fault",
            started="2026-01-01T00:00:00.000+00:00",
            seconds=self._seconds,
            timed_seconds=self._seconds / 2,
        )
        return self.answered(run, records)

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        """What a launch of `suite` sees of the variables that it is started with."""
        del suite
        return extra

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        """What comes of the launch `run`, whose plan is obeyed with `records`."""
        return run, records

    def _records(self, text: str, extra: Mapping[str, str]) -> list[ProbeRecord]:
        settings, configs, cases = parse(text)
        chance = random.Random(f"{settings['run']} {settings['seed']}")
        blocks = int(settings.get("blocks", 2))
        records: list[ProbeRecord] = [_header(settings, self.placement.nprocs, blocks, extra)]
        for id, knobs in configs.items():
            readings = {name: KnobReading(value, value) for name, value in knobs.items()}
            records.append(ConfigRecord(id, True, "", readings))
        records += cases
        rules = Rules(extra)
        nanoseconds: dict[int, float] = {}
        common = chance.gauss(0, self._launch_noise)
        for case in cases:
            records.append(Begin(case.case))
            knobs = configs.get(case.config, {})
            if self._crashes(case, knobs):
                return records
            cost, outcome = self._answer(case, knobs, rules)
            own = chance.gauss(0, self._case_noise)
            if outcome == "ok" and not case.calls:
                decided = knobs or rules.knobs(case.function, self.placement.nprocs, case.bytes)
                names = {case.variant, *(decided or {}).values()}
                there = {case.use, case.type, str(case.bytes), case.counts}
                for (name, words), factor in self._costs.where.items():
                    cost *= factor if name in names and there.issuperset(words.split()) else 1.0
                nanoseconds[case.case] = 1000 * cost * math.exp(common + own) + case.delay_ns
            records.append(Check(case.case, outcome, "" if outcome == "ok" else "simulated"))
        total = 0
        taken: list[Samples] = []
        plain = "plain" in settings
        ends = Ends(settings)
        for block in range(1 if plain else blocks):
            running = sorted(nanoseconds.keys() - ends.ended)
            if ends.ended and not running:
                break
            order = chance.sample(running, len(running))
            records.append(Order(block, order))
            for number in order:
                reps = self.placement.nprocs if plain else cases[number].reps
                ns = [
                    round(nanoseconds[number] * chance.uniform(1, self._most)) for _ in range(reps)
                ]
                taken.append(build.of_a_block(number, block, [], ns))
                total += sum(ns)
                if ended := ends.after(number, ns):
                    records += [*build.together(one for one in taken if one.case == number), *ended]
                    taken = [one for one in taken if one.case != number]
        records += build.together(taken)
        if "nrep" in settings and "blocks" not in settings:
            records += [_stopped(number, settings, chance) for number in sorted(nanoseconds)]
        records += _round_trips(text, chance, common)
        rest = total // 4
        records.append(Footer(len(cases), total, 2 * total, rest, rest, rest))
        return records

    def _answer(
        self, case: CaseRecord, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        """Microseconds and the outcome of the check."""
        if (outcome := self._corrupt(case)) != "ok":
            return 0.0, outcome
        variant, size = case.variant, case.bytes
        if variant == "default" and not knobs:
            variant = rules.variant(case.function, size)
        return self._called(case.function, size, variant, knobs, rules, frozenset())

    def _called(
        self,
        function: str,
        size: int,
        variant: str,
        knobs: Mapping[str, str],
        rules: Rules,
        around: frozenset[str],
    ) -> tuple[float, str]:
        """One call inside calls of the functions `around` it. Replacements compose, but for a
        function inside itself."""
        if variant == "canary":
            return 0.0, "error"
        if variant in ("default", "library"):
            return self._library(function, size, knobs, rules)
        slow = self._costs.everything.get((function, size), 1.0)
        if variant in self._parts:
            around |= {function}
            parts = [
                self._called(
                    part,
                    size,
                    "default" if part in around else rules.variant(part, size),
                    {},
                    rules,
                    around,
                )
                for part in self._parts[variant]
            ]
            outcome = "error" if "error" in [said for _, said in parts] else "ok"
            return slow * (0.1 + sum(cost for cost, _ in parts)), outcome
        base = self._costs.own.get(variant, 1.3) * LATENCY[function]
        return slow * base * (1 + size / 2000), "ok"

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        decided = knobs or rules.knobs(function, self.placement.nprocs, size)
        if decided is None:
            return 0.0, "error"
        return self._costs.library(function, size, decided, cold=not knobs), "ok"


def parse(text: str) -> tuple[dict[str, str], dict[str, dict[str, str]], list[CaseRecord]]:
    """Settings, knobs by config id, cases."""
    settings: dict[str, str] = {}
    configs: dict[str, dict[str, str]] = {}
    cases = []
    first, *lines = text.splitlines()
    assert first == "plumbline-plan 1"
    for line in lines:
        word, *pairs = line.split()
        values = dict(pair.split("=", 1) for pair in pairs)
        if word == "set":
            settings = values
        elif word == "config":
            configs[values.pop("id")] = values
        elif word not in ("pingpong", "overlap"):
            assert word == "case"
            number, size = int(values["id"]), int(values["bytes"])
            cases.append(
                CaseRecord(
                    case=number,
                    function=values["function"],
                    variant=values["variant"],
                    config=values["config"],
                    bytes=size,
                    bytes_moved=size,
                    type=values["type"],
                    op=values["op"],
                    root=int(values["root"]),
                    reps=0 if "calls" in values else int(values.get("reps", 15)),
                    delay_ns=int(values.get("delay_ns", 0)),
                    ranks=int(values.get("ranks", 0)),
                    use=values.get("use", ""),
                    calls=int(values.get("calls", 0)),
                    least=int(values.get("least", 0)),
                    mean=int(values.get("mean", 0)),
                    counts=values.get("counts", "equal"),
                )
            )
    return settings, configs, cases


class Ends:
    """Which cases end between two blocks, by `nrep=block_medians:…` beside `blocks`: as the probe
    does it (probes/nrep)."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        in_blocks = "nrep" in settings and "blocks" in settings
        self._limit = float(settings["nrep"].partition(":")[2]) if in_blocks else 0.0
        self._blocks = int(settings.get("blocks", 0))
        self._medians: dict[int, list[float]] = {}
        self._samples: Counter[int] = Counter()
        self.ended: set[int] = set()

    def after(self, case: int, ns: Sequence[int]) -> list[Nrep]:
        """When the case has taken these samples in a block: its record, where it was the last."""
        if not self._limit:
            return []
        medians = self._medians.setdefault(case, [])
        medians.append(statistics.median(ns))
        self._samples[case] += len(ns)
        count = len(medians)
        error = math.inf
        if count >= 3:
            error = statistics.stdev(medians) / math.sqrt(count) / statistics.fmean(medians)
        met = error < self._limit
        if not met and count < self._blocks:
            return []
        self.ended.add(case)
        criterion = Criterion("block_medians", self._limit, error if count >= 3 else None)
        return [Nrep(case, self._samples[case], "criteria" if met else "maximum", [criterion])]


def _stopped(case: int, settings: Mapping[str, str], chance: random.Random) -> Nrep:
    """Some number of repetitions between the bounds; at the maximum one criterion is not met."""
    least, step, most = (int(settings[f"nrep_{name}"]) for name in ("min", "step", "max"))
    count = min(most, least + step * chance.randrange(4))
    words = [word.partition(":")[::2] for word in settings["nrep"].split(",")]
    limits = [(name, float(limit.partition("/")[0])) for name, limit in words]
    met = count < most
    criteria = [Criterion(name, limit, limit * (0.5 if met else 1.5)) for name, limit in limits]
    return Nrep(case, count, "criteria" if met else "maximum", criteria)


def _round_trips(text: str, chance: random.Random, common: float) -> list[ProbeRecord]:
    """0.4 µs and 0.1 ns a byte, from 4 KiB on 2 µs and 0.05 ns; on one core 1 µs more."""
    records: list[ProbeRecord] = []
    for line in text.splitlines():
        if not line.startswith("pingpong "):
            continue
        values = dict(pair.split("=", 1) for pair in line.split()[1:])
        size = int(values["bytes"])
        ns = 400 + 0.1 * size if size < 4096 else 2000 + 0.05 * size
        for pair, more in (("same_core", 1000), ("same_socket", 0)):
            trips = [
                round(2 * (ns + more) * math.exp(0.1 * common + chance.gauss(0, 0.005)))
                for _ in range(int(values["reps"]))
            ]
            records.append(PingPong(0, 1 + (more == 0), pair, size, trips))  # type: ignore[arg-type]
    return records


def _header(
    settings: Mapping[str, str], nprocs: int, blocks: int, extra: Mapping[str, str]
) -> Header:
    return Header(
        schema=2,
        run=settings["run"],
        probe="0.1.0",
        library=build.LIBRARY.version_string,
        mpi="3.1",
        nprocs=nprocs,
        nodes=1,
        ppn=nprocs,
        hosts=["node1"],
        processing_units=2,
        oversubscribed=True,
        binding=["0-1"] * nprocs,
        sync=settings["sync"],
        clock=Clock("monotonic_raw", 1, 21),
        seed=int(settings["seed"]),
        blocks=blocks,
        warmup=int(settings["warmup"]),
        rewarm=int(settings["rewarm"]),
        environment=dict(extra),
    )


def installed_knobs(space: Space = SPACE) -> dict[str, Knob]:
    """What ompi_info would report: every knob of the space, parameters at their defaults, but for
    those of components that Debian's build lacks."""
    there = [name for name in space.knobs() if not name.startswith(LACKED)]
    found = {name: Knob(name, "0", "int", True, {}) for name in there}
    for entry in space.function:
        choices = {"ignore": 0} | {one.name: one.id for one in entry.algorithms}
        found[entry.knob] = Knob(entry.knob, "ignore", "int", True, choices)
    for setting in space.setting:
        if setting.knob in found:
            found[setting.knob] = Knob(setting.knob, setting.default or "", "string", False, {})
    return found


def variants_of() -> dict[str, list[str]]:
    return toolchain().catalogue.variants_of()


def variants() -> list[Variant]:
    return toolchain().catalogue.variants


def with_variants(
    variants: Sequence[Variant],
    space: Space = SPACE,
    library: Library = build.LIBRARY,
    knobs: Mapping[str, Knob] | None = None,
) -> Toolchain:
    """Return a toolchain with these variants alone; without `knobs` the library has none."""
    usual = toolchain()
    return msgspec.structs.replace(
        usual,
        installation=msgspec.structs.replace(usual.installation, library=library),
        catalogue=msgspec.structs.replace(usual.catalogue, variants=variants),
        space=space,
        knobs=knobs or {},
    )


def toolchain(guidelines: Guidelines = GUIDELINES) -> Toolchain:
    """A toolchain of the simulated library; its programs do not exist."""
    listed = [Variant(one.variant, one.lhs, "mockup", [], "") for one in guidelines.patterns]
    listed += [Variant(name, function, "algorithm", [], "") for name, function in OURS.items()]
    return Toolchain(
        machine=build.MACHINE,
        family=OpenMpi(),
        installation=Installation(build.LIBRARY, Path("/opt/openmpi/bin/mpirun"), None),
        probe=Path("/opt/plumbline/probe"),
        preload=Path("/opt/plumbline/libplumbline.so"),
        catalogue=Catalogue(
            probe="0.1.0",
            functions=[_Named(name) for name in LATENCY],
            variants=listed,
            types=["MPI_BYTE", "MPI_DOUBLE"],
            ops=["MPI_BOR", "MPI_SUM"],
            syncs=["barrier", "dissemination", "window"],
            clocks=["monotonic_raw"],
        ),
        guidelines=guidelines,
        space=SPACE,
        knobs=installed_knobs(),
    )
