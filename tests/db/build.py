"""Builds databases as a campaign would leave them, through the public interface alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from plumbline_db import campaigns, findings, machines, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    Clock,
    ConfigRecord,
    Footer,
    Header,
    KnobReading,
    Order,
    ProbeRecord,
    RankSamples,
    Samples,
)
from plumbline_db.records import Campaign, Failure, Library, Machine, Run, Verdict, Winner
from tests import plans

MACHINE = Machine(
    id="m-5f0c21ab",
    host="node1",
    cpu_model="AMD EPYC 7763 64-Core Processor",
    processing_units=2,
    numa_nodes=1,
    memory_bytes=8_589_934_592,
    kernel="6.1.0-18-amd64",
    system="Debian GNU/Linux 12 (bookworm)",
)
LIBRARY = Library(
    id="openmpi-4.1.4",
    family="openmpi",
    version="4.1.4",
    version_string="Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, May 26, 2022",
    prefix="/usr",
    fingerprint="9d1c5f6a",
)
CAMPAIGN = Campaign(
    id="c-20250301-a",
    key="k-7d1f",
    machine=MACHINE.id,
    library_fingerprint=LIBRARY.fingerprint,
    nprocs=4,
    nodes=1,
    ppn=4,
    oversubscribed=True,
    settings='{"launches":12}',
    state="running",
    started="2025-03-01T10:00:00Z",
    finished="",
)
REDUCE_PLUS_BCAST = "allreduce_as_reduce_plus_bcast"


@dataclass(frozen=True)
class Timed:
    """A case of a built launch: its samples are spread around `median_ns`."""

    function: str = "MPI_Allreduce"
    variant: str = "default"
    config: str = "default"
    bytes: int = 16384
    median_ns: int = 43_000
    outcome: Literal["ok", "wrong", "not_in_force"] = "ok"
    ranks: int = 0
    by_rank: bool = False  # of four ranks, rank r takes r + 1 times the median


def started(db: Database, campaign: Campaign = CAMPAIGN) -> Campaign:
    """A campaign with its machine and library."""
    machines.put_machine(db, MACHINE)
    machines.put_library(db, LIBRARY)
    campaigns.put(db, campaign)
    return campaign


EXIT = Failure("ended", "exit status 1")


def run(suite: str = "before", sequence: int = 0, *, campaign: Campaign = CAMPAIGN) -> Run:
    name = f"{campaign.id}-{suite}-{sequence:03}"
    return Run(
        id=name,
        campaign=campaign.id,
        suite=suite,
        sequence=sequence,
        failure=None,
        argv=["mpirun", "-n", "4", "--oversubscribe", "probe", "--plan", "plan", "--out", "out"],
        environment={"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"},
        plan=plans.complete(f"plumbline-plan 1\nset run={name} seed={sequence}"),
        stderr="",
        started="2025-03-01T10:00:01Z",
        seconds=0.9,
        timed_seconds=0.4,
    )


def header(run: Run, blocks: int) -> Header:
    return Header(
        schema=2,
        run=run.id,
        probe="0.1.0",
        library=LIBRARY.version_string,
        mpi="3.1",
        nprocs=4,
        nodes=1,
        ppn=4,
        hosts=["node1"],
        processing_units=2,
        oversubscribed=True,
        binding=["0-1"] * 4,
        sync="barrier",
        clock=Clock("monotonic_raw", 1, 21),
        seed=run.sequence,
        blocks=blocks,
        warmup=16,
        rewarm=1,
        environment=run.environment,
    )


def records(
    run: Run,
    cases: Iterable[Timed],
    *,
    blocks: int = 5,
    reps: int = 10,
    knobs: dict[str, dict[str, str]] | None = None,
) -> list[ProbeRecord]:
    """What the probe writes for these cases, in its order. `knobs`: by config id."""
    random_ = random.Random(run.id)
    cases = list(cases)
    written: list[ProbeRecord] = [header(run, blocks)]
    for id, wanted in (knobs or {}).items():
        readings = {name: KnobReading(value, value) for name, value in wanted.items()}
        written.append(ConfigRecord(id, True, "", readings))
    written += [
        CaseRecord(
            *(i, c.function, c.variant, c.config, c.bytes, c.bytes, "MPI_BYTE", "MPI_BOR", 0, reps),
            ranks=c.ranks,
            by_rank=int(c.by_rank),
        )
        for i, c in enumerate(cases)
    ]
    for i, case in enumerate(cases):
        written += [Begin(i), Check(i, case.outcome, "" if case.outcome == "ok" else "at byte 7")]
    good = [i for i, case in enumerate(cases) if case.outcome == "ok"]
    timed = 0
    taken: list[Samples] = []
    for block in range(blocks):
        order = random_.sample(good, len(good))
        written.append(Order(block, order))
        for i in order:
            warmup, ns = (
                [int(cases[i].median_ns * random_.uniform(0.97, 1.03)) for _ in range(count)]
                for count in (16 if block == 0 else 1, reps)
            )
            timed += sum(warmup) + sum(ns)
            taken.append(of_a_block(i, block, warmup, ns))
            if cases[i].by_rank:
                each = [[(rank + 1) * cases[i].median_ns] * reps for rank in range(4)]
                written.append(RankSamples(i, block, each))
    written += together(taken)
    written.append(Footer(len(cases), timed, 2 * timed + 1000))
    return written


def of_a_block(case: int, block: int, warmup_ns: list[int], ns: list[int], **more: Any) -> Samples:
    """A case of one block; `more`: a list with its one element, or what was counted."""
    return Samples(case, [block], [len(warmup_ns)], [len(ns)], warmup_ns, ns, **more)


class Block(NamedTuple):
    """The times of a case in one block."""

    case: int
    block: int
    warmup_ns: list[int]
    ns: list[int]
    late: int = 0
    overrun: int = 0
    window_ns: int = 0
    budget_spent: bool = False
    settled: bool = True
    counts: Mapping[str, int] = {}

    def record(self) -> Samples:
        return of_a_block(
            self.case,
            self.block,
            self.warmup_ns,
            self.ns,
            late=[self.late],
            overrun=[self.overrun],
            window_ns=[self.window_ns],
            budget_spent=[self.budget_spent],
            settled=[self.settled],
            counts={name: [value] for name, value in self.counts.items()},
        )


def by_block(records: Iterable[ProbeRecord]) -> list[Block]:
    """The samples among records, in the order of the blocks and of their cases in these."""
    kept = list(records)
    orders = {one.block: list(one.cases) for one in kept if isinstance(one, Order)}
    found = [block for one in kept if isinstance(one, Samples) for block in _blocks_of(one)]
    return sorted(
        found, key=lambda one: (one.block, orders.get(one.block, [one.case]).index(one.case))
    )


def changed_blocks(
    records: Iterable[ProbeRecord], change: Callable[[Block], Block | None]
) -> list[ProbeRecord]:
    """The records with blocks changed, or left out where `change` gives None."""
    found: list[ProbeRecord] = []
    for record in records:
        if not isinstance(record, Samples):
            found.append(record)
            continue
        blocks = [made for block in _blocks_of(record) if (made := change(block)) is not None]
        found += together(block.record() for block in blocks)
    return found


def _blocks_of(record: Samples) -> Iterator[Block]:
    warmups, samples = iter(record.warmup_ns), iter(record.ns)
    for place, block in enumerate(record.blocks):
        lists = ("late", "overrun", "window_ns", "budget_spent", "settled")
        yield Block(
            record.case,
            block,
            list(islice(warmups, record.warmups[place])),
            list(islice(samples, record.samples[place])),
            counts={name: values[place] for name, values in record.counts.items()},
            **{name: values[place] for name in lists if (values := getattr(record, name))},
        )


def together(taken: Iterable[Samples]) -> list[Samples]:
    """Join the blocks of each case into one record, in the order of the cases."""
    by_case: dict[int, Samples] = {}
    for one in taken:
        first = by_case.get(one.case)
        if first is None:
            by_case[one.case] = one
            continue
        joined = {
            name: getattr(first, name) + getattr(one, name)
            for name in Samples.__struct_fields__
            if name not in ("case", "counts")
        }
        counts = {name: values + one.counts[name] for name, values in first.counts.items()}
        by_case[one.case] = Samples(case=one.case, counts=counts, **joined)
    return [by_case[case] for case in sorted(by_case)]


def plan(records: Iterable[ProbeRecord]) -> str:
    """The plan that asks for these records."""
    lines = ["plumbline-plan 1"]
    for one in records:
        match one:
            case Header():
                lines.append(
                    f"set run={one.run} seed={one.seed} blocks={one.blocks} "
                    f"warmup={one.warmup} rewarm={one.rewarm} sync={one.sync}"
                )
            case ConfigRecord():
                knobs = [f"{name}={knob.wanted}" for name, knob in one.knobs.items()]
                lines.append(" ".join([f"config id={one.id}", *knobs]))
            case CaseRecord():
                lines.append(
                    f"case id={one.case} function={one.function} variant={one.variant} "
                    f"config={one.config} bytes={one.bytes} type={one.type} op={one.op} "
                    f"root={one.root} reps={one.reps}"
                    + (f" ranks={one.ranks}" if one.ranks else "")
                    + (" by_rank=1" if one.by_rank else "")
                )
    return plans.complete("\n".join(lines))


VERDICT = Verdict(
    stage="before",
    guideline="GL12",
    kind="pattern",
    function="MPI_Allreduce",
    rhs=REDUCE_PLUS_BCAST,
    nprocs=4,
    ppn=4,
    bytes=16384,
    other_bytes=16384,
    factor=1,
    verdict="violated",
    ratio=1.84,
    ratio_low=1.7,
    ratio_high=1.9,
    p=1e-5,
    p_adjusted=4e-4,
    launches=12,
    reason="",
    suites=["before"],
)
WINNER = Winner(
    function="MPI_Allreduce",
    nprocs=4,
    ppn=4,
    bytes_from=8192,
    bytes_to=65536,
    variant="default",
    configuration={"coll_tuned_allreduce_algorithm": "basic_linear"},
    search_speedup=2.05,
    speedup=2.0,
    speedup_low=1.9,
    speedup_high=2.1,
    removes=["GL12 16384"],
    restrictions=[],
)


def verdict(stage: str, **changes: object) -> Verdict:
    return msgspec.structs.replace(VERDICT, stage=stage, **changes)


def winner(**changes: object) -> Winner:
    return msgspec.structs.replace(WINNER, **changes)


def done(db: Database) -> Campaign:
    """The same, at its end."""
    ended = msgspec.structs.replace(finished(db), state="finished", finished="2025-03-01T10:05:00Z")
    campaigns.put(db, ended)
    return ended


def later(db: Database, id: str, day: int, **changes: object) -> Campaign:
    """Another campaign, of March `day`; finished a minute after it began."""
    values: dict[str, object] = {"id": id, "key": f"k-{id}", "state": "finished"}
    values |= {"started": f"2025-03-{day:02}T10:00:00Z", "finished": f"2025-03-{day:02}T10:01:00Z"}
    return started(db, msgspec.structs.replace(CAMPAIGN, **{**values, **changes}))


def finished(db: Database) -> Campaign:
    """A whole small campaign: launches, verdicts before and after, one winner of each kind."""
    campaign = started(db)
    for sequence in range(3):
        launch = run(sequence=sequence)
        cases = [Timed(), Timed(variant=REDUCE_PLUS_BCAST, median_ns=23_300)]
        runs.put(db, launch, records(launch, cases))
    quick = {"verdict": "holds", "ratio": 0.98, "ratio_low": 0.96, "ratio_high": 1.01}
    unsure: dict[str, object] = {"guideline": "MONOTONY", "kind": "monotony", "rhs": "MPI_Bcast"}
    unsure |= {"function": "MPI_Bcast", "bytes": 64, "other_bytes": 1024, "verdict": "undecided"}
    unsure |= {"ratio": None, "ratio_low": None, "ratio_high": None, "p": None, "p_adjusted": None}
    large = {"bytes": 65536, "other_bytes": 65536, "ratio": 1.31}
    findings.put_verdicts(
        db,
        campaign.id,
        "before",
        [verdict("before"), verdict("before", **large), verdict("before", **unsure)],
    )
    findings.put_verdicts(
        db,
        campaign.id,
        "after",
        [verdict("after", **quick), verdict("after", **{**large, **quick})],
    )
    findings.put_winners(
        db,
        campaign.id,
        [
            winner(),
            winner(
                function="MPI_Gather",
                bytes_from=0,
                bytes_to=262144,
                variant="gather_binomial",
                configuration={},
                speedup=1.4,
                speedup_low=1.3,
                speedup_high=1.5,
                removes=["GL8 4"],
            ),
        ],
    )
    return campaign
