"""What is believed of a campaign that somebody else has written down."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import msgspec
import pytest

from plumbline_db import blobs, outside, series, shapes, transfer
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.db import build, hostile_file


def test_names_of_here_are_names() -> None:
    for name in (
        *("openmpi-4.1.4", "openmpi-4.1.4-4x6a3a03", "node7:openmpi-4.1.4-4x6a3a03", "cn-01.site"),
        *("m-5f0c21ab", "mpich-4.2.1+ucx", "my_host", "9d1c5f6a", "x" * 200),
    ):
        assert outside.NAME.match(name)


@pytest.mark.parametrize("name", [*hostile_file.NAMES, ".", "..", "-x", ".hidden", "a/b", "a\n"])
def test_others_are_none(name: str) -> None:
    assert not outside.NAME.match(name)
    with pytest.raises(outside.UnbelievableError, match=r"Machine, host: .* is no name") as raised:
        outside.require_record(msgspec.structs.replace(build.MACHINE, host=name))
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"state": "later"}, "Invalid enum value 'later'"),
        ({"nprocs": "4"}, "Expected `int`"),
        ({"finished": "yesterday"}, "is no time"),
        ({"settings": "x" * 2**23}, "a text of 8388608 characters"),
        ({"site_rules": 3}, "Expected `str"),
    ],
)
def test_records_have_the_types_of_records(changes: dict[str, object], what: str) -> None:
    with pytest.raises(outside.UnbelievableError, match=what):
        outside.require_record(msgspec.structs.replace(build.CAMPAIGN, **changes))


def test_a_count_is_justified_by_bytes() -> None:
    for count in (1, 4096, 4097, 100_000):
        least, body = blobs.packed([7] * count)
        assert blobs.unpacked(least, body, count).tolist() == [7] * count
    for count in (-1, 4097, 10**9):
        with pytest.raises(ValueError, match="no bytes hold no"):
            blobs.unpacked(7, b"", count)


def test_a_text_is_no_longer_than_one_that_was_written() -> None:
    text = "x" * 2**22
    assert blobs.text(blobs.text_blob(text)) == text
    with pytest.raises(PlumblineError, match="can be kept"):
        blobs.text_blob(text + "x")
    with pytest.raises(ValueError, match="too long"):
        blobs.text(zlib.compress(text.encode() + b"x"))


@pytest.mark.parametrize(
    "layout",
    [
        {"blocks": [], "own": [], "counts": [["a", 0]] * 300, "warmups": 0, "samples": 0},
        {"blocks": [], "own": [["strange", 1]], "counts": [], "warmups": 0, "samples": 0},
        {"blocks": [], "own": [], "counts": [["a", 9]], "warmups": 0, "samples": 0},
        {"blocks": [], "own": [], "counts": [], "warmups": -1, "samples": 0},
    ],
)
def test_layouts_that_nobody_writes(layout: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"no block has|no such width|fewer times"):
        shapes.of_text(json.dumps(layout))


def test_lists_without_bytes_are_counted_together(path: Path) -> None:
    """Equal times take none: what many rows of a file say so is limited in all."""
    blobs.require_bytes([(1, b"")] * 10_000_000 + [(4096, b"")] * 1000)
    with pytest.raises(ValueError, match="of which no byte is there"):
        blobs.require_bytes([(4096, b"")] * 2000)
    with Database.open(path, write=True) as db:
        build.finished(db)
        blocks = [[at, 0, 0, 0, 0] for at in range(5000)]
        layout = {"blocks": blocks, "own": [], "counts": [], "warmups": 0, "samples": 0}
        db.rows("UPDATE shape SET layout = :text", {"text": json.dumps(layout)})
        db.rows("UPDATE series SET samples = x'', warmup = x'', notes = x''")
        (number,) = db.row("SELECT min(measurement) FROM series") or ()
        assert len(series.of(db, [number])[number].layout.blocks) == 5000
        pairs = series._counted(shapes.of_text(json.dumps(layout)), b"", b"")
        with pytest.raises(ValueError, match="of which no byte is there"):
            blobs.require_bytes(pairs * 1000)


def test_a_file_that_names_a_billion_samples_is_refused(tmp_path: Path) -> None:
    layout = {"blocks": [[0, 0, 0, 0, 10**9]], "own": [], "counts": [], "warmups": 0}
    text = json.dumps(layout | {"samples": 10**9})
    hostile = hostile_file.changed(
        hostile_file.exported(tmp_path),
        tmp_path / "hostile.plumbline",
        ("UPDATE shape SET layout = ? WHERE number = 1", (text,)),
        ("UPDATE series SET samples = x'', warmup = x'', notes = x''", ()),
    )
    with pytest.raises(PlumblineError, match="is not what `plumbline db export` writes"):
        transfer.take(tmp_path / "there.db", hostile)
