"""A campaign that is ended at any moment, and run again, ends the same and leaves no file behind: a
share of it. `make test-kills` (killed_campaigns.py) has a hundred moments, and every rename."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

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
