"""`make figures`: measures what the pages quote, writes it into docs/figures, draws the picture of
README, and fills the places of the pages.

Without databases three campaigns are run, with seeds 1, 2 and 3 (some ten minutes on a quiet
machine), and the winners of the first are checked by other programs. With databases of finished
campaigns nothing is measured; the first of them is shown."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import msgspec

from plumbline.explain import picture
from plumbline.results import report
from plumbline.settings.toolchain import find_toolchain
from plumbline.system import chart
from plumbline_db.connection import Database
from tests.figures import measured, pages
from tests.figures.measured import Figures, Loop
from tests.probes.launch import ROOT

SEEDS = (1, 2, 3)
NEW = ROOT / "build" / "figures"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make figures", description=__doc__)
    parser.add_argument("databases", nargs="*", type=Path, help="of finished campaigns")
    parser.add_argument("--checked", type=Path, help="what `plumbline check --json` printed")
    asked = parser.parse_args()
    databases, checked = asked.databases, asked.checked
    if not databases:
        databases = [_campaign(seed) for seed in SEEDS]
        checked = _checked(databases[0])
    loops = _loops(checked) if checked else []
    figures = Figures(
        [measured.of_database(each) for each in databases],
        measured.of_product(find_toolchain(None)),
        loops,
    )
    for path in publish(figures, databases[0]):
        print(path)


def publish(figures: Figures, database: Path, root: Path = ROOT) -> list[Path]:
    """Write files and pictures, and fill the pages below `root`; the picture is of the campaign
    that is shown, which `database` holds. Returns the pages that changed."""
    measured.write(figures, root / "docs" / "figures")
    _draw(database, figures.campaigns[0].id, root / "docs")
    values = pages.values(figures)
    changed = []
    for page in pages.every(root):
        text = page.read_text()
        if (new := pages.filled(text, values)) != text:
            page.write_text(new)
            changed.append(page)
    return changed


def _plumbline(*words: object) -> list[str]:
    return [sys.executable, "-m", "plumbline", *map(str, words)]


def _campaign(seed: int) -> Path:
    """Run a campaign as README's reader does, in a new database, and measure what its lower bounds
    need."""
    NEW.mkdir(parents=True, exist_ok=True)
    database = NEW / f"seed-{seed}.db"
    for old in NEW.glob(f"{database.name}*"):
        old.unlink()
    subprocess.run(_plumbline("campaign", "--seed", seed, "--db", database), check=True)
    explain = _plumbline("results", "--explain", "--measure", "--db", database)
    subprocess.run(explain, check=True, stdout=subprocess.DEVNULL)
    return database


def _checked(database: Path) -> Path:
    """Check the winners; exit code 3 says that one is slower, which is a figure as well."""
    path = NEW / "check.json"
    with path.open("wb") as file:
        done = subprocess.run(_plumbline("check", "--json", "--db", database), stdout=file)
    if done.returncode not in (0, 3):
        raise SystemExit(f"plumbline check ended with status {done.returncode}")
    return path


def _loops(checked: Path) -> list[Loop]:
    return msgspec.convert(json.loads(checked.read_text())["loops"], list[Loop])


def _draw(database: Path, campaign: str, folder: Path) -> None:
    with Database.open(database) as db:
        tables = picture.read_tables(db, report.read(db, campaign))
    for name, palette in (("results", chart.LIGHT), ("results-dark", chart.DARK)):
        drawn = chart.render(picture.before_after_specification([tables], palette))
        (folder / f"{name}.svg").write_text(drawn)


if __name__ == "__main__":
    main()
