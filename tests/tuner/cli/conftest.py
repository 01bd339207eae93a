"""The command line in this process, over the simulated library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.campaign import in_force
from plumbline.libraries import Family, Installation, Knob, gate
from plumbline.libraries.openmpi import OpenMpi
from plumbline.results import advice_raced
from plumbline.settings import starting
from plumbline.system import paths
from plumbline_exporters.family.openmpi import mca_params
from tests.tuner import planted, simulated
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.simulated import SimulatedStarter

SMALL = ("--nprocs", "4", "--sizes", "1024,16384", "--guidelines", "GL12,GL16", "--launches", "12")


@pytest.fixture(scope="package")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Result]]:
    """The database of a finished campaign, not to be written to, and what the campaign said."""
    database = tmp_path_factory.mktemp("cli") / "plumbline.db"
    with pytest.MonkeyPatch.context() as patched:
        install(patched, SimulatedStarter(planted.costs()))
        said = plumbline("campaign", *SMALL, "--db", database)
    assert said.status == 0, said.err
    yield database, said


@pytest.fixture(autouse=True)
def the_simulated_library_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Open MPI that lies under the prefix of the simulated one is another one."""
    monkeypatch.setattr(gate, "other", lambda _: None)


@pytest.fixture
def starter(monkeypatch: pytest.MonkeyPatch) -> SimulatedStarter:
    """Commands find the simulated library, and start it with this."""
    one = SimulatedStarter(planted.costs())
    install(monkeypatch, one)
    return one


def install(patched: pytest.MonkeyPatch, starter: SimulatedStarter) -> None:
    patched.setattr(
        "plumbline.settings.toolchain.find_toolchain", lambda *_, **__: simulated.toolchain()
    )
    for module in (in_force, advice_raced):
        patched.setattr(module, "find_toolchain", lambda *_, **__: simulated.toolchain())
    patched.setattr(starting, "starter", lambda *_: starter)
    patched.setattr(gate, "installed", _installed)


def _installed(*_: object) -> tuple[Family, Installation]:
    """Return the simulated library, as the one that is installed here."""
    here = simulated.toolchain()
    return here.family, here.installation


def in_file(home: Path) -> dict[str, Knob]:
    """The parameters that the user's file sets, as the library reports them."""
    file = home / ".openmpi" / "mca-params.conf"
    lines = mca_params.read(file.read_text())[0] if file.is_file() else []
    return {one.name: Knob(one.name, one.value or "", "string", False, {}) for one in lines}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user of the simulated Open MPI, which reads a file of his and one of the site."""
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    listed = f"{found}/.openmpi/mca-params.conf,/etc/openmpi-mca-params.conf"
    files = Knob("mca_base_param_files", listed, "string", False, {})
    for asked in ("knobs", "reported_in"):
        monkeypatch.setattr(OpenMpi, asked, lambda *_: {files.name: files} | in_file(found))
    monkeypatch.setattr(gate, "installed", _installed)
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: tmp_path / "libplumbline.so")
    (tmp_path / "libplumbline.so").write_bytes(b"\x7fELF")
    return found
