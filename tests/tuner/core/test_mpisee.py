"""Databases that mpisee has written, as a campaign takes them; and what else calls itself one."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core import profile_file
from plumbline_db.errors import UsageError
from tests.tuner.core.mpisee_profile import made


def test_communicators_are_known(tmp_path: Path) -> None:
    found = profile_file.read(made(tmp_path / "mpisee_1.db"))
    assert (found.nprocs, found.seconds, found.command) == (2, 2.75, ["./app", "-n", "1"])
    assert found.version == "mpisee 3.1" and found.library == "Open MPI v4.1.4"
    calls = {(call.function, call.nprocs): call for call in found.calls}
    assert set(calls) == {("MPI_Allreduce", 2), ("MPI_Gather", 2), ("MPI_Allreduce", 1)}
    reduced = calls["MPI_Allreduce", 2]
    assert (reduced.bytes, reduced.calls, reduced.nodes, reduced.ppn) == (800, 100, 1, 2)
    assert reduced.seconds == pytest.approx(0.003)
    assert reduced.fastest_seconds == pytest.approx(2e-5)
    assert reduced.work_seconds == pytest.approx(2e-3)
    assert calls["MPI_Gather", 2].bytes == 32
    assert calls["MPI_Allreduce", 1].nodes is None


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE comms", "has no table comms"),
        ("UPDATE data SET calls = 'many'", "no whole number"),
        ("UPDATE data SET time = -1", "no seconds"),
        ("UPDATE data SET time = 'x'", "no database of mpisee"),
        ("UPDATE comms SET size = 'x'", "no whole number"),
        ("UPDATE data SET volume = 0", "no collective with a size"),
        ("DELETE FROM data", "no collective with a size"),
        ("DELETE FROM mappings", "no collective with a size"),
        (
            "DROP TABLE mappings; CREATE VIEW mappings AS WITH RECURSIVE n(machine) AS "
            "(SELECT 1 UNION ALL SELECT machine + 1 FROM n) SELECT machine FROM n",
            "more than 1000000 rows",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, sql: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        profile_file.read(made(tmp_path / "mpisee_1.db", sql))


def test_bytes_of_a_database_are_none(tmp_path: Path) -> None:
    whole = made(tmp_path / "mpisee_1.db").read_bytes()
    for length in (16, 100, 4096, 3 * 4096):
        (tmp_path / "cut.db").write_bytes(whole[:length])
        with pytest.raises(UsageError):
            profile_file.read(tmp_path / "cut.db")
