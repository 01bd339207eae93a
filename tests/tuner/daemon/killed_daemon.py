"""`make test-kills`: the daemon, killed at a hundred moments on the simulated library and at twenty
on a real Open MPI. Each life ends with the winners of one that nobody kills."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline_db import winners
from plumbline_db.connection import Database
from tests.tuner.daemon.lives import Life
from tests.tuner.daemon.processes import Daemon
from tests.tuner.daemon.terminated_daemon import own
from tests.tuner.daemon.test_regression_mpi import SLOW, campaign_of
from tests.tuner.daemon.test_service import CONFIGURATION

pytestmark = pytest.mark.timeout(7200)

KILLS, REAL_KILLS = 100, 20


@pytest.fixture
def modules() -> Iterator[Path]:
    """Others can read it."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def simulated(finished: Path, folder: Path, modules: Path) -> Daemon:
    folder.mkdir()
    shutil.copy(finished / "plumbline.db", folder / "plumbline.db")
    (modules / folder.name).mkdir(mode=0o755)
    file = folder / "watch.toml"
    file.write_text(CONFIGURATION.format(modules=modules / folder.name))
    return Daemon(folder / "plumbline.db", file)


def test_a_hundred_moments(finished: Path, tmp_path: Path, modules: Path) -> None:
    undisturbed = Life(simulated(finished, tmp_path / "0", modules), random.Random(0), (0, 0), 0)
    row = undisturbed.to_its_end()
    expected = undisturbed.winners(row)
    assert row.state == "kept" and expected and undisturbed.kills == 0
    chance, kills, lives = random.Random(19), 0, 0
    while kills < KILLS:
        lives += 1
        daemon = simulated(finished, tmp_path / str(lives), modules)
        life = Life(daemon, chance, (0.2, 3.0), KILLS - kills)
        row = life.to_its_end()
        assert row.state == "kept" and life.winners(row) == expected
        kills += life.kills
    print(f"{kills} kills in {lives} lives")  # pytest -s


REAL = """\
campaign = "{campaign}"
[canary]
every = "1s"
launches = 1
learning = 20
cells = 4
references = 12
[neighbour]
load = 1000.0
node_seconds_a_day = 1e6
node_seconds_a_week = 1e7
[search]
budget_seconds = 60.0
[apply]
auto = true
scope = "modules"
modules = "{folder}/modules"
"""


@pytest.mark.mpi
def test_twenty_moments_on_a_real_open_mpi(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site's slow rules come into force. Rivals that take the same time may win in turn, so that
    it is the slow algorithm that must be gone, at all sizes."""
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun on PATH")
    monkeypatch.setenv("HOME", str(modules))
    (modules / "tmp").mkdir()
    with Database.open(modules / "plumbline.db", write=True) as db:
        campaign = campaign_of(db, modules)
    file = modules / "watch.toml"
    file.write_text(REAL.format(campaign=campaign.id, folder=modules))
    monkeypatch.setenv("TMPDIR", str(modules / "tmp"))
    daemon = Daemon(modules / "plumbline.db", file, real=True)

    def slow() -> None:
        (modules / "slow.rules").write_text(SLOW)
        (modules / ".openmpi").mkdir(exist_ok=True)
        (modules / ".openmpi" / "mca-params.conf").write_text(
            "coll_tuned_use_dynamic_rules = 1\n"
            f"coll_tuned_dynamic_rules_filename = {modules}/slow.rules\n"
        )

    life = Life(daemon, random.Random(7), (2.0, 16.0), change=slow)
    row = life.to_its_end()
    print(f"{life.kills} kills, {len(life.kept)} launches, {row.state}")  # pytest -s
    assert life.kills >= REAL_KILLS
    assert row.state == "kept", row
    with daemon.open() as db:
        found = winners.get(db, row.search)
    assert {one.function for one in found} == {"MPI_Allreduce"}
    assert max(one.speedup for one in found) > 1.5
    life.require_quiet(lambda: own(daemon))
