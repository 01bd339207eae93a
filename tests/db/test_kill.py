"""kill -9 in the middle of writing: what was committed is there, whole, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db import launch_records, runs
from plumbline_db.connection import Database, check
from tests.db import build

WRITER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from plumbline_db import runs
from plumbline_db.connection import Database
from tests.db import build
with Database.open(Path(sys.argv[1]), write=True) as db:
    build.started(db)
    for sequence in range(100000):
        launch = build.run(sequence=sequence)
        runs.put(db, launch, build.records(launch, [build.Timed(bytes=b) for b in range(30)]))
        print(sequence, flush=True)
"""


@pytest.mark.parametrize("launches", [1, 3, 7, 12])
def test_nothing_committed_is_lost(path: Path, launches: int) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER.format(path=sys.path), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    confirmed = [int(writer.stdout.readline()) for _ in range(launches)]
    writer.send_signal(signal.SIGKILL)
    confirmed += [int(line) for line in writer.stdout.read().split()]
    assert writer.wait() == -signal.SIGKILL

    assert check(path) == []
    with Database.open(path, write=True) as db:  # the dead writer's lock is gone
        stored = runs.listing(db, build.CAMPAIGN.id)
        assert [run.sequence for run in stored][: len(confirmed)] == confirmed
        assert len(stored) <= len(confirmed) + 1
        for run in stored:
            expected = build.records(run, [build.Timed(bytes=b) for b in range(30)])
            assert launch_records.of_run(db, run.id) == expected
