"""Records of compared calls are read strictly: nothing from outside is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plumbline.core.control_record import ControlledRule, read
from plumbline_db.errors import PlumblineError

RULE: dict[str, Any] = {
    **{"line": 2, "function": "MPI_Allreduce", "nprocs_from": 2, "nprocs_to": 4},
    **{"nodes_from": 1, "nodes_to": None, "ppn_from": 1, "ppn_to": None},
    **{"bytes_from": 8, "bytes_to": 65536, "op": "any", "type": "any", "counts": "any"},
    "variant": "allreduce_segmented_ring:segment_bytes=65536",
    **{"ranks": 2, "replaced": 9800, "controlled": 200, "replaced_ns": 12.5, "library_ns": 20.0},
    **{"saving_seconds": 0.25, "saving_from_seconds": 0.125, "saving_to_seconds": 0.375},
    "switched_off_at": None,
}
UNMEASURED = RULE | {
    **{"line": 3, "replaced": 7, "controlled": 0, "replaced_ns": None, "library_ns": None},
    **{"saving_seconds": None, "saving_from_seconds": None, "saving_to_seconds": None},
}
RECORD: dict[str, Any] = {
    **{"plumbline_control": 1, "version": "0.1.0", "profile": "/a/b.profile", "nprocs": 2},
    **{"share": 0.02, "seed": 7, "confidence": 0.95, "rules": [RULE, UNMEASURED]},
    **{"saving_seconds": 0.25, "saving_from_seconds": 0.125, "saving_to_seconds": 0.375},
}


def write(path: Path, record: object) -> Path:
    path.write_text(json.dumps(record))
    return path


def test_a_whole_record_is_read(tmp_path: Path) -> None:
    record = read(write(tmp_path / "record", RECORD))
    assert record
    first, second = record.rules
    assert (record.share, record.saving_to_seconds) == (0.02, 0.375)
    assert first == ControlledRule(**RULE)
    assert (second.replaced, second.saving_seconds) == (7, None)


def test_a_job_that_wrote_nothing_has_no_record(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None


def changed(**fields: object) -> Callable[[], dict[str, Any]]:
    return lambda: RECORD | fields


def rule(**fields: object) -> Callable[[], dict[str, Any]]:
    return lambda: RECORD | {"rules": [RULE | fields, UNMEASURED]}


WRONG = {
    "another format": changed(plumbline_control=2),
    "a field nobody knows": changed(more=1),
    "a share of all calls": changed(share=1.0),
    "a text for a number": changed(nprocs="2"),
    "the same rule twice": changed(rules=[RULE, RULE]),
    "a saving that is no sum": changed(saving_seconds=0.3),
    "an interval that is no sum": changed(saving_to_seconds=0.5),
    "no saving of the whole": changed(
        saving_seconds=None, saving_from_seconds=None, saving_to_seconds=None
    ),
    "an unknown kind of function": rule(function="system('x')"),
    "control characters": rule(variant="a\u001b[2J"),
    "calls below zero": rule(replaced=-1),
    "more ranks than the job has": rule(ranks=3),
    "a range that ends early": rule(bytes_to=4),
    "times without a saving": rule(replaced_ns=None),
    "a saving without an end": rule(saving_to_seconds=None),
    "a saving beside its interval": rule(saving_from_seconds=0.3),
    "no rule at all": lambda: {key: RECORD[key] for key in RECORD if key != "rules"},
}


@pytest.mark.parametrize("record", WRONG.values(), ids=WRONG)
def test_what_is_no_record_is_refused(tmp_path: Path, record: Callable[[], dict[str, Any]]) -> None:
    with pytest.raises(PlumblineError, match=r"no record of compared calls .*run the job again"):
        read(write(tmp_path / "record", record()))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"plumbline_control": 1e999}', "[" * 100_000])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record"
    path.write_text(text)
    with pytest.raises(PlumblineError, match="no record of compared calls"):
        read(path)
    with pytest.raises(PlumblineError, match="no record of compared calls"):
        read(tmp_path)
