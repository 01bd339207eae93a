"""Profiles that other tools have written, mpiP, Score-P and mpisee, as a campaign takes them; and
what else calls itself one."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core import profile_file
from plumbline.core.printed_text import lines
from plumbline.settings import campaign_file
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.core import cube_profile, mpisee_profile
from tests.tuner.core.cube_profile import VALUES, made
from tests.tuner.foreign import printed

PLAIN = made()
CASES = Path(__file__).parents[2] / "cases" / "foreign"


def test_sites_are_calls() -> None:
    found = profile_file.read_mpip(lines(printed.MPIP.encode())).application
    assert (found.nprocs, found.seconds, found.command) == (4, 11.0, ["./app", "-n", "100"])
    calls = {call.function: call for call in found.calls}
    assert set(calls) == {"MPI_Allreduce", "MPI_Gather"}  # messages are no collectives
    reduced = calls["MPI_Allreduce"]
    assert (reduced.bytes, reduced.nodes, reduced.ppn, reduced.calls) == (800, 2, 2, 100)
    assert reduced.seconds == pytest.approx(0.0125)  # 100 calls of 0.125 ms on the average
    assert reduced.fastest_seconds == pytest.approx(2e-5)  # of the rank whose is slowest
    assert reduced.work_seconds == pytest.approx(2e-3)
    assert calls["MPI_Gather"].bytes == 64  # the blocks of all ranks


@pytest.mark.parametrize(
    "how", [{}, {"order": ">"}, {"packed": True}, {"packed": True, "order": ">", "zipped": True}]
)
def test_places_of_calls_are_calls(how: dict[str, object]) -> None:
    """Rows of inclusive and of exclusive metrics are numbered along the tree in two ways."""
    found = profile_file.read_scorep(made(**how))  # type: ignore[arg-type]
    assert (found.nprocs, found.seconds, found.version) == (4, 5.5, "Score-P 8.4")
    calls = {call.function: call for call in found.calls}
    assert set(calls) == {"MPI_Allreduce", "MPI_Gather", "MPI_Bcast"}
    reduced = calls["MPI_Allreduce"]
    assert (reduced.bytes, reduced.nodes, reduced.ppn, reduced.calls) == (800, 2, 2, 100)
    assert (reduced.seconds, reduced.fastest_seconds) == (2.0, 2e-5)
    assert reduced.work_seconds == pytest.approx(2e-3)
    assert calls["MPI_Gather"].bytes == 256  # the blocks of all ranks
    assert calls["MPI_Bcast"].bytes == 1000


def test_wrong_checksums_of_members_are_no_reason() -> None:
    """CubeW 4.8 writes them."""
    changed = bytearray(PLAIN)
    assert changed[257:262] == b"ustar"
    changed[148:156] = b"000001\0 "
    assert profile_file.read_scorep(bytes(changed)) == profile_file.read_scorep(PLAIN)


@pytest.mark.parametrize(
    ("function", "bytes"),
    [
        *(("MPI_Scatterv", 6000), ("MPI_Reduce", 1500), ("MPI_Alltoall", 1500)),
        *(("MPI_Allgather", 1500), ("MPI_Reduce_scatter", 1500), ("MPI_Scan", 600)),
        *(("MPI_Exscan", 1000), ("MPI_Allreduce", 375)),
    ],
)
def test_what_all_ranks_send_says_the_volume(function: str, bytes: int) -> None:
    xml = cube_profile.anchor().replace(">MPI_Bcast<", f">{function}<")
    sent = VALUES | {
        "bytes_sent": {2: (12000, 0, 0, 0)},
        "bytes_received": {2: (0, 0, 0, 0), 3: (1, 1, 1, 1)},
    }
    found = profile_file.read_scorep(made(values=sent, xml=xml))
    assert bytes in [call.bytes for call in found.calls if call.function == function]


@pytest.mark.parametrize(
    ("text", "seconds", "bytes", "line"),
    [
        (printed.MPIP.replace("0.20", "x"), 0.012, 800, 28),
        (printed.MPIP.replace("       800       800", "       800       9e99"), 0.0125, None, 42),
    ],
)
def test_a_row_that_cannot_be_read_is_named(
    text: str, seconds: float, bytes: int | None, line: int
) -> None:
    """The row of all ranks together stands for a rank whose row is broken."""
    read = profile_file.read_mpip(lines(text.encode()))
    assert f"line {line}" in read.left_out[0]
    (reduced,) = (call for call in read.application.calls if call.function == "MPI_Allreduce")
    assert (reduced.seconds, reduced.bytes) == (pytest.approx(seconds), bytes)


def calls_of(path: Path) -> dict[str, tuple[float, int | None]]:
    return {call.function: (call.calls, call.bytes) for call in profile_file.read(path).calls}


def test_ranks_below_a_threshold_count_in_the_row_of_all(tmp_path: Path) -> None:
    assert calls_of(CASES / "p01_threshold.mpiP") == {
        "MPI_Allreduce": (100, 800),
        "MPI_Reduce": (100, 400),
    }
    some = (CASES / "p01_threshold.mpiP").read_text().replace("Allreduce            1    3", "#")
    (tmp_path / "some.mpiP").write_text(some)
    assert calls_of(tmp_path / "some.mpiP")["MPI_Allreduce"] == (100, 800)


CHANGES: list[Callable[[bytes], bytes]] = [
    lambda data: data,
    gzip.compress,
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.decode().encode("utf-16"),
    lambda data: data.replace(b"\n", b"\r\n"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_stands_before_a_report_and_how_it_is_packed(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "app.mpiP"
    path.write_bytes(change((CASES / "p03_banner_before.mpiP").read_bytes()))
    assert calls_of(path) == {"MPI_Allreduce": (100, 800)}


def test_barriers_count(tmp_path: Path) -> None:
    (tmp_path / "app.mpiP").write_text(printed.MPIP.replace("Gather  ", "Barrier "))
    assert calls_of(tmp_path / "app.mpiP")["MPI_Barrier"] == (10, 0)
    made_database = mpisee_profile.made(
        tmp_path / "mpisee_1.db", "UPDATE operations SET operation = 'Barrier' WHERE id = 2"
    )
    assert calls_of(made_database)["MPI_Barrier"] == (10, 0)


def test_mpisee_sums_blocks_and_counts_bytes_at_the_root(tmp_path: Path) -> None:
    path = tmp_path / "mpisee_4.db"
    with sqlite3.connect(path) as db:
        db.executescript((CASES / "c02_mpisee_v_functions.sql").read_text())
    db.close()
    names = ("Allgatherv", "Alltoallv", "Gatherv", "Scatterv", "Scatter")
    assert calls_of(path) == {f"MPI_{name}": (10, 4096) for name in names}


def test_headers_of_members_as_cube_4_8_writes_them() -> None:
    assert calls_of(CASES / "c01_header_checksum.cubex")["MPI_Allreduce"] == (100, 800)


def test_communicators_are_known(tmp_path: Path) -> None:
    found = profile_file.read(mpisee_profile.made(tmp_path / "mpisee_1.db"))
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
    ("name", "data"),
    [
        ("app.mpiP", printed.MPIP.replace("node2", "node1").encode()),
        ("profile.cubex", made(xml=cube_profile.anchor().replace("node1", "node0"))),
    ],
)
def test_a_campaign_takes_it(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert profile_file.read(path).nprocs == 4
    settings = campaign_file.load(None, {"nprocs": 4, "profile": str(path)})
    assert "MPI_Allreduce" in str(settings)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("@ mpiP\n", "the hosts of its tasks"),
        (printed.MPIP.partition("@--- Callsite Message")[0], "no collective with a size"),
        (PLAIN[:700], "cannot be read|as Cube writes it"),
        (PLAIN.replace(b"anchor.xml", b"anchor.txt", 1), "anchor.xml is missing"),
        (made(xml="<cube>"), "cannot be read"),
        (made(xml="<!DOCTYPE cube><cube/>"), "document type"),
        (made(xml="<cube/>"), "no processes"),
        (made(xml=cube_profile.anchor("")), "no collective with a size"),
        (made(values=VALUES | {"bytes_sent": {}, "bytes_received": {}}), "with a size"),
        (made(values=VALUES | {"time": {3: (float("nan"),) * 4}}), "is impossible"),
        (PLAIN.replace(b"CUBEX.INDEX", b"CUBEY.INDEX"), "has a wrong header"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, data: str | bytes, words: str) -> None:
    path = tmp_path / "profile"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(UsageError, match=words):
        profile_file.read(path)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE comms", "has no table comms"),
        ("UPDATE data SET calls = 'many'", "not a whole number"),
        ("UPDATE data SET time = -1", "not a number of seconds"),
        ("UPDATE data SET time = 'x'", "not a database of mpisee"),
        ("UPDATE comms SET size = 'x'", "not a whole number"),
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
def test_what_is_wrong_in_a_database_is_said(tmp_path: Path, sql: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        profile_file.read(mpisee_profile.made(tmp_path / "mpisee_1.db", sql))


def test_one_bad_row_of_a_database_is_left_out(tmp_path: Path) -> None:
    path = mpisee_profile.made(
        tmp_path / "mpisee_1.db", "UPDATE data SET calls = 'many' WHERE operation_id = 2"
    )
    read = profile_file.read_with_remarks(path)
    assert read.left_out == ["rows that cannot be read: 2"]
    assert {call.function for call in read.application.calls} == {"MPI_Allreduce"}


def test_bytes_of_a_database_are_none(tmp_path: Path) -> None:
    whole = mpisee_profile.made(tmp_path / "mpisee_1.db").read_bytes()
    for length in (16, 100, 4096, 3 * 4096):
        (tmp_path / "cut.db").write_bytes(whole[:length])
        with pytest.raises(UsageError):
            profile_file.read(tmp_path / "cut.db")


@given(st.data())
def test_whatever_is_changed_in_a_text_it_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(printed.MPIP)))
    changed = printed.MPIP[:at] + data.draw(st.text(max_size=20)) + printed.MPIP[at + 7 :]
    try:
        found = profile_file.read_mpip(lines(changed.encode())).application
    except PlumblineError:
        return
    assert all(call.calls >= 0 and call.work_seconds <= call.seconds for call in found.calls)


@given(st.integers(0, len(PLAIN) - 8), st.binary(min_size=1, max_size=8))
def test_whatever_is_changed_in_an_archive_it_is_read_or_refused(at: int, put: bytes) -> None:
    changed = PLAIN[:at] + put + PLAIN[at + len(put) :]
    try:
        found = profile_file.read_scorep(changed)
    except PlumblineError:
        return
    assert all(call.calls >= 0 and call.work_seconds <= call.seconds for call in found.calls)
