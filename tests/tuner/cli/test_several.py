"""A campaign file over several libraries: each is a campaign, and they are shown side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.settings.toolchain import Toolchain
from plumbline_db.errors import PlumblineError
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

FILE = """
libraries = ["", "second"]
nprocs = 4
sizes = [1024, 16384]
guidelines = ["GL12", "GL16"]
launches = 12
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def two(starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch) -> SimulatedStarter:
    """The library under `second` is another one."""

    def toolchain(prefix: Path | None = None, **_: Any) -> Toolchain:
        found = simulated.toolchain()
        if prefix is None:
            return found
        if prefix.name == "missing":
            raise PlumblineError("no supported MPI library found there")
        library = msgspec.structs.replace(
            found.installation.library, id="openmpi-4.1.8", fingerprint="other"
        )
        installation = msgspec.structs.replace(found.installation, library=library)
        return msgspec.structs.replace(found, installation=installation)

    monkeypatch.setattr("plumbline.settings.toolchain.find_toolchain", toolchain)
    return starter


def test_side_by_side(two: SimulatedStarter, file: Path, tmp_path: Path) -> None:
    database = tmp_path / "p.db"
    said = plumbline("campaign", file, "--db", database)
    assert said.status == 0, said.err
    assert "1 of 2: the mpirun on PATH, 1x4" in said.err and "2 of 2" in said.err
    for words in (("results",), ("results", file)):
        shown = plumbline(*words, "--db", database)
        text = " ".join(shown.out.split())
        assert "Violated guidelines on" in text
        assert "openmpi-4.1.4" in text and "openmpi-4.1.8" in text
        assert "Allreduce ⪯ Reduce+Bcast" in text and "1 to 0" in text
    found = plumbline("results", "--db", database, "--json").json["campaigns"]
    assert [one["library"]["id"] for one in found] == ["openmpi-4.1.4", "openmpi-4.1.8"]
    alone = plumbline("results", "--db", database, "--campaign", found[0]["campaign"], "--json")
    assert alone.json == found[0]
    before = len(two.launches)
    again = plumbline("campaign", file, "--db", database, "--json")
    assert [one["campaign"] for one in again.json["campaigns"]] == [
        one["campaign"] for one in found
    ]
    assert len(two.launches) == before


def test_one_that_cannot_be_run_keeps_no_other_from_it(
    two: SimulatedStarter, file: Path, tmp_path: Path
) -> None:
    file.write_text(FILE.replace('"second"', '"missing", "second"'))
    database = tmp_path / "p.db"
    said = plumbline("verify", file, "--db", database)
    assert said.status == 1
    assert "missing, 1x4: no supported MPI library" in said.err
    found = plumbline("results", file, "--db", database, "--json").json["campaigns"]
    assert len(found) == 2


def test_a_picture_of_both(two: SimulatedStarter, file: Path, tmp_path: Path) -> None:
    database = tmp_path / "p.db"
    plumbline("verify", file, "--db", database)
    assert plumbline("results", "--db", database, "--picture", tmp_path / "p.svg").status == 0
    assert "openmpi-4.1.8" in (tmp_path / "p.svg").read_text()
    for ending, begins in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
        drawn = tmp_path / f"p{ending}"
        assert plumbline("results", "--db", database, "--picture", drawn).status == 0
        assert drawn.read_bytes().startswith(begins)


def test_a_file_that_has_not_run(finished: tuple[Path, object], tmp_path: Path) -> None:
    said = plumbline("results", tmp_path / "no.toml", "--db", finished[0])
    assert said.status == 2
    assert "has run no several campaigns" in said.err
