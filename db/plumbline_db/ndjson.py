"""Reads what the probe wrote, strictly: docs/plan-and-records.md, "Records".

Every error names file and line. A file that the probe could not finish (`.part`) is read with
`partial=True`: its last line may be cut, and its footer may be missing.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import PlumblineError
from plumbline_db.planned import Planned, UnplannedError
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    ClockError,
    ConfigRecord,
    Footer,
    Header,
    Nrep,
    Order,
    ProbeRecord,
    RankSamples,
    Refused,
    Samples,
    Transit,
    UnderWay,
)

SCHEMA = 2
_REMEDY = (
    "the file is damaged, or probe and Plumbline are of different versions (plumbline build, "
    "make build)"
)

_decoder = msgspec.json.Decoder(ProbeRecord)
_CASE_OF_A_LINE = re.compile(rb'\{"record": ?"\w+", ?"case": ?(\d{1,9})\b')


class BadRecordsError(PlumblineError):
    """A file that is not as it must be: `what` is wrong from `line` on, `records` stand before it,
    `case` is to blame where that is known."""

    def __init__(
        self, path: Path, line: int, what: str, records: list[ProbeRecord], case: int | None = None
    ) -> None:
        super().__init__(f"{path}, line {line}: {what}; {_REMEDY}")
        self.line = line
        self.what = what
        self.records = records
        self.case = case


def decode(
    path: Path, *, partial: bool = False, plan: str | None = None, seconds: float = math.inf
) -> list[ProbeRecord]:
    """All records of a file, in order. With `plan`, the text that the launch was given, they must
    be those that it asks for, of a launch of `seconds`. Raises BadRecordsError, PlumblineError
    where nothing can be read."""
    try:
        data = user_files.read(path)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error
    lines = data.split(b"\n")
    cut = lines.pop()  # what follows the last newline: nothing, unless the writer was stopped
    records: list[ProbeRecord] = []
    grammar = _Grammar()
    planned = None if plan is None else Planned(plan, seconds)
    line = b""
    try:
        for line in lines:
            record = _decoder.decode(line)
            grammar.accept(record)
            if planned:
                planned.accept(record)
            records.append(record)
        line = b""
        if cut and not partial:
            raise ValueError("the last line is cut")
        if not partial and not grammar.ended:
            raise ValueError("no footer: the probe did not finish")
        if planned and grammar.ended:
            planned.end()
    except UnplannedError as error:
        raise BadRecordsError(path, len(records) + 1, str(error), records, error.case) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        case = _CASE_OF_A_LINE.match(line)
        culprit = int(case[1]) if case else None
        raise BadRecordsError(path, len(records) + 1, str(error), records, culprit) from error
    return records


class _Grammar:
    """The order of records: header first, a thing before what refers to it, footer last."""

    def __init__(self) -> None:
        self.started = self.ended = False
        self.configs = {"default"}
        self.cases: set[int] = set()
        self.begun: int | None = None  # the case whose check is under way
        self.seen: set[tuple[str, int, int]] = set()

    def accept(self, record: ProbeRecord) -> None:
        if self.ended:
            raise ValueError("a record after the footer")
        if isinstance(record, Header) == self.started:
            raise ValueError("the header must be the first record, once")
        match record:
            case RankSamples():
                self._of_case("rank_samples", record.case, record.block)
            case Header():
                if record.schema != SCHEMA:
                    raise ValueError(
                        f"record schema {record.schema}, this Plumbline reads {SCHEMA}"
                    )
                self.started = True
            case ConfigRecord():
                if record.id in self.configs:
                    raise ValueError(f"config {record.id} a second time")
                self.configs.add(record.id)
            case CaseRecord():
                if record.config not in self.configs:
                    raise ValueError(f"case {record.case}: no config {record.config}")
                if record.case in self.cases:
                    raise ValueError(f"case {record.case} a second time")
                self.cases.add(record.case)
            case Begin():
                self._known("begin", record.case)
                if self.begun is not None:
                    raise ValueError(f"begin of case {record.case} before the check of another")
                self.begun = record.case
            case Check():
                if record.case != self.begun:
                    raise ValueError(f"check of case {record.case}, which has not begun")
                self.begun = None
            case Order():
                self._once("order", 0, record.block)
                if unknown := set(record.cases) - self.cases:
                    raise ValueError(f"order of block {record.block}: no case {min(unknown)}")
            case Samples() | Refused() | Transit() | Nrep():
                self._of_case(str(record.__struct_config__.tag), record.case, 0)
            case UnderWay():
                if record.case is not None:
                    self._known("under_way", record.case)
                self._once("under_way", 0, 0)
            case ClockError():
                self._once(f"clock_error at the {record.when}", 0, 0)
            case Footer():
                self.ended = True

    def _known(self, kind: str, case: int) -> None:
        if case not in self.cases:
            raise ValueError(f"{kind} of case {case}, which has no case record")

    def _of_case(self, kind: str, case: int, block: int) -> None:
        self._known(kind, case)
        self._once(kind, case, block)

    def _once(self, kind: str, case: int, block: int) -> None:
        key = (kind, case, block)
        if key in self.seen:
            raise ValueError(f"{kind} of case {case}, block {block} a second time")
        self.seen.add(key)
