"""The installed Open MPI reads the rules file as it was meant.

Every algorithm of an exported file is replaced by 99, which the library refuses, so a refused call
is one that a rule serves.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import (
    COLLECTIVES,
    Collective,
    parameter_prefix,
    reads_version_2,
)
from tests.exporters import mpi
from tests.exporters.bundles import BY_SIZE, SAFE, bundle, library, tuned

pytestmark = pytest.mark.mpi

WHOLE = [function for function in COLLECTIVES if function not in BY_SIZE]


def in_force(tmp_path: Path, version: str, *winners: Winner) -> dict[str, str]:
    """The environment in which the canary copy of the exported file is in force."""
    (text,) = ompi_rules.rules_files(bundle(*winners, version=version)).values()
    path = tmp_path / "canary-rules.conf"
    path.write_text(mpi.canary(text))
    return mpi.environment(
        OMPI_MCA_coll_tuned_use_dynamic_rules="1",
        OMPI_MCA_coll_tuned_dynamic_rules_filename=str(path),
    )


@pytest.mark.parametrize("nprocs", [3, 4])
def test_sizes_are_converted_for_each_function(
    canary_program: Path, open_mpi: str, tmp_path: Path, nprocs: int
) -> None:
    """Winners for 1200 to 6000 bytes: refused at both ends, served by the library just outside;
    blocks of a reduction may end with an element of eight bytes."""
    winners = [tuned(f, SAFE.get(f, "2"), 1200, 6000, nprocs) for f in BY_SIZE]
    env = in_force(tmp_path, open_mpi, *winners)
    inside, outside = (1200, 1200 + nprocs, 6000), (1200 - nprocs, 6000 + 8 * nprocs, 12000)
    calls = [(f, size) for f in BY_SIZE for size in sorted((*inside, *outside))]
    expected = {(f, size): "refused" if size in inside else "ok" for f, size in calls}
    assert mpi.answers(canary_program, calls, nprocs, env) == expected


def test_padded_sizes_are_served(canary_program: Path, open_mpi: str, tmp_path: Path) -> None:
    """What is measured as 4096 bytes on 3 ranks moves 4098 where blocks are equal."""
    functions = [f for f in BY_SIZE if COLLECTIVES[f].size == "blocks"]
    winners = [tuned(f, SAFE.get(f, "2"), 1024, 4096, 3) for f in functions]
    env = in_force(tmp_path, open_mpi, *winners)
    calls = [(f, size) for f in functions for size in (1026, 4098, 4122)]
    expected = {(f, size): "ok" if size == 4122 else "refused" for f, size in calls}
    assert mpi.answers(canary_program, calls, 3, env) == expected


@pytest.mark.parametrize("nprocs", [2, 3, 4, 5, 6])
def test_guard_blocks_protect_other_communicators(
    canary_program: Path, open_mpi: str, tmp_path: Path, nprocs: int
) -> None:
    winners = [tuned(f, SAFE.get(f, "2"), nprocs=4) for f in COLLECTIVES]
    env = in_force(tmp_path, open_mpi, *winners)
    calls = [(f, 60 * 64) for f in COLLECTIVES]
    expected = "refused" if nprocs == 4 else "ok"
    assert mpi.answers(canary_program, calls, nprocs, env) == dict.fromkeys(calls, expected)


def test_one_rule_serves_all_sizes(canary_program: Path, open_mpi: str, tmp_path: Path) -> None:
    env = in_force(tmp_path, open_mpi, *(tuned(f, "2") for f in WHOLE))
    calls = [(f, size) for f in WHOLE for size in (4, 4096, 1 << 20)]
    assert mpi.answers(canary_program, calls, 4, env) == dict.fromkeys(calls, "refused")


def test_calls_in_place_are_left_to_the_library(
    canary_program: Path, open_mpi: str, tmp_path: Path
) -> None:
    functions = [f for f in BY_SIZE if COLLECTIVES[f].in_place_is_zero]
    env = in_force(tmp_path, open_mpi, *(tuned(f, "2", 0, 1 << 20) for f in functions))
    calls = [(f"{f}{how}", 4096) for f in functions for how in ("", "_in_place")]
    found = mpi.answers(canary_program, calls, 4, env)
    assert found == {c: "ok" if c[0].endswith("_in_place") else "refused" for c in calls}


def test_version_2_file(canary_program: Path, open_mpi: str, tmp_path: Path) -> None:
    """Read where the table says so; otherwise ignored, which is why it is refused there."""
    winner = tuned("MPI_Alltoall", "linear_sync", 1024, UNBOUNDED_BYTES, max_requests=2)
    env = in_force(tmp_path, "5.0.11", winner)
    calls = [("MPI_Alltoall", 512), ("MPI_Alltoall", 4096)]
    expected = ["ok", "refused" if reads_version_2(library(open_mpi)) else "ok"]
    assert list(mpi.answers(canary_program, calls, 4, env).values()) == expected


def test_algorithms_have_the_ids_that_the_library_reports(open_mpi: str) -> None:
    text = subprocess.run(
        ["ompi_info", "--all", "--parsable", "--level", "9"],
        env=mpi.environment(), capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    for function, collective in COLLECTIVES.items():
        lines = re.findall(rf":{parameter_prefix(function)}:enumerator:value:(\d+):(.*)", text)
        reported = {name: int(id) for id, name in lines}
        assert reported.pop("ignore") == 0
        assert _ids(collective, reported, open_mpi) == reported


def _ids(collective: Collective, names: dict[str, int], version: str) -> dict[str, int | None]:
    return {name: collective.id_of(name, library(version)) for name in names}
