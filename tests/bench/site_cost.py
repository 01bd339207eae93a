"""Bench of what all numbers of ranks up to N cost in one site, against the campaign of N ranks
alone: starts, seconds in launches and wall time, once with ranks that layouts share and once with
fresh ones for each. All are measured in one run, N alone before and after the sites.

Prints one line a figure, or JSON. Asserts nothing: noise must not turn anything red."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline_db import campaigns, cost
from plumbline_db.connection import Database
from tests.bench.figure import Figure
from tests.tuner.started import environment

_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_QUANTITIES = {"starts": "starts", "seconds": "seconds in launches", "wall": "wall time"}


class RunCost(msgspec.Struct, frozen=True):
    """The cost of one command: starts of ranks, seconds in launches and seconds of the command;
    `campaigns` are the seconds in launches of each number of ranks, checks included."""

    starts: float
    seconds: float
    wall: float
    campaigns: dict[int, float]


def measured(folder: Path, name: str, words: Sequence[str], toml: str) -> RunCost:
    """Run a campaign in a new database; return its cost. Raises CalledProcessError."""
    file, database = folder / f"{name}.toml", folder / f"{name}.db"
    file.write_text(toml)
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "plumbline", "campaign", str(file), *words, "--db", str(database)],
        env=environment() | _AS_ROOT, capture_output=True, check=True, timeout=6 * 3600,
    )  # fmt: skip
    wall = time.monotonic() - began
    with Database.open(database) as db:
        rows = [(row.nprocs, cost.cost(db, row.id)) for row in campaigns.every(db)]
    by_ranks: dict[int, float] = {}
    for nprocs, each in rows:
        by_ranks[nprocs] = by_ranks.get(nprocs, 0.0) + each.seconds
    starts = sum(each.starts for _, each in rows)
    return RunCost(starts, sum(by_ranks.values()), wall, by_ranks)


def figures(
    folder: Path, ranks: Sequence[int], words: Sequence[str], settings: str, *, simulated: bool
) -> Iterator[Figure]:
    largest = max(ranks)
    site = f"{settings}\n[site]\nranks = {list(ranks)}\nsamples = 0\n"
    if simulated:
        site += "ranks_per_node = [1]\n"
    own = [*words, "--nprocs", str(largest)]
    # Settings of the whole process are no part of a site, and so of neither side.
    alone_settings = f"{settings}\nsettings = false\n"
    alone = [measured(folder, "alone-1", own, alone_settings)]
    shared = measured(folder, "shared", ["--site", *words], site)
    fresh = None
    if not simulated:
        fresh = measured(folder, "fresh", ["--site", "--fresh-launches", *words], site)
        alone.append(measured(folder, "alone-2", own, alone_settings))
    machine = "simulated" if simulated else "here"
    what = f"{machine}, {','.join(map(str, ranks))} ranks over {largest} alone"
    for quantity, title in _QUANTITIES.items():
        base = statistics.mean(getattr(each, quantity) for each in alone)
        value = getattr(shared, quantity)
        seen = f"{value:.0f} over {base:.0f}; {what}"
        yield Figure(f"all numbers of ranks: {title}", value / base, "", seen)
        if fresh is not None:
            value = getattr(fresh, quantity)
            seen = f"{value:.0f} over {base:.0f}; {what}"
            yield Figure(f"the same, fresh launches: {title}", value / base, "", seen)
    for nprocs, seconds in sorted(shared.campaigns.items()):
        yield Figure(f"seconds in launches of {nprocs} ranks", seconds, "s", machine)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,3,4", help="those of the site here")
    parser.add_argument("--simulated", default="2,4,8,16", help="those of the simulated site")
    parser.add_argument("--settings", default="", help="lines of a campaign file, for all runs")
    parser.add_argument("--only", choices=("here", "simulated"))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    settings = asked.settings.replace("\\n", "\n")
    runs = {"here": (asked.ranks, []), "simulated": (asked.simulated, ["--simulate", "ompi"])}
    for place, (text, words) in runs.items():
        if asked.only in (None, place):
            ranks = [int(word) for word in text.split(",")]
            with tempfile.TemporaryDirectory() as folder:
                simulated = place == "simulated"
                every = figures(Path(folder), ranks, words, settings, simulated=simulated)
                for figure in every:
                    line = msgspec.json.encode(figure).decode() if asked.json else figure.line()
                    print(line, flush=True)


if __name__ == "__main__":
    main()
