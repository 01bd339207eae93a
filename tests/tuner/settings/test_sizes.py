"""At which sizes calls are measured: by volume, by block, by function, and by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core.plan import IN_BLOCKS, Data, measurable
from plumbline.measure import tables
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline.settings.cases import SIZES
from plumbline.settings.identity import chosen
from plumbline_db.errors import UsageError
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.cli.conftest import install
from tests.tuner.planted import costs
from tests.tuner.simulated import SimulatedStarter

HOSTS = 'nprocs = {nprocs}\nnodes = {nodes}\n[job]\nqueue = "batch"\n'


def of_text(folder: Path, text: str, **options: object) -> Settings:
    path = folder / "campaign.toml"
    path.write_text(text)
    return load(path, options)


def blocks(settings: Settings, function: str = "MPI_Gather") -> list[int]:
    nprocs = settings.ranks.nprocs
    found = measurable(function, settings.sizes_of(function), nprocs, Data())
    assert all(size % nprocs == 0 for size in found)
    return [size // nprocs for size in found]


@pytest.mark.parametrize("nprocs", [2, 3, 4])
def test_few_ranks_have_the_volumes_of_the_paper(nprocs: int) -> None:
    settings = load(None, {"nprocs": nprocs})
    for function in ("MPI_Gather", "MPI_Alltoallv", "MPI_Bcast"):
        assert settings.sizes_of(function) == sorted(SIZES)
    toolchain = simulated.toolchain()
    default = tables.cases(chosen(toolchain, settings), settings)
    said = load(None, {"nprocs": nprocs, "sizes": SIZES})
    assert tables.cases(chosen(toolchain, said), said) == default


@pytest.mark.parametrize(
    ("nprocs", "nodes", "largest"),
    [(5, 1, 25600), (64, 1, 25600), (512, 32, 25600), (1024, 8, 8192), (4096, 32, 2048),
     (2**17, 1024, 64)],
)  # fmt: skip
def test_any_number_of_ranks_has_small_blocks_and_large_ones(
    tmp_path: Path, nprocs: int, nodes: int, largest: int
) -> None:
    """At 512 ranks the largest block of Gather was 200 B. Ranks of a node hold 1 GiB at most."""
    settings = of_text(tmp_path, HOSTS.format(nprocs=nprocs, nodes=nodes))
    found = blocks(settings)
    assert (found[0], found[-1]) == (1, largest)
    assert settings.sizes_of("MPI_Bcast") == sorted(SIZES)
    ranks = nprocs // nodes
    assert found[-1] * nprocs * ranks <= 2**30
    if largest == 25600:
        four = load(None, {"nprocs": 4})
        gathers = [-(-size // 4) for size in four.sizes_of("MPI_Gather")]
        assert found == sorted(set(gathers))


def test_simulated_ranks_hold_less() -> None:
    settings = load(None, {"simulate": "mpich", "nprocs": 512, "nodes": 32})
    assert blocks(settings)[-1] == 1024
    assert len(blocks(settings)) > 12


def test_by_block(tmp_path: Path) -> None:
    settings = of_text(tmp_path, "nprocs = 8\nblock_sizes = [4096, 16, 16]\n")
    assert blocks(settings) == blocks(settings, "MPI_Alltoall") == [16, 4096]
    assert settings.sizes_of("MPI_Allreduce") == sorted(SIZES)
    both = of_text(tmp_path, "nprocs = 8\nblock_sizes = [16, 32]\nsizes = [64, 128]\n")
    assert (blocks(both), both.sizes_of("MPI_Scan")) == ([16, 32], [64, 128])


def test_by_function(tmp_path: Path) -> None:
    text = "nprocs = 8\n[sizes]\nMPI_Gather = [8192, 64]\nothers = [8, 4096]\n"
    settings = of_text(tmp_path, text)
    assert settings.sizes_of("MPI_Gather") == [64, 8192]
    assert settings.sizes_of("MPI_Scatter") == settings.sizes_of("MPI_Bcast") == [8, 4096]
    some = of_text(tmp_path, "nprocs = 8\n[sizes]\nMPI_Gather = [64, 8192]\n")
    assert some.sizes_of("MPI_Bcast") == sorted(SIZES)
    assert blocks(some, "MPI_Scatter")[-1] == 25600


def test_the_volumes_of_the_paper_on_many_ranks(tmp_path: Path) -> None:
    settings = of_text(tmp_path, f"nprocs = 64\n[sizes]\nothers = {SIZES}\n")
    assert settings.sizes_of("MPI_Gather") == sorted(SIZES)


def test_volumes_that_are_asked_for_are_volumes(tmp_path: Path) -> None:
    settings = of_text(tmp_path, "nprocs = 64\nsizes = [64, 6400]\n")
    assert settings.sizes_of("MPI_Gather") == settings.sizes_of("MPI_Bcast") == [64, 6400]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("block_sizes = [0, 8]", "line 1: block_sizes: name a size or more"),
        ("[sizes]\nMPI_Gather = []", "line 1: sizes: name a size or more"),
        ("[sizes]\nMPI_Gather = [8, 9223372036854775807]\nothers = 3", "line 3: sizes.others"),
    ],
)
def test_sizes_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        of_text(tmp_path, text)


def test_a_function_that_there_is_not(tmp_path: Path) -> None:
    settings = of_text(tmp_path, "nprocs = 4\n[sizes]\nMPI_Gatter = [8, 16]\n")
    with pytest.raises(UsageError, match=r"sizes: nothing of MPI_Gatter is measured by size"):
        chosen(simulated.toolchain(), settings)


def test_a_campaign_of_blocks_says_what_it_covers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, SimulatedStarter(costs()))
    path = tmp_path / "campaign.toml"
    path.write_text(
        'nprocs = 4\nguidelines = ["GL3", "GL12"]\nblock_sizes = [16, 4096]\n'
        "[sizes]\nMPI_Allreduce = [64, 512]\n"
    )
    words = ("verify", path, "--db", tmp_path / "plumbline.db")
    cells = plumbline(*words, "--all", "--json").json["before"]["cells_all"]
    sizes = {(each["function"], each["bytes"]) for each in cells if each["kind"] == "pattern"}
    assert sizes == {
        ("MPI_Gather", 64), ("MPI_Gather", 16384), ("MPI_Allreduce", 64), ("MPI_Allreduce", 512),
    }  # fmt: skip
    said = plumbline(*words).out
    assert "sizes from 64 to 512 B and from 16 to 4096 B in blocks (Gather, Alltoall …)" in said


def test_those_in_blocks_are_those_that_the_probe_takes_so() -> None:
    assert {"MPI_Gather", "MPI_Alltoallv", "MPI_Reduce_scatter_block"} <= IN_BLOCKS
    assert not {"MPI_Bcast", "MPI_Allreduce", "MPI_Scan"} & IN_BLOCKS
