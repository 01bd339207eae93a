"""Every command of docs/papers.md is typed, in its order, a paper in a folder of its own. What a
command shows is the subject of other tests; here it must end as an answer, and write its file.

They measure, for minutes: `make test-alone`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import simgrid
from tests.page_commands import DOCS, FENCED, joined
from tests.tuner.cli.command import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.alone, pytest.mark.timeout(900)]

PAGE = (DOCS / "papers.md").read_text()
PAPERS = {
    title: [
        line.split()
        for block in FENCED.findall(text)
        for line in joined(block)
        if line.startswith("plumbline ")
    ]
    for title, text in re.findall(r"^## (.+)\n((?:.+\n|\n(?!## ))*)", PAGE, re.MULTILINE)
}
WRITTEN = ("--picture", "--output", "--report")
# Broadcasts and gathers by sends and receives, for the paper that looks for them.
APPLICATION = r"""
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 20; turn++) {
        double data[64] = {rank == 0 ? 1.5 + turn : 0.0};
        for (int other = 1; rank == 0 && other < size; other++)
            MPI_Send(data, 64, MPI_DOUBLE, other, turn, MPI_COMM_WORLD);
        if (rank != 0)
            MPI_Recv(data, 64, MPI_DOUBLE, 0, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"""


def test_each_paper_has_commands() -> None:
    assert len(PAPERS) == 5
    assert all(len(commands) >= 5 for commands in PAPERS.values())


@pytest.mark.parametrize("paper", PAPERS)
def test_what_the_page_says_is_typed(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpirun: None
) -> None:
    del mpirun
    if any("--simulate" in words for words in PAPERS[paper]):
        simgrid.toolchain()
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "application.c").write_text(APPLICATION)
    subprocess.run(["mpicc", "-g", "application.c", "-o", "application"], check=True)
    for _, *words in PAPERS[paper]:
        done = plumbline(*words)
        assert done.status in (0, 3), (words, done.out, done.err)
        for option in set(words).intersection(WRITTEN):
            assert (tmp_path / words[words.index(option) + 1]).exists(), words
