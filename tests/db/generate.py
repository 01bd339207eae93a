"""Databases as large as one likes, as campaigns would leave them: what is measured is drawn from a
seed, with the spread, the outliers and the counters of real launches."""

from __future__ import annotations

import datetime
from typing import NamedTuple

import msgspec
import numpy as np

from plumbline_db import campaigns, findings, machines, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Begin, CaseRecord, Check, Footer, Order, ProbeRecord, Samples
from plumbline_db.records import Campaign, Search, Trial
from tests.db import build

FUNCTIONS = ("MPI_Allgather", "MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast", "MPI_Reduce")
FIRST = datetime.datetime(2025, 1, 1, 2, 0, tzinfo=datetime.UTC)


class Size(NamedTuple):
    """Of one campaign: so many `launches` of its first table, each with so many `cases` (half of
    them of a variant), `blocks` and samples (`reps`) in a block; and as many of its last table."""

    launches: int = 3
    cases: int = 10
    blocks: int = 4
    reps: int = 4
    warmup: int = 16
    rewarm: int = 2

    @property
    def samples(self) -> int:
        return 2 * self.launches * self.cases * self.blocks * self.reps

    @property
    def times(self) -> int:
        """With warm-up."""
        warmups = self.warmup + (self.blocks - 1) * self.rewarm
        return self.samples + 2 * self.launches * self.cases * warmups


def fill(db: Database, count: int, size: Size, seed: int = 1) -> list[str]:
    """So many campaigns, a day apart; their names."""
    return [campaign(db, number, size, seed) for number in range(count)]


def campaign(db: Database, number: int, size: Size, seed: int = 1) -> str:
    chance = np.random.default_rng([seed, number])
    began = FIRST + datetime.timedelta(days=number)
    begun = msgspec.structs.replace(
        build.CAMPAIGN,
        id=f"openmpi-4.1.4-4x{number:06}",
        key=f"{number:016x}-1",
        started=began.isoformat(),
        settings="{}",
    )
    machines.put_machine(db, build.MACHINE)
    machines.put_library(db, build.LIBRARY)
    campaigns.put(db, begun)
    for suite in ("before", "after"):
        for sequence in range(size.launches):
            launch(db, begun, suite, sequence, size, chance)
    _conclude(db, begun, size, chance)
    ended = (began + datetime.timedelta(minutes=5)).isoformat()
    campaigns.put(db, msgspec.structs.replace(begun, state="finished", finished=ended))
    return begun.id


def launch(
    db: Database, of: Campaign, suite: str, sequence: int, size: Size, chance: np.random.Generator
) -> None:
    run = build.run(suite, sequence, campaign=of)
    found = records(run, size, chance)
    text = build.plan(found)
    runs.put(db, msgspec.structs.replace(run, plan=text, started=of.started), found)


def _bytes(case: int) -> int:
    return int(4 ** (case // 2 // len(FUNCTIONS) % 11))


def _variant(case: int) -> str:
    return build.REDUCE_PLUS_BCAST if case % 2 else "default"


def records(run: build.Run, size: Size, chance: np.random.Generator) -> list[ProbeRecord]:
    """Of a launch; a quarter of what is in its last blocks is slow by a descheduled rank."""
    header = msgspec.structs.replace(
        build.header(run, size.blocks), warmup=size.warmup, rewarm=size.rewarm
    )
    written: list[ProbeRecord] = [header]
    typical = []
    for case in range(size.cases):
        function, volume = FUNCTIONS[case // 2 % len(FUNCTIONS)], _bytes(case)
        more = (volume, volume, "MPI_BYTE", "MPI_BOR", 0, size.reps)
        written.append(CaseRecord(case, function, _variant(case), "default", *more))
        typical.append(8_000 + 0.4 * volume * (1 + case % 3))
    for case in range(size.cases):
        written += [Begin(case), Check(case, "ok", "")]
    taken: list[Samples] = []
    for block in range(size.blocks):
        warmup = size.rewarm if block else size.warmup
        shape = (size.cases, warmup + size.reps)
        times = np.array(typical)[:, None] * chance.lognormal(0.0, 0.15, shape)
        times += (chance.random(shape) < 0.004) * chance.exponential(200_000.0, shape)
        listed = times.astype("<i8").tolist()
        switches = chance.poisson(57, size.cases).tolist()
        order = chance.permutation(size.cases).tolist()
        written.append(Order(block, order))
        for case in order:
            counts = {
                "voluntary_switches": [0],
                "involuntary_switches": [switches[case]],
                "migrations": [0],
            }
            ns = listed[case]
            taken.append(build.of_a_block(case, block, ns[:warmup], ns[warmup:], counts=counts))
    written += build.together(taken)
    written.append(Footer(size.cases, 400_000_000, 800_000_000, 90_000_000, 60_000_000, 9_000_000))
    return written


def _conclude(db: Database, of: Campaign, size: Size, chance: np.random.Generator) -> None:
    """Verdicts over all pairs of cases, searches where one is violated, one winner a function."""
    words = ("holds", "violated", "undecided")
    drawn = chance.choice(words, size.cases // 2, p=(0.8, 0.15, 0.05)).tolist()
    for stage in ("before", "after"):
        table = []
        for pair, word in enumerate(drawn):
            function, volume = FUNCTIONS[pair % len(FUNCTIONS)], _bytes(2 * pair)
            cell = {"function": function, "bytes": volume, "other_bytes": volume}
            cell |= {"suites": [stage], "verdict": word if stage == "before" else "holds"}
            table.append(build.verdict(stage, **cell, guideline=f"GL{1 + pair % 20}"))
        findings.put_verdicts(db, of.id, stage, table)
    tried = Trial("default", {"coll_tuned_algorithm": "3"}, "measured", 0.6, 0.5, 0.7, 9, "")
    for pair, word in enumerate(drawn):
        if word == "violated":
            function, volume = FUNCTIONS[pair % len(FUNCTIONS)], _bytes(2 * pair)
            trials = [msgspec.structs.replace(tried, variant=f"v{n}") for n in range(5)]
            of_cell = (function, of.nprocs, of.ppn, volume, ["GL1"])
            findings.put_search(
                db, of.id, Search(1, *of_cell, "winner", "better", trials, ["before"])
            )
    findings.put_winners(db, of.id, [build.winner(function=function) for function in FUNCTIONS])
