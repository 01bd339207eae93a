"""A whole campaign of the pretended library: plumbline campaign."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from tests.faults.scenarios import Scenario
from tests.tuner import killed
from tests.tuner.killed import Place
from tests.tuner.simulated import Costs, SimulatedStarter


class Campaign(Scenario):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._place = Place(folder, pretended=True)

    def act(self) -> None:
        os.environ["TMPDIR"] = str(self._place.temporary)
        tempfile.tempdir = None
        killed.main(self._place.words, pretended=True, starter=self._starter)

    def _starter(self, costs: Costs) -> SimulatedStarter:
        return killed.Starter(costs)

    def results(self) -> list[str]:
        """Where Python cannot write in TMPDIR, it takes /tmp."""
        kept = [line.replace("HERE/tmp/", "/tmp/") for line in self._place.results()]
        return [*kept, *self._place.files()]

    def decided(self) -> list[str]:
        with Database.open(self._place.database) as db:
            (campaign,) = campaigns.every(db)
            table = findings.get_verdicts(db, campaign.id, "after")
            found = findings.get_winners(db, campaign.id)
        cells = [f"{one.guideline} {one.rhs} {one.bytes}: {one.verdict}" for one in table]
        choices = [
            f"{one.function} {one.bytes_from}-{one.bytes_to}: {one.variant} {one.configuration}"
            for one in found
        ]
        return [campaign.state, *cells, *choices]
