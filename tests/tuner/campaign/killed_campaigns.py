"""`make test-kills`: a hundred moments of a campaign of the pretended library, each of its renames,
and twenty moments of campaigns under the real mpirun."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from tests.tuner.campaign.test_killed import Whole, whole  # noqa: F401 - a fixture
from tests.tuner.killed import POLITE, Place

pytestmark = pytest.mark.timeout(7200)

REAL = ["--nprocs", "2", "--sizes", "4,16384", "--guidelines", "GL12", "--launches", "6"]
REAL += ["--budget", "20", "--set", "rounds=1"]


def test_a_hundred_moments(whole: Whole) -> None:  # noqa: F811
    whole.at_random_moments(100, seed=2)


def test_each_rename(whole: Whole) -> None:  # noqa: F811
    number = 0
    while whole.before_rename(number):
        number += 1
    assert number > 10


@pytest.mark.mpi
def test_twenty_moments_under_the_real_mpirun(tmp_path: Path, mpirun: None) -> None:
    """What was stored before a signal is there after it, and once; what was decided follows from
    it, so that the same launches without a signal end the same."""
    chance = random.Random(3)
    kills = campaigns = 0
    while kills < 20:
        place = Place(tmp_path / str(campaigns), REAL, pretended=False)
        campaigns += 1
        for _ in range(min(20 - kills, 7)):
            before = place.launches()
            number = chance.choice([signal.SIGKILL, signal.SIGKILL, *POLITE])
            if not place.ended(number, chance.uniform(0.5, 8.0)):
                break
            kills += 1
            assert place.launches()[: len(before)] == before
        place.to_its_end()
        place.require_quiet()
        assert place.scratch() == [] == list(place.temporary.iterdir())  # also of mpirun's own
        kept = place.launches()
        assert len({(one.suite, one.sequence) for one in kept}) == len(kept)
        results, files = place.results(), place.files()
        with Database.open(place.database, write=True) as db, db.transaction():
            db.rows("UPDATE campaign SET state = 'running', finished = ''")
        place.to_its_end()
        assert place.launches() == kept
        assert place.results() == results and place.files() == files
