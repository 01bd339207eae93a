"""The overlap suite on the real library, and its pictures."""

from __future__ import annotations

import itertools
import json
import shutil
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

from plumbline import chart
from plumbline.overlap import heatmap, suite
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import Cell
from tests.tuner.test_end_to_end import plumbline


def test_the_axes_go_by_roots_of_two() -> None:
    sizes, work = suite.axes(quick=False)
    assert (sizes[0], sizes[-1], len(sizes)) == (64, 4 << 20, 33)
    assert (work[0], work[-1], len(work)) == (2_000, 4_096_000, 23)
    for axis in (sizes, work):
        steps = [high / low for low, high in itertools.pairwise(axis)]
        assert all(1.38 < step < 1.45 for step in steps)
    quick, less = suite.axes(quick=True)
    assert set(quick) <= set(sizes) and set(less) <= set(work) and len(quick) == 17


def cell(size: int, work: int, value: float | None, *, noisy: bool = False) -> Cell:
    of = value is not None and Ratio(1e-5, 1e-5, 2e-5, value, value, value, noisy)
    return Cell("sender", size, work, 1, of or None)


def test_a_map_shows_what_was_measured_and_covers_what_says_nothing() -> None:
    cells = [cell(64, 1000, 0.0), cell(64, 2000, 1.0), cell(128, 1000, 3.0, noisy=True)]
    cells += [cell(128, 2000, None)]
    found = heatmap.one_map("sender", cells)
    boxes, covers, line = (layer["data"]["values"] for layer in found["layer"])
    assert [row["ratio"] for row in boxes] == [0.0, 1.0, 3.0]
    assert [row["x"] for row in covers] == [boxes[2]["x"]]
    for row in boxes:
        assert row["x2"] / row["x"] == pytest.approx(2)
        assert row["y2"] / row["y"] == pytest.approx(2)
    assert line == []  # 10 us lie outside of the map
    picture = chart.render(heatmap.sheet("a library", cells))
    assert tree.fromstring(picture).tag.endswith("svg")
    assert "#bbbbbb" in picture and "rgb(255, 238, 51)" in picture


@pytest.mark.mpi
def test_overlap_on_the_real_library(tmp_path: Path) -> None:
    """Two launches of two benchmarks; asked again, nothing is launched."""
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun on PATH")
    words = ["overlap", "--benches", "sender,receiver", "--sizes", "1024,65536", "--work", "20,200"]
    words += ["--triples", "9", "--launches", "2", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words, "--json", "--svg", str(tmp_path / "maps.svg"))
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert len(found["cells"]) == 8
    assert [one["bench"] for one in found["classes"]["benches"]] == ["sender", "receiver"]
    for one in found["cells"]:
        assert one["launches"] == 2
        ratio = one["ratio"]
        assert ratio["low"] <= ratio["value"] <= ratio["high"]
        assert ratio["both"] > 0.8 * max(ratio["communication"], ratio["computation"])
    assert (tmp_path / "maps.svg").read_text().startswith("<svg")
    again = plumbline(*words, "--json")
    assert json.loads(again.stdout) == found
    table = plumbline(*words)
    assert "receiver" in table.stdout and "64k" in table.stdout
    assert all(line in table.stdout.splitlines() for line in found["words"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--benches", "sideways"], "both, fan_in, fan_out"),
        (["--work", "0"], "nothing to overlap with"),
        (["--work", "x"], "--work takes whole numbers"),
        (["--sizes", "-5"], "--sizes must not be negative"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    done = plumbline("overlap", *words, "--db", str(tmp_path / "plumbline.db"))
    assert done.returncode == 2 and said in done.stderr


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    database = tmp_path / "plumbline.db"
    words = ["--svg", str(tmp_path / "missing" / "maps.svg"), "--db", str(database)]
    done = plumbline("overlap", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "missing" in done.stderr and not database.exists()
