"""A database as a site has it: two campaigns, one of them with what hostile names can hold, a run
of suites, two of overlap, and recordings."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.testclient import TestClient

from plumbline.pages import routes
from plumbline_db import campaigns, findings, hockney, machines, points, runs
from plumbline_db.connection import Database
from plumbline_db.hockney import Hockney
from plumbline_db.points import SuitePoint
from plumbline_db.probe_records import Factor, ProbeRecord
from plumbline_db.records import Campaign, Event, Export, OtherUse, Suite
from plumbline_exporters import web
from tests.db import build, generate
from tests.db.generate import Size
from tests.tuner.detect import detected
from tests.tuner.overlap import two_campaigns as overlap

SIZE = Size(launches=6, cases=40, blocks=2, reps=3, warmup=2, rewarm=1)
FIRST, SECOND = "openmpi-4.1.4-4x000000", "openmpi-4.1.4-4x000001"
SUITES = "openmpi-4.1.4-4s000002"
DESCRIBED = (f"{SUITES}/gather", f"{SUITES}/ranks", f"{SUITES}/modes")
MARKUP = '"><script>alert(1)</script>&{{ 7 * 7 }}'
# Two packages of two chiplets with a cache each, cores with two hardware threads.
TOPOLOGY = (
    "Package:2 Group0:2 [NUMANode(memory=68719476736)] L3Cache:2(size=33554432) "
    "L2Cache:8(size=1048576) L1dCache:1(size=32768) L1iCache:1(size=32768) Core:1 "
    "PU:2(indexes=2*64:1*2)"
)
HOSTILE = f"h/{MARKUP}/x?y#z"


def store(path: Path) -> None:
    overlap.store(path)
    with Database.open(path, write=True) as db:
        generate.fill(db, 2, SIZE)
        detected.store(db)
        campaigns.put_export(db, FIRST, Export("env", "/out/plumbline.sh", "00", "2025-03-01"))
        _changed(db)
        _described(db)
        _hostile(db)


def client(path: Path) -> TestClient:
    return TestClient(web.app(path, routes.all_pages(path)), raise_server_exceptions=False)


def _changed(db: Database) -> None:
    """A cell that held in the first campaign's last table is violated in the second one's."""
    table = findings.get_verdicts(db, SECOND, "after")
    worse = {"verdict": "violated", "ratio": 3.5, "ratio_low": 3.0, "ratio_high": 4.0}
    table[0] = msgspec.structs.replace(table[0], **worse)
    findings.put_verdicts(db, SECOND, "after", table)


def _described(db: Database) -> None:
    """Gather over bytes in two looks, with the times of ranks; over ranks; sends of two ranks."""
    campaign = msgspec.structs.replace(
        build.started(db),
        id=SUITES,
        key="k-suites",
        settings='{"command":"suite"}',
        state="finished",
        finished="2025-03-01T11:00:00Z",
    )
    campaigns.put(db, campaign)
    gather, ranks, modes = (Suite("suite", step=name) for name in ("gather", "ranks", "modes"))
    why = "MPI_Gather, between 4096 and 16384: 2.00 times what slopes beside it explain"
    asked = [SuitePoint(gather.name, "bytes", size) for size in (256, 4096, 16384)]
    asked += [SuitePoint(gather.name, "bytes", 8192, 2, "jump", why)]
    asked += [SuitePoint(ranks.name, "ranks", count) for count in (2, 3, 4)]
    asked += [SuitePoint(modes.name, "bytes", size) for size in (256, 4096)]
    points.put(db, SUITES, asked)

    def both(size: int, **more: object) -> list[build.Timed]:
        known = {"function": "MPI_Gather", "bytes": size} | more
        slower = known | {"variant": "gather_naive_irecv", "median_ns": 9 * size + 3000}
        return [build.Timed(**known, median_ns=8 * size + 3000), build.Timed(**slower)]  # type: ignore[arg-type]

    sends = [
        build.Timed("point_to_point", name, "default", size, 900 + size, ranks=2)
        for name in ("send_recv", "ssend_recv")
        for size in (256, 4096)
    ]
    over = [case for size in (256, 4096, 16384) for case in both(size, by_rank=True)]
    for suite, cases in (
        (gather, over),
        (gather.at(2), both(8192, by_rank=True)),
        (ranks, [case for count in (2, 3, 0) for case in both(300 * (count or 4), ranks=count)]),
        (modes, sends),
    ):
        for sequence in range(6):
            launch = build.run(suite.name, sequence, campaign=campaign)
            records = build.records(launch, cases, blocks=2, reps=3)
            runs.put(db, launch, _on(records, TOPOLOGY), suite)
    near = Hockney("same_cache", 0, 0, 4096, 4e-7, None, None, 1e-10, None, None, 0.01, 6)
    far = msgspec.structs.replace(near, pair="other_socket", alpha_seconds=9e-7)
    hockney.put(db, SUITES, [near, far])


def _on(records: list[ProbeRecord], topology: str) -> list[ProbeRecord]:
    """Return the records of a launch on a host with this topology."""
    header, *others = records
    factors = [Factor("topology", [topology])]
    return [msgspec.structs.replace(header, factors=factors), *others]


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
        runs.put(db, launch, _on(build.records(launch, cases), MARKUP))
    use = OtherUse(MARKUP, "violated", 2.0, 1.5, 2.5)
    cell = {"guideline": MARKUP, "reason": MARKUP, "rhs": MARKUP, "suites": [MARKUP]}
    findings.put_verdicts(db, HOSTILE, "before", [build.verdict("before", **cell, uses=[use])])
    findings.put_winners(
        db,
        HOSTILE,
        [build.winner(variant=MARKUP, configuration={MARKUP: MARKUP}, restrictions=[MARKUP])],
    )
    campaigns.put_event(db, HOSTILE, Event("2025-03-01T10:00:00Z", MARKUP, MARKUP, function=MARKUP))
    campaigns.put_export(db, HOSTILE, Export("env", MARKUP, "00", "2025-03-01"))
    return campaign
