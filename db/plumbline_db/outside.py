"""Checks of a campaign that somebody else has written: its records must have the types and values
of records, names that may stand in paths and commands, and texts of limited length. Readers decide
which of its contents may have an effect."""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from plumbline_db import (
    campaigns,
    findings,
    hockney,
    launch_records,
    layout,
    machines,
    old_samples,
    points,
    runs,
)
from plumbline_db.errors import PlumblineError
from plumbline_db.hockney import Hockney
from plumbline_db.old_samples import Pruned
from plumbline_db.points import SuitePoint
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import (
    NOT_KNOWN,
    Campaign,
    Event,
    Library,
    Machine,
    Record,
    Run,
    Search,
    Suite,
    Verdict,
    Winner,
)
from plumbline_db.statements import Statements

# A campaign as a whole, as records: what it is made of, a hash of that, and how it is put into
# another database. Files that were handed out stay behind: they are of another machine.


class _Launch(NamedTuple):
    """`summaries` are of those cases whose samples were thrown away, each with its case id."""

    run: Run
    suite: Suite
    records: list[ProbeRecord]
    summaries: list[tuple[int, dict[str, Any]]]


class _Conclusions(NamedTuple):
    tables: dict[str, list[Verdict]]
    searches: list[Search]
    winners: list[Winner]
    fits: list[Hockney]
    events: list[Event]
    pruned: Pruned | None
    points: list[SuitePoint]


class _Content(NamedTuple):
    """All but the launches, which come one after the other."""

    machine: Machine
    library: Library
    campaign: Campaign
    conclusions: _Conclusions


def _read(db: Statements, campaign: Campaign) -> _Content:
    id = campaign.id
    tables = {stage: findings.get_verdicts(db, id, stage) for stage in findings.stages(db, id)}
    conclusions = _Conclusions(
        tables,
        findings.all_searches(db, id),
        findings.get_winners(db, id),
        hockney.get(db, id),
        campaigns.events(db, id),
        old_samples.of(db, id),
        points.get(db, id),
    )
    return _Content(
        machines.machine(db, campaign.machine),
        machines.library(db, campaign.library_fingerprint),
        campaign,
        conclusions,
    )


def _launches(db: Statements, campaign: str) -> Iterator[_Launch]:
    """Yield them in the order in which they were stored."""
    suite_by_name = runs.suites(db, campaign)
    for run in runs.one_by_one(db, campaign):
        records = launch_records.of_run(db, run.id)
        times_alone = launch_records.without_samples(db, run.id, records)
        yield _Launch(run, suite_by_name[run.suite], records, list(times_alone.items()))


def sha256(
    db: Statements,
    campaign: Campaign,
    look: Callable[[_Content | _Launch], None] = lambda part: None,
) -> str:
    """Return the checksum of a whole campaign, which is equal in any database. Each part is shown
    to `look` first."""
    content = _read(db, campaign)
    look(content)
    checksum = hashlib.sha256()
    # Facts that change when machine or library are seen again, or at another site, do not count.
    campaign_facts = msgspec.structs.replace(campaign, key="")
    identity = (content.machine.id, content.library.fingerprint, campaign_facts)
    checksum.update(_bytes([*identity, content.conclusions]))
    for launch in _launches(db, campaign.id):
        look(launch)
        checksum.update(_bytes(launch))
    return checksum.hexdigest()


def _bytes(part: object) -> bytes:
    return msgspec.json.encode(part, order="sorted") + b"\n"


def put(
    db: Statements,
    source: Statements,
    campaign: Campaign,
    name: str,
    key: str,
    library: Library | None = None,
) -> None:
    """`campaign` of `source` under the name `name` and with this key, which nothing in `db` has, in
    one transaction. `library`: as it is stored there, where nothing is known of it; None: as it
    is."""
    content = _read(source, campaign)
    id = campaign.id

    def renamed(text: str) -> str:
        return name + text.removeprefix(id) if text.startswith(id) else text

    with db.transaction():
        machines.add_machine(db, content.machine)
        machines.add_library(db, library or content.library)
        campaigns.put(db, msgspec.structs.replace(campaign, id=name, key=key))
        for launch in _launches(source, id):
            run = msgspec.structs.replace(launch.run, id=renamed(launch.run.id), campaign=name)
            runs.put(db, run, launch.records, launch.suite)
            launch_records.add_cell_times(db, run.id, dict(launch.summaries))
        _conclude(db, name, content.conclusions, renamed)


