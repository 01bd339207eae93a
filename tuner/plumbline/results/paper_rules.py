"""The stored launches of a campaign, judged by the rules of a paper beside the campaign's own
verdicts (verify/paper.py). Reads the database; measures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from plumbline.core import guidelines
from plumbline.core.guidelines import Guidelines
from plumbline.results.report import Report
from plumbline.verify import paper
from plumbline.verify.grid import as_json
from plumbline.verify.paper import ALPHA, REASONS, RULES, OwnClaims, RuleDifference
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Medians, Verdict


class JudgedTable(msgspec.Struct, frozen=True):
    """A violation table by the paper's rules: `verdicts`, from so many `launches` of a cell (the
    fewest and the most); `counts` by kind, and `differences` from the campaign's own verdicts."""

    verdicts: list[Verdict]
    launches: tuple[int, int]
    counts: Mapping[str, dict[str, int]]
    differences: list[RuleDifference]


def judged(db: Database, report: Report, rules: str) -> dict[str, JudgedTable]:
    """Return the tables by stage: before, and after where winners were found. `rules` is a key of
    RULES. Raises UsageError where the campaign is not about collectives."""
    if report.of_benchmarks():
        raise UsageError(
            f"{report.campaign.id} is about overlap; the rules of PGMPI are for collectives"
        )
    stages = {"before": report.before}
    if report.winners and report.after is not None:
        stages["after"] = report.after
    return {stage: _judged(db, report, rules, stage, table) for stage, table in stages.items()}


def _judged(
    db: Database, report: Report, rules: str, stage: str, table: Sequence[Verdict]
) -> JudgedTable:
    campaign = report.campaign
    chosen = _guidelines(campaign.settings, table)
    verdicts = paper.verdicts(
        _medians(db, campaign.id, table),
        chosen,
        RULES[rules],
        stage=stage,
        nprocs=campaign.nprocs,
        ppn=campaign.ppn,
    )
    claims = msgspec.json.decode(campaign.settings, type=OwnClaims)
    launches = [verdict.launches for verdict in verdicts if verdict.launches] or [0]
    return JudgedTable(
        verdicts,
        (min(launches), max(launches)),
        paper.counts(verdicts, table),
        paper.differences(verdicts, table, claims, chosen.split.least_bytes),
    )


class _Asked(msgspec.Struct, frozen=True):
    guidelines: list[str] = []


def _guidelines(settings: str, table: Sequence[Verdict]) -> Guidelines:
    """Return the guidelines of a table: those that it has verdicts of, and those of every function
    that the settings do not leave out."""
    asked = msgspec.json.decode(settings, type=_Asked).guidelines
    chosen = guidelines.of_settings(settings).selected([guidelines.EVERY, *asked])
    verified = {verdict.guideline for verdict in table}
    patterns = [pattern for pattern in chosen.patterns if pattern.id in verified]
    return msgspec.structs.replace(chosen, patterns=patterns)


def _medians(db: Database, campaign: str, table: Sequence[Verdict]) -> list[Medians]:
    """Return those of the cells of a table; its launches have timed other sizes too."""
    sizes = {
        (verdict.function, size)
        for verdict in table
        for size in (verdict.bytes, verdict.other_bytes or verdict.bytes)
    }
    return [
        medians
        for medians in table_samples.medians(db, campaign, table)
        if (medians.case.function, medians.case.bytes) in sizes
    ]


def document(report: Report, rules: str, tables: Mapping[str, JudgedTable]) -> dict[str, Any]:
    """Return the fields of `results --rules … --json` (docs/verification.md)."""
    return {
        "campaign": report.campaign.id,
        "rules": rules,
        "test": RULES[rules].name,
        "alpha": ALPHA,
        "reasons": REASONS,
        **{
            stage: {
                "launches": table.launches,
                "counts": table.counts,
                "cells": as_json(table.verdicts),
                "differences": [_difference(each) for each in table.differences],
            }
            for stage, table in tables.items()
        },
    }


def _difference(difference: RuleDifference) -> dict[str, Any]:
    own = difference.plumbline
    return {
        "paper": as_json([difference.paper])[0],
        "plumbline": None if own is None else as_json([own])[0],
        "reason": difference.reason,
        "detail": difference.detail,
    }
