"""The trust in numbers of a campaign beyond its own launches: whether these depend on each other,
and how far campaigns with the same settings, begun at other times, lie apart. Reads the database;
the statistics are in verify/independence.py."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from plumbline.core.cell import Side
from plumbline.system.words import counted
from plumbline.verify import decision
from plumbline.verify.independence import (
    LEAST_LAUNCHES,
    CampaignSpread,
    Dependence,
    Estimate,
    between_campaigns,
    estimate,
    lag_one,
    widened,
)
from plumbline.verify.index import Index
from plumbline_db import campaigns, findings, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict, Winner

STAGE = "before"  # the library as it is, the same in all campaigns with the same settings
MOST_RELATIVES = 8  # campaigns whose tables are read: 28 pairs of each cell
SIZES = 5  # of a table, over all its functions: enough cells, as they share their launches


class Hours(msgspec.Struct, frozen=True):
    """`spread` between campaigns, of which the intervals of winners are a multiple; when the first
    launch of these started and the last one ended (ISO 8601)."""

    spread: CampaignSpread
    begun: str
    ended: str

    @property
    def factor(self) -> float:
        """Return what intervals are multiplied with."""
        return self.spread.factor or 1.0

    def text(self) -> str:
        """Return what a reader of the winners' intervals must know."""
        spread = self.spread
        span = _span(self.begun, self.ended)
        if spread.factor is None:
            why = "" if spread.campaigns < 2 else f" ({spread.reason})"
            return (
                f"the numbers are of one hour: all launches ran {span}, and intervals say how far "
                f"these lie apart{why}; campaigns begun at other times lie further apart, and a "
                "second one (`--new`) measures how far"
            )
        return (
            f"intervals of winners are {spread.factor:.2f} times as wide as launches of one "
            f"campaign say: so far do {spread.campaigns} campaigns lie apart, in "
            f"{counted(spread.cells, 'cell')}, {span}"
        )

    def document(self) -> dict[str, object]:
        """Return the hours as in `plumbline results --json`."""
        fields: dict[str, object] = msgspec.to_builtins(self.spread)
        return fields | {"begun": self.begun, "ended": self.ended, "text": self.text()}


class _Looks(msgspec.Struct, frozen=True):
    """The part of a campaign's settings that is read here."""

    launches: int = 9
    launches_max: int = 30
    alpha: float = 0.05
    simulate: dict[str, object] | None = None

    def confidence(self, launches: int) -> float:
        """Return the confidence of the interval of a verdict that rests on so many launches."""
        return _confidence(self.launches, self.launches_max, self.alpha, launches)


@cache
def _confidence(least: int, most: int, alpha: float, launches: int) -> float:
    looks = decision.design_over(least, max(least, most))
    past = [look for look, count in enumerate(looks.launches) if count <= launches]
    return looks.confidence(past[-1] if past else 0, alpha)


def hours(db: Database, campaign: Campaign) -> Hours | None:
    """Return the hours of a campaign and its newest relatives. None on a simulated machine, which
    repeats itself, and before the first launch."""
    if _looks(campaign).simulate is not None:
        return None
    others = [relative for relative in relatives(db, campaign) if relative.id != campaign.id]
    kin = [*others[-MOST_RELATIVES + 1 :], campaign]
    spans = [span for campaign in kin if (span := runs.span(db, campaign.id))]
    if not spans:
        return None
    begun, ended = min(span[0] for span in spans), max(span[1] for span in spans)
    return Hours(between_campaigns(_by_cell(db, kin)), begun, ended)


def relatives(db: Database, campaign: Campaign) -> list[Campaign]:
    """The campaigns with the same settings on the same machine and library, this one among them."""
    family = _family(campaign)
    return [relative for relative in campaigns.every(db) if _family(relative) == family]


def _family(campaign: Campaign) -> str:
    """The key without the number among those alike; that of an imported one has a host before it,
    which may have a dash."""
    return re.sub(r"-[0-9]+\Z", "", campaign.key)


def with_hours(winners: Sequence[Winner], hours_apart: Hours | None) -> list[Winner]:
    """Winners with the intervals that may be promised to users."""
    if hours_apart is None or hours_apart.factor == 1:
        return list(winners)
    return [_widened(winner, hours_apart.factor) for winner in winners]