def _conclude(db: Statements, name: str, of: _Conclusions, renamed: Callable[[str], str]) -> None:
    for stage, table in of.tables.items():
        findings.put_verdicts(db, name, stage, table)
    for search in of.searches:
        findings.put_search(db, name, search)
    findings.put_winners(db, name, of.winners)
    hockney.put(db, name, of.fits)
    for event in of.events:
        campaigns.put_event(db, name, msgspec.structs.replace(event, run=renamed(event.run)))
    points.put(db, name, of.points)
    if of.pruned is not None:
        old_samples.put(db, msgspec.structs.replace(of.pruned, campaign=name))


# Some libraries have `+` in their names. No option of a command and no folder begins like this.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,199}\Z")
# Names of suites and launches: the words of a suite, after their campaign.
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+=,@/*-]{0,599}\Z")
_TEXT_CHARACTERS = 2**22
_WORD_CHARACTERS = 2**16
_TEXTS = {"plan", "stderr", "settings", "site_rules"}
_TIMES = {"started", "finished", "time"}
_NAMES = {
    "Machine": ("id", "host"),
    "Library": ("id", "fingerprint", "family", "version"),
    "Campaign": ("id", "machine", "library_fingerprint"),
    "Transfer": ("campaign", "sha256", "host"),
    "Pruned": ("campaign",),
}
# The placeholder for a name that is missing in a program's output.
_NONE = {("Machine", "host"): NOT_KNOWN, ("Library", "id"): NOT_KNOWN, ("Library", "version"): ""}
_LABELS = {"Suite": ("name",), "Run": ("id", "suite")}


class UnbelievableError(ValueError):
    """A record that is none of ours."""


def require(part: _Content | _Launch) -> None:
    """Raises UnbelievableError; ValueError for settings that are none."""
    if isinstance(part, _Content):
        records = [part.machine, part.library, part.campaign, *_records(part.conclusions)]
        layout.asked(part.campaign)
    else:
        records = [part.run, part.suite, *part.records]
        for case, values in part.summaries:
            if type(case) is not int or not all(_is_number(value) for value in values.values()):
                raise UnbelievableError(f"case {case!r:.50} has an invalid summary")
    for record in records:
        require_record(record)


def require_record(record: Record) -> None:
    """Raises UnbelievableError."""
    kind = type(record).__name__
    try:
        read = msgspec.convert(msgspec.to_builtins(record), type(record))
    except (ValueError, RecursionError, OverflowError) as error:
        raise UnbelievableError(f"{kind}: {_short(str(error))}") from error
    if read != record:
        raise UnbelievableError(f"{kind}: its values have wrong types")
    for field in record.__struct_fields__:
        value = getattr(record, field)
        is_named = field in _NAMES.get(kind, ()) and value != _NONE.get((kind, field))
        if is_named and not NAME.match(value):
            raise UnbelievableError(f"{kind}, {field}: {_short(value)} is not a name")
        if isinstance(value, str):
            _require_text(kind, field, value)
        else:
            for text in _texts(value):
                _require_text(kind, field, text)
    for field in _LABELS.get(kind, ()):
        if not _LABEL.match(getattr(record, field)):
            text = _short(getattr(record, field))
            raise UnbelievableError(f"{kind}, {field}: {text} is not a name")


def of_elsewhere(library: Library, host: str) -> Library:
    """Return the library as it is stored after an import. Programs are looked for under the prefix
    of a library, so the prefix names the other host and is no folder here."""
    return msgspec.structs.replace(library, prefix=f"{host}:{library.prefix}")


def _require_text(kind: str, field: str, text: str) -> None:
    most = _TEXT_CHARACTERS if field in _TEXTS else _WORD_CHARACTERS
    if len(text) > most:
        raise UnbelievableError(f"{kind}, {field}: a text of {len(text)} characters")
    if field in _TIMES and text:
        try:
            datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise UnbelievableError(f"{kind}, {field}: {_short(text)} is not a time") from error


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts inside a list, a dictionary or a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        if value and type(value[0]) is int:  # times
            return
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _texts(getattr(value, field))


def _records(part: Any) -> Iterator[Record]:
    if isinstance(part, Record):
        yield part
    elif isinstance(part, dict):
        for key, inner in part.items():
            _require_text("table", "stage", key)
            yield from _records(inner)
    elif isinstance(part, (list, tuple)):
        for inner in part:
            yield from _records(inner)


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _short(text: object) -> str:
    """Return the start of a text as a literal that is safe to print."""
    shown = repr(text)
    return shown if len(shown) <= 100 else f"{shown[:100]}… ({len(shown)} characters)"


def problem(path: object, error: Exception) -> PlumblineError:
    """Return the error for a file that cannot be imported."""
    return PlumblineError(
        f"{path} is not what `plumbline db export` writes ({_short(str(error))}): fetch it again, "
        "or ask who made it"
    )
