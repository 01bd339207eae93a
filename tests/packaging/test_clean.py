"""`make clean` in a shell whose exported files preload what it would remove."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.probes.launch import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout as far as `make clean` looks, with two libraries that were built."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "packaging").mkdir()
    shutil.copy(ROOT / "packaging" / "clean.sh", tmp_path / "packaging")
    for room in ("tuner", "db", "exporters", "tests"):
        (tmp_path / room).mkdir()
    for id in ("openmpi-4.1.4", "mpich-5.0.2"):
        folder = tmp_path / "build" / id
        folder.mkdir(parents=True)
        for name in ("probe", "libplumbline.so", ".made"):
            (folder / name).touch()
    (tmp_path / "build" / ".hidden").touch()
    return tmp_path


def clean(tree: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    words = ["make", "clean"]
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        words, cwd=tree, env=kept | variables, capture_output=True, text=True, timeout=60
    )


def left(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.glob("build/**/*") if path.is_file()}


def test_everything_goes(tree: Path) -> None:
    done = clean(tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tree / "build").exists()
    assert clean(tree).returncode == 0  # and again


def test_what_this_shell_preloads_stays_and_is_said_once(tree: Path) -> None:
    """The shell file of Open MPI has ranks preload it; they would all complain."""
    library = tree / "build" / "openmpi-4.1.4" / "libplumbline.so"
    listed = f"LD_PRELOAD={library};PLUMBLINE_PROFILE=/x/plumbline.profile"
    done = clean(tree, OMPI_MCA_mca_base_env_list_internal=listed)
    assert done.returncode == 0
    assert left(tree) == {"build/openmpi-4.1.4/libplumbline.so"}
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"make clean: kept {library}, for a file that was sourced in this shell")
    assert clean(tree).returncode == 0 and not (tree / "build").exists()


def test_a_library_that_is_gone_is_said_once(tree: Path) -> None:
    """make itself was started with it, so that the loader complains of that one process."""
    library = tree / "build" / "gone" / "libplumbline.so"
    done = clean(tree, LD_PRELOAD=str(library))
    assert done.returncode == 0 and not (tree / "build").exists()
    assert done.stderr.count("cannot be preloaded") == 1, done.stderr
    assert done.stdout.count(f"LD_PRELOAD names {library}, which is gone") == 1
