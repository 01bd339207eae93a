"""Every page with every state that a run can have, from a run without a launch to a finished one:
each answers with a page, or says that there is nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.overlap import suite
from plumbline.overlap.benches import OverlapSettings
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import OverlapLatency
from plumbline_db.records import Campaign
from tests.db import build
from tests.tuner.overlap import two_campaigns as overlap
from tests.tuner.pages import site
from tests.tuner.pages.test_hostile import filled, names, paths

SIZES = tuple(1 << power for power in range(8, 17))
WORK = tuple(1000 << step for step in range(9))


def run_without_launch(db: Database) -> Campaign:
    return build.started(db)


def run_with_a_failed_launch(db: Database) -> Campaign:
    campaign = build.started(db)
    launch = msgspec.structs.replace(build.run(campaign=campaign), failure=build.EXIT)
    runs.put(db, launch, [])
    return campaign


def run_with_launches_alone(db: Database) -> Campaign:
    campaign = build.started(db)
    cases = [build.Timed(), build.Timed(variant=build.REDUCE_PLUS_BCAST)]
    for sequence in range(2):
        launch = build.run(campaign=campaign, sequence=sequence)
        runs.put(db, launch, build.records(launch, cases))
    return campaign


def run_with_its_first_table(db: Database) -> Campaign:
    campaign = run_with_launches_alone(db)
    findings.put_verdicts(db, campaign.id, "before", [build.verdict("before")])
    return campaign


def run_with_winners_without_a_last_table(db: Database) -> Campaign:
    campaign = run_with_its_first_table(db)
    findings.put_winners(db, campaign.id, [build.winner()])
    return campaign


def run_finished(db: Database) -> Campaign:
    return build.finished(db)


def run_of_suites_without_launch(db: Database) -> Campaign:
    build.started(db)
    campaign = msgspec.structs.replace(
        build.CAMPAIGN, id="suites", key="suites", settings='{"command":"suite"}'
    )
    campaigns.put(db, campaign)
    return campaign


def overlap_without_launch(db: Database) -> Campaign:
    return _overlap(db, 0)


def overlap_after_one_benchmark(db: Database) -> Campaign:
    return _overlap(db, 1)


def overlap_after_a_stage(db: Database) -> Campaign:
    return _overlap(db, 2)


def _overlap(db: Database, benches: int) -> Campaign:
    """An adaptive grid of two benchmarks; as many of them have launches of the first stage."""
    build.started(db)
    asked = OverlapSettings(2, ("sender", "receiver"), SIZES, WORK, launches=1, adaptive=True)
    campaign = msgspec.structs.replace(
        build.CAMPAIGN, id="overlap", key="overlap", settings=msgspec.json.encode(asked).decode()
    )
    campaigns.put(db, campaign)
    first = suite.missing_cells(len(SIZES), len(WORK), {})
    for bench in asked.benches[:benches]:
        launch = build.run(suite.suite_of(bench).name, campaign=campaign)
        header, *_, footer = build.records(launch, [])
        cells = [
            overlap.cell(number, bench, SIZES[x], WORK[y], SIZES[x], overlaps=x < y)
            for number, (x, y) in enumerate(first)
        ]
        records = [header, OverlapLatency("start", [0] * 5), *cells, footer]
        runs.put(db, launch, records, suite.suite_of(bench))
    return campaign


OF_CAMPAIGNS = (
    run_without_launch,
    run_with_a_failed_launch,
    run_with_launches_alone,
    run_with_its_first_table,
    run_with_winners_without_a_last_table,
    run_finished,
    run_of_suites_without_launch,
)
OF_OVERLAP = (overlap_without_launch, overlap_after_one_benchmark, overlap_after_a_stage)
# What a page asks for in its address or in its query, beside the run.
GIVEN = {
    "stage": "before",
    "function": "MPI_Allreduce",
    "bytes": "8192",
    "place": "0",
    "guideline": "GL3",
    "format": "svg",
    "name": "style.css",
}
QUERIES = ("", "?run={run}", "?a={run}", "?a={run}:before&b={run}:after", "?a={run}&b={run}")


@pytest.mark.parametrize("store", [*OF_CAMPAIGNS, *OF_OVERLAP], ids=lambda store: store.__name__)
def test_each_page_answers_in_each_state(
    store: Callable[[Database], Campaign], tmp_path: Path
) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        run = store(db).id
    with site.client(tmp_path / "plumbline.db") as client:
        shown = [address for address in _addresses(client, run) if _answers(client, address)]
    own = f"/overlap/{run}" if store in OF_OVERLAP else f"/run/{run}"
    assert {"/", "/runs", "/map", "/curves", "/overlap", own} <= set(shown)


def _addresses(client: TestClient, run: str) -> Iterator[str]:
    given = GIVEN | {"run": run, "id": run, "other": run}
    for path in paths(client):
        address = filled(path, {name: given[name] for name in names(path)})
        for query in QUERIES:
            yield address + query.replace("{run}", quote(run))


def _answers(client: TestClient, address: str) -> bool:
    """Whether there is a page; else it says why there is none."""
    answer = client.get(address)
    assert answer.status_code < 500, (address, answer.text)
    if answer.status_code >= 400:
        assert answer.text and "Traceback" not in answer.text, address
    return answer.status_code == 200


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        (overlap_without_launch, set()),
        (overlap_after_one_benchmark, {"sender"}),
        (overlap_after_a_stage, {"sender", "receiver"}),
    ],
)
def test_an_unfinished_overlap_campaign_shows_what_it_has(
    store: Callable[[Database], Campaign], shown: set[str], tmp_path: Path
) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        run = store(db).id
    with site.client(tmp_path / "plumbline.db") as client:
        page = client.get(f"/overlap/{run}").text
        cells = client.get(f"/overlap/{run}.json").json()["cells"]
    assert "not finished" in page
    assert {cell["bench"] for cell in cells} == shown
    assert ("<svg" in page) == bool(cells)


def test_a_database_of_another_plumbline_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.finished(db)
        db.rows("ALTER TABLE campaign RENAME TO campaign_of_old")
    with site.client(path) as client:
        answer = client.get("/")
    assert answer.status_code == 503
    assert "the database was made by an older Plumbline (schema 4" in answer.text
    assert "--db" in answer.text and str(tmp_path) not in answer.text
