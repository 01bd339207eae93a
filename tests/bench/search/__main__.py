"""The bench of the search (docs/search.md): records what is not recorded yet, replays, and
prints a line for each strategy, sweep and seed. Asserts nothing."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.settings import starting

from .answers import Answers
from .exact import Exact
from .figures import Row, line, rows
from .noisy import Noisy
from .record import Item, launch, record
from .store import FOLDER, Store
from .sweeps import SWEEPS, Here, here

REAL = next(one for one in SWEEPS.values() if not one.simulated)
_LAUNCHES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", default=",".join(SWEEPS), help="names, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="replays of a noisy sweep")
    parser.add_argument("--record-only", action="store_true")
    parser.add_argument("--replay-only", action="store_true", help="of what is recorded")
    parser.add_argument(
        "--calm", type=float, default=2.0, help="load above which nothing real is recorded"
    )
    parser.add_argument("--all", action="store_true", help="functions without a violation too")
    parser.add_argument(
        "--no-others", action="store_true", help="the search and the exhaustive sweep alone"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    keys = {"all": options.all}
    results = FOLDER / "results" / f"{_version()}{'-all' if options.all else ''}"
    results.mkdir(parents=True, exist_ok=True)
    found: list[Row] = []
    for name in options.sweeps.split(","):
        at = here(SWEEPS[name], **keys)
        store = Store(name, probe=at.bench.probe if at.sweep.simulated else None)
        if not options.replay_only:
            record(at, store, options.calm, _say)
        if not options.record_only:
            seeds = [1] if at.sweep.simulated else list(range(1, options.seeds + 1))
            answers = _answers(at, store)
            fresh = [
                row
                for seed in seeds
                for row in rows(at, answers, seed, results, _say, others=not options.no_others)
            ]
            _keep(results / "figures.json", fresh)
            found += fresh
    if options.record_only:
        return
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    print(text.decode() if options.json else "\n".join(map(line, found)))


def _keep(file: Path, found: list[Row]) -> None:
    """Those of a sweep, beside those of others."""
    known = msgspec.json.decode(file.read_bytes(), type=list[Row]) if file.exists() else []
    fresh = {one.sweep for one in found}
    known = [one for one in known if one.sweep not in fresh] + found
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1))
    part.replace(file)


def _answers(at: Here, store: Store) -> Answers:
    """The launches of a simulated machine cost what those of this one do, beside calls."""
    return Exact(at, store, _launch_seconds()) if at.sweep.simulated else Noisy(at, store)


def _launch_seconds() -> float:
    """What a launch of four ranks takes here beside the probe's work, recorded once."""
    at, store = here(REAL), Store("launch")
    for number in range(_LAUNCHES):
        item = Item(f"launch-{number}", {}, (PlanCase("MPI_Bcast", 64),), number)
        if not store.has(item.name):
            store.add(launch(at, starting.starter(at.bench, at.settings), item))
    return statistics.median(one.seconds - one.wall_ns / 1e9 for one in store.launches)


def _version() -> str:
    words = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if not Path("tests/bench/search").is_dir():
    sys.exit("start it in the root of the repository: make bench-search")
if __name__ == "__main__":
    main()
