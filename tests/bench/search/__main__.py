"""The bench of the search (docs/search-bench.md): records what is not recorded yet, replays, and
prints a line for each strategy, sweep and seed. Asserts nothing."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from .answers import Answers
from .exact import Exact
from .figures import Row, line, rows
from .noisy import Noisy
from .record import record
from .store import FOLDER, Store
from .sweeps import SWEEPS, Here, Sweep, here

REAL = next(one for one in SWEEPS.values() if not one.simulated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", default=",".join(SWEEPS), help="names, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="replays of a noisy sweep")
    parser.add_argument("--record-only", action="store_true")
    parser.add_argument("--replay-only", action="store_true", help="of what is recorded")
    parser.add_argument("--all", action="store_true", help="functions without a violation too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    keys = {"all": True} if options.all else {}
    found: list[Row] = []
    for name in options.sweeps.split(","):
        at = here(SWEEPS[name], **keys)
        store = Store(name)
        if not options.replay_only:
            record(at, store, _say)
        if not options.record_only:
            seeds = [1] if at.sweep.simulated else list(range(1, options.seeds + 1))
            found += rows(at, _answers(at, store), seeds, _say)
    if options.record_only:
        return
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    file = FOLDER / "results" / f"{_version()}{'-all' if options.all else ''}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_bytes(text)
    part.replace(file)
    print(text.decode() if options.json else "\n".join(map(line, found)))


def _answers(at: Here, store: Store) -> Answers:
    """The launches of a simulated machine cost what those of the real sweep do, beside calls."""
    if not at.sweep.simulated:
        return Noisy(at, store)
    return Exact(at, store, _real(REAL).overhead_seconds)


def _real(sweep: Sweep) -> Noisy:
    return Noisy(here(sweep), Store(sweep.name))


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
