"""Guidelines for messages between two ranks and for derived datatypes, under the real mpirun: a
library that is slow with datatypes is found, and settings of the process are tried for messages."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from plumbline.campaign.vetting import trials
from plumbline.core.guidelines import LAYOUT_PATTERNS, MESSAGE_PATTERNS, load
from plumbline.core.winner import far_sizes_of
from plumbline.measure import tables
from plumbline.settings.campaign_file import load as settings_of
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES
from tests.db import build
from tests.tuner.started import plumbline

OF_MESSAGES = [pattern.id for pattern in load().patterns if pattern.lhs in MESSAGE_PATTERNS]


@pytest.fixture(scope="module")
def slow_send(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("slow_send") / "libslow_send.so"
    source = Path(__file__).parents[1] / "slow_send.c"
    words = ["mpicc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", str(library)]
    subprocess.run([*words, str(source)], check=True, timeout=60)
    return library


def test_sides_are_measured_at_every_size() -> None:
    settings = settings_of(None, {"nprocs": 2, "sizes": [8, 4096], "guidelines": OF_MESSAGES})
    cases = tables.cases(load().selected(OF_MESSAGES), settings)
    assert {case.function for case in cases} == set(MESSAGE_PATTERNS)
    measured = {(case.function, case.variant, case.bytes) for case in cases}
    assert len(measured) == 2 * 11
    assert {("vector", "default", 8), ("vector", "vector_pack_send", 4096)} <= measured


def test_settings_of_the_process_need_no_trial_of_messages() -> None:
    ends = {"bytes_from": 0, "bytes_to": UNBOUNDED_BYTES}
    winner = build.winner(function=EVERY_FUNCTION, **ends, nprocs=2)
    sizes = {"MPI_Bcast": [64], "point_to_point": [64], "vector": [64]}
    settings = settings_of(None, {"nprocs": 2})
    assert {case.function for case in trials(winner, settings, sizes)} == {"MPI_Bcast"}
    far = far_sizes_of(winner, sizes)
    assert far["point_to_point"] == far["MPI_Bcast"] != []
    assert all(not far[name] for name in far if name in LAYOUT_PATTERNS)


@pytest.mark.mpi
@pytest.mark.alone
def test_a_slow_datatype_path_is_found(slow_send: Path, tmp_path: Path) -> None:
    words = ["verify", "--nprocs", "2", "--sizes", "1024", "--launches", "8", "--json"]
    words += ["--guidelines", ",".join([*OF_MESSAGES, "-GL1", "-GL2"])]
    words += ["--set", f"preload={slow_send}", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words)
    assert said.returncode == 3, said.stderr
    cells = json.loads(said.stdout)["before"]["cells_all"]
    verdicts = {cell["guideline"]: cell["verdict"] for cell in cells}
    assert set(verdicts) == set(OF_MESSAGES)
    slower = {name for name, verdict in verdicts.items() if verdict == "violated"}
    assert {"PL59", "PL60", "PL63"} <= slower
    assert slower.isdisjoint({"PL57", "PL58", "PL61", "PL62"})


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.alone
def test_an_eager_limit_is_found_and_exported(slow_send: Path, tmp_path: Path) -> None:
    file = tmp_path / "eager.toml"
    file.write_text(
        f'nprocs = 2\nsizes = [64, 16384]\nlaunches = 8\nguidelines = ["PL57"]\n'
        f'preload = ["{slow_send}"]\nenvironment = {{ SLOW_SEND_EAGER = "1" }}\n'
    )
    said = plumbline("campaign", file, "--json", "--db", tmp_path / "plumbline.db")
    assert said.returncode == 0, said.stderr
    results = json.loads(said.stdout)
    before, after = (
        {(cell["guideline"], cell["bytes"]) for cell in results[stage]["violations"]}
        for stage in ("before", "after")
    )
    assert ("PL57", 16384) in before - after
    (winner,) = results["winners"]
    assert any("eager_limit" in knob for knob in winner["configuration"])
    assert any(each["format"] == "mca-params" for each in results["exports"])
