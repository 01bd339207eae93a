"""A short share of `make fuzz`: what was kept, and some hundred inputs that are nearly right."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db import ndjson
from plumbline_db.errors import PlumblineError
from plumbline_db.planned import Planned
from tests.fuzz import in_c
from tests.fuzz.mutation import mutants
from tests.fuzz.readers import KEPT, READERS
from tests.probes.conftest import build  # noqa: F401

_INPUTS = {
    "exports": 3,
    "rules": 150,
    "import": 60,
    "compressed": 60,
    "search-space": 120,
}  # of readers that take their time
_MANY = 400


@pytest.mark.parametrize("name", READERS)
def test_readers_in_python(name: str) -> None:
    reader = READERS[name]
    inputs = reader.inputs(name)
    for data in itertools.islice(mutants(inputs, 1), len(inputs) + _INPUTS.get(name, _MANY)):
        try:
            reader.read(data)
        except PlumblineError:
            continue
        except Exception as error:  # the input is what somebody wants to see
            pytest.fail(f"{data!r}: {error!r}")


@pytest.mark.parametrize("name", in_c.READERS)
def test_readers_in_c(name: str, build: Path, tmp_path: Path) -> None:  # noqa: F811
    program = in_c.program(build, name, tmp_path / name)
    seeds = [path.read_bytes() for path in sorted((KEPT / name).iterdir())]
    files = []
    for number, data in enumerate(itertools.islice(mutants(seeds, 1), 2000)):
        files.append(tmp_path / f"{number}.input")
        files[-1].write_bytes(data)
    done = subprocess.run([program, *files], capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_kept_input_has_a_reader() -> None:
    """And every reader of files that people hand over has kept ones."""
    kept = {path.name for path in KEPT.iterdir()}
    assert kept <= {*READERS, *in_c.READERS}
    assert kept >= {"calls", "campaign", "guidelines", "ompi-info", "plan", "profile"}
    assert kept >= {"record", "rules", "search-space", "store"}


def test_records_are_compared_with_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []

    def planned(plan: str, seconds: float) -> Planned:
        plans.append(plan)
        return Planned(plan, seconds)

    monkeypatch.setattr(ndjson, "Planned", planned)
    for name in ("record", "store"):
        (seed,) = READERS[name].seeds()
        READERS[name].read(seed)
    assert len(set(plans)) == 1 and len(plans) == 3


def test_no_folder_is_left_behind(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import tests.fuzz.readers"]
    subprocess.run(words, cwd=in_c.ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, check=True)
    assert list(tmp_path.iterdir()) == []
