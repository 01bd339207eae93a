"""A simulated library on a machine that others use as well."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from plumbline_db.probe_records import Footer, HostLoad, Load, ProbeRecord
from plumbline_db.records import Run
from tests.tuner.simulated import Costs, SimulatedStarter

BUSY, QUIET = 0.9, 0.01  # processors that others take


class Shared(SimulatedStarter):
    """`others(n)`: how many processors others take during the n-th launch that is started; the
    probe measures for a second."""

    def __init__(
        self,
        others: Callable[[int], float],
        costs: Costs | None = None,
        *,
        stop_after: int | None = None,
        launch_noise: float = 0.25,
        case_noise: float = 0.01,
    ) -> None:
        super().__init__(
            costs or Costs(),
            stop_after=stop_after,
            launch_noise=launch_noise,
            case_noise=case_noise,
        )
        self._others = others

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        *found, footer = records
        assert isinstance(footer, Footer)
        busy = 2.0 + self._others(len(self.launches) - 1)
        load = Load([HostLoad("node1", 1.0, 1.0, busy, 2.0, 0.0)])
        return run, [*found, load, msgspec.structs.replace(footer, wall_ns=1_000_000_000)]
