"""A look at all of a database, whether it is whole: its pages, references and tables, and whether
all that is in it can be read as what it is. Reads everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import apsw

from plumbline_db import (
    campaigns,
    cost,
    coverage,
    findings,
    hockney,
    launch_records,
    layout,
    machines,
    runs,
    watching,
)
from plumbline_db.backups import DamagedError
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements

_MOST = 20  # lines of SQLite's; one page can be the reason for thousands


def problems(db: Statements) -> list[str]:
    return _problems(db, _pages, _length, _empty_pages, _references, _schema, _contents)


def problems_of_form(db: Statements) -> list[str]:
    """Return those that show before a row is read as what it is."""
    return _problems(db, _schema, _pages, _length, _empty_pages, _references)


def problems_of_pages(db: Statements) -> list[str]:
    """Find the damage of the file as SQLite has it, whatever its tables are."""
    return _problems(db, _pages, _length, _empty_pages)


def _problems(db: Statements, *looks: Callable[[Statements], Iterator[str]]) -> list[str]:
    problems_found: list[str] = []
    for look in looks:
        try:
            problems_found += look(db)
        except DamagedError as error:
            problems_found.append(error.why)
    problems_found = list(dict.fromkeys(problems_found))
    more = len(problems_found) - _MOST
    return [*problems_found[:_MOST], f"and {more} more"] if more > 0 else problems_found


def _pages(db: Statements) -> Iterator[str]:
    for (text,) in db.rows(f"PRAGMA integrity_check({_MOST})"):
        if text != "ok":
            yield from [line for line in str(text).splitlines() if "***" not in line][:_MOST]


def _length(db: Statements) -> Iterator[str]:
    """A last page that is cut short is read as if zeros followed, and not against its checksum."""
    if _is_in_log(db):
        return
    ((size,),), ((pages,),) = db.rows("PRAGMA page_size"), db.rows("PRAGMA page_count")
    length = db.path.stat().st_size
    if length != size * pages:
        yield f"the file has {length} bytes, and {pages} pages of {size}"


def _empty_pages(db: Statements) -> Iterator[str]:
    """A page of zeros has the right checksum."""
    if _is_in_log(db):
        return
    ((size,),) = db.rows("PRAGMA page_size")
    used = db.rows("SELECT name, pageno FROM dbstat WHERE pageno > 0")
    with db.path.open("rb") as file:
        for table, page in used:
            file.seek((page - 1) * size)
            if file.read(size) == bytes(size):
                yield f"page {page}, of {table}, is empty"


def _is_in_log(db: Statements) -> bool:
    """Pages may be in the log in place of the file, as long as that is not empty."""
    log = db.path.with_name(db.path.name + "-wal")
    return log.is_file() and log.stat().st_size > 0


def _references(db: Statements) -> Iterator[str]:
    for table, row, parent, _ in db.rows("PRAGMA foreign_key_check"):
        yield f"table {table}, row {row}: refers to a missing row of {parent}"


def _schema(db: Statements) -> Iterator[str]:
    yield from db.differences_of_schema()


def _contents(db: Statements) -> Iterator[str]:
    """Nothing of other tables, which no reader here knows."""
    if db.differences_of_schema():
        return
    for campaign in campaigns.every(db):
        for kind, read in _READ.items():
            try:
                read(db, campaign)
            except DamagedError:
                raise
            except (ValueError, TypeError, LookupError, PlumblineError, apsw.Error) as error:
                yield f"campaign {campaign.id}: {kind} cannot be read: {error}"
        yield from cost.problems(db, campaign.id)
    for what, readers in _OF_ALL.items():
        try:
            for read_all in readers:
                read_all(db)
        except (ValueError, TypeError, LookupError) as error:
            yield f"{what} cannot be read: {error}"


def _launches(db: Statements, campaign: Campaign) -> None:
    for run in runs.listing(db, campaign.id):
        launch_records.require_cell_times(db, run.id, launch_records.of_run(db, run.id))


def _verdicts(db: Statements, campaign: Campaign) -> None:
    for stage in findings.stages(db, campaign.id):
        findings.get_verdicts(db, campaign.id, stage)


_READ: dict[str, Callable[[Statements, Campaign], object]] = {
    "settings": lambda db, campaign: layout.asked(campaign),
    "machine": lambda db, campaign: machines.machine(db, campaign.machine),
    "library": lambda db, campaign: machines.library(db, campaign.library_fingerprint),
    "launches": _launches,
    "verdicts": _verdicts,
    "searches": lambda db, campaign: findings.all_searches(db, campaign.id),
    "winners": lambda db, campaign: findings.get_winners(db, campaign.id),
    "fits": lambda db, campaign: hockney.get(db, campaign.id),
    "files": lambda db, campaign: campaigns.exports(db, campaign.id),
    "events": lambda db, campaign: campaigns.events(db, campaign.id),
    "watched cells": lambda db, campaign: watching.cells(db, campaign.id),
    "canaries": lambda db, campaign: watching.canaries(db, campaign.id),
    "alarms": lambda db, campaign: watching.every(db, campaign.id),
    "searches of watching": lambda db, campaign: watching.retunings(db, campaign.id),
}
_OF_ALL: dict[str, Sequence[Callable[[Statements], object]]] = {
    "what watching has left": (
        *(watching.get, watching.days, watching.watched),
        lambda db: watching.told(db, ""),
    ),
    "what was found in recordings": (findings.detections,),
    "what is known of places": (coverage.of_campaigns, coverage.of_overlap),
}
