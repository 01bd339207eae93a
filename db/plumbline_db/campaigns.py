"""Campaigns: what was asked for, on which machine and library, and whether it is done.

Launches of other commands need a campaign to belong to as well. The settings of such a row have a
key `command`, and only `every` shows it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline_db import columns, coverage, lock
from plumbline_db.coverage import MEASURED_HERE
from plumbline_db.errors import PlumblineError, command_name, typed
from plumbline_db.layout import FACTORS, FOREIGN, JOB, OVERLAP_TUNE, SITE, SUITES
from plumbline_db.records import FROM, Campaign, Event, Export
from plumbline_db.statements import Statements

# Batches: the campaigns of one campaign file, in the order of the file. A batch is known by the
# file's absolute path; a file that is edited makes its batch anew.


def put_batch(db: Statements, name: str, members: Sequence[str], written: str) -> None:
    """`members` are ids of campaigns; they replace those that the batch had. `written` is now, as
    ISO 8601 in UTC. Raises ValueError when a member is not stored."""
    with db.transaction():
        for member in members:
            require(db, member)
        db.rows("DELETE FROM batch WHERE name = :name", {"name": name})
        rows = [
            {"name": name, "position": position, "campaign": member, "written": written}
            for position, member in enumerate(members)
        ]
        columns.put_rows(db, "batch", rows)


def get_batch(db: Statements, name: str) -> list[Campaign]:
    """Empty where there is no such batch."""
    members = db.rows(
        "SELECT campaign FROM batch WHERE name = :name ORDER BY position", {"name": name}
    )
    return [get(db, member) for (member,) in members]


def put_site(db: Statements, site: str, members: Sequence[str], written: str) -> None:
    """Store the campaigns of the layouts of a whole site, as `put_batch` does."""
    put_batch(db, f"{SITE} {site}", members, written)


def of_site(db: Statements, site: str) -> list[Campaign]:
    """Return the campaigns of its layouts; empty where it is no whole site."""
    return get_batch(db, f"{SITE} {site}")


def of(db: Statements, campaign: str) -> str | None:
    """The batch that `campaign` belongs to; of several, the one written last."""
    row = db.row(
        """SELECT name FROM batch WHERE campaign = :campaign
           ORDER BY written DESC, name DESC LIMIT 1""",
        {"campaign": campaign},
    )
    return None if row is None else str(row[0])


def put_export(db: Statements, campaign: str, export: Export) -> None:
    """Store; a path that was written before gets its new content's checksum."""
    with db.transaction():
        require(db, campaign)
        changed = f"ON CONFLICT (campaign, path) DO UPDATE SET {columns.renewed(Export, 'path')}"
        columns.put(db, "export", export, changed, campaign=campaign)


def forget_export(db: Statements, campaign: str, path: str) -> None:
    """The file at `path` is no longer what this campaign hands out."""
    with db.transaction():
        db.rows(
            "DELETE FROM export WHERE campaign = :campaign AND path = :path",
            {"campaign": campaign, "path": path},
        )


def exports(db: Statements, campaign: str) -> list[Export]:
    """Return them by path."""
    where = "WHERE campaign = :campaign ORDER BY path"
    return columns.all_of(db, "export", Export, where, {"campaign": campaign})


def put_event(db: Statements, campaign: str, event: Event) -> None:
    """Kept once, also when a campaign is replayed: an event that differs from one that is there in
    nothing but its time is that one."""
    with db.transaction():
        require(db, campaign)
        if any(
            msgspec.structs.replace(stored, time=event.time) == event
            for stored in events(db, campaign)
        ):
            return
        columns.put(db, "event", event, campaign=campaign)


def events(db: Statements, campaign: str) -> list[Event]:
    where = "WHERE campaign = :campaign ORDER BY number"
    return columns.all_of(db, "event", Event, where, {"campaign": campaign})


def put_command_line(db: Statements, campaign: str, line: str) -> None:
    """Store the newest command line of a campaign."""
    with db.transaction():
        require(db, campaign)
        db.rows(
            "INSERT INTO command_line (campaign, line) VALUES (:campaign, :line) "
            "ON CONFLICT (campaign) DO UPDATE SET line = :line",
            {"campaign": campaign, "line": line},
        )


