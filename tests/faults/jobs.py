"""A whole campaign of which each launch is a job of a pretended Slurm; some are lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from plumbline.launch import batch, launcher_for
from plumbline.launch.batch import Queue
from plumbline.launch.slurm import SlurmTable
from plumbline.launch.starter import ended
from plumbline.libraries import Installation
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Run
from tests.db import build
from tests.faults.campaign import Campaign
from tests.tuner import jobs
from tests.tuner.simulated import ROOT, Costs, SimulatedStarter, failed

COMMANDS = ("sbatch", "squeue", "sacct", "scancel")
STAND_IN = ROOT / "tests" / "tuner" / "launch" / "fake_scheduler.py"
# What becomes of a job that Plumbline starts again.
FATES = ("lose", "node", "cancel")


class JobStarter(SimulatedStarter):
    def __init__(self, costs: Costs, folder: Path) -> None:
        super().__init__(costs)
        launcher = launcher_for(SlurmTable(poll_seconds=0.05, grace_seconds=0.3), folder)
        assert isinstance(launcher, Queue)
        self._launcher = self._queue = launcher
        self._installation = Installation(build.LIBRARY, folder / "mpirun", None)

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        with self._launcher.folder(run.id) as folder:
            (folder / "plan").write_text(run.plan)
            job = jobs.job(folder, ["probe"], self.placement, id=run.id, seconds=20)
            done = self._queue.run(self.family, self._installation, job)
        return (run, records) if done.status == 0 else failed(run, ended(done.status))


class Jobs(Campaign):
    """`fates`: what becomes of the first jobs; the others run."""

    def __init__(self, folder: Path, fates: Sequence[str] = ()) -> None:
        super().__init__(folder)
        scheduler = folder / "scheduler"
        (scheduler / "jobs").mkdir(parents=True)
        (scheduler / "fates").write_text("".join(f"{fate}\n" for fate in fates))
        text = f"#!{sys.executable} -S\n" + STAND_IN.read_text()
        (folder / "commands").mkdir()
        for name in COMMANDS:
            _program(folder / "commands" / name, text)
        _program(folder / "mpirun", "#!/bin/sh\nexit 0\n")

    def act(self) -> None:
        os.environ["PATH"] = f"{self.folder / 'commands'}:/usr/bin:/bin"
        os.environ["FAKE_SCHEDULER"] = str(self.folder / "scheduler")
        batch.FIRST_PAUSE_SECONDS, batch.LAST_PAUSE_SECONDS = 0.02, 0.1
        super().act()

    @property
    def submitted(self) -> int:
        return len(list((self.folder / "scheduler" / "jobs").iterdir()))

    def _starter(self, costs: Costs) -> SimulatedStarter:
        return JobStarter(costs, self.folder)


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
