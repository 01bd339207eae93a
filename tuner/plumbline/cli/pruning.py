"""Samples that are thrown away, by command or by the settings of a campaign, and what is said of
it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plumbline.system.words import counted
from plumbline_db.errors import UsageError

from . import common
from .base import Program

if TYPE_CHECKING:
    from plumbline_db.connection import Database
    from plumbline_db.old_samples import Policy, Pruned


def policy_of(words: Sequence[str]) -> Policy:
    """`90d` and `10`, as people type them. Raises UsageError."""
    from plumbline_db.old_samples import Policy

    days: list[int] = []
    last: list[int] = []
    for word in words:
        number = word.removesuffix("d")
        if not (number.isdecimal() and number.isascii() and len(number) < 7):
            raise UsageError(f"--keep {word}: give days (90d) or a number of campaigns (10)")
        (days if word.endswith("d") else last).append(int(number))
    if not words:
        raise UsageError("name the campaigns whose samples stay: --keep 90d, --keep 10, or both")
    return Policy(max(days, default=None), max(last, default=None))


def by_policy(db: Database, policy: Policy) -> None:
    """Prune as the settings of a campaign that has ended ask for it."""
    pruned_campaigns = pruned(db, policy)
    if pruned_campaigns:
        common.remark(f"{said(pruned_campaigns)}; {policy.said}")


def pruned(db: Database, policy: Policy, *, listing: bool = False) -> list[Pruned]:
    """One campaign after the other, each for good before the next one; with `listing` nothing goes:
    what would."""
    from plumbline_db import connection, old_samples

    now = datetime.datetime.now(datetime.UTC)
    prune = old_samples.would_go if listing else old_samples.prune
    pruned_campaigns = [
        prune(db, campaign.id, policy.said, now.isoformat(timespec="seconds"))
        for campaign in old_samples.old(db, policy, now)
    ]
    if pruned_campaigns and not listing:
        connection.release(db)
    return pruned_campaigns


def said(pruned_campaigns: list[Pruned]) -> str:
    """Return it in words for people."""
    samples = sum(pruned.samples for pruned in pruned_campaigns)
    return (
        f"{counted(samples, 'sample')} of {counted(len(pruned_campaigns), 'campaign')} thrown "
        "away; "
        "n, medians, quantiles and verdicts stay"
    )


def show(
    program: Program, policy: Policy, pruned_campaigns: list[Pruned], before: int, *, listing: bool
) -> None:
    after = program.database.stat().st_size
    if program.json:
        common.print_json(
            {
                "path": str(program.database),
                "pruned_now": not listing,
                "pruned": pruned_campaigns,
                "bytes_before": before,
                "bytes": after,
            }
        )
        return
    for pruned in pruned_campaigns:
        click.echo(f"{pruned.campaign}: {pruned.samples} samples of {pruned.series} cases")
    if listing:
        click.echo(
            f"{said(pruned_campaigns)} (not yet: --list)"
            if pruned_campaigns
            else "nothing to throw away"
        )
    else:
        click.echo(
            f"{said(pruned_campaigns)}; {policy.said}"
            if pruned_campaigns
            else "nothing to throw away"
        )
        click.echo(f"{program.database}: {megabytes(before)} -> {megabytes(after)}")


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
