"""The figures that performance targets speak of, measured side by side in one run.

Prints one line a figure (or JSON with --json): name, value, unit, what it is made of. With --beside
a campaign of another release, built in its own folder, follows that of this one. Asserts nothing:
noise must not turn anything red."""

from __future__ import annotations

import argparse
import gzip
import math
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import tables
from plumbline.measure.comparison import claim_of
from plumbline.reproducibility import experiment
from plumbline.reproducibility import report as reproducibility_report
from plumbline.reproducibility import settings as experiment_settings
from plumbline.reproducibility.effects import PLAIN
from plumbline.search.space.candidates import DEFAULT, CandidateSpace
from plumbline.settings import campaign_file, identity, starting
from plumbline.settings.ranks import default_nprocs
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.verify.verify import VerifySettings
from plumbline_db.connection import Database
from plumbline_db.probe_records import Footer
from tests.bench import monitored
from tests.bench.figure import Figure
from tests.bench.replaced import replaced
from tests.bench.search import machine
from tests.bench.shared_window import shared_window
from tests.bench.startup import startup
from tests.exporters.prometheus import served
from tests.verify.simulated import medians, verify

HERE = Path(__file__).parent


def launch_share(toolchain: Toolchain) -> Iterator[Figure]:
    """Share of the seconds of whole-table launches that is spent inside timed regions."""
    options = campaign_file.load(None, {})
    guidelines = identity.chosen(toolchain, options)
    plan = tables.plan(options, tables.cases(guidelines, options))
    starter = starting.starter(toolchain, options)
    wall = inside = timed = 0.0
    for number in range(3):
        one = msgspec.structs.replace(plan, name="share", seed=number)
        run, records = starter.start("bench", "share", number, one.text(), {})
        footer = next(record for record in records if isinstance(record, Footer))
        wall += run.seconds
        inside += footer.wall_ns / 1e9
        timed += run.timed_seconds
    what = f"3 launches of {len(plan.cases)} cases, {options.ranks.nprocs} ranks, {wall:.1f} s"
    yield Figure("timed share of a launch", timed / wall, "", what)
    yield Figure("timed share of the probe", timed / inside, "", "the same, without mpirun's start")


def race_against_launches(toolchain: Toolchain) -> Iterator[Figure]:
    """All algorithms of Allreduce in one launch, against one launch for each."""
    options = campaign_file.load(None, {})
    candidate_space = CandidateSpace(toolchain, options.ranks.nprocs)
    sizes = [64, 1024, 16384, 65536]
    candidates = [DEFAULT, *candidate_space.first("MPI_Allreduce")]
    starter = starting.starter(toolchain, options)
    hot = toolchain.space.hot_environment

    def seconds(cases: list[PlanCase]) -> float:
        started = time.monotonic()
        run, _ = starter.start("bench", "race", 0, Plan("race", 1, tuple(cases)).text(), hot)
        if not run.finished:
            raise SystemExit(f"a launch failed: {run.reason}")
        return time.monotonic() - started

    together = seconds([one.case("MPI_Allreduce", size) for size in sizes for one in candidates])
    apart = sum(seconds([one.case("MPI_Allreduce", size) for size in sizes]) for one in candidates)
    what = f"{len(candidates)} candidates at {len(sizes)} sizes: {together:.1f} s and {apart:.1f} s"
    yield Figure("one launch each over one race", apart / together, "times", what)