def command_line(db: Statements, campaign: str) -> str:
    """Return the command line; empty where none is known, as of an imported campaign."""
    line_row = db.row("SELECT line FROM command_line WHERE campaign = :id", {"id": campaign})
    return "" if line_row is None else str(line_row[0])


def how_to_continue(db: Statements, campaign: Campaign) -> str:
    """Return a sentence about how an unfinished campaign is continued."""
    line = command_line(db, campaign.id)
    begun = f" (it was begun by `{line}`)" if line else ""
    return f"`{typed('campaign', '--continue', campaign.id)}` continues it{begun}"


def put(db: Statements, campaign: Campaign) -> None:
    """Insert, or update `state` and `finished`; of the rest only `settle` changes anything.

    Raises ValueError when the id is stored with other facts, or the machine or library is not
    stored."""
    with db.transaction():
        same = {"id": campaign.id, "key": campaign.key}
        stored = _first(db, "WHERE id = :id OR key = :key", **same)
        if stored is None:
            _require_parents(db, campaign)
            columns.put(db, "campaign", campaign)
            return
        renewed = msgspec.structs.replace(stored, state=campaign.state, finished=campaign.finished)
        if renewed != campaign:
            raise ValueError(f"campaign {campaign.id} is stored with other facts: {stored}")
        db.rows(
            "UPDATE campaign SET state = :state, finished = :finished WHERE id = :id",
            {"state": campaign.state, "finished": campaign.finished, "id": campaign.id},
        )
        coverage.renew(db, campaign.id)


def settle(db: Statements, id: str, settings: str) -> Campaign:
    """Give it other settings, which must differ in nothing that a measurement depends on."""
    with db.transaction():
        require(db, id)
        db.rows(
            "UPDATE campaign SET settings = :settings WHERE id = :id",
            {"settings": settings, "id": id},
        )
        coverage.renew(db, id)
        (campaign,) = _all(db, "WHERE id = :id", id=id)
    return campaign


def reopen(db: Statements, id: str) -> None:
    """Mark it as under way again: what was concluded from its launches goes, and what is exported
    stays until it is written anew. Raises PlumblineError where samples were thrown away, without
    which nothing can be concluded."""
    key = {"id": id}
    with db.transaction():
        require(db, id)
        if db.row("SELECT 1 FROM pruned WHERE campaign = :id", key):
            raise PlumblineError(
                f"campaign {id} cannot continue: its samples were thrown away (plumbline db "
                "prune); "
                "start another one with --new"
            )
        db.rows("UPDATE campaign SET state = 'running', finished = '' WHERE id = :id", key)
        of = "SELECT number FROM search WHERE campaign = :id"
        db.rows(f"DELETE FROM trial WHERE search IN ({of})", key)  # noqa: S608
        for table in ("search", "verdict"):
            db.rows(f"DELETE FROM {table} WHERE campaign = :id", key)  # noqa: S608
        db.rows("DELETE FROM event WHERE campaign = :id AND run = ''", key)
        coverage.renew(db, id)


# Rows of `plumbline campaign` and `plumbline verify`.
_COMMAND = "CASE WHEN json_valid(settings) THEN json_extract(settings, '$.command') END "
_LOOPS = _COMMAND + "IS NULL "


def key_from(host: str, key: str) -> str:
    """Return the key of a campaign that came from there: what is measured here never goes on with
    it."""
    return f"{host}{FROM}{key}"


def get(db: Statements, id: str | None) -> Campaign:
    """The campaign `id`, or what `plumbline overlap tune` has left under that name; None means the
    campaign that was started last, of those measured here where there are any."""
    if id is None:
        newest = _first(db, f"WHERE {_LOOPS} ORDER BY {MEASURED_HERE} DESC, number DESC LIMIT 1")
        if newest is None:
            raise PlumblineError(
                f"{db.path} contains no campaign: run `{command_name()} campaign` first"
            )
        return newest
    campaign = known(db, id)
    if campaign is None:
        listed = ", ".join(each.id for each in all_campaigns(db)) or "none"
        raise PlumblineError(f"{db.path} contains no campaign {id}; it contains: {listed}")
    return campaign


