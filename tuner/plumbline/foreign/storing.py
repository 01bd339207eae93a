"""The output of another program, as a run of its own: a launch for each table, each with summaries
and without samples. What it calls its numbers is the name of a curve: `osu-avg`."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from plumbline.core import printed_text as text
from plumbline.core.printed_text import Line
from plumbline.foreign.benchmarks import Madmpi, Pico, Reframe, Reprompi, Skampi
from plumbline_db import campaigns, launch_records, machines, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.layout import FOREIGN
from plumbline_db.probe_records import Begin, CaseRecord, Check, ProbeRecord
from plumbline_db.records import (
    FOREIGN_MACHINE,
    NOT_KNOWN,
    Campaign,
    Event,
    Library,
    Machine,
    Run,
    Suite,
)

from .imb import Imb
from .osu import Osu
from .table import MOST_ROWS, GivenOutput, GivenRanks, GivenTable, GivenTime, OutputFormat

_FORMATS: tuple[OutputFormat, ...] = (
    *(Imb(), Osu(), Skampi(), Reprompi(), Madmpi(), Pico(), Reframe()),
)


class ProgramOutput(NamedTuple):
    """The output of one program in a file."""

    format: OutputFormat
    output: GivenOutput

    @property
    def program(self) -> str:
        return f"{self.format.title} {self.output.version}".strip()


def of(data: bytes, nprocs: Sequence[int], name: str) -> list[ProgramOutput]:
    """Return what the programs have printed that a text is of, in the order of the text. Raises
    PlumblineError where no program is recognised, or nothing of its output can be taken, and
    UsageError where the number of ranks is missing."""
    lines, cut = text.without_a_cut_line(text.lines(data))
    parts = _parts(lines)
    if not parts:
        titles = ", ".join(candidate.title for candidate in _FORMATS)
        raise PlumblineError(
            f"{name} is neither output of {titles} nor a file of plumbline db export"
        )
    outputs = [ProgramOutput(part[0], _read(*part, nprocs, name)) for part in parts]
    taken = [each for each in outputs if each.output.tables]
    if not taken:
        titles = ", ".join(each.format.title for each in outputs)
        kinds = [kind for each in outputs for kind in each.output.left_out]
        unused = f" ({'; '.join(kinds)})" if kinds else ""
        raise PlumblineError(f"{name}, {titles}: the output has no times of calls{unused}")
    if sum(each.output.numbers for each in taken) > MOST_ROWS:
        raise PlumblineError(f"{name}: more than {MOST_ROWS} numbers; take a part of it")
    last = outputs[-1]
    missing = [*last.output.missing, *cut]
    return [*outputs[:-1], last._replace(output=structs.replace(last.output, missing=missing))]


def _parts(lines: Sequence[Line]) -> list[tuple[OutputFormat, list[Line]]]:
    """Return the lines of each program: from a line with which its output begins to one of another
    program. A launch that stands before the first line of a part belongs to the part as well."""
    parts: dict[OutputFormat, list[Line]] = {}
    current: OutputFormat | None = None
    before: Line | None = None
    for line in lines:
        begun = next((format for format in _FORMATS if format.begins.match(line.text)), None)
        if begun and begun is not current:
            parts.setdefault(begun, []).extend([before] if before else [])
            current = begun
        if begun:
            before = None
        elif text.launch(line.text):
            before = line
        if current:
            parts[current].append(line)
    return list(parts.items())


def _read(
    format: OutputFormat, lines: Sequence[Line], nprocs: Sequence[int], name: str
) -> GivenOutput:
    ranks = GivenRanks(nprocs)
    try:
        return format.read(lines, ranks).checked(ranks)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    except PlumblineError as error:
        raise PlumblineError(f"{name}, {format.title}: {error}") from error


_MACHINE = Machine(
    id=FOREIGN_MACHINE,
    host=NOT_KNOWN,
    cpu_model=NOT_KNOWN,
    processing_units=0,
    numa_nodes=0,
    memory_bytes=0,
    kernel="",
    system="",
)


class Imported(NamedTuple):
    """The import of one file. `last`: the number that was read last; `left_out`, `missing`,
    `doubts`: sentences about what was not read or should be checked; `new`: it was not there."""

    run: str
    program: str
    sha256: str
    tables: int
    numbers: int
    last: str
    left_out: list[str]
    missing: list[str]
    doubts: list[str]
    new: bool


def take(database: Path, file: Path, nprocs: Sequence[int] = ()) -> Imported:
    """Put a text into a database, whole or not at all; the same text once. `nprocs`: the ranks of
    tables that do not say theirs, one number for all, or one for each table of a title. Raises
    PlumblineError where it cannot be read."""
    data = text.read(file)
    outputs = of(data, nprocs, str(file))
    given = " ".join(map(str, nprocs)) if nprocs and _needs_ranks(data) else ""
    sha256 = hashlib.sha256(data + f" {given}".encode()).hexdigest()
    key = campaigns.key_from(FOREIGN, sha256)
    with Database.open(database, write=True) as db:
        name_by_key = {
            campaign_stored.key: campaign_stored.id for campaign_stored in campaigns.foreign(db)
        }
        name = name_by_key.get(key) or _name(outputs[0].format, file, sha256)
        if key not in name_by_key:
            _store(db, outputs, _campaign(outputs, file, name, key))
    tables = [given for each in outputs for given in each.output.tables]
    return Imported(
        name,
        "; ".join(each.format.title for each in outputs),
        sha256,
        len(tables),
        sum(each.output.numbers for each in outputs),
        _last(tables[-1]),
        [sentence for each in outputs for sentence in each.output.left_out],
        [sentence for each in outputs for sentence in each.output.missing],
        [sentence for each in outputs for sentence in each.output.doubts],
        new=key not in name_by_key,
    )


def _needs_ranks(data: bytes) -> bool:
    """Return whether a text has tables that do not say their ranks."""
    try:
        of(data, (), "")
    except UsageError:
        return True
    return False


def _last(table: GivenTable) -> str:
    rows = list(table.columns.values())[-1]
    return f"{table.function} on {table.nprocs} ranks, {rows[-1].bytes} B"


def _name(format: OutputFormat, file: Path, sha256: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._+-]", "_", file.stem)[:40].strip(".") or "text"
    return f"{format.name}-{'input' if file == text.STANDARD_INPUT else stem}-{sha256[:6]}"


def _campaign(outputs: Sequence[ProgramOutput], file: Path, name: str, key: str) -> Campaign:
    """Return the run. Nodes are those of its largest table, or 1 where they are not known: pages
    show several alone."""
    largest = max(
        (given for each in outputs for given in each.output.tables), key=lambda given: given.nprocs
    )
    nprocs, nodes = largest.nprocs, largest.nodes or 1
    started = next((each.output.started for each in outputs if each.output.started), "")
    settings = {
        "command": FOREIGN,
        "program": "; ".join(each.program for each in outputs),
        "file": file.name,
    }
    return Campaign(
        id=name,
        key=key,
        machine=_MACHINE.id,
        library_fingerprint=_library(outputs).fingerprint,
        nprocs=nprocs,
        nodes=nodes,
        ppn=-(-nprocs // nodes),
        oversubscribed=False,
        settings=msgspec.json.encode(settings).decode(),
        state="finished",
        started=started,
        finished=started,
    )


def _library(outputs: Sequence[ProgramOutput]) -> Library:
    """Return a library of which nothing is known but which programs it was measured by."""
    programs = "; ".join(each.program for each in outputs)
    return Library(
        id=NOT_KNOWN,
        family=FOREIGN,
        version="",
        version_string=f"{NOT_KNOWN}; measured by {programs}",
        prefix="",
        fingerprint=f"{FOREIGN}-{hashlib.sha256(programs.encode()).hexdigest()[:8]}",
    )


def _store(db: Database, outputs: Sequence[ProgramOutput], campaign: Campaign) -> None:
    launches: Counter[Suite] = Counter()
    with db.transaction():
        machines.add_machine(db, _MACHINE)
        machines.add_library(db, _library(outputs))
        campaigns.put(db, campaign)
        for program in outputs:
            steps = _Steps()
            for given in program.output.tables:
                for column in given.columns:
                    # Repeated tables become several launches of one suite. No two columns share a
                    # launch, because nothing here was measured together.
                    suite = Suite(program.format.name, step=steps.of(given, column))
                    _put(db, campaign, suite, launches[suite], given, column)
                    launches[suite] += 1
        note = "summaries of another program, without samples: no comparison is made with them"
        events = [("imported", note)]
        events += [
            (word, sentence)
            for program in outputs
            for word, sentences in (
                ("cut off", [f"it lacks {lacking}" for lacking in program.output.missing]),
                ("left out", program.output.left_out),
                ("doubtful", program.output.doubts),
            )
            for sentence in sentences
        ]
        for word, sentence in events:
            campaigns.put_event(db, campaign.id, Event(campaign.started, word, sentence))


class _Steps:
    """Names of suites: tables that differ in anything but their rows have different names."""

    def __init__(self) -> None:
        self._name_by_identity: dict[tuple[object, ...], str] = {}

    def of(self, given: GivenTable, column: str) -> str:
        words = [given.function, str(given.nprocs), *([given.way] if given.way else []), column]
        name = "-".join(words)
        identity = (name, given.type, given.op, given.apart, given.nodes)
        if identity not in self._name_by_identity:
            used = sum(1 for other_name, *_ in self._name_by_identity if other_name == name)
            self._name_by_identity[identity] = f"{name}-{used + 1}" if used else name
        return self._name_by_identity[identity]


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
            "-".join(word for word in (suite.stage, table.way, column) if word),
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
    launch_records.add_cell_times(db, run.id, given)


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
