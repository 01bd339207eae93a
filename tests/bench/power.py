"""Power of the final check: is a cell that is slower with the exported files in force found?

    python -m tests.bench.power [--campaign ID] [--db FILE] [--seeds N] [--json]

Plants a loss into one cell at a time of cold pairs, a launch with the files in force in turn with
one of the library as it is (campaign/pairs.py and confirm.py), drawn from those of the campaign
that is recorded beside this file (with --db or --campaign: of a database). Asks the product's own
decisions, but for its first look, which finds more. What is tried beside the default in one launch:
ranges.py. Asserts nothing."""

from __future__ import annotations

import argparse
import gzip
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.campaign import acceptance, pairs
from plumbline.core.cell import Target
from plumbline.core.guidelines import LIBRARY
from plumbline.search.space.candidates import DEFAULT, index
from plumbline.settings.identity import settings_of
from plumbline.system import paths
from plumbline.verify import decision
from plumbline.verify import index as estimators
from plumbline.verify.decision import (
    Claim,
    HypothesisFamily,
    slower,
)
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Suite

RECORDED = Path(__file__).with_name("power.json.gz")
ALPHA, LIMIT = 0.05, 1.05
LONG_SECONDS = 2e-6
COLD_LOOKS = decision.design_over(6, 30)
RATIOS = (1.0, 1.05, 1.1, 1.2)  # planted: tuned over default
CLASSES = (">= 2 us", "< 2 us")

Logs = NDArray[np.float64]


class Cell(msgspec.Struct, frozen=True):
    """A cell of the default's `seconds` with what its log ratios have of noise: `logs`, one a
    launch or pair of launches."""

    name: str
    seconds: float
    logs: list[float]

    @property
    def size_class(self) -> str:
        return CLASSES[self.seconds < LONG_SECONDS]


class Recorded(msgspec.Struct, frozen=True):
    """Of one campaign. `inside`: functions and their mock-ups in the same launches, in as many
    blocks as winners are tried in. `cold`: cells with the files in force over those without, pair
    by pair, less the factor that a launch shares; all cells have the same pairs."""

    campaign: str
    inside: list[Cell]
    cold: list[Cell]


class Share(msgspec.Struct, frozen=True):
    """The share that is refused of `tried` cells of one class whose planted ratio is `ratio`."""

    cells: str
    ratio: float
    refused: float
    tried: int


# --- what was recorded ----------------------------------------------------------------------------


def recorded(db: Database, campaign: str | None) -> Recorded | None:
    """Without an id the last finished campaign that was confirmed; None: there is none."""
    known = [one for one in campaigns.all_campaigns(db) if one.state == "finished"]
    for one in reversed(known):
        if campaign in (None, one.id):
            cold = _cold(db, one.id)
            if cold or campaign is not None:
                return Recorded(one.id, _inside(db, one), cold)
    return None


def _inside(db: Database, campaign: Campaign) -> list[Cell]:
    settings = settings_of(campaign.settings)
    count = min(acceptance.BLOCKS, settings.sampling.blocks) * settings.sampling.reps
    found = []
    for stage in ("before", "after"):
        table = findings.get_verdicts(db, campaign.id, stage)
        wanted = [one for one in table if one.kind == "pattern" and one.lhs == LIBRARY]
        suites = list(dict.fromkeys(suite for one in wanted for suite in one.suites))
        samples = {
            (one.case.function, one.case.variant, one.case.bytes): dict(
                zip(one.runs, one.ns, strict=True)
            )
            for one in runs.launch_samples(db, campaign.id, suites)
            if one.case.config == LIBRARY and not one.case.ranks
        }
        for one in wanted:
            lefts = samples.get((one.function, LIBRARY, one.bytes), {})
            rights = samples.get((one.function, one.rhs, one.bytes), {})
            logs = [
                estimators.pairs(*(np.maximum(ns[:count], 1) for ns in (lefts[run], rights[run])))
                for run in sorted(lefts.keys() & rights.keys())
            ]
            if len(logs) >= acceptance.LOOKS.launches[0]:
                seconds = 1e-9 * float(np.median([np.median(ns) for ns in lefts.values()]))
                found.append(_noise(f"{one.guideline} {one.bytes} {stage}", seconds, logs))
    return found


def _cold(db: Database, campaign: str) -> list[Cell]:
    """Of the first look of each confirmation, which has all cells."""
    parts: dict[Target, list[list[float]]] = {}
    seconds: dict[Target, float] = {}
    every = runs.suites(db, campaign)
    kept = findings.get_winners(db, campaign)
    turn = 1
    while (suite := Suite("confirm", turn)).name in every and suite.beside().name in every:
        ours = index(runs.medians(db, campaign, [suite.name]))
        theirs = index(runs.medians(db, campaign, [suite.beside().name]))
        cells = [target for target, candidate in theirs if candidate == DEFAULT]
        found, _ = pairs.cold_ratios(ours, theirs, cells, kept)
        for cell, logs in found.items():
            parts.setdefault(cell, []).append(_noise("", 0.0, logs).logs)
            seconds[cell] = float(np.median(list(theirs[cell, DEFAULT].values())))
        turn += 1
    whole = [cell for cell, each in parts.items() if len(each) == turn - 1]
    return [
        Cell(
            f"{cell.function} {cell.bytes}",
            seconds[cell],
            [log for each in parts[cell] for log in each],
        )
        for cell in whole
    ]


