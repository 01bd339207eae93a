"""The cost of a database that is generated (tests/db/generate.py): bytes a sample, how fast samples
are stored, how long results and pages take where there are many campaigns, how large a year
of nightly campaigns is. `python -m tests.bench.database --small` is the same, for a look; `--only
pages --keep FOLDER` the half of many campaigns, whose database stays there and is gone on with."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from starlette.testclient import TestClient

from plumbline.pages import routes
from plumbline.results import report
from plumbline_db import campaigns, old_samples, runs
from plumbline_db.connection import Database, release
from plumbline_exporters import web
from tests.bench.figure import Figure
from tests.db import generate
from tests.db.generate import Size

MANY, PART = 500, Size(launches=9, cases=46, blocks=12, reps=4, warmup=4, rewarm=1)
# What a default campaign of five minutes leaves.
NIGHT = Size(launches=92, cases=300, blocks=15, reps=4, warmup=16, rewarm=2)
SMALL = Size(launches=3, cases=20, blocks=12, reps=4)
KEPT_NIGHTS = 30
LOOKS = 40
# By name; RUN is a campaign.
PAGES = {
    "overview": "/",
    "runs": "/runs",
    "run": "/run/RUN",
    "violation table": "/table/before/RUN",
    "cell": "/cell/MPI_Bcast/1/RUN",
    "cell, its picture": "/distribution.json/MPI_Bcast/1/RUN",
    "winner": "/winner/0/RUN",
    "guidelines": "/guidelines",
    "guideline": "/guideline/GL1",
    "map": "/map",
    "curves, choosing": "/curves?run=RUN",
    "curves": "/curves?run=RUN&curve=RUN:before|MPI_Bcast|default"
    "&curve=RUN:after|MPI_Bcast|default",
    "curves, as SVG": "/curves.svg?curve=RUN:before|MPI_Bcast|default",
    "comparison": "/compare?a=RUN:before&b=RUN:after",
    "environment": "/environment?a=RUN",
    "report": "/report/RUN",
    "advise": "/advise?function=bcast&bytes=1&nprocs=4",
    "recordings": "/recordings",
    "overlap": "/overlap",
}


def figures(
    *, small: bool = False, only: str | None = None, keep: Path | None = None
) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        if only != "pages":
            yield from night(Path(folder, "night.db"), SMALL if small else NIGHT)
        count, size, looks = (20, SMALL, 6) if small else (MANY, PART, LOOKS)
        if only != "night":
            yield from many((keep or Path(folder)) / "many.db", count, size, looks)


def night(path: Path, size: Size) -> Iterator[Figure]:
    """One campaign: what it takes, what storing it takes, what is left of it."""
    seconds, cpu_seconds = _filled(path, size)
    bytes_ = path.stat().st_size
    what = f"{size.samples / 1e6:.1f} million samples, {size.times / 1e6:.1f} with warm-up"
    yield Figure("bytes a sample, all told", bytes_ / size.samples, "B", what)
    yield Figure("bytes a time, warm-up too", bytes_ / size.times, "B", what)
    said = "warm-up too, synchronous=FULL"
    yield Figure("samples stored", size.times / seconds / 1e6, "million/s", said)
    said = f"{said}, by the processor time of the process"
    yield Figure("samples stored, alone", size.times / cpu_seconds / 1e6, "million/s", said)
    with Database.open(path, write=True) as db:
        (campaign,) = campaigns.all_campaigns(db)
        old_samples.prune(db, campaign.id, "bench", "2026-01-01T00:00:00+00:00")
        release(db)
    left = path.stat().st_size
    yield Figure("a campaign without samples", left / 1e6, "MB", f"{bytes_ / 1e6:.1f} with them")
    year = KEPT_NIGHTS * bytes_ + (365 - KEPT_NIGHTS) * left
    what = f"nightly, keep_last = {KEPT_NIGHTS}"
    yield Figure("a year", year / 1e9, "GB", what)


def _filled(path: Path, size: Size) -> tuple[float, float]:
    """Seconds, and those of a processor, that storing the launches of a campaign takes; what makes
    them apart."""
    seconds = cpu_seconds = 0.0
    put = runs.put

    def timed(*args: object) -> None:
        nonlocal seconds, cpu_seconds
        began, cpu_began = time.perf_counter(), time.process_time()
        put(*args)  # type: ignore[arg-type]
        seconds += time.perf_counter() - began
        cpu_seconds += time.process_time() - cpu_began

    runs.put = timed
    try:
        with Database.open(path, write=True) as db:
            generate.campaign(db, 0, size)
    finally:
        runs.put = put
    return seconds, cpu_seconds


def many(path: Path, count: int, size: Size, looks_each: int) -> Iterator[Figure]:
    """Results of campaigns, drawn from many, and pages, by the web application's own client."""
    with Database.open(path, write=True) as db:
        names = [each.id for each in campaigns.all_campaigns(db) if each.state == "finished"]
        names += [generate.campaign(db, number, size) for number in range(len(names), count)]
    what = f"{count} campaigns, {count * size.samples / 1e6:.1f} million samples"
    chance = random.Random(1)
    drawn = [chance.choice(names) for _ in range(looks_each)]
    client = TestClient(web.app(path, routes.all_pages(path)))

    def results(name: str) -> None:
        with Database.open(path) as db:
            msgspec.json.encode(report.document(report.read(db, name)))

    def medians(name: str) -> None:
        with Database.open(path) as db:
            runs.medians(db, name, ["before", "after"])

    def samples(name: str) -> None:
        with Database.open(path) as db:
            runs.launch_samples(db, name, ["before", "after"])

    def page(address: str) -> Callable[[str], None]:
        return lambda name: client.get(address.replace("RUN", name)).raise_for_status()

    looks: dict[str, Callable[[str], None]] = {
        "results of a campaign": results,
        "medians of a campaign": medians,
        "samples of a campaign": samples,
        **{f"the page {name}": page(address) for name, address in PAGES.items()},
    }
    for name, look in looks.items():
        yield Figure(f"{name}, p95", 1e3 * _p95(look, drawn), "ms", what)
    yield Figure("bytes a sample of many", path.stat().st_size / count / size.samples, "B", what)


def _p95(look: Callable[[str], None], drawn: list[str]) -> float:
    look(drawn[0])
    seconds = []
    for name in drawn:
        began = time.perf_counter()
        look(name)
        seconds.append(time.perf_counter() - began)
    return statistics.quantiles(seconds, n=20)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a small one, in seconds")
    parser.add_argument("--only", choices=["night", "pages"], help="one half of the figures")
    parser.add_argument("--keep", type=Path, help="folder of the database of many campaigns")
    options = parser.parse_args()
    for figure in figures(small=options.small, only=options.only, keep=options.keep):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
