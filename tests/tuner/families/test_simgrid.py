"""SimGrid is found, as several libraries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries import space as spaces
from plumbline.libraries import space_file
from plumbline.libraries.simgrid import SELECTORS, SimGrid
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family.simgrid import OPTIONS
from tests.exporters.bundles import winner
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import ON_PATH, ROOT, write
from tests.tuner.families.recorded.simgrid import FILES


def chosen(function: str, algorithm: str) -> Winner:
    knob = f"smpi/{function.removeprefix('MPI_').lower()}"
    return winner(function, {knob: algorithm})


class TestSimGrid(Conformance):
    family = SimGrid()
    real = (ON_PATH,)
    different = (("version 3.32", "version 3.33"), ("none, release version", "47da2ed"))
    whole = True
    library_file = "libsimgrid.so"
    winners = (chosen("MPI_Gather", "ompi_binomial"), chosen("MPI_Reduce_scatter", "mpich_rdb"))

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        wanted = self.family.in_environment(winner.configuration)[OPTIONS]
        return {"--cfg=smpi/coll-selector:ompi", wanted} == set(environment[OPTIONS].split())


def test_knobs_are_what_simgrid_says(tmp_path: Path) -> None:
    """Algorithms are those it names when it is asked for one that does not exist."""
    (found, *_) = SimGrid().find(write(tmp_path, FILES))
    knobs = SimGrid().knobs(found)
    assert {"default", "ompi_binomial", "mpich"} <= knobs["smpi/gather"].choices.keys()
    assert knobs["smpi/coll-selector"].choices == {}
    threshold = knobs["smpi/send-is-detached-thresh"]
    assert (threshold.type, threshold.value) == ("int", "65536")


def test_algorithms_that_the_space_does_not_know_are_named(tmp_path: Path) -> None:
    change = ("ompi_linear_sync", "ompi_new")
    (found, *_) = SimGrid().find(write(tmp_path, FILES, change))
    space = space_file.for_library(ROOT / "search-spaces", found.library)
    assert spaces.differences(space, SimGrid().knobs(found)) == [
        "smpi/gather: algorithm ompi_linear_sync is there in the search space and missing in the "
        "library",
        "smpi/gather: algorithm ompi_new is missing in the search space and there in the library",
    ]


def test_a_smpirun_that_says_nothing_of_its_options(tmp_path: Path) -> None:
    (found, *_) = SimGrid().find(simgrid(tmp_path))
    with pytest.raises(PlumblineError, match="shows no option: is this SimGrid's"):
        SimGrid().knobs(found)


def test_no_simgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"no smpirun on PATH.*Debian: libsimgrid-dev.*make"):
        libraries.find_simulated("ompi")
    with pytest.raises(PlumblineError, match="no smpirun under"):
        libraries.find_simulated("ompi", tmp_path)


def simgrid(folder: Path, says: str = "SimGrid version 3.99") -> Path:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    smpirun = folder / "bin" / "smpirun"
    smpirun.write_text(f'#!/bin/sh\n[ "$1" = -version ] && echo "{says}" || echo abc\n')
    smpirun.chmod(0o755)
    return folder


def test_one_installation_is_several_libraries(tmp_path: Path) -> None:
    found = [libraries.find_simulated(one, simgrid(tmp_path))[1].library for one in SELECTORS]
    assert [one.id for one in found] == [f"simgrid-3.99-{one}" for one in SELECTORS]
    assert len({one.fingerprint for one in found}) == len(SELECTORS)
    assert {one.version for one in found} == {"3.99"}


def test_another_program_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match="is this SimGrid's"):
        libraries.find_simulated("ompi", simgrid(tmp_path, "smpirun of somebody else"))


def test_simgrid_is_no_library_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{simgrid(tmp_path) / 'bin'}")
    with pytest.raises(PlumblineError, match="no supported MPI library found"):
        libraries.find()


def test_options_of_other_knobs_stay_in_force() -> None:
    family = SimGrid()
    there = family.in_environment({"smpi/gather": "ompi_binomial", "smpi/bcast": "NTSL"})
    found = libraries.beside(family, there | {"A": "1"}, {"smpi/bcast": "ompi_pipeline"})
    words = family.in_environment({"smpi/gather": "ompi_binomial", "smpi/bcast": "ompi_pipeline"})
    assert found["A"] == "1"
    assert sorted(found[OPTIONS].split()) == sorted(words[OPTIONS].split())
    assert libraries.beside(family, {}, {"smpi/bcast": "NTSL"}) == family.in_environment(
        {"smpi/bcast": "NTSL"}
    )
