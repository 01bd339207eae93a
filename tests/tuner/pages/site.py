"""A database as a site has it: two campaigns, one of them with what hostile names can hold, two of
overlap, and recordings."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.testclient import TestClient

from plumbline.pages import rooms
from plumbline_db import campaigns, events, exports, machines, runs, verdicts, winners
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Event, Export, OtherUse
from plumbline_exporters import web
from tests.db import build, generate
from tests.db.generate import Size
from tests.tuner.detect import detected
from tests.tuner.overlap import two_campaigns as overlap

SIZE = Size(launches=6, cases=40, blocks=2, reps=3, warmup=2, rewarm=1)
FIRST, SECOND = "openmpi-4.1.4-4x000000", "openmpi-4.1.4-4x000001"
MARKUP = '"><script>alert(1)</script>&{{ 7 * 7 }}'
HOSTILE = f"h/{MARKUP}/x?y#z"


def store(path: Path) -> None:
    overlap.store(path)
    with Database.open(path, write=True) as db:
        generate.fill(db, 2, SIZE)
        detected.store(db)
        exports.put(db, FIRST, Export("env", "/out/plumbline.sh", "00", "2025-03-01"))
        _changed(db)
        _hostile(db)


def client(path: Path) -> TestClient:
    return TestClient(web.app(path, rooms.every(path)), raise_server_exceptions=False)


def _changed(db: Database) -> None:
    """A cell that held in the first campaign's last table is violated in the second one's."""
    table = verdicts.get(db, SECOND, "after")
    worse = {"verdict": "violated", "ratio": 3.5, "ratio_low": 3.0, "ratio_high": 4.0}
    table[0] = msgspec.structs.replace(table[0], **worse)
    verdicts.put(db, SECOND, "after", table)


def _hostile(db: Database) -> Campaign:
    """Markup wherever a name may stand."""
    machines.put_machine(
        db, msgspec.structs.replace(build.MACHINE, id=MARKUP, host=MARKUP, cpu_model=MARKUP)
    )
    machines.put_library(
        db,
        msgspec.structs.replace(
            build.LIBRARY,
            id=MARKUP,
            fingerprint=MARKUP,
            version_string=MARKUP,
            build={MARKUP: MARKUP},
        ),
    )
    campaign = msgspec.structs.replace(
        build.CAMPAIGN, id=HOSTILE, key="k-hostile", machine=MARKUP, library_fingerprint=MARKUP
    )
    campaigns.put(db, campaign)
    for sequence in range(2):
        launch = build.run(MARKUP, sequence, campaign=campaign)
        cases = [build.Timed(), build.Timed(variant=build.REDUCE_PLUS_BCAST)]
        runs.put(db, launch, build.records(launch, cases))
    use = OtherUse(MARKUP, "violated", 2.0, 1.5, 2.5)
    cell = {"guideline": MARKUP, "reason": MARKUP, "rhs": MARKUP, "suites": [MARKUP]}
    verdicts.put(db, HOSTILE, "before", [build.verdict("before", **cell, uses=[use])])
    winners.put(
        db,
        HOSTILE,
        [build.winner(variant=MARKUP, configuration={MARKUP: MARKUP}, restrictions=[MARKUP])],
    )
    events.put(db, HOSTILE, Event("2025-03-01T10:00:00Z", MARKUP, MARKUP, function=MARKUP))
    exports.put(db, HOSTILE, Export("env", MARKUP, "00", "2025-03-01"))
    return campaign
