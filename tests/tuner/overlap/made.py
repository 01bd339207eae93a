"""A library whose overlap is known, in place of mpirun and the probe: it answers plans with overlap
cells. Noise depends on the launch alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from plumbline.launch.starter import Starter
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system.placement import Placement
from plumbline_db.probe_records import Footer, Overlap, OverlapLatency, ProbeRecord
from plumbline_db.records import Run
from tests.db import build
from tests.tuner.simulated import Interrupted, _header

EAGER = 4096  # bytes up to which messages do not overlap


class OverlapStarter(Starter):
    """`stop_after`: so many launches, then Interrupted."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.family = OpenMpi()
        self.placement = Placement(nodes=1, ppn=2)
        self.plans: dict[tuple[str, int], str] = {}
        self._stop_after = stop_after

    def start(
        self,
        campaign: str,
        suite: str,
        sequence: int,
        text: str,
        extra: dict[str, str],
        placement: Placement | None = None,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        if len(self.plans) == self._stop_after:
            raise Interrupted
        self.plans[suite, sequence] = text
        records = _records(text, extra)
        return (
            Run(
                id=f"{campaign}/{suite}-{sequence:03d}",
                campaign=campaign,
                suite=suite,
                sequence=sequence,
                failure=None,
                argv=["mpirun"],
                environment=extra,
                plan=text,
                stderr="",
                started=build.CAMPAIGN.started,
                seconds=2.0,
                timed_seconds=1.0,
            ),
            records,
        )


def communication_ns(size: int) -> float:
    return 1000 + 0.1 * size


def _records(text: str, extra: Mapping[str, str]) -> list[ProbeRecord]:
    lines = [line.split() for line in text.splitlines()[1:]]
    pairs = [(words[0], dict(pair.split("=", 1) for pair in words[1:])) for words in lines]
    ((_, settings), *cells) = pairs
    chance = random.Random(f"{settings['run']} {settings['seed']}")
    records: list[ProbeRecord] = [_header(settings, 2, 1, extra), OverlapLatency("start", [0])]
    records += [_cell(values, chance) for word, values in cells if word == "overlap"]
    return [*records, OverlapLatency("end", [0]), Footer(0, 10**9, 10**9)]


def _cell(values: Mapping[str, str], chance: random.Random) -> Overlap:
    size, work, triples = (int(values[key]) for key in ("bytes", "work_ns", "triples"))
    message = communication_ns(size)
    both = max(message, work) if size > EAGER else message + work

    def times(ns: float) -> list[int]:
        return [round(ns * chance.uniform(0.999, 1.001)) for _ in range(triples)]

    return Overlap(
        cell=int(values["id"]),
        bench=values["bench"],
        bytes=size,
        sent=size,
        kernel=values["kernel"],
        work_ns=work,
        test_ns=int(values["test_ns"]),
        units=work,
        latencies=0,
        halves=1,
        rank=0,
        function="",
        requests=1,
        threads=0,
        helper=False,
        spare=False,
        delivered=True,
        communication_ns=times(message),
        computation_ns=times(work),
        both_ns=times(both),
    )