def preload(toolchain: Toolchain) -> Iterator[Figure]:
    """Cost of a wrapped call over PMPI_ in the same run: without a rule for its function, with
    rules that do not match by nprocs or by bytes, replaced."""
    scatter = "function=MPI_Bcast variant=bcast_as_scatter_plus_allgather"
    alltoall = "function=MPI_Allgather variant=allgather_as_alltoall nprocs=2-2 bytes=0-inf"
    profiles = {
        "no rule": [alltoall],
        "rules for other nprocs": [f"{scatter} nprocs=3-8 bytes=0-inf"],
        "rules for other bytes": [f"{scatter} nprocs=1-8 bytes={r}" for r in ("1-7", "9-inf")],
    }
    with tempfile.TemporaryDirectory() as folder:
        program, profile = Path(folder, "overhead"), Path(folder, "profile")
        mpicc = str(toolchain.installation.mpicc)
        subprocess.run([mpicc, "-O2", HERE / "overhead.c", "-o", program], check=True)
        own = dict(os.environ) | toolchain.family.environment(toolchain.installation)
        ours = {"LD_PRELOAD": str(toolchain.preload), "PLUMBLINE_PROFILE": str(profile)}
        mpirun = [toolchain.installation.mpirun, "--oversubscribe", "-np", "2"]

        def best(rules: list[str], more: dict[str, str] | None = None) -> list[float]:
            text = ["plumbline-profile 1", *(f"rule {rule}" for rule in rules)]
            profile.write_text("\n".join(text) + "\n")
            variables = (ours | (more or {})).items()
            exports = [token for key, value in variables for token in ("-x", f"{key}={value}")]
            command = [*mpirun, *exports, program]
            runs = [
                subprocess.run(command, check=True, capture_output=True, text=True, env=own)
                for _ in range(3)
            ]
            columns = zip(*(map(float, r.stdout.split()) for r in runs), strict=True)
            return [min(column) for column in columns]

        for name, rules in profiles.items():
            found = best(rules)
            what = f"empty Bcast, 2 ranks: {found[1]:.1f} and {found[0]:.1f} ns"
            yield Figure(f"wrapped over PMPI_, {name}", found[1] - found[0], "ns a call", what)
        found = best(profiles["no rule"])
        what = f"empty Allgather as Alltoall, 2 ranks: {found[3]:.1f} and {found[2]:.1f} ns"
        yield Figure("replaced over PMPI_", found[3] - found[2], "ns a call", what)
        ring = "function=MPI_Reduce_scatter variant=reduce_scatter_ring nprocs=2-2 bytes=1-inf"
        found = best([ring])
        what = f"empty Reduce_scatter, 2 ranks: {found[5]:.1f} and {found[4]:.1f} ns"
        yield Figure("counts, rules for other bytes", found[5] - found[4], "ns a call", what)
        found = best([], {"PLUMBLINE_CALLS": folder})
        what = f"empty Bcast, 2 ranks: {found[1]:.1f} and {found[0]:.1f} ns"
        yield Figure("recorded over PMPI_", found[1] - found[0], "ns a call", what)
        what = f"empty Allgather, 2 ranks: {found[3]:.1f} and {found[2]:.1f} ns"
        yield Figure("recorded over PMPI_, as a ratio", found[3] / found[2], "", what)


def verdicts(toolchain: Toolchain) -> Iterator[Figure]:
    """Verdicts of a whole table at the first look, over the time that measuring it takes."""
    options = campaign_file.load(None, {})
    guidelines = identity.chosen(toolchain, options)
    cases = tables.cases(guidelines, options)
    chance = random.Random(1)
    measured = [
        medians(
            c.function,
            c.bytes,
            [1e-6 * math.exp(chance.gauss(0, 0.2)) for _ in range(options.sampling.launches)],
            variant=c.variant,
            ranks=c.ranks,
        )
        for c in cases
    ]
    started = time.monotonic()
    found = verify(
        measured,
        guidelines,
        stage="bench",
        nprocs=options.ranks.nprocs,
        ppn=options.ranks.nprocs,
        suites=["bench"],
        settings=VerifySettings(claim=claim_of(options)),
    )
    yield Figure("verdicts of a table", time.monotonic() - started, "s", f"{len(found)} cells")


def reproducibility(toolchain: Toolchain) -> Iterator[Figure]:
    """`plumbline reproducibility --quick`: spread of ours over that of the plain schemes, and what
    share of planted slow-downs is found."""
    options = experiment_settings.checked(
        experiment_settings.quick(), [one.name for one in toolchain.catalogue.functions]
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Database.open(Path(folder, "bench.db"), write=True) as db,
    ):
        ranks = experiment.begin(db, toolchain, options, new=True)
        outcome = experiment.Experiment(ranks, options).run()
        found = reproducibility_report.report(toolchain, ranks, options, outcome)
    spread = found.spread
    for name in PLAIN:
        ratios = [row.ours.percent / row.plain[name].percent for row in spread.rows]
        what = f"median of {spread.cells} cells, {spread.trials} trials"
        yield Figure(f"spread of ours over plain ({name})", statistics.median(ratios), "", what)
    what = f"{spread.smaller} of {spread.cells} cells smaller than both"
    yield Figure("cells with a smaller spread", spread.smaller / spread.cells, "", what)
    for estimator, table in found.effects.items():
        alarms = table.false_alarms
        what = f"{alarms.raw} of {alarms.comparisons} with p < {alarms.alpha:g}"
        yield Figure(f"A/A over nominal ({estimator})", alarms.share / alarms.alpha, "", what)
        for effect, classes in ((5, ("> 10 µs",)), (10, ("> 10 µs", "1-10 µs"))):
            those = [p for p in table.power if p.effect == effect and p.size_class in classes]
            cells, hits = sum(p.cells for p in those), sum(p.found for p in those)
            what = f"{hits} of {cells} cells {' and '.join(classes)}"
            share = hits / cells if cells else math.nan
            yield Figure(f"planted {effect} % found ({estimator})", share, "", what)


