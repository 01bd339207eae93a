"""Campaigns on simulated machines that no rule of the search was chosen on, against brute force:
every algorithm of the library and every variant of ours, with every value of its parameters, at
each cell by itself (docs/search.md). Nothing is replayed: the campaign starts its own
simulations. Prints a line for each machine, and asserts nothing."""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from plumbline.campaign import loop as campaign
from plumbline.campaign import proof
from plumbline.measure.launches import LaunchStore
from plumbline.search.outcome import label
from plumbline.search.space.candidates import Candidate
from plumbline.settings import identity, starting
from plumbline_db import findings, runs
from plumbline_db.connection import Database
from plumbline_exporters import plumbline_sh

from .around import AS_IT_IS, Choices, choices_of, in_force
from .exact import Exact
from .record import record
from .store import FOLDER, Store
from .sweeps import PATTERNS, Here, Sweep, here
from .truth import Cell, Truth, violated

_SIZES = [777, 3001, 23456, 150000]
_OTHER_SIZES = [1400, 9000, 70000, 400000]
_FAR = 1 << 22
_FAT_TREE = {"nodes": 10, "nprocs": 30, "topology": "fat-tree", "shape": [5, 2, 2]}
_RING = {
    "nodes": 7,
    "nprocs": 7,
    "topology": "torus",
    "shape": [7],
    "latency_seconds": 3e-5,
    "bandwidth_bytes_per_second": 4e8,
}
_DRAGONFLY = {
    "nodes": 18,
    "nprocs": 18,
    "topology": "dragonfly",
    "shape": [3, 2, 3, 1],
    "latency_seconds": 1.1e-6,
    "bandwidth_bytes_per_second": 9e9,
}
_TORUS = {
    "nodes": 15,
    "nprocs": 15,
    "topology": "torus",
    "shape": [5, 3],
    "latency_seconds": 3e-6,
    "bandwidth_bytes_per_second": 2e9,
}
_STAR = {"nodes": 11, "nprocs": 22, "latency_seconds": 8e-6, "bandwidth_bytes_per_second": 3e9}
_FAR_APART = {"nodes": 13, "nprocs": 13, "latency_seconds": 4e-5, "bandwidth_bytes_per_second": 1e9}
_SMALL_DRAGONFLY = {
    "nodes": 12,
    "nprocs": 12,
    "topology": "dragonfly",
    "shape": [2, 2, 3, 1],
    "latency_seconds": 2e-6,
    "bandwidth_bytes_per_second": 5e9,
}
_SLOW_STAR = {
    "nodes": 9,
    "nprocs": 18,
    "latency_seconds": 1.5e-5,
    "bandwidth_bytes_per_second": 1.2e9,
}
_SMALL_TORUS = {
    "nodes": 12,
    "nprocs": 12,
    "topology": "torus",
    "shape": [4, 3],
    "latency_seconds": 5e-6,
    "bandwidth_bytes_per_second": 4e9,
}
_SMALL_FAT_TREE = {"nodes": 8, "nprocs": 16, "topology": "fat-tree", "shape": [4, 2, 2]}
# The name of a machine, its selector, its platform, the sizes in bytes.
MACHINES: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "ring-7x1 mvapich2": ("mvapich2", _RING, _SIZES),
    "star-13x1 mpich": ("mpich", _FAR_APART, _SIZES),
    "dragonfly-18x1 ompi": ("ompi", _DRAGONFLY, _SIZES),
    "torus-15x1 impi": ("impi", _TORUS, _SIZES),
    "ring-7x1 impi": ("impi", _RING, _SIZES),
    "star-11x2 mvapich2": ("mvapich2", _STAR, _SIZES),
    "fat-tree-10x3 mpich": ("mpich", _FAT_TREE, _SIZES),
    "fat-tree-10x3 ompi": ("ompi", _FAT_TREE, _SIZES),
    "dragonfly-12x1 mvapich2": ("mvapich2", _SMALL_DRAGONFLY, _OTHER_SIZES),
    "star-9x2 impi": ("impi", _SLOW_STAR, _OTHER_SIZES),
    "torus-12x1 mpich": ("mpich", _SMALL_TORUS, _OTHER_SIZES),
    "fat-tree-8x2 ompi": ("ompi", _SMALL_FAT_TREE, _OTHER_SIZES),
}


def sweep(name: str) -> Sweep:
    """Return what is measured on a machine of the table."""
    selector, platform, sizes = MACHINES[name]
    ranks = {key: platform[key] for key in ("nodes", "nprocs")}
    simulate = {key: value for key, value in platform.items() if key not in ranks}
    simulate["library"] = selector
    keys = ranks | {"simulate": simulate, "sizes": sizes, "guidelines": PATTERNS}
    return Sweep(f"brute-{name.replace(' ', '-')}", keys)


class Done(msgspec.Struct, frozen=True):
    """The outcome of a campaign. `opened`: cells that a violation opened a search for."""

    launches: int
    seconds: float
    opened: list[Cell]
    choices: Choices


class Row(msgspec.Struct, frozen=True):
    """`behind`: of each cell, by how much what is in force takes longer than the best there is,
    0.03 for 3 %; `lines`: those above 1 %, the worst first. `missing`: cells whose call has no
    time with what is in force."""

    machine: str
    launches: int
    seconds: float
    opened: list[Cell]
    behind: dict[Cell, float]
    missing: list[Cell]
    lines: list[str]
    before: int
    left: int
    removable: list[str]

    def text(self) -> str:
        opened = [self.behind[cell] for cell in self.opened if cell in self.behind]
        every = list(self.behind.values())
        return (
            f"{self.machine:20} opened {_within(opened)}; all {_within(every)}; "
            f"violations {self.before:3} -> {self.left:2}, {len(self.removable)} removable; "
            f"{self.launches} launches, {self.seconds:.0f} s"
            + (f"; {len(self.missing)} cells without a time" if self.missing else "")
        )