def known(db: Statements, id: str) -> Campaign | None:
    """The same by its id, or what another program has printed; None where there is none."""
    condition = f"WHERE id = :id AND ({_LOOPS} OR {_COMMAND} IN (:tune, :suites, :foreign, :site))"
    commands = {"tune": OVERLAP_TUNE, "suites": SUITES, "foreign": FOREIGN, "site": SITE}
    return _first(db, condition, id=id, **commands)


def all_campaigns(db: Statements) -> list[Campaign]:
    """Return them in the order in which they were started."""
    return _all(db, f"WHERE {_LOOPS} ORDER BY number")


def own(db: Statements) -> list[Campaign]:
    """Return those of `all_campaigns` that were measured here, by this database's own records."""
    return _all(db, f"WHERE {_LOOPS} AND {MEASURED_HERE} ORDER BY number")


def with_winners(db: Statements) -> list[Campaign]:
    """The finished ones that were measured here and have winners, merged ones of a whole site too,
    in the order in which they were finished."""
    has_winners = "EXISTS (SELECT 1 FROM winner WHERE winner.campaign = campaign.id) "
    which = f"({_LOOPS} OR {_COMMAND} = :site) AND {MEASURED_HERE} AND state = 'finished'"
    return _all(db, f"WHERE {which} AND {has_winners} ORDER BY finished, number", site=SITE)


def tuned_overlap(db: Statements) -> list[Campaign]:
    """Return those of `plumbline overlap tune`, in the order in which they were started."""
    return _of_command(db, OVERLAP_TUNE)


def foreign(db: Statements) -> list[Campaign]:
    """Return what other programs have printed, in the order in which it was imported."""
    return _of_command(db, FOREIGN)


def of_suites(db: Statements) -> list[Campaign]:
    """Runs of `plumbline suite`, in the order in which they were started."""
    return _of_command(db, SUITES)


def of_factors(db: Statements) -> list[Campaign]:
    """Bases and levels of `plumbline reproducibility factors`, in the order in which they were
    started."""
    return _of_command(db, FACTORS)


def of_jobs(db: Statements) -> list[Campaign]:
    """Return the rows of jobs that switched off rules, in the order in which they were stored."""
    return _of_command(db, JOB)


def every(db: Statements) -> list[Campaign]:
    """Return those of all commands, in the order in which they were started."""
    return _all(db, "ORDER BY number")


def state(db: Statements, campaign: Campaign) -> str:
    """Return `finished`, `running` or, where no process measures it any more, `interrupted`."""
    if campaign.state == "finished":
        return campaign.state
    holder = lock.writer(db.path)
    return "running" if holder and holder.campaign == campaign.id else "interrupted"


def require(db: Statements, id: str) -> None:
    """ValueError when there is no such campaign: whoever writes for it has not stored it."""
    if db.row("SELECT 1 FROM campaign WHERE id = :id", {"id": id}) is None:
        raise ValueError(f"campaign {id} is not stored in {db.path}")


def _require_parents(db: Statements, campaign: Campaign) -> None:
    for table, column, value in (
        ("machine", "id", campaign.machine),
        ("library", "fingerprint", campaign.library_fingerprint),
    ):
        if db.row(f"SELECT 1 FROM {table} WHERE {column} = :v", {"v": value}) is None:  # noqa: S608
            raise ValueError(f"campaign {campaign.id}: {table} {value} is not stored")


def _of_command(db: Statements, command: str) -> list[Campaign]:
    return _all(db, f"WHERE {_COMMAND} = :command ORDER BY number", command=command)


def _all(db: Statements, condition: str, **values: str) -> list[Campaign]:
    return columns.all_of(db, "campaign", Campaign, condition, values)


def _first(db: Statements, condition: str, **values: str) -> Campaign | None:
    return columns.first_of(db, "campaign", Campaign, condition, values)
