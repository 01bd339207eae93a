"""`make test-kills`: the daemon, killed at a hundred moments on the simulated library and at twenty
on a real Open MPI. Each life ends with the winners of one that nobody kills."""

from __future__ import annotations

import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from plumbline_db import findings
from plumbline_db.connection import Database
from tests.tuner.daemon import configured
from tests.tuner.daemon.lives import Life
from tests.tuner.daemon.processes import Daemon
from tests.tuner.daemon.test_regression_mpi import campaign_of, slow_rules

pytestmark = pytest.mark.timeout(7200)

KILLS, REAL_KILLS = 100, 20


def simulated(finished: Path, folder: Path, modules: Path) -> Daemon:
    folder.mkdir()
    shutil.copy(finished / "plumbline.db", folder / "plumbline.db")
    (modules / folder.name).mkdir(mode=0o755)
    file = folder / "watch.toml"
    file.write_text(configured.text(modules / folder.name, canary=configured.SIMULATED))
    return Daemon(folder / "plumbline.db", file)


def test_a_hundred_moments(finished: Path, tmp_path: Path, open_folder: Path) -> None:
    undisturbed = Life(
        simulated(finished, tmp_path / "0", open_folder), random.Random(0), (0, 0), 0
    )
    row = undisturbed.to_its_end()
    expected = undisturbed.winners(row)
    assert row.state == "kept" and expected and undisturbed.kills == 0
    chance, kills, lives = random.Random(19), 0, 0
    while kills < KILLS:
        lives += 1
        daemon = simulated(finished, tmp_path / str(lives), open_folder)
        life = Life(daemon, chance, (0.2, 3.0), KILLS - kills)
        row = life.to_its_end()
        assert row.state == "kept" and life.winners(row) == expected
        kills += life.kills
    print(f"{kills} kills in {lives} lives")  # pytest -s


@pytest.mark.mpi
def test_twenty_moments_on_a_real_open_mpi(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, mpirun: None
) -> None:
    """A site's slow rules come into force. Rivals that take the same time may win in turn, so that
    it is the slow algorithm that must be gone, at all sizes."""
    monkeypatch.setenv("HOME", str(open_folder))
    with Database.open(open_folder / "plumbline.db", write=True) as db:
        campaign = campaign_of(db, open_folder)
    file = open_folder / "watch.toml"
    file.write_text(configured.text(open_folder / "modules", campaign.id, **configured.REAL))
    daemon = Daemon(open_folder / "plumbline.db", file, real=True)
    daemon.temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(daemon.temporary))
    change = partial(slow_rules, open_folder)
    life = Life(daemon, random.Random(7), (2.0, 16.0), change=change)
    row = life.to_its_end()
    print(f"{life.kills} kills, {len(life.kept)} launches, {row.state}")  # pytest -s
    assert life.kills >= REAL_KILLS
    assert row.state == "kept", row
    with daemon.open() as db:
        found = findings.get_winners(db, row.search)
    assert {one.function for one in found} == {"MPI_Allreduce"}
    assert max(one.speedup for one in found) > 1.5
    life.require_quiet(daemon.own)
