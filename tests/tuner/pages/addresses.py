"""An address of each page that a database has something for: of the campaign that speaks most of
those it has, its worst cell, and the last run of suites. Tests look at these in a browser, and
docs/pages.md has pictures of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import quote, urlencode

from plumbline.detect import findings
from plumbline.overlap import difference
from plumbline.pages import curve
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.findings import Detection, detections, get_verdicts, get_winners
from plumbline_db.records import EVERY_FUNCTION, Campaign, Verdict

# Where the other ones lead to is what a database has; these are always there.
SITE = {
    "overview": "/",
    "runs": "/runs",
    "history": "/history",
    "guidelines": "/guidelines",
    "map": "/map",
    "recordings": "/recordings",
    "overlap": "/overlap",
    "alerts": "/alerts",
}
OF_RUNS = ("run", "report", "table", "cell", "winner", "explained", "guideline", "curves",
           "curves-choice", "compare", "environment", "advise")  # fmt: skip
OF_SUITES = ("run-of-suites", "suite", "suite-over-ranks", "suite-by-rank")
OF_ROOMS = ("recording", "overlap-campaign", "overlap-difference")
NAMES = (*SITE, *OF_RUNS, *OF_SUITES, *OF_ROOMS)
BEFORE, AFTER = "before", "after"


def of(path: Path) -> dict[str, str]:
    """By name, in the order of NAMES; without those that the database has nothing for."""
    with Database.open(path) as db, db.snapshot():
        found = SITE | _of_runs(db) | _of_suites(db) | _of_rooms(db)
    return {name: found[name] for name in NAMES if name in found}


def _of_runs(db: Database) -> dict[str, str]:
    every = campaigns.with_winners(db)
    if not every:
        return {}
    tables = {each.id: get_verdicts(db, each.id, BEFORE) for each in every}
    campaign = max(every, key=lambda each: len(tables[each.id]))
    table = tables[campaign.id]
    others = [each for each in every if each is not campaign and each.nprocs == campaign.nprocs]
    other_libraries = [
        each for each in others if each.library_fingerprint != campaign.library_fingerprint
    ]
    worst = max(table, key=_weight)
    of_campaign = get_winners(db, campaign.id)
    won = next((each for each in of_campaign if each.function != EVERY_FUNCTION), of_campaign[0])
    sizes = [each.bytes for each in table if each.function == won.function]
    within = [size for size in sizes if won.bytes_from <= size <= won.bytes_to]
    at = min(within, default=won.bytes_from)
    where = quote(campaign.id)
    found = {
        "run": f"/run/{where}",
        "report": f"/report/{where}",
        "table": f"/table/{BEFORE}/{where}",
        "cell": f"/cell/{worst.function}/{worst.bytes}/{where}?stage={BEFORE}",
        "winner": f"/winner/0/{where}",
        "explained": f"/explained/{where}",
        "guideline": f"/guideline/{quote(_most_violated(table))}",
        "curves": f"/curves?{urlencode(_curves(campaign, worst), doseq=True)}",
        "curves-choice": f"/curves?run={where}",
        "compare": f"/compare?a={where}:{BEFORE}&b={where}:{AFTER}",
        "environment": f"/environment?a={where}",
        "advise": f"/advise?function={won.function}&bytes={at}&nprocs={campaign.nprocs}",
    }
    if others:
        there = quote((other_libraries or others)[-1].id)
        found["compare"] = f"/compare?a={there}:{BEFORE}&b={where}:{BEFORE}"
        found["environment"] = f"/environment?a={there}&b={where}"
    return found


def _weight(verdict: Verdict) -> tuple[bool, float]:
    """A violation of a pattern first: a variant is its right side."""
    pattern = verdict.verdict == "violated" and verdict.kind == "pattern"
    return pattern and verdict.lhs == "default", verdict.ratio or 0.0


def _most_violated(table: list[Verdict]) -> str:
    counts = Counter(each.guideline for each in table if each.verdict == "violated")
    return counts.most_common(1)[0][0] if counts else table[0].guideline


def _curves(campaign: Campaign, worst: Verdict) -> dict[str, list[str]]:
    own = "|".join((worst.function, "default"))
    curves = [f"{campaign.id}:{BEFORE}|{own}", f"{campaign.id}:{AFTER}|{own}"]
    if worst.right != "default":
        curves.insert(1, f"{campaign.id}:{BEFORE}|{worst.function}|{worst.right}")
    return {"run": [campaign.id], "curve": curves}


def _of_suites(db: Database) -> dict[str, str]:
    """Of the last run of suites that has each."""
    found = {}
    for campaign in campaigns.of_suites(db):
        found["run-of-suites"] = f"/run/{quote(campaign.id)}"
        for source in curve.offered(db, campaign.id, every=False):
            names = [name for known in source.functions.values() for name, _ in known]
            query = urlencode({"run": campaign.id, "curve": names}, doseq=True)
            kind = "suite-over-ranks" if source.axis == "ranks" else "suite"
            if source.by_rank:
                found["suite-by-rank"] = f"/curves?{query}&at={source.by_rank[0]}"
            if kind not in found or source.axis == "ranks" or len(source.by_rank) > 2:
                found[kind] = f"/curves?{query}"
    return found


def _is_readable(detection: Detection) -> bool:
    """Those of another version are listed, and not shown."""
    try:
        return bool(findings.findings(detection))
    except ValueError:
        return False


def _of_rooms(db: Database) -> dict[str, str]:
    found = {}
    recordings = [each for each in detections(db) if _is_readable(each)]
    overlaps = difference.every(db)
    if recordings:
        found["recording"] = f"/recordings/{quote(recordings[0].id)}"
    if overlaps:
        found["overlap-campaign"] = f"/overlap/{quote(overlaps[0].campaign.id, safe='')}"
    if len(overlaps) > 1:
        first, second = (quote(each.campaign.id, safe="") for each in overlaps[:2])
        found["overlap-difference"] = f"/overlap/{first}/with/{second}"
    return found
