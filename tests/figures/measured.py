"""Read and write what the pages quote: campaigns, the check of their winners and counts of the
product, as the files in docs/figures hold them. `make figures` writes them from databases, and
tests read them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from plumbline.cli import digest
from plumbline.results import report
from plumbline.results.report import Report
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.probes.launch import ROOT

FOLDER = ROOT / "docs" / "figures"
PARTS = ("campaigns", "product", "check")  # a file each
WIDTH = 120  # of the lines that are quoted


class Campaign(msgspec.Struct, frozen=True):
    """A finished campaign. `digest`: the lines of `plumbline results`."""

    id: str
    started: str
    seconds: float
    library: str
    processor: str
    cores: int
    ranks: int
    cells: int
    launches: int
    violated_before: int
    removed: int
    new: int
    violated_after: int
    undecided: int
    winners: int
    median_speedup: float
    best_speedup: float
    best_function: str
    digest: list[str]


class Loop(msgspec.Struct, frozen=True):
    """A loop of `plumbline check --json`: how many winners it sees faster, and how many slower, in
    all launches or only in the first ones."""

    loop: str
    faster: int
    unclear: int
    slower_at_times: int
    slower: int
    unseen: int


class Product(msgspec.Struct, frozen=True):
    """Counts that do not depend on a measurement: of one library's probe and search space."""

    library: str
    variants: int
    parameters: int


class Figures(msgspec.Struct, frozen=True):
    """The first campaign is the one that pages show; the others say how much campaigns differ.
    `loops` is empty where no check was made."""

    campaigns: list[Campaign]
    product: Product
    loops: list[Loop] = []


def of_product(toolchain: Toolchain) -> Product:
    return Product(
        toolchain.installation.library.id,
        len(toolchain.catalogue.variants),
        len(toolchain.space.knobs()),
    )


def of_database(database: Path) -> Campaign:
    """Return the campaign of a database that was started last."""
    with Database.open(database) as db:
        found = report.read(db, campaigns.all_campaigns(db)[-1].id)
        return _of_report(found, digest.read(db, found, WIDTH))


def _of_report(found: Report, lines: list[str]) -> Campaign:
    if found.after is None or not found.winners:
        raise ValueError(f"{found.campaign.id} is not finished, or has no winners")
    counts = report.changed(found.before, found.after)
    started, finished = (
        datetime.datetime.fromisoformat(text)
        for text in (found.campaign.started, str(found.campaign.finished))
    )
    best = max(found.winners, key=lambda winner: winner.speedup)
    return Campaign(
        id=found.campaign.id,
        started=found.campaign.started,
        seconds=(finished - started).total_seconds(),
        library=" ".join(found.library.version_string.split()),
        processor=found.machine.cpu_model,
        cores=found.machine.processing_units,
        ranks=found.campaign.nprocs,
        cells=len(found.before),
        launches=found.cost.launches,
        violated_before=counts.before,
        removed=counts.removed,
        new=counts.new,
        violated_after=counts.after,
        undecided=sum(verdict.verdict == "undecided" for verdict in found.after),
        winners=len(found.winners),
        median_speedup=median(winner.speedup for winner in found.winners),
        best_speedup=best.speedup,
        best_function=best.function,
        digest=lines,
    )


def write(figures: Figures, folder: Path = FOLDER) -> None:
    """Write a file for each kind of figures, so that each can be made anew alone."""
    folder.mkdir(exist_ok=True)
    parts = (figures.campaigns, figures.product, figures.loops)
    for name, part in zip(PARTS, parts, strict=True):
        text = msgspec.json.format(msgspec.json.encode(part), indent=1)
        (folder / f"{name}.json").write_bytes(text + b"\n")


def read(folder: Path = FOLDER) -> Figures:
    parts = {name: (folder / f"{name}.json").read_bytes() for name in PARTS}
    return Figures(
        campaigns=msgspec.json.decode(parts["campaigns"], type=list[Campaign]),
        product=msgspec.json.decode(parts["product"], type=Product),
        loops=msgspec.json.decode(parts["check"], type=list[Loop]),
    )


def least_and_greatest(values: Sequence[float], digits: int = 0) -> str:
    """Return `39` where all values are equal as they are written, otherwise `27 to 38`."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
