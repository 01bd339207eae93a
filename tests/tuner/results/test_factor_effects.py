"""The effects of factors under the real mpirun: a planted one is found, an idle one is called
idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tuner import shim
from tests.tuner.cli.command import plumbline

SLOW, IDLE = "PLANTED_SLOW=1", "PLANTED_IDLE=1"


@pytest.mark.mpi
@pytest.mark.alone
@pytest.mark.usefixtures("mpirun")
def test_a_planted_factor_is_found_and_an_idle_one_is_called_idle(tmp_path: Path) -> None:
    """While a variable is set, one start in two takes 10 % longer. Calls are short, and start after
    a barrier, so that what runs beside them interrupts few of them."""
    tool = shim.build(
        tmp_path, "mpicc", {"MPI_Allreduce": (4096, 4096, 40_000)}, ("PLANTED_SLOW", 10)
    )
    done = plumbline(
        *(
            "reproducibility",
            "factors",
            "MPI_Allreduce",
            SLOW,
            IDLE,
            "-n",
            "2",
            "--sizes",
            "4096",
            "--json",
        ),
        *("--set", f"preload={tool}", "--set", "sync=barrier", "--db", tmp_path / "f.db"),
    )
    assert done.status == 0, done.err
    slow, idle = done.json["levels"]
    assert (slow["verdict"], idle["verdict"]) == ("matters", "idle"), (slow["text"], idle["text"])
    (cell,) = slow["cells"]
    assert 0 < cell["low"] <= cell["change"] <= cell["high"] < 0.2