def dependence(
    db: Database, campaign: Campaign, stages: Mapping[str, Sequence[Verdict]]
) -> dict[str, Dependence]:
    """Return the dependence of the launches of each table, by stage. Tables of few launches say
    nothing, and one that stands for a later stage too is named once."""
    tables: dict[tuple[str, ...], tuple[str, Sequence[Verdict]]] = {}
    for stage, table in stages.items():
        if any(verdict.launches >= LEAST_LAUNCHES for verdict in table):
            tables.setdefault(tuple(table_samples.suites(table)), (stage, table))
    return {stage: lag_one(_series(db, campaign, table)) for stage, table in tables.values()}


def _widened(winner: Winner, factor: float) -> Winner:
    low, high = widened(winner.speedup, winner.speedup_low, winner.speedup_high, factor)
    return msgspec.structs.replace(winner, speedup_low=low, speedup_high=high)


def _by_cell(db: Database, kin: Sequence[Campaign]) -> list[list[Estimate]]:
    estimates_by_cell: dict[tuple[object, ...], list[Estimate]] = {}
    for campaign in kin:
        looks = _looks(campaign)
        for verdict in findings.get_verdicts(db, campaign.id, STAGE):
            if verdict.ratio is None or verdict.ratio_low is None or verdict.ratio_high is None:
                continue
            estimate_of_cell = estimate(
                verdict.ratio,
                verdict.ratio_low,
                verdict.ratio_high,
                looks.confidence(verdict.launches),
                verdict.freedom or verdict.launches - 1,
            )
            if estimate_of_cell is not None:
                estimates_by_cell.setdefault(_cell(verdict), []).append(estimate_of_cell)
    return list(estimates_by_cell.values())


def _looks(campaign: Campaign) -> _Looks:
    return msgspec.json.decode(campaign.settings, type=_Looks)


def _cell(verdict: Verdict) -> tuple[object, ...]:
    sides = (verdict.function, verdict.lhs, verdict.ranks, verdict.rhs)
    return (verdict.guideline, *sides, verdict.bytes, verdict.other_bytes, verdict.factor)


def _series(db: Database, campaign: Campaign, table: Sequence[Verdict]) -> list[dict[int, float]]:
    """Log ratios of medians by launch, of the cells at some sizes that compare two ways to compute
    the same; where there are none, of all."""
    same = [verdict for verdict in table if _left(verdict) != _right(verdict)]
    same = [verdict for verdict in same if _left(verdict).bytes == _right(verdict).bytes]
    chosen = same or list(table)
    sizes = sorted({verdict.bytes for verdict in chosen})
    if same:
        sizes = sizes[:: max(1, math.ceil(len(sizes) / SIZES))]
        chosen = [verdict for verdict in same if verdict.bytes in set(sizes)]
    sizes_needed = {size for verdict in chosen for size in (verdict.bytes, verdict.other_bytes)}
    index = Index(table_samples.medians(db, campaign.id, chosen, sizes_needed))
    return [
        {
            run: math.log(lefts[run] / rights[run])
            for run in lefts.keys() & rights.keys()
            if 0 < lefts[run] < math.inf and 0 < rights[run] < math.inf
        }
        for verdict in chosen
        for lefts, rights in [
            (index.seconds.get(_left(verdict), {}), index.seconds.get(_right(verdict), {}))
        ]
    ]


def _left(verdict: Verdict) -> Side:
    return Side(verdict.function, verdict.lhs, verdict.bytes, verdict.ranks)


def _right(verdict: Verdict) -> Side:
    return Side(verdict.function, verdict.right, verdict.other_bytes)


def _span(begun: str, ended: str) -> str:
    """Return the span in words, UTC: `on 2026-11-22 from 10:31 to 10:35 UTC (4 minutes)`."""
    first, last = (
        datetime.datetime.fromisoformat(text).astimezone(datetime.UTC) for text in (begun, ended)
    )
    minutes = max(1, round((last - first).total_seconds() / 60))
    length = counted(minutes, "minute") if minutes < 120 else counted(round(minutes / 60), "hour")
    if first.date() == last.date():
        return f"on {first:%Y-%m-%d} from {first:%H:%M} to {last:%H:%M} UTC ({length})"
    return f"from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC ({length})"