def scrape(toolchain: Toolchain) -> Iterator[Figure]:
    """A scrape of a database of years, as Prometheus asks: OpenMetrics, compressed."""
    kind = "application/openmetrics-text; version=1.0.0"
    headers = {"Accept": kind, "Accept-Encoding": "gzip"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.db")
        monitored.fill(path)
        with served(path, {}) as (address, _):
            request = urllib.request.Request(f"http://{address}/metrics", headers=headers)
            seconds = []
            for _ in range(30):
                started = time.perf_counter()
                with urllib.request.urlopen(request, timeout=60) as answer:
                    text = gzip.decompress(answer.read()).decode()
                seconds.append(time.perf_counter() - started)
    series = sum(not line.startswith("#") for line in text.splitlines())
    what = f"{monitored.VERDICTS} verdicts, {monitored.CAMPAIGNS} campaigns, {series} series"
    yield Figure("a scrape, least of 30", 1e3 * min(seconds), "ms", what)
    yield Figure("a scrape, median", 1e3 * statistics.median(seconds), "ms", "")
    yield Figure("a scrape, first", 1e3 * seconds[0], "ms", "")


class Cost(msgspec.Struct):
    """What `plumbline results --json` says of it."""

    launches: int
    cells: int
    seconds: float
    timed_share: float


# The model of a cluster, and the share of a sweep that stands for the whole of it.
CLUSTER_NODES, CLUSTER_START_SECONDS = 64, 10.0
SWEEP_SHARE = 1 / 20


class Results(msgspec.Struct):
    nodes: int
    cost: Cost


def campaign(root: Path, of: str, nprocs: int | None = None) -> Iterator[Figure]:
    """Two campaigns with default settings, the second one with `--new`, by the command of a release
    in `root`; `nprocs`: on so many ranks."""
    ranks = () if nprocs is None else ("--nprocs", str(nprocs))
    command = root / ".venv/bin/plumbline"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.db")
        for name, new in (("a campaign", ()), ("a second campaign", ("--new",))):
            output = str(Path(folder, name))
            began = time.monotonic()
            # A campaign that found a wrong result has exit code 3.
            words = [str(command), "campaign", "--db", str(path), "--output", output, *new, *ranks]
            subprocess.run(words, cwd=root, check=False, capture_output=True)
            wall = time.monotonic() - began
            words = [str(command), "results", "--db", str(path), "--json"]
            done = subprocess.run(words, cwd=root, check=True, capture_output=True)
            found = msgspec.json.decode(done.stdout, type=Results)
            yield from _cost(f"{name}{of}", found, _starts(path), wall)
            if not new and not of:
                whole = machine.sweep_seconds(nprocs or default_nprocs(), SWEEP_SHARE)
                what = f"{whole:.0f} s, by {SWEEP_SHARE:.0%} of its trials"
                yield Figure(
                    "it over a launch for each trial", found.cost.seconds / whole, "", what
                )
            yield from _effect(f"{name}{of}", path)


def _starts(path: Path) -> int:
    """Count the starts of ranks of the newest campaign."""
    with closing(sqlite3.connect(path)) as db:
        ((number,),) = db.execute(
            """SELECT count(*) FROM run JOIN suite ON suite.number = run.suite
               WHERE run.visit < 2 AND
                     campaign = (SELECT id FROM campaign ORDER BY number DESC LIMIT 1)"""
        )
    return int(number)


_NEWEST = "(SELECT id FROM campaign ORDER BY number DESC LIMIT 1)"
_REMOVED = f"""
    SELECT count(*), coalesce(sum(after.verdict = 'holds'), 0)
    FROM verdict before JOIN verdict after USING (
        campaign, guideline, function, rhs, nprocs, bytes, other_bytes, factor, lhs, ranks)
    WHERE before.campaign = {_NEWEST} AND before.stage = 'before' AND after.stage = 'after'
      AND before.verdict = 'violated'"""
_IN_EVERY_USE = """
      AND NOT EXISTS (SELECT 1 FROM json_each(before.uses)
                      WHERE json_extract(value, '$.verdict') != 'violated')"""


def _effect(name: str, path: Path) -> Iterator[Figure]:
    """Count what the newest campaign has removed, and its islands: exported ranges of one measured
    size whose measured neighbours nobody holds."""
    with closing(sqlite3.connect(path)) as db:
        for which, condition in (("", ""), (" in every way of use", _IN_EVERY_USE)):
            ((there, gone),) = db.execute(_REMOVED + condition)
            share = gone / there if there else 1.0
            yield Figure(f"violations{which} removed by {name}", share, "", f"{gone} of {there}")
        winners = db.execute(
            f"""SELECT function, bytes_from, bytes_to FROM winner
                WHERE campaign = {_NEWEST} AND function != '*'"""
        ).fetchall()
        measured: dict[str, list[int]] = {}
        for function, size in db.execute(
            f"""SELECT DISTINCT function, bytes FROM verdict
                WHERE campaign = {_NEWEST} AND stage = 'before' ORDER BY function, bytes"""
        ):
            measured.setdefault(function, []).append(size)
    islands = [winner for winner in winners if _is_island(winner, winners, measured[winner[0]])]
    at_ends = sum(
        low <= measured[function][0] or high >= measured[function][-1]
        for function, low, high in islands
    )
    share = len(islands) / len(winners) if winners else 0.0
    what = f"{len(islands)} of {len(winners)} ranges, {at_ends} of them at the first or last size"
    yield Figure(f"islands of {name}", share, "", what)


def _is_island(
    winner: tuple[str, int, int], winners: Sequence[tuple[str, int, int]], sizes: Sequence[int]
) -> bool:
    def is_held(size: int) -> bool:
        return any(function == winner[0] and low <= size <= high for function, low, high in winners)

    inside = [place for place, size in enumerate(sizes) if winner[1] <= size <= winner[2]]
    if len(inside) != 1 or len(sizes) == 1:
        return False
    around = (inside[0] - 1, inside[0] + 1)
    return not any(0 <= place < len(sizes) and is_held(sizes[place]) for place in around)


def _cost(name: str, found: Results, starts: int, wall: float) -> Iterator[Figure]:
    cost = found.cost
    yield Figure(f"starts of ranks of {name}", starts, "", f"{cost.launches} launches")
    yield Figure(f"seconds in launches of {name}", cost.seconds, "s", f"{wall:.0f} s in all")
    yield Figure(f"timed share of {name}", cost.timed_share, "", "")
    what = f"{cost.cells} cells"
    yield Figure(f"a cell of {name}", found.nodes * cost.seconds / cost.cells, "node s", what)
    ours, before = (
        CLUSTER_NODES * (count * CLUSTER_START_SECONDS + cost.seconds) / 3600
        for count in (starts, cost.launches)
    )
    what = f"{before:.0f} if each launch were a start; {CLUSTER_NODES} nodes, a start takes "
    what += f"{CLUSTER_START_SECONDS:.0f} s, measurements as long as here"
    yield Figure(f"{name} on a cluster", ours, "node h", what)


FIGURES: list[Callable[[Toolchain], Iterator[Figure]]] = [
    launch_share,
    race_against_launches,
    preload,
    replaced,
    shared_window,
    verdicts,
    reproducibility,
    scrape,
    startup,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--campaign", action="store_true", help="figures of a campaign alone")
    parser.add_argument("--nprocs", type=int, help="of the campaigns: ranks")
    parser.add_argument("--beside", type=Path, help="folder of another release, built")
    options = parser.parse_args()
    found: list[Figure] = []
    if not options.campaign:
        toolchain = find_toolchain()
        found += [figure for measure in FIGURES for figure in measure(toolchain)]
    found += campaign(HERE.parents[1], "", options.nprocs)
    if options.beside:
        found += campaign(options.beside, f" ({options.beside.name})", options.nprocs)
    if options.json:
        print(msgspec.json.encode(found).decode())
        return
    for one in found:
        print(one.line())


if __name__ == "__main__":
    main()
