"""Ranks and programs that conformance.py starts, and what it reads off a search space."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from plumbline.launch import launcher_for
from plumbline.libraries import Family, Installation, Knob
from plumbline.libraries.space import Space
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline_db.errors import PlumblineError
from tests.tuner.families.installations import ROOT
from tests.tuner.jobs import job

# A program in place of mpirun: as many runs of $PROGRAM, found in its words, as -n or -np says.
COUNTING = """#!/bin/sh
while [ $# -gt 0 ] && [ "$1" != "$PROGRAM" ]; do
    case $1 in -n | -np) ranks=$2; shift ;; esac
    shift
done
[ $# -gt 0 ] || exit 3
for rank in $(seq "${ranks:?}"); do "$@"; done
"""


def counting_mpirun(folder: Path) -> Path:
    path = folder / "counting"
    path.write_text(COUNTING)
    path.chmod(0o755)
    return path


def builds_for(installation: Installation) -> None:
    """probes/mpi-id.sh, from the headers, and the tuner, from the programs, name one library."""
    if installation.mpicc is None:
        pytest.skip("no mpicc: only the run-time part is installed")
    words = ["sh", str(ROOT / "probes" / "mpi-id.sh"), str(installation.mpicc)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == paths.build_id(installation.library), done.stderr


def values(space: Space) -> list[tuple[str, str]]:
    """Every knob of the space that is searched, with a value."""
    found = [(entry.knob, one.name) for entry in space.function for one in entry.algorithms[:1]]
    numbers = [one for entry in space.function for one in entry.parameters]
    found += [(one.knob, str(one.values[0])) for one in numbers]
    return found + [(one.knob, str(one.values[0])) for one in space.setting if one.values]


def reported(family: Family, installation: Installation) -> dict[str, Knob]:
    """Skips where the probe that asks the library is not built."""
    try:
        return family.knobs(installation)
    except PlumblineError as error:
        if "probe is missing" in str(error):
            pytest.skip(f"{error}")
        raise


def ranks(family: Family, installation: Installation, placement: Placement) -> list[str]:
    """What ranks that say `a b` say."""
    program = ["/bin/echo", "a b"]
    done = started(family, installation, placement, program, {"PROGRAM": program[0]})
    assert done.status == 0, done.stderr
    return done.stdout.splitlines()


def started(
    family: Family,
    installation: Installation,
    placement: Placement,
    program: list[str],
    extra: dict[str, str],
    seconds: float = 120,
) -> Finished:
    environment = dict(os.environ)
    for name in family.settings_in(environment):
        del environment[name]
    with tempfile.TemporaryDirectory() as folder:
        given = environment | family.environment(installation) | extra
        one = job(Path(folder), program, placement, given, extra=extra, seconds=seconds)
        return launcher_for(None).run(family, installation, one)
