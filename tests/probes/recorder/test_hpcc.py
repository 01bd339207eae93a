"""A program that nobody wrote for it: Debian's hpcc, with HPL in it, checks its own results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plumbline.detect.kinds import Flag
from plumbline.detect.read import read
from tests.collectives_alt.applications import Hpcc
from tests.collectives_alt.programs import HERE as INPUTS
from tests.probes.recorder.programs import recorder

HPCC = shutil.which("hpcc")

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.skipif(HPCC is None, reason="no hpcc; install the Debian package"),
]


def test_hpcc(tmp_path: Path) -> None:
    shutil.copy(INPUTS / "hpccinf.txt", tmp_path)
    done, record = recorder().recorded(tmp_path, Path(HPCC or ""), 4)
    assert done.returncode == 0, done.stderr
    assert Hpcc.complaints((tmp_path / "hpccoutf.txt").read_text()) == []
    recording = read(record)
    assert all(rank.finished and rank.lost == 0 for rank in recording.ranks)
    assert len(recording.messages) > 20000
    assert recording.messages["verified"].all()
    assert len(recording.unmatched()) == 0
    receives = recording.events[recording.messages["receive"]]
    sends = recording.events[recording.messages["send"]]
    assert (receives["end_ns"] >= sends["post_ns"]).all()
    cancelled = (recording.events["flags"] & Flag.CANCELLED) != 0
    assert recording.nprocs == 4 and cancelled.sum() < 100
