"""Profiles that mpiP has written, as a campaign takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core import mpip, profile_file
from plumbline.settings import campaign_file
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.foreign import printed


def test_sites_are_calls() -> None:
    found = mpip.read(printed.MPIP)
    assert (found.nprocs, found.seconds, found.command) == (4, 11.0, ["./app", "-n", "100"])
    calls = {call.function: call for call in found.calls}
    assert set(calls) == {"MPI_Allreduce", "MPI_Gather"}  # messages are no collectives
    reduced = calls["MPI_Allreduce"]
    assert (reduced.bytes, reduced.nodes, reduced.ppn, reduced.calls) == (800, 2, 2, 100)
    assert reduced.seconds == pytest.approx(0.0125)  # 100 calls of 0.125 ms on the average
    assert reduced.fastest_seconds == pytest.approx(2e-5)  # of the rank whose is slowest
    assert reduced.work_seconds == pytest.approx(2e-3)
    assert calls["MPI_Gather"].bytes == 64  # the blocks of all ranks


def test_a_campaign_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "app.mpiP"
    path.write_text(printed.MPIP.replace("node2", "node1"))
    assert profile_file.read(path).nprocs == 4
    settings = campaign_file.load(None, {"nprocs": 4, "profile": str(path)})
    assert "MPI_Allreduce" in str(settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@ mpiP\n", "where its tasks ran"),
        (printed.MPIP.partition("@--- Callsite Message")[0], "no collective with a size"),
        (printed.MPIP.replace("0.20", "x"), "line 28"),
        (printed.MPIP.replace("       800       800", "       800       9e99"), "is no number"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "app.mpiP"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        profile_file.read(path)


@given(st.data())
def test_whatever_is_changed_it_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(printed.MPIP)))
    changed = printed.MPIP[:at] + data.draw(st.text(max_size=20)) + printed.MPIP[at + 7 :]
    try:
        found = mpip.read(changed)
    except PlumblineError:
        return
    assert all(call.calls >= 0 and call.work_seconds <= call.seconds for call in found.calls)
