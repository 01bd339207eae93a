"""Pages and the files in docs/figures agree, and what `make figures` makes of databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from plumbline_db.connection import Database
from tests.db import build
from tests.figures import measured, pages
from tests.figures.__main__ import publish
from tests.figures.measured import FOLDER, Figures, Loop, Product
from tests.probes.launch import ROOT

PRODUCT = Product("openmpi-4.1.4", 227, 364)


@pytest.mark.parametrize("page", pages.every(), ids=lambda page: page.name)
def test_a_page_agrees_with_the_files(page: Path) -> None:
    text = page.read_text()
    assert pages.filled(text, pages.values(measured.read())) == text, "make figures fills it"


def test_places_are_there() -> None:
    """A page whose marks were removed would agree with anything."""
    names = {page.name: pages.PLACE.findall(page.read_text()) for page in pages.every()}
    assert len(names["README.md"]) >= 15
    assert names["results.md"] and names["administrator.md"]


def test_a_number_that_differs_is_found() -> None:
    values = {"before": "39", "variants": "227", "parameters": "364"}
    text = "<!--=before-->38<!--/--> violations\nok probe …/probe, 141 variants; …/lib.so\n"
    assert pages.filled(text, values) == (
        "<!--=before-->39<!--/--> violations\nok probe …/probe, 227 variants; …/lib.so\n"
    )
    with pytest.raises(KeyError, match="nobody"):
        pages.filled("<!--=nobody--><!--/-->", values)


def test_pages_say_how_much_campaigns_differ() -> None:
    assert measured.least_and_greatest([39, 39, 39]) == "39"
    assert measured.least_and_greatest([31, 27, 30]) == "27 to 31"
    assert measured.least_and_greatest([1.951, 1.949], 2) == "1.95"
    files = measured.read()
    assert len(files.campaigns) == 3
    assert all(each.ranks <= each.cores for each in files.campaigns), "a rank for each core"


def test_a_campaign_is_read_from_its_database(tmp_path: Path) -> None:
    database = tmp_path / "one.db"
    with Database.open(database, write=True) as db:
        build.done(db)
    found = measured.of_database(database)
    assert found.violated_before - found.removed + found.new >= found.violated_after
    assert found.winners > 0 and found.best_speedup >= found.median_speedup
    assert f"removed of {found.violated_before}" in "\n".join(found.digest)
    loops = [Loop("osu", 1, 0, 0, 0, 0), Loop("synchronised", 1, 0, 0, 0, 0)]
    figures = Figures([found, found], PRODUCT, loops)
    measured.write(figures, tmp_path)
    assert measured.read(tmp_path) == figures
    values = pages.values(figures)
    assert values["campaigns"] == "two" and values["all-before"] == str(found.violated_before)
    assert values["check"].startswith("In a copy of OSU's loop 1 of ")
    assert ".venv/bin/plumbline results --all" in values["campaign-end"]


def test_make_figures_writes_files_pictures_and_pages(tmp_path: Path) -> None:
    database = tmp_path / "one.db"
    with Database.open(database, write=True) as db:
        build.done(db)
    docs = tmp_path / "docs"
    docs.mkdir()
    page = tmp_path / "README.md"
    page.write_text("<!--=winners-->0<!--/--> winners\n")
    (docs / "other.md").write_text("nothing measured\n")
    figures = Figures([measured.of_database(database)], PRODUCT)
    assert publish(figures, database, tmp_path) == [page]
    assert page.read_text() == f"<!--=winners-->{figures.campaigns[0].winners}<!--/--> winners\n"
    assert measured.read(docs / "figures") == figures
    light, dark = ((docs / f"{name}.svg").read_text() for name in ("results", "results-dark"))
    assert light.startswith("<svg") and dark.startswith("<svg") and light != dark
    assert publish(figures, database, tmp_path) == []


def test_an_unfinished_campaign_is_no_figure(tmp_path: Path) -> None:
    database = tmp_path / "one.db"
    with Database.open(database, write=True) as db:
        build.started(db)
    with pytest.raises(ValueError, match="is not finished, or has no winners"):
        measured.of_database(database)


@pytest.mark.mpi
def test_counts_of_the_product_are_those_of_the_product() -> None:
    """`doctor` prints them; they change with the catalogue, without a campaign."""
    words = [sys.executable, "-m", "plumbline", "doctor", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=250)
    texts = [each["text"] for each in msgspec.json.decode(done.stdout)]
    product = measured.read().product
    assert any(f"probe, {product.variants} variants" in text for text in texts), FOLDER
    assert any(f"all {product.parameters} parameters" in text for text in texts), FOLDER