def _noise(name: str, seconds: float, logs: Sequence[float]) -> Cell:
    """Around nothing; as wide as it is before the middle of the same launches is taken off."""
    values = np.array(logs)
    centred = (values - np.median(values)) * math.sqrt(len(values) / (len(values) - 1))
    return Cell(name, seconds, [round(value, 5) for value in centred.tolist()])


# --- the decisions --------------------------------------------------------------------------------


class ColdPairs:
    """One table of cold pairs: `drawn` and `again`, a row a cell, are its noise."""

    def __init__(self, cells: Sequence[Cell], seed: int) -> None:
        rng = np.random.default_rng(seed)
        noise = np.array([cell.logs for cell in cells])
        self.drawn = _drawn(noise, COLD_LOOKS.launches[-1], rng)
        self.again = _drawn(noise, COLD_LOOKS.launches[0], rng)

    def slower(self, planted: Mapping[int, float]) -> dict[int, int]:
        """Cells that are called slower than before, and slower again in fresh pairs, by the number
        of pairs: as plumbline/campaign/confirm.py asks. `planted`: log ratios by cell."""
        claim = Claim(tolerance=LIMIT - 1, alpha=ALPHA, design=COLD_LOOKS)
        family = HypothesisFamily.of(range(len(self.drawn)), claim)
        fresh = set(range(len(self.drawn)))
        for launches in COLD_LOOKS.launches:
            family.look(partial(self._first, self.drawn, planted, launches, fresh))
            fresh = {one.key for one in family.open() if one.seems_slower}
            if not fresh:
                break
        harm = {one.key: one.told.n for one in family.decisions if one.word == "slower"}
        logs = {cell: (self.again[cell] + planted.get(cell, 0.0)).tolist() for cell in harm}
        return {cell: harm[cell] for cell in slower(logs, claim)}

    @staticmethod
    def _first(
        logs: Logs, planted: Mapping[int, float], launches: int, fresh: set[int], cell: int
    ) -> list[float] | None:
        if cell not in fresh:
            return None
        return list(logs[cell, :launches] + planted.get(cell, 0.0))


def _drawn(noise: Logs, launches: int, rng: np.random.Generator) -> Logs:
    """Pairs of launches, all cells of one together; either side may have been the slower one."""
    chosen = rng.integers(noise.shape[1], size=launches)
    return np.asarray(noise[:, chosen] * rng.choice([-1.0, 1.0], launches))


# --- shares ---------------------------------------------------------------------------------------


def shares(cells: Sequence[Cell], seeds: int) -> list[Share]:
    """The rule of campaign/confirm.py; a ratio of 1: cells that are refused though nothing was
    planted."""
    told: dict[tuple[str, float], list[bool]] = {}
    for seed in range(seeds):
        table = ColdPairs(cells, seed)
        called = table.slower({})
        for number, cell in enumerate(cells):
            told.setdefault((cell.size_class, 1.0), []).append(number in called)
        for ratio in (one for one in RATIOS if one > 1):
            for number, cell in enumerate(cells):
                called = table.slower({number: math.log(ratio)})
                told.setdefault((cell.size_class, ratio), []).append(number in called)
    return [
        Share(kind, ratio, float(np.mean(values)), len(values))
        for (kind, ratio), values in sorted(told.items(), key=lambda one: (one[0][1], one[0][0]))
    ]


# --- the command ----------------------------------------------------------------------------------


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description="Power of the final check.")
    parser.add_argument("--campaign", metavar="ID", help="(with --db: the last finished one)")
    parser.add_argument("--db", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what is read there")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = _read(options.db, options.campaign)
    if options.record:
        options.record.write_bytes(gzip.compress(msgspec.json.encode(found), 9, mtime=0))
        return
    rows = shares(found.cold, options.seeds)
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
        return
    say(f"campaign {found.campaign}: {len(found.cold)} cells of cold pairs")
    say("share refused, by what a winner takes of the default; slower twice")
    say(f"{'':12}" + "".join(f"{ratio:>8.2f}" for ratio in RATIOS))
    for kind in CLASSES:
        known = {row.ratio: row.refused for row in rows if row.cells == kind}
        say(f"{kind:12}" + "".join(f"{known[ratio]:8.3f}" for ratio in RATIOS if known))


def _read(path: Path | None, campaign: str | None) -> Recorded:
    if path is None and campaign is None:
        return msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Recorded)
    stored = path or paths.default_database()
    with Database.open(stored) as db:
        found = recorded(db, campaign)
    if found is None:
        raise SystemExit(f"{stored} has no such finished campaign: `plumbline results --list`")
    return found


if __name__ == "__main__":
    main()
