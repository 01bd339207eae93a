"""A campaign that is ended at any moment, and run again, ends the same and leaves no file behind: a
share of it. `make test-kills` (killed_campaigns.py) has a hundred moments, and every rename."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from plumbline_db import runs
from plumbline_db.connection import Database
from tests.tuner.killed import BEFORE_RENAME, POLITE, Place

pytestmark = pytest.mark.slow

MOST_IN_A_CAMPAIGN = 8


class Whole:
    """A campaign that nothing came between, to compare others with."""

    def __init__(self, folder: Path) -> None:
        place = Place(folder / "whole", pretended=True)
        self.folder = folder
        self.seconds = place.to_its_end()
        self.results = place.results()
        self.files = place.files()

    def ends(self, place: Place) -> None:
        """What was ended comes to its end, and nobody sees that it was."""
        place.to_its_end()
        assert place.results() == self.results
        assert place.files() == self.files
        place.require_quiet()

    def at_random_moments(self, kills: int, seed: int) -> None:
        chance = random.Random(seed)
        campaigns = 0
        while kills > 0:
            place = Place(self.folder / f"random-{campaigns}", pretended=True)
            for _ in range(min(kills, MOST_IN_A_CAMPAIGN)):
                number = chance.choice([signal.SIGKILL, signal.SIGKILL, *POLITE])
                if not place.ended(number, chance.uniform(0, 0.9 * self.seconds)):
                    break
                kills -= 1
            self.ends(place)
            campaigns += 1

    def before_rename(self, number: int) -> bool:
        """False when there are not so many."""
        place = Place(self.folder / f"rename-{number}", pretended=True)
        with place.campaign(**{BEFORE_RENAME: str(number)}) as started:
            started.communicate()
        if started.returncode == 0:
            return False
        assert started.returncode == -signal.SIGKILL
        self.ends(place)
        return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("killed"))


@pytest.mark.alone
def test_at_random_moments(whole: Whole) -> None:
    whole.at_random_moments(3, seed=1)


def test_before_a_rename(whole: Whole) -> None:
    assert whole.before_rename(5)


REAL = ["--nprocs", "2", "--sizes", "4,16384", "--guidelines", "GL12", "--launches", "6"]
REAL += ["--budget", "20", "--set", "rounds=1"]


@pytest.mark.alone  # test_end_to_end.py kills a real campaign, too, and compares its launches
@pytest.mark.mpi
def test_ranks_that_stay_alive_change_no_decision(tmp_path: Path, mpirun: None) -> None:
    """A real campaign that is killed goes on with other ranks, and is replayed without any. Its
    experiments visit few ranks, again and again."""
    place = Place(tmp_path, REAL, pretended=False)
    assert place.ended(signal.SIGKILL, 3.0)  # the whole takes about ten on a quiet machine
    before = place.launches()
    place.to_its_end()
    kept = place.launches()
    assert kept[: len(before)] == before
    assert any(run.visit > 1 for run in kept)
    with Database.open(place.database) as db:
        known = runs.suites(db, kept[0].campaign)
    members: dict[tuple[str, str], set[str]] = {}
    for run in kept:
        if run.visit:
            kind = known[run.suite].experiment, str(sorted(run.environment.items()))
            members.setdefault(kind, set()).add(run.member)
    # Nine before the kill and nine after it, and nine of what was measured again on fresh ranks.
    assert max(map(len, members.values())) <= 27
    assert len(set[str]().union(*members.values())) < sum(run.visit > 0 for run in kept)
    results, files = place.results(), place.files()
    with Database.open(place.database, write=True) as db, db.transaction():
        db.rows("UPDATE campaign SET state = 'running', finished = ''")
    place.to_its_end()
    assert place.launches() == kept
    assert place.results() == results and place.files() == files
    place.require_quiet()
