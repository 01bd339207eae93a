"""A pretended library: how long messages take alone and beside work, as a function of what it was
started with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from plumbline.measure.launches import LaunchStore
from plumbline.overlap import tune
from plumbline.overlap.tune import OverlapTuningSettings
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap, OverlapLatency, ProbeRecord
from plumbline_db.records import Campaign, Run
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter, toolchain

EAGER, DEPTH = "btl_vader_eager_limit", "pml_ob1_send_pipeline_depth"
TRIPLES = 5

# (benchmark, bytes, nanoseconds of work, knobs) -> nanoseconds of the message alone and of both.
Times = Callable[[str, int, int, Mapping[str, str]], tuple[float, float]]


class Library(SimulatedStarter):
    """Launches differ by 10 %, the parts of a triple by 1 %, unless less is said."""

    def __init__(
        self,
        times: Times,
        *,
        between: float = 0.1,
        within: float = 0.01,
        stop_after: int | None = None,
    ) -> None:
        super().__init__(Costs(), nprocs=2, stop_after=stop_after, seconds=2.0)
        self._times, self._between, self._within = times, between, within

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        chance = random.Random(f"{run.suite} {run.sequence}")
        common = chance.gauss(1, self._between)
        knobs = {name.removeprefix("OMPI_MCA_"): value for name, value in self.extra.items()}
        found: list[ProbeRecord] = [OverlapLatency("start", [0] * 3)]
        for line in run.plan.splitlines():
            if line.startswith("overlap "):
                found.append(self._cell(line, knobs, chance, common))
        header, *rest = records
        return run, [header, *found, *rest]

    def _cell(
        self, line: str, knobs: Mapping[str, str], chance: random.Random, common: float
    ) -> Overlap:
        values = dict(pair.split("=", 1) for pair in line.split()[1:])
        name, triples = values["bench"], int(values["triples"])
        size, work = int(values["bytes"]), int(values["work_ns"])
        alone, both = self._times(name, size, work, knobs)

        def drawn(ns: float) -> list[int]:
            factors = [common * chance.gauss(1, self._within) for _ in range(triples)]
            return [max(1, round(ns * factor)) for factor in factors]

        return Overlap(
            int(values["id"]), name, size, size, values["kernel"], work, int(values["test_ns"]),
            work, 0, 1, 0, "", 1, 0, False, False, True, drawn(alone), drawn(work), drawn(both),
        )  # fmt: skip


LARGEST_EAGER = 4096


def quiet_library(stop_after: int | None = None) -> Library:
    """Larger messages than LARGEST_EAGER overlap, and nothing else changes times."""

    def times(_: str, size: int, work: int, __: Mapping[str, str]) -> tuple[float, float]:
        alone = 1000 + 0.1 * size
        return alone, max(alone, work) if size > LARGEST_EAGER else alone + work

    return Library(times, between=0.0, within=0.0005, stop_after=stop_after)


def settings(**more: object) -> Settings:
    given: dict[str, object] = {"nprocs": 2, "launches": 8, "launches_max": 12}
    given |= {"guidelines": ["OV1", "OV2"], "settings": [EAGER, DEPTH]}
    return load(None, given | more)


def asked(*benches: str, limit: float = 1.0) -> OverlapTuningSettings:
    return OverlapTuningSettings(benches or ("sender",), (4096, 65536), limit, TRIPLES)


def find_toolchain() -> Toolchain:
    return toolchain(GUIDELINES)


def run(
    db: Database,
    starter: Library,
    folder: Path,
    wanted: OverlapTuningSettings | None = None,
    **more: object,
) -> Campaign:
    """A whole run."""
    of, chosen = wanted or asked(), settings(**more)
    campaign = tune.begin(db, find_toolchain(), of, chosen, new=False)
    store = LaunchStore(db, campaign.id, starter)
    return tune.OverlapTuning(store, find_toolchain(), of, chosen, folder).run()
