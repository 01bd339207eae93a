"""Campaign files that ask for several campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.settings import campaign_file
from plumbline_db.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]


def written(folder: Path, text: str) -> Path:
    path = folder / "campaign.toml"
    path.write_text(text)
    return path


def test_without_a_file_there_is_one_campaign() -> None:
    (one,) = campaign_file.tasks(None, {"nprocs": 4}, None)
    assert (one.settings.ranks.nprocs, one.mpi_prefix) == (4, None)


def test_libraries_times_layouts(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'libraries = ["", "mpis/a", "/opt/b"]\nlayouts = ["1x2", "1x8"]\nsizes = [8, 64]\n',
    )
    found = campaign_file.tasks(path, {"seed": 7}, None)
    prefixes = [None, tmp_path / "mpis/a", Path("/opt/b")]
    assert [(one.mpi_prefix, one.settings.ranks.nprocs) for one in found] == [
        (prefix, nprocs) for prefix in prefixes for nprocs in (2, 8)
    ]
    assert {
        (tuple(one.settings.sizes_of("MPI_Bcast")), one.settings.sampling.seed) for one in found
    } == {((8, 64), 7)}
    assert len({one.label for one in found}) == 6


def test_options_win(tmp_path: Path) -> None:
    path = written(tmp_path, 'libraries = ["a", "b"]\nlayouts = ["1x2", "1x8"]\n')
    (one,) = campaign_file.tasks(path, {"nprocs": 4}, Path("/opt/c"))
    assert (one.mpi_prefix, one.settings.ranks.nprocs) == (Path("/opt/c"), 4)


def test_selectors_of_a_simulated_machine(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'libraries = ["ompi", "impi"]\nlayouts = ["4x2"]\n[simulate]\nlatency_seconds = 1e-6\n',
    )
    found = campaign_file.tasks(path, {}, None)
    assert [
        one.settings.ranks.simulate and one.settings.ranks.simulate.library for one in found
    ] == ["ompi", "impi"]
    assert {(one.settings.ranks.node_count, one.settings.ranks.ppn) for one in found} == {(4, 2)}
    assert {one.mpi_prefix for one in found} == {None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("libraries = []", "libraries must be a list of at least one text"),
        ('libraries = "a"', "libraries must be a list of at least one text"),
        ('libraries = ["a", "a"]', "libraries must be a list of at least one text"),
        ("layouts = [4]", "layouts must be a list of at least one text"),
        ('layouts = ["32"]', "a layout is nodes x ranks a node, as in 32x16"),
        ('layouts = ["0x4"]', "start at 1"),
        ('layouts = ["1x4"]\nnprocs = 4', "leave nprocs and nodes out"),
        ('libraries = ["ompi"]\n[simulate]\nlibrary = "mpich"', "leave library out"),
        ('layouts = ["2x2"]', "nodes = 2: several nodes need"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        campaign_file.tasks(written(tmp_path, text), {}, None)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "examples").glob("*.toml")), ids=str)
def test_the_examples_are_campaign_files(path: Path) -> None:
    assert campaign_file.tasks(path, {}, None)
