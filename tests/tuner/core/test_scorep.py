"""Profiles that Score-P has written, as a campaign takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core import profile_file, scorep
from plumbline.settings import campaign_file
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.core import cube_profile
from tests.tuner.core.cube_profile import VALUES, made

PLAIN = made()


@pytest.mark.parametrize(
    "how", [{}, {"order": ">"}, {"packed": True}, {"packed": True, "order": ">", "zipped": True}]
)
def test_places_of_calls_are_calls(how: dict[str, object]) -> None:
    """Rows of inclusive and of exclusive metrics are numbered along the tree in two ways."""
    found = scorep.read(made(**how))  # type: ignore[arg-type]
    assert (found.nprocs, found.seconds, found.version) == (4, 5.5, "Score-P 8.4")
    calls = {call.function: call for call in found.calls}
    assert set(calls) == {"MPI_Allreduce", "MPI_Gather", "MPI_Bcast"}
    reduced = calls["MPI_Allreduce"]
    assert (reduced.bytes, reduced.nodes, reduced.ppn, reduced.calls) == (800, 2, 2, 100)
    assert (reduced.seconds, reduced.fastest_seconds) == (2.0, 2e-5)
    assert reduced.work_seconds == pytest.approx(2e-3)
    assert calls["MPI_Gather"].bytes == 256  # the blocks of all ranks
    assert calls["MPI_Bcast"].bytes == 1000


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
    found = scorep.read(made(values=sent, xml=xml))
    assert bytes in [call.bytes for call in found.calls if call.function == function]


def test_a_campaign_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "profile.cubex"
    path.write_bytes(made(xml=cube_profile.anchor().replace("node1", "node0")))
    assert profile_file.read(path).nprocs == 4
    settings = campaign_file.load(None, {"nprocs": 4, "profile": str(path)})
    assert "MPI_Allreduce" in str(settings)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PLAIN[:700], "cannot be read|as Cube writes it"),
        (PLAIN.replace(b"anchor.xml", b"anchor.txt", 1), "cannot be read"),
        (made(xml="<cube>"), "cannot be read"),
        (made(xml="<!DOCTYPE cube><cube/>"), "document type"),
        (made(xml="<cube/>"), "no processes"),
        (made(xml=cube_profile.anchor("")), "no collective with a size"),
        (made(values=VALUES | {"bytes_sent": {}, "bytes_received": {}}), "with a size"),
        (made(values=VALUES | {"time": {3: (float("nan"),) * 4}}), "that cannot be"),
        (PLAIN.replace(b"CUBEX.INDEX", b"CUBEY.INDEX"), "does not begin"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "profile.cubex"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=words):
        profile_file.read(path)


@given(st.integers(0, len(PLAIN) - 8), st.binary(min_size=1, max_size=8))
def test_whatever_is_changed_it_is_read_or_refused(at: int, put: bytes) -> None:
    changed = PLAIN[:at] + put + PLAIN[at + len(put) :]
    try:
        found = scorep.read(changed)
    except PlumblineError:
        return
    assert all(call.calls >= 0 and call.work_seconds <= call.seconds for call in found.calls)
