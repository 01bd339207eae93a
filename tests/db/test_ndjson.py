"""The reader of records: what the probe writes, strictly, with errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from plumbline_db.errors import PlumblineError
from plumbline_db.ndjson import BadRecordsError, decode
from plumbline_db.probe_records import Footer, ProbeRecord
from tests.db import build, strategies
from tests.db.build import Timed

RECORDS = build.records(
    build.run(), [Timed(), Timed(config="c1")], knobs={"c1": {"a": "1"}}, blocks=2
)
EXAMPLE = """\
{"record":"header","schema":2,"run":"before-003","probe":"0.1.0","library":"Open MPI v4.1.4","mpi":"3.1","nprocs":4,"nodes":1,"ppn":4,"hosts":["node1"],"processing_units":2,"oversubscribed":true,"binding":["0-1","0-1","0-1","0-1"],"sync":"barrier","clock":{"name":"monotonic_raw","resolution_ns":1,"cost_ns":21},"seed":42,"blocks":5,"warmup":16,"rewarm":1,"environment":{"OMPI_MCA_a":"1"}}
{"record":"config","id":"c1","in_force":true,"reason":"","knobs":{"coll_tuned_allreduce_algorithm":{"wanted":"5","read":"5"}}}
{"record":"case","case":1,"function":"MPI_Allreduce","variant":"default","config":"c1","bytes":16384,"bytes_moved":16384,"type":"MPI_BYTE","op":"MPI_BOR","root":0,"reps":10}
{"record":"begin","case":1}
{"record":"check","case":1,"outcome":"ok","detail":""}
{"record":"order","block":0,"cases":[1]}
{"record":"samples","case":1,"blocks":[0],"warmups":[2],"samples":[3],"warmup_ns":[9,8],"ns":[7,6,5]}
{"record":"footer","cases":1,"timed_ns":123456,"wall_ns":345678}
"""  # noqa: E501


def lines(records: list[ProbeRecord]) -> list[str]:
    return [msgspec.json.encode(record).decode() for record in records]


def write(path: Path, text: list[str], end: str = "\n") -> Path:
    path.write_text("\n".join(text) + end, errors="surrogateescape")
    return path


def test_the_documented_example(tmp_path: Path) -> None:
    file = tmp_path / "records.ndjson"
    file.write_text(EXAMPLE)
    records = decode(file)
    assert [type(r).__name__ for r in records] == [
        "Header", "ConfigRecord", "CaseRecord", "Begin", "Check", "Order", "Samples", "Footer",
    ]  # fmt: skip
    assert records[-1] == Footer(1, 123456, 345678)


@settings(max_examples=50)
@given(records=strategies.launches())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[ProbeRecord]
) -> None:
    file = write(tmp_path_factory.mktemp("nd") / "x", lines(records))
    whole = isinstance(records[-1], Footer)
    assert decode(file, partial=not whole) == records
    if not whole:
        with pytest.raises(PlumblineError, match="no footer"):
            decode(file)


@pytest.mark.parametrize("cut", [1, 10, 20])
def test_cut_last_line_is_tolerated_in_a_partial_file_alone(tmp_path: Path, cut: int) -> None:
    text = lines(RECORDS)
    file = write(tmp_path / "records.part", [*text[:6], text[6][:-cut]], end="")
    assert decode(file, partial=True) == RECORDS[:6]
    with pytest.raises(PlumblineError, match=r"records.part, line 7: the last line is cut"):
        decode(file)


def test_empty_partial_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("")
    assert decode(file, partial=True) == []
    with pytest.raises(PlumblineError, match="line 1: no footer"):
        decode(file)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"cannot read .*gone"):
        decode(tmp_path / "gone")


ONE = '"blocks":[0],"warmups":[0],"samples":[1],"warmup_ns":[],'
HEADER, CONFIG, CASE = lines(RECORDS)[:3]
FOOTER = lines(RECORDS)[-1]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ([CASE], 1, "the header must be the first record"),
        ([HEADER, HEADER], 2, "the header must be the first record, once"),
        ([HEADER.replace('"schema":2', '"schema":1')], 1, "record schema 1"),
        ([HEADER.replace('"seed":', '"sed":')], 1, "unknown field `sed`"),
        ([HEADER, ""], 2, "truncated"),
        ([HEADER, "{}"], 2, "missing required field `record`"),
        ([HEADER, '{"record":"nonsense"}'], 2, "nonsense"),
        ([HEADER, '{"record":"begin","case":"1"}'], 2, "Expected `int`, got `str`"),
        ([HEADER, '{"record":"begin","case":1} x'], 2, "trailing"),
        ([HEADER, '{"record":"begin","case":1}'], 2, "begin of case 1, which has no case record"),
        ([HEADER, CONFIG, CONFIG], 3, "config c1 a second time"),
        ([HEADER, CASE, CASE], 3, "case 0 a second time"),
        ([HEADER, CASE.replace('"config":"default"', '"config":"c9"')], 2, "no config c9"),
        ([HEADER, CASE, '{"record":"order","block":0,"cases":[0,7]}'], 3, "no case 7"),
        ([HEADER, CASE, '{"record":"check","case":0,"outcome":"fine","detail":""}'], 3, "fine"),
        ([HEADER, CASE, '{"record":"check","case":0,"outcome":"ok","detail":""}'],
         3, "check of case 0, which has not begun"),
        ([HEADER, CASE, *2 * ['{"record":"begin","case":0}']], 4, "before the check of another"),
        ([HEADER, CASE, '{"record":"samples","case":0,' + ONE + '"ns":[-1]}'],
         3, "Expected `int` >= 0 - at `$.ns[0]`"),
        ([HEADER, CASE, '{"record":"samples","case":0,' + ONE + '"ns":'
          "[1,9223372036854775808]}"], 3, "Expected `int` <= 9223372036854775807 - at `$.ns[1]`"),
        ([HEADER, CASE, '{"record":"check","case":0,"outcome":"ok","detail":"\udcff"}'],
         3, "can't decode byte 0xff"),
        ([HEADER, '{"a":' + "[" * 9999], 2, ""),
        ([HEADER, '{"record":"clock_sync","algorithm":"hca3","domains":1,"seconds":1e999}'],
         2, "out of range"),
        ([HEADER, CASE, '{"record":"samples","case":0,' + ONE + '"ns":[1.5]}'],
         3, "Expected `int`, got `float`"),
        ([HEADER, FOOTER, CASE], 3, "a record after the footer"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(
    tmp_path: Path, text: list[str], line: int, what: str, partial: bool
) -> None:
    file = write(tmp_path / "records.ndjson", text)
    with pytest.raises(PlumblineError) as caught:
        decode(file, partial=partial)
    assert f"records.ndjson, line {line}: " in str(caught.value)
    assert what in str(caught.value)
    assert "make build" in str(caught.value)
    assert isinstance(caught.value, BadRecordsError)
    assert len(caught.value.records) == line - 1  # what stands before is right
