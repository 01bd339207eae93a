"""The output of another program, as a run of its own: a launch for each table, each with summaries
and without samples. What it calls its numbers is the name of a curve: `osu-avg`."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline_db import campaigns, cell_times, machines, runs, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.layout import FOREIGN
from plumbline_db.probe_records import Begin, CaseRecord, Check, ProbeRecord
from plumbline_db.records import NOT_KNOWN, Campaign, Event, Library, Machine, Run, Suite

from .imb import Imb
from .madmpi import Madmpi
from .osu import Osu
from .reprompi import Reprompi
from .skampi import Skampi
from .table import MOST_ROWS, GivenOutput, GivenTable, GivenTime, OutputFormat

_FORMATS: tuple[OutputFormat, ...] = (Imb(), Osu(), Skampi(), Reprompi(), Madmpi())
MOST_BYTES = 64 * 2**20
_HEAD = 1_000_000  # characters in which a program must have named itself
_NO_NUMBERS = re.compile(r"\s*(#|end result|\Z)")


def read(path: Path, nprocs: int | None) -> tuple[OutputFormat, GivenOutput, bytes]:
    """The program, what it says, and the bytes of the file. Raises PlumblineError for what is none,
    and UsageError where the number of ranks is wanted."""
    try:
        with user_files.open_file(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}; name another file") from error
    if len(data) > MOST_BYTES:
        raise PlumblineError(f"{path} is larger than {MOST_BYTES // 2**20} MiB: take a part of it")
    format, text = of(data, nprocs, str(path))
    return format, text, data


def of(data: bytes, nprocs: int | None, name: str) -> tuple[OutputFormat, GivenOutput]:
    text, cut = _without_a_cut_line(data.decode("utf-8", errors="replace"))
    format = next((candidate for candidate in _FORMATS if candidate.recognises(text[:_HEAD])), None)
    if format is None:
        titles = ", ".join(candidate.title for candidate in _FORMATS)
        raise PlumblineError(
            f"{name} is neither output of {titles} nor a file of plumbline db export"
        )
    try:
        output = format.read(text, nprocs)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    except PlumblineError as error:
        raise PlumblineError(f"{name}, {format.title}: {error}") from error
    if not output.tables:
        unused = f" ({', '.join(output.left_out[:5])} are none)" if output.left_out else ""
        raise PlumblineError(f"{name}, {format.title}: the output has no times of calls{unused}")
    count = sum(len(rows) for table in output.tables for rows in table.columns.values())
    if count > MOST_ROWS:
        raise PlumblineError(f"{name}: more than {MOST_ROWS} numbers; take a part of it")
    return format, msgspec.structs.replace(output, missing=[*output.missing, *cut])


def _without_a_cut_line(text: str) -> tuple[str, list[str]]:
    """Return the text without a last line that does not end, as its last number may go on; and that
    it lacks an end."""
    before, _, last = text.rpartition("\n")
    if _NO_NUMBERS.match(last):
        return text, []
    number = before.count("\n") + 2 if before else 1
    return f"{before}\n", [f"the end of line {number}, {last.strip()[:60]!r}, which is left out"]


_MACHINE = Machine(
    id=FOREIGN,
    host=NOT_KNOWN,
    cpu_model=NOT_KNOWN,
    processing_units=0,
    numa_nodes=0,
    memory_bytes=0,
    kernel="",
    system="",
)


class Imported(NamedTuple):
    """`last`: the number that was read last; `missing`: what the output lacks; `new`: it was not
    there."""

    run: str
    program: str
    sha256: str
    tables: int
    numbers: int
    last: str
    left_out: list[str]
    missing: list[str]
    new: bool


def take(database: Path, file: Path, nprocs: int | None) -> Imported:
    """Puts a text into a database, whole or not at all; the same text once. Raises PlumblineError
    where it cannot be read."""
    format, output, data = read(file, nprocs)
    sha256 = hashlib.sha256(data + f" {nprocs or ''}".encode()).hexdigest()
    key = campaigns.key_from(FOREIGN, sha256)
    with Database.open(database, write=True) as db:
        name_by_key = {
            campaign_stored.key: campaign_stored.id for campaign_stored in campaigns.foreign(db)
        }
        name = name_by_key.get(key) or _name(format, file, sha256)
        if key not in name_by_key:
            _store(db, format, output, _campaign(format, output, file, name, key))
    numbers = sum(len(rows) for table in output.tables for rows in table.columns.values())
    return Imported(
        name,
        format.title,
        sha256,
        len(output.tables),
        numbers,
        _last(output.tables[-1]),
        output.left_out,
        output.missing,
        new=key not in name_by_key,
    )


def _last(table: GivenTable) -> str:
    rows = list(table.columns.values())[-1]
    return f"{table.function} on {table.nprocs} ranks, {rows[-1].bytes} B"


def _name(format: OutputFormat, file: Path, sha256: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._+-]", "_", file.stem)[:40].strip(".") or "text"
    return f"{format.name}-{stem}-{sha256[:6]}"


def _campaign(
    format: OutputFormat, output: GivenOutput, file: Path, name: str, key: str
) -> Campaign:
    nprocs = max(table.nprocs for table in output.tables)
    started = output.started or _written(file)
    settings = {
        "command": FOREIGN,
        "program": f"{format.title} {output.version}".strip(),
        "file": file.name,
    }
    return Campaign(
        id=name,
        key=key,
        machine=_MACHINE.id,
        library_fingerprint=_library(format, output).fingerprint,
        nprocs=nprocs,
        nodes=1,
        ppn=nprocs,
        oversubscribed=False,
        settings=msgspec.json.encode(settings).decode(),
        state="finished",
        started=started,
        finished=started,
    )


def _library(format: OutputFormat, output: GivenOutput) -> Library:
    """Return a library of which nothing is known but which program it was measured by."""
    program = f"{format.title} {output.version}".strip()
    return Library(
        id=NOT_KNOWN,
        family=FOREIGN,
        version="",
        version_string=f"{NOT_KNOWN}; measured by {program}",
        prefix="",
        fingerprint=f"{FOREIGN}-{hashlib.sha256(program.encode()).hexdigest()[:8]}",
    )


def _written(file: Path) -> str:
    try:
        then = file.stat().st_mtime
    except OSError as error:
        raise PlumblineError(f"cannot read {file}: {error.strerror}; name another file") from error
    return datetime.datetime.fromtimestamp(then, datetime.UTC).isoformat(timespec="seconds")


def _store(db: Database, format: OutputFormat, output: GivenOutput, campaign: Campaign) -> None:
    launches: Counter[Suite] = Counter()
    with db.transaction():
        machines.add_machine(db, _MACHINE)
        machines.add_library(db, _library(format, output))
        campaigns.put(db, campaign)
        for table in output.tables:
            for column in table.columns:
                # Repeated tables become several launches of one suite. No two columns share a
                # launch, because nothing here was measured together.
                suite = Suite(format.name, step=f"{table.function}-{table.nprocs}-{column}")
                _put(db, campaign, suite, launches[suite], table, column)
                launches[suite] += 1
        note = "summaries of another program, without samples: no comparison is made with them"
        campaigns.put_event(db, campaign.id, Event(campaign.started, "imported", note))
        for lacking in output.missing:
            campaigns.put_event(
                db, campaign.id, Event(campaign.started, "cut off", f"it lacks {lacking}")
            )


def _put(
    db: Database,
    campaign: Campaign,
    suite: Suite,
    sequence: int,
    table: GivenTable,
    column: str,
) -> None:
    on = table.nprocs if table.nprocs != campaign.nprocs else 0
    given = {case: _summary(row) for case, row in enumerate(table.columns[column])}
    records: list[ProbeRecord] = [
        CaseRecord(
            case,
            table.function,
            f"{suite.stage}-{column}",
            "default",
            row.bytes,
            row.bytes,
            table.type,
            table.op,
            0,
            row.n,
            ranks=on,
        )
        for case, row in enumerate(table.columns[column])
    ]
    records += [
        record for case in given for record in (Begin(case), Check(case, "ok", "not checked here"))
    ]
    run = Run(
        id=runs.run_id(campaign.id, suite.name, sequence),
        campaign=campaign.id,
        suite=suite.name,
        sequence=sequence,
        failure=None,
        argv=[],
        environment={},
        plan=f"{suite.stage}: {table.function} on {table.nprocs} ranks",
        stderr="",
        started=campaign.started,
        seconds=0.0,
        timed_seconds=0.0,
    )
    runs.put(db, run, records, suite)
    cell_times.add(db, run.id, given)


def _summary(row: GivenTime) -> dict[str, object]:
    """One number stands for all that a summary has: the program has given no other."""
    ns = 1e9 * row.seconds
    whole = max(1, round(ns))
    return {
        "n": row.n,
        "least_ns": whole,
        "quartile_1_ns": whole,
        "median_ns": ns,
        "quartile_3_ns": whole,
        "percentile_95_ns": whole,
        "greatest_ns": whole,
    }
