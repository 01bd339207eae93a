"""`plumbline watch` on the pretended library with a fast clock, as a process of its own: for
tests/tuner/daemon/soak.py. Arguments: database, configuration, the second of the machine's clock at
which START is, how many times as fast."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

from plumbline.cli.serving import Beside
from plumbline.daemon.service import Service
from plumbline.daemon.signals import Signals
from plumbline.launch.starter import Starter
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system import ending
from plumbline.system import paths as where
from tests.tuner import killed, planted
from tests.tuner.daemon.watching import START
from tests.tuner.simulated import toolchain

SLOW_AFTER = timedelta(days=4)


class FastClock:
    def __init__(self, zero: float, speed: float) -> None:
        self._zero, self._speed = zero, speed

    def __call__(self) -> datetime:
        return START + timedelta(seconds=(time.time() - self._zero) * self._speed)


class FastSignals(Signals):
    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def pause(self, seconds: float) -> None:
        super().pause(seconds / self._speed)


def main(database: str, file: str, zero: str, speed: str) -> None:
    """An algorithm of the library becomes slow on the fifth day."""
    library = Path(database).with_name("built.so")
    library.write_bytes(b"\x7fELF")
    where.Layout.preload = lambda *_: library
    clock, costs = FastClock(float(zero), float(speed)), planted.costs()
    slow_from = START + SLOW_AFTER
    costs.algorithm["MPI_Allreduce", "rabenseifner"] = lambda *_: (
        3.0 if clock() >= slow_from else 0.95
    )
    starter = killed.Starter(costs, case_noise=0.01)

    def find(settings: Settings, prefix: Path | None, beside: Path) -> tuple[Toolchain, Starter]:
        return toolchain(), starter

    def say(text: str) -> None:
        print(f"{clock():%a %d %H:%M}", text, flush=True)

    with ending.by_signals():
        try:
            service = Service(Path(database), Path(file), say, clock=clock, find=find)
            service.run(FastSignals(float(speed)), Beside(Path(database), say))
        except ending.Ended:
            say("stopped")


if __name__ == "__main__":
    main(*sys.argv[1:])
