"""What is believed of a campaign that somebody else has written down."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pytest

from plumbline_db import blobs, outside, transfer
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
    with pytest.raises(
        outside.UnbelievableError, match=r"Machine, host: .* is not a name"
    ) as raised:
        outside.require_record(msgspec.structs.replace(build.MACHINE, host=name))
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"state": "later"}, "Invalid enum value 'later'"),
        ({"nprocs": "4"}, "Expected `int`"),
        ({"finished": "yesterday"}, "is not a time"),
        ({"settings": "x" * 2**23}, "a text of 8388608 characters"),
        ({"site_rules": 3}, "Expected `str"),
    ],
)
def test_records_have_the_types_of_records(changes: dict[str, object], what: str) -> None:
    with pytest.raises(outside.UnbelievableError, match=what):
        outside.require_record(msgspec.structs.replace(build.CAMPAIGN, **changes))


def test_a_text_is_no_longer_than_one_that_was_written() -> None:
    text = "x" * 2**22
    assert blobs.text(blobs.text_blob(text)) == text
    with pytest.raises(PlumblineError, match="can be kept"):
        blobs.text_blob(text + "x")
    with pytest.raises(ValueError, match="too long"):
        blobs.text(zlib.compress(text.encode() + b"x"))


def test_a_file_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    zeros = zlib.compressobj(1)
    bomb = b"".join(zeros.compress(bytes(2**20)) for _ in range(2**9)) + zeros.flush()
    hostile = hostile_file.changed(
        hostile_file.exported(tmp_path),
        tmp_path / "hostile.plumbline",
        ("UPDATE run SET records = ?", (bomb,)),
    )
    with pytest.raises(PlumblineError, match="is not what `plumbline db export` writes"):
        transfer.take(tmp_path / "there.db", hostile)


@pytest.mark.parametrize(
    "line", [b"{}", b'{"record":"begin","case":-1}', b'{"record":"order"', b"\xff", b"[" * 10**5]
)
def test_records_that_nobody_writes_are_refused(tmp_path: Path, line: bytes) -> None:
    hostile = hostile_file.changed(
        hostile_file.exported(tmp_path),
        tmp_path / "hostile.plumbline",
        ("UPDATE run SET records = ?", (zlib.compress(line + b"\n"),)),
    )
    with pytest.raises(PlumblineError, match="is not what `plumbline db export` writes"):
        transfer.take(tmp_path / "there.db", hostile)
