"""`plumbline watch` on the simulated library, as a process of its own: for tests that send it
signals, or kill it. Arguments: database, configuration, folder of modules, seconds of a launch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from plumbline.cli.serve import ServerThread
from plumbline.daemon.service import Service, Signals
from plumbline.launch.starter import Starter
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system import ending
from plumbline.system import paths as where
from tests.tuner import planted
from tests.tuner.simulated import SimulatedStarter, toolchain


class Slow(SimulatedStarter):
    takes_seconds = 0.0

    def start(self, *args: object, **more: object) -> object:
        time.sleep(self.takes_seconds)
        return super().start(*args, **more)


def serve(
    database: str,
    file: str,
    starter: Starter,
    signals: Signals,
    stamp: Callable[[], str] = str,
    **clock: Callable[[], datetime],
) -> None:
    """Until it is ended. What it says begins with a stamp."""
    library = Path(database).with_name("built.so")
    library.write_bytes(b"\x7fELF")
    where.Layout.preload = lambda *_: library

    def find(settings: Settings, prefix: Path | None, beside: Path) -> tuple[Toolchain, Starter]:
        return toolchain(), starter

    def say(text: str) -> None:
        print(stamp() + text, flush=True)

    with ending.by_signals():
        try:
            service = Service(Path(database), Path(file), say, find=find, **clock)
            service.run(signals, ServerThread(Path(database), say))
        except ending.Ended:
            say("stopped")


def main(database: str, file: str, takes: str, slower: str) -> None:
    costs = planted.costs()
    if slower:
        costs.algorithm["MPI_Allreduce", "rabenseifner"] = lambda *_: 3.0
    starter = Slow(costs, case_noise=0.01)
    starter.takes_seconds = float(takes)
    serve(database, file, starter, Signals())


if __name__ == "__main__":
    main(*sys.argv[1:])
