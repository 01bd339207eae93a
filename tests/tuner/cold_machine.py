"""The simulated library with cold knobs: what its environment says holds for a whole launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from plumbline.search.space.candidates import CandidateSpace
from plumbline.settings.toolchain import Variant
from plumbline_db.probe_records import CaseRecord, ProbeRecord
from plumbline_db.records import Failure, Run
from tests.tuner.simulated import (
    LATENCY,
    SPACE,
    Costs,
    Rules,
    SimulatedStarter,
    failed,
    installed_knobs,
    variants,
    with_variants,
)

COLD_SPACE = msgspec.structs.replace(SPACE, hot=None)
PREFIX = "OMPI_MCA_coll_tuned_"
ABORTED = Failure("ended", "exit status 134")
WITNESSES = [
    Variant(f"{name.removeprefix('MPI_').lower()}_linear{number}", name, "algorithm", [], "")
    for name in LATENCY
    for number in ("", "_2", "_3")
]


def candidate_space(nprocs: int = 4) -> CandidateSpace:
    toolchain = with_variants(WITNESSES, COLD_SPACE, knobs=installed_knobs())
    return CandidateSpace(toolchain, nprocs, tried=variants())


def forced(extra: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Knobs in force, by the name of the collective."""
    found: dict[str, dict[str, str]] = {}
    for name, value in extra.items():
        if name.startswith(PREFIX) and "_algorithm" in name:
            collective = name.removeprefix(PREFIX).partition("_algorithm")[0]
            found.setdefault(collective, {})[name.removeprefix("OMPI_MCA_")] = value
    return found


class ColdStarter(SimulatedStarter):
    """`aborts(values)`: no launch begins with these values of all algorithm knobs in force;
    `breaks(case, values)`: the launch dies with that case under way; `lies(function, values)`: the
    library's result is wrong, which only variants of ours see."""

    def __init__(
        self,
        costs: Costs,
        *,
        aborts: Callable[[set[str]], bool] = lambda _: False,
        breaks: Callable[[CaseRecord, set[str]], bool] = lambda *_: False,
        lies: Callable[[str, set[str]], bool] = lambda *_: False,
        **more: Any,
    ) -> None:
        super().__init__(costs, crashes=self._broken, corrupt=self._lie, **more)
        self._aborts, self._breaks, self._lies = aborts, breaks, lies

    @property
    def _values(self) -> set[str]:
        return {value for knobs in forced(self.extra).values() for value in knobs.values()}

    def _broken(self, case: CaseRecord, knobs: Mapping[str, str]) -> bool:
        del knobs
        return self._breaks(case, self._values)

    def _lie(self, case: CaseRecord) -> str:
        wrong = case.variant != "default" and self._lies(case.function, self._values)
        return "wrong" if wrong else "ok"

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        return failed(run, ABORTED) if self._aborts(self._values) else (run, records)

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        own = forced(self.extra).get(function.removeprefix("MPI_").lower(), {})
        return super()._library(function, size, knobs or own, rules)