def _within(behind: list[float]) -> str:
    if not behind:
        return "no cells"
    share = [100 * statistics.mean(one <= most + 1e-4 for one in behind) for most in (0.01, 0.03)]
    return (
        f"{len(behind):3} cells {share[0]:3.0f} % within 1 %, {share[1]:3.0f} % within 3 %, "
        f"worst {1 + max(behind):.2f}"
    )


def run(at: Here, folder: Path, **keys: Any) -> Done:
    """A campaign with simulations of its own, in a database that stays in `folder`."""
    settings = at.settings.but(**keys)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as scratch:
        file = Path(scratch, "bench.db")
        with Database.open(file, write=True) as db:
            starter = starting.starter(at.bench, settings)
            begun = identity.begin(db, at.bench, settings, new=True)
            output = Path(scratch, "exports")
            store = LaunchStore(db, begun.id, starter)
            campaign.CampaignLoop(store, at.bench, begun, settings, output).run()
            script = output / plumbline_sh.FILE_NAME
            around = AS_IT_IS
            if script.exists():
                around = in_force(at, proof.environment_of(script, starter.clean_environment()))
            launches = runs.listing(db, begun.id)
            found = findings.all_searches(db, begun.id)
            done = Done(
                len(launches),
                sum(one.seconds for one in launches),
                sorted({(one.function, one.bytes) for one in found if one.opened_by}),
                choices_of(at, around),
            )
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / f"{at.sweep.name}.db")
        return done


def judge(at: Here, truth: Truth, machine: str, done: Done) -> Row:
    """Compares what is in force after a campaign with everything that there is."""
    behind: dict[Cell, float] = {}
    missing, lines = [], []
    for function, size in at.cells():
        mine = truth.seconds(function, size, done.choices[function, size], done.choices)
        if mine is None:
            missing.append((function, size))
            continue
        best, other = _best(at, truth, (function, size), done.choices)
        behind[function, size] = max(0.0, mine[0] / best - 1)
        chosen = done.choices[function, size]
        lines.append((mine[0] / best, f"{function} {size}: {_label(chosen)}, best {_label(other)}"))
    table = truth.table(done.choices)
    removable = truth.removable(done.choices, table)
    before = truth.table(dict.fromkeys(at.cells(), Candidate()))
    return Row(
        machine,
        done.launches,
        done.seconds,
        done.opened,
        behind,
        missing,
        [
            f"{ratio:.2f} {'opened ' if _cell(text) in done.opened else ''}{text}"
            for ratio, text in sorted(lines, reverse=True)
            if ratio > 1.01
        ],
        len(violated(before)),
        len(violated(table)),
        [f"{one.guideline} {one.function} {one.bytes}: {one.ratio:.3f}" for one in removable],
    )


def _best(at: Here, truth: Truth, cell: Cell, choices: Choices) -> tuple[float, Candidate]:
    """The fastest; an option of the library holds for all sizes, and must work at 4 MiB too."""
    for seconds, one in sorted(_times(at, truth, cell, choices)):
        if not one.is_knobs or truth.seconds(cell[0], _FAR, one, choices) is not None:
            return seconds, one
    raise AssertionError("the default has a time")


def _times(at: Here, truth: Truth, cell: Cell, choices: Choices) -> list[tuple[float, Candidate]]:
    """Of everything that may be chosen in a cell, beside what is chosen for other functions."""
    truth.ours_at_once(cell[0], [cell[1]], choices)
    return [
        (times[0], one)
        for one in at.space(*cell)
        if (times := truth.seconds(*cell, one, choices)) is not None
    ]


def _cell(text: str) -> Cell:
    function, size = text.partition(":")[0].split()
    return function, int(size)


def _label(one: Candidate) -> str:
    return label(one.variant, one.configuration.as_dict())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", default=",".join(MACHINES), help="names, with commas between")
    parser.add_argument("--record-only", action="store_true", help="the brute force alone")
    parser.add_argument("--folder", type=Path, default=FOLDER / "brute", help="of the databases")
    parser.add_argument("--violated-only", action="store_true", help="as the option of campaigns")
    parser.add_argument("--cells", action="store_true", help="every cell above 1 %%")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.machines.split(","):
        at = here(sweep(name))
        store = Store(at.sweep.name, probe=at.bench.probe)
        record(at, store, 0.0, _say)
        if options.record_only:
            continue
        _say(f"{name}: campaign")
        keys = {"all": False} if options.violated_only else {}
        done = run(at, options.folder, **keys)
        row = judge(at, Truth(at, Exact(at, store, 0.0)), name, done)
        print(row.text(), flush=True)
        for line in [*row.lines, *(f"removable: {one}" for one in row.removable)]:
            if options.cells:
                print(f"  {line}", flush=True)
        rows.append(row)
    if rows:
        print(_total(rows))


def _total(rows: list[Row]) -> str:
    opened = [one.behind[cell] for one in rows for cell in one.opened if cell in one.behind]
    every = [behind for one in rows for behind in one.behind.values()]
    return (
        f"{'together':20} opened {_within(opened)}; all {_within(every)}; violations "
        f"{sum(one.before for one in rows)} -> {sum(one.left for one in rows)}, "
        f"{sum(len(one.removable) for one in rows)} removable; at most "
        f"{max(one.launches for one in rows)} launches"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if not Path("tests/bench/search").is_dir():
    sys.exit("start it in the root of the repository: make bench-brute")
if __name__ == "__main__":
    main()
