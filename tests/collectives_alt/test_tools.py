"""libplumbline.so beside a tool of the user's, which wraps MPI functions too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build, mpirun

pytestmark = pytest.mark.mpi

PROFILE = """\
plumbline-profile 1
rule function=MPI_Allreduce nprocs=4-4 bytes=400-65536 variant=allreduce_as_reduce_plus_bcast
"""


@pytest.fixture(scope="module")
def tool(build: Build) -> Path:
    return build.program("tool.so")


def counted(build: Build, folder: Path, *preloaded: Path) -> tuple[list[int], dict[str, int]]:
    """What the tool saw of Init, Allreduce, Gather and Finalize; what ours says of Allreduce."""
    profile, report, counts = (folder / name for name in ("profile", "report", "counts"))
    profile.write_text(PROFILE)
    environment = {
        "LD_PRELOAD": ":".join(map(str, preloaded)),
        "PLUMBLINE_PROFILE": str(profile),
        "PLUMBLINE_REPORT": str(report),
        "TOOL_COUNTS": str(counts),
    }
    done = mpirun(4, build.program("application"), env=environment)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())["functions"] if report.exists() else []
    ours = next((one for one in said if one["function"] == "MPI_Allreduce"), {})
    return [int(word) for word in counts.read_text().split()], ours


def test_a_tool_behind_ours_sees_what_is_not_replaced(
    build: Build, tool: Path, tmp_path: Path
) -> None:
    seen, ours = counted(build, tmp_path, build.preload, tool)
    assert (ours["calls"], ours["replaced"]) == (6, 2)
    assert seen == [1, 4, 1, 1]  # every call of Gather, and the begin and the end


def test_a_tool_before_ours_keeps_calls_from_it(build: Build, tool: Path, tmp_path: Path) -> None:
    """Which is why exported files put ours first: a tool calls PMPI_ functions."""
    seen, ours = counted(build, tmp_path, tool, build.preload)
    assert seen == [1, 6, 1, 1]
    assert ours.get("replaced", 0) == 0


def test_a_tool_alone(build: Build, tool: Path, tmp_path: Path) -> None:
    assert counted(build, tmp_path, tool) == ([1, 6, 1, 1], {})
