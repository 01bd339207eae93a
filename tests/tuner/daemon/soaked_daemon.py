"""`plumbline watch` on the pretended library with a fast clock, as a process of its own: for
tests/tuner/daemon/soak.py. Arguments: database, configuration, the second of the machine's clock at
which START is, how many times as fast."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta

from plumbline.daemon.service import Signals
from tests.tuner import killed, planted
from tests.tuner.daemon.simulated_daemon import serve
from tests.tuner.daemon.watching import START

SLOW_AFTER = timedelta(days=4)


class FastClock:
    def __init__(self, zero: float, speed: float) -> None:
        self._zero, self._speed = zero, speed

    def __call__(self) -> datetime:
        return START + timedelta(seconds=(time.time() - self._zero) * self._speed)

    def stamp(self) -> str:
        return f"{self():%a %d %H:%M} "


class FastSignals(Signals):
    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def pause(self, seconds: float) -> None:
        super().pause(seconds / self._speed)


def main(database: str, file: str, zero: str, speed: str) -> None:
    """An algorithm of the library becomes slow on the fifth day."""
    clock, costs = FastClock(float(zero), float(speed)), planted.costs()
    slow_from = START + SLOW_AFTER
    costs.algorithm["MPI_Allreduce", "rabenseifner"] = lambda *_: (
        3.0 if clock() >= slow_from else 0.95
    )
    starter = killed.Starter(costs, case_noise=0.01)
    serve(database, file, starter, FastSignals(float(speed)), clock.stamp, clock=clock)


if __name__ == "__main__":
    main(*sys.argv[1:])
