"""Environment modules: by the real module command, which `make test` installs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.system import modules
from plumbline_db.errors import PlumblineError
from tests.tuner.families.installations import all_recorded, script, write
from tests.tuner.families.test_openmpi import installed

COMMAND = shutil.which("modulecmd")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if COMMAND is None:
        pytest.skip("no modulecmd (Debian: environment-modules)")
    for name in ("LMOD_CMD", "LOADEDMODULES", "_LMFILES_"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MODULES_CMD", COMMAND)
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modulefiles"))
    folder = tmp_path / "modulefiles" / "mpi"
    folder.mkdir(parents=True)
    return folder


def test_what_a_module_sets(files: Path) -> None:
    (files / "it").write_text('#%Module\nsetenv FOO "a b;c\'d$"\nprepend-path PATH /opt/it/bin\n')
    found = modules.loaded("mpi/it")
    assert found["FOO"] == "a b;c'd$"
    assert found["PATH"].startswith("/opt/it/bin:")


@pytest.mark.parametrize("name", ["mpi/none", "mpi/it; touch here", "$(touch here)"])
def test_a_module_that_is_not_there(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlumblineError, match=r"cannot be loaded: .*; `module avail` lists them"):
        modules.loaded(name)
    assert not (tmp_path / "here").exists()


def test_without_a_module_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LMOD_CMD", "MODULES_CMD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlumblineError, match="no module command here"):
        modules.loaded("mpi/it")


def test_the_library_of_a_module(files: Path, tmp_path: Path) -> None:
    prefix = installed(tmp_path / "somewhere")
    (files / "it").write_text(f"#%Module\nprepend-path PATH {prefix}/bin\nsetenv IT_IS_ME yes\n")
    _, found = libraries.find(Path("module:mpi/it"))
    assert found.mpirun.parent == prefix / "bin"
    assert found.environment["IT_IS_ME"] == "yes"


def needing(tool: Path, variable: str) -> None:
    """The program works where `variable` is set alone."""
    text = tool.read_text().removeprefix("#!/bin/sh\n")
    script(tool, f'[ -n "${variable}" ] || exit 127\n{text}')


@pytest.mark.parametrize(
    ("family", "tools"),
    [
        ("openmpi", ["ompi_info"]),
        ("mpich", ["mpichversion", "mpirun"]),
        ("mvapich", ["mpiname"]),
        ("mvapich2", ["mpiname"]),
        ("intelmpi", ["mpiexec.hydra"]),
    ],
)
def test_tools_run_in_the_module(
    files: Path, tmp_path: Path, family: str, tools: list[str]
) -> None:
    """As those do that find their own libraries by LD_LIBRARY_PATH."""
    prefix = write(tmp_path / "somewhere", all_recorded()[family])
    for tool in tools:
        needing(prefix / "bin" / tool, "NEEDED_BY_TOOLS")
    (files / "it").write_text(
        f"#%Module\nprepend-path PATH {prefix}/bin\nsetenv NEEDED_BY_TOOLS yes\n"
    )
    one, found = libraries.find(Path("module:mpi/it"))
    assert (one.name, found.library.prefix) == (family, str(prefix))
    if family == "openmpi":
        assert "coll_tuned_priority" in one.knobs(found)


def test_a_module_without_a_library(files: Path) -> None:
    (files / "empty").write_text("#%Module\nprepend-path PATH /opt/nothing/bin\n")
    with pytest.raises(PlumblineError, match="module mpi/empty puts no supported MPI library"):
        libraries.find(Path("module:mpi/empty"))
