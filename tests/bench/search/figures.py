"""Figures of one sweep: the product's campaign on the replay, and what it is compared with."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign import loop as campaign
from plumbline.campaign import proof
from plumbline.measure.launches import LaunchStore
from plumbline.search.outcome import label
from plumbline.search.space.candidates import DEFAULT
from plumbline.settings import identity, starting
from plumbline_db import findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Verdict
from plumbline_exporters import plumbline_sh

from . import baselines
from .answers import Answers
from .around import AS_IT_IS, Choices, choices_of, in_force
from .baselines import RUNS, Trials
from .replay import Replay
from .sweeps import Here
from .truth import Cell, Regret, Truth

PRODUCT = "plumbline"


class Row(msgspec.Struct, frozen=True):
    """One strategy on one sweep, with one seed. `share`: of the seconds of the exhaustive sweep of
    the same functions. `campaign_*`: the whole of it, for the product; the others have no more than
    their trials. `regrets`: cells above 1 %, the worst first, without those whose calls
    abort (`aborts`: how many). `removable`: of the product's table."""

    sweep: str
    strategy: str
    seed: int
    launches: int
    seconds: float
    share: float
    cells: int
    regret_mean: float
    regret_worst: float
    regrets: list[str]
    before: int
    left: int
    removable: list[str]
    aborts: int = 0
    campaign_launches: int = 0
    campaign_seconds: float = 0.0
    whole_share: float = 0.0


class Replayed(msgspec.Struct, frozen=True):
    """What a campaign on a replay came to."""

    launches: int
    seconds: float
    campaign_launches: int
    campaign_seconds: float
    searched: list[Cell]
    choices: Choices


def replay(here: Here, answers: Answers, seed: int, results: Path) -> Replayed:
    """The product's campaign, in a database of its own, which stays with the `results`."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        found = _campaign(here, answers, seed, Path(folder))
        shutil.move(Path(folder, "bench.db"), results / f"{here.sweep.name}-{seed}.db")
        return found


def _campaign(here: Here, answers: Answers, seed: int, folder: Path) -> Replayed:
    with Database.open(folder / "bench.db", write=True) as db:
        starter = Replay(starting.starter(here.bench, here.settings), here, answers, seed)
        begun = identity.begin(db, here.bench, here.settings, new=True)
        output = folder / "exports"
        store = LaunchStore(db, begun.id, starter)
        campaign.CampaignLoop(store, here.bench, begun, here.settings, output).run()
        script = output / plumbline_sh.FILE_NAME
        around = AS_IT_IS
        if script.exists():
            extra = proof.environment_of(script, starter.clean_environment())
            around = in_force(here, extra)
        launches = runs.listing(db, begun.id)
        known = runs.suites(db, begun.id)
        own = [one for one in launches if known[one.suite].stage == "search"]
        found = findings.all_searches(db, begun.id)
        return Replayed(
            len(own),
            sum(one.seconds for one in own),
            len(launches),
            sum(one.seconds for one in launches),
            sorted({(one.function, one.bytes) for one in found if one.opened_by}),
            choices_of(here, around),
        )


def rows(
    here: Here,
    answers: Answers,
    seed: int,
    results: Path,
    say: Callable[[str], None],
    *,
    others: bool,
) -> list[Row]:
    """The product and the exhaustive sweep, then `others` (random choice, TPE); each is said."""
    truth = Truth(here, answers)
    before = truth.table(dict.fromkeys(here.cells(), DEFAULT))
    runs_each = 1 if here.sweep.simulated else RUNS
    say(f"{here.sweep.name}: campaign, seed {seed}")
    done = replay(here, answers, seed, results)
    cells = done.searched
    functions = list(dict.fromkeys(function for function, _ in cells))
    sweep, whole = (Trials(here, answers, truth, seed) for _ in range(2))
    baselines.exhaustive(sweep, functions, runs_each)
    baselines.exhaustive(whole, list(here.sizes()), runs_each)
    found: list[Row] = []

    def add(strategy: str, of: Replayed | Trials, choices: Choices) -> None:
        row = _row(
            here, truth, strategy, seed, of.launches, of.seconds, sweep, before, cells, choices
        )
        if isinstance(of, Replayed):
            row = msgspec.structs.replace(
                row,
                campaign_launches=of.campaign_launches,
                campaign_seconds=of.campaign_seconds,
                whole_share=of.seconds / whole.seconds,
            )
        found.append(row)
        say(line(row))

    add(PRODUCT, done, done.choices)
    add("exhaustive", sweep, sweep.choices())
    if others:
        say(f"{here.sweep.name}: others, seed {seed}")
        for name, play in (("random", baselines.at_random), ("TPE", baselines.tpe)):
            trials = Trials(here, answers, truth, seed)
            play(trials, functions, done.seconds, seed)
            add(name, trials, trials.choices())
    return found


def _row(
    here: Here,
    truth: Truth,
    strategy: str,
    seed: int,
    launches: int,
    seconds: float,
    sweep: Trials,
    before: Sequence[Verdict],
    cells: Sequence[Cell],
    choices: Choices,
) -> Row:
    found = truth.regrets(cells, choices)
    regrets = [(one.regret, one) for one in found if one.regret is not None]
    table = truth.table(choices)
    removable = truth.removable(choices, table) if strategy == PRODUCT else []
    return Row(
        here.sweep.name,
        strategy,
        seed,
        launches,
        seconds,
        seconds / sweep.seconds if sweep.seconds else 0.0,
        len(cells),
        statistics.mean(regret for regret, _ in regrets) if regrets else 0.0,
        max((regret for regret, _ in regrets), default=0.0),
        [_told(*one) for one in sorted(regrets, key=lambda one: -one[0]) if one[0] > 0.01],
        _count(before),
        _count(table),
        [f"{one.guideline} {one.function} {one.bytes}: {one.ratio:.3f}" for one in removable],
        aborts=sum(one.regret is None for one in found),
    )


def _told(regret: float, found: Regret) -> str:
    chosen, best = (
        label(one.variant, one.configuration.as_dict()) for one in (found.chosen, found.best)
    )
    return f"{found.function} {found.bytes}: {100 * regret:.1f} %, {chosen} where {best} is best"


def _count(verdicts: Sequence[Verdict]) -> int:
    return sum(one.verdict == "violated" and one.replaceable for one in verdicts)


def _of_the_product(row: Row) -> str:
    return f", {len(row.removable)} removable; {row.campaign_launches} launches with the campaign"


def line(row: Row) -> str:
    return (
        f"{row.sweep:12} {row.seed:2} {row.strategy:10} {row.launches:5} launches "
        f"{row.seconds:8.1f} s {100 * row.share:6.1f} %  regret {100 * row.regret_mean:6.2f} % "
        f"{100 * row.regret_worst:7.2f} %, {row.cells - row.aborts - len(row.regrets)} of "
        f"{row.cells} cells within 1 %  violations {row.before:3} -> {row.left:3}"
        + (_of_the_product(row) if row.strategy == PRODUCT else "")
        + (f", {row.aborts} abort" if row.aborts else "")
    )
