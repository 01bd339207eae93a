"""plumbline.sh for Intel MPI: in a plain shell, and under the real mpirun."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest

from plumbline.libraries import Installation
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family import intelmpi
from tests.exporters import mpi
from tests.exporters.bundles import bundle, knob, variant
from tests.impi import FAMILY, tuned

OTHERS = {"SLURM_EXPORT_ENV", "PLUMBLINE_EXPORT_ENV", "PLUMBLINE_SAY"}  # test_by_srun.py
GATHER = variant("MPI_Gather", "gather_binomial", 0, 262144)
TOOL = "env LD_PRELOAD=/opt/plumbline/libplumbline.so:all"
PROFILE = "/out/plumbline.profile"


given = partial(bundle, version="2021.17.2", family="intelmpi")


def sourced(
    tmp_path: Path, *winners: Winner, before: str = "", times: int = 1
) -> tuple[dict[str, str], str]:
    script = tmp_path / "plumbline.sh"
    script.write_text(intelmpi.files(given(*winners))["plumbline.sh"])
    leave = {"_", "PWD", "SHLVL", "PATH"} | OTHERS
    return mpi.sourced(script, {"PATH": "/usr/bin:/bin"}, leave, before, times)


def test_what_nothing_shows_is_said_in_the_head() -> None:
    texts = [
        intelmpi.files(given(tuned(name, 3)))["plumbline.sh"] for name in ("MPI_Scan", "MPI_Bcast")
    ]
    said = [[line for line in text.splitlines() if "Nothing shows" in line] for text in texts]
    assert said == [["# Nothing shows whether a preset is taken for MPI_Scan."], []]


def test_presets_and_what_holds_for_the_process(tmp_path: Path) -> None:
    found, errors = sourced(
        tmp_path, tuned("MPI_Bcast", 3, 64, 4096), knob("I_MPI_FABRICS", "shm", "MPI_Scan")
    )
    assert errors == ""
    assert found == {
        "I_MPI_ADJUST_BCAST": "0:0-63;3:64-4096;0:4097-2147483647",
        "I_MPI_FABRICS": "shm",
    }


def test_nothing_found_sets_nothing(tmp_path: Path) -> None:
    assert sourced(tmp_path) == ({}, "")


@pytest.mark.parametrize("times", [1, 2, 3])
def test_preload_is_for_the_ranks(tmp_path: Path, times: int) -> None:
    found, errors = sourced(tmp_path, GATHER, times=times)
    assert (found, errors) == (
        {"I_MPI_GTOOL": TOOL, "PLUMBLINE_TOOL": TOOL, "PLUMBLINE_PROFILE": PROFILE},
        "",
    )


def test_a_preload_of_the_shell_follows_ours(tmp_path: Path) -> None:
    # Two names of one library that does no harm in the shells and tools of this test.
    theirs = "libc.so.6"
    found, _ = sourced(tmp_path, GATHER, before=f"export LD_PRELOAD={theirs}")
    assert found["LD_PRELOAD"] == theirs
    assert found["I_MPI_GTOOL"] == f"{TOOL.removesuffix(':all')}:{theirs}:all"


def test_a_tool_of_the_user_s_stays_and_is_said(tmp_path: Path) -> None:
    found, errors = sourced(tmp_path, GATHER, before='export I_MPI_GTOOL="perf stat:0"')
    assert found == {"I_MPI_GTOOL": "perf stat:0"}
    assert "variants are not in force" in errors
    assert "env LD_PRELOAD=/opt/plumbline/libplumbline.so\n" in errors


def test_two_values_of_one_variable_are_refused() -> None:
    with pytest.raises(PlumblineError, match="for 2 and for 4 ranks"):
        intelmpi.files(given(tuned("MPI_Bcast", 1), tuned("MPI_Bcast", 1, nprocs=4)))
    two = knob("I_MPI_FABRICS", "ofi", "MPI_Scan"), knob("I_MPI_FABRICS", "shm")
    with pytest.raises(PlumblineError, match="wants I_MPI_FABRICS=shm, another winner wants ofi"):
        intelmpi.files(given(*two))


@pytest.mark.parametrize("name", ["a b", "a;b", "a:b", "a,b", "a$b", "a'b"])
def test_paths_that_would_be_split_are_refused(name: str) -> None:
    bad = given(GATHER, preload_library=Path("/opt", name, "x.so"))
    with pytest.raises(PlumblineError, match="would split this path"):
        intelmpi.files(bad)


@pytest.mark.mpi
def test_ranks_have_the_preload_library_and_mpirun_has_not(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    """What each of them has in its memory, with the library of the build in the script."""
    preload = Path(__file__).parents[2] / "build" / intel_mpi.library.id / "libplumbline.so"
    winners = given(GATHER, preload_library=preload)
    (tmp_path / "plumbline.sh").write_text(intelmpi.files(winners)["plumbline.sh"])
    rank = "grep -c libplumbline /proc/self/maps; echo $PLUMBLINE_PROFILE"
    script = (
        f". {tmp_path}/plumbline.sh; cat /proc/self/maps >{tmp_path}/shell\n"
        f"exec {intel_mpi.mpirun} -n 2 sh -c '{rank}'"
    )
    own = mpi.environment(**FAMILY.environment(intel_mpi))
    done = subprocess.run(
        ["sh", "-c", script], env=own, capture_output=True, text=True, timeout=60, check=False
    )
    words = done.stdout.split()
    assert sorted(words)[:2] == [PROFILE] * 2, done
    assert all(int(count) > 0 for count in words if count != PROFILE), done
    assert "libplumbline" not in (tmp_path / "shell").read_text()


def test_a_preset_that_is_wrong_for_operations_that_do_not_commute() -> None:
    """tests/exporters/lint/test_intel_mpi.py"""
    winner = tuned("MPI_Reduce_scatter_block", 2)
    said = "preset 2 is wrong for operations that do not commute"
    with pytest.raises(PlumblineError, match=said):
        intelmpi.variables(given(winner))
    assert len(intelmpi.variables(given(winner, unsafe=True))) == 1
