"""The record of a job's control group: rules that were switched off stay away from later jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.campaign.place_knowledge import SlowRule
from plumbline.results import control_record
from plumbline_db.errors import PlumblineError
from tests.tuner.core.test_control_record import RECORD, RULE, UNMEASURED

TIME = "2026-01-01T00:00:00+00:00"


def record(folder: Path, *rules: tuple[str, int | None]) -> Path:
    """Write a record as the preload library does; `rules`: functions, and when they were switched
    off. The last one is for all sizes from 64 B on."""
    each = [
        UNMEASURED | {"line": line, "function": function, "switched_off_at": off, "bytes_from": 64}
        for line, (function, off) in enumerate(rules)
    ]
    each[-1]["bytes_to"] = None
    path = folder / "record.json"
    saving = {name: None for name in RECORD if name.startswith("saving")}
    path.write_text(json.dumps(RECORD | saving | {"rules": each}))
    return path


def test_what_was_switched_off_is_added_up(tmp_path: Path) -> None:
    kept, slower = tmp_path / "a.control.json", tmp_path / "a.slower.json"
    assert control_record.slow_rules(slower) == []
    first = record(tmp_path, ("MPI_Bcast", 5000), ("MPI_Reduce", None))
    ranks = (RULE["nprocs_from"], RULE["nprocs_to"])
    bcast = SlowRule("MPI_Bcast", 64, 65536, TIME, *ranks)
    assert control_record.take(first, kept, slower, TIME) == [bcast]
    assert kept.is_file() and not first.exists()
    fine = record(tmp_path, ("MPI_Reduce", None))
    assert control_record.take(fine, kept, slower, TIME) == []
    assert control_record.take(tmp_path / "none", kept, slower, TIME) == []
    again = record(tmp_path, ("MPI_Reduce", 7))
    (reduce,) = control_record.take(again, kept, slower, TIME)
    assert (reduce.function, reduce.bytes_to) == ("MPI_Reduce", 2**63 - 1)
    assert control_record.slow_rules(slower) == [bcast, reduce]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"plumbline_control": 2, "rules": []}',
        '{"plumbline_control": 1}',
        json.dumps(RECORD | {"rules": [RULE | {"function": "../../etc"}]}),
    ],
)
def test_a_strange_record_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(PlumblineError, match="no record of compared calls"):
        control_record.take(path, tmp_path / "kept", tmp_path / "slower", TIME)
    assert not (tmp_path / "kept").exists() and not (tmp_path / "slower").exists()


def test_a_list_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "slower"
    path.write_text('[{"function": "MPI_Bcast", "bytes_from": 1, "bytes_to": 2, "time": "x"}]')
    with pytest.raises(PlumblineError, match="remove it"):
        control_record.slow_rules(path)
