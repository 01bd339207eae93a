"""MVAPICH 3 and 4 as far as it is known: nobody ran it here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries import space_file
from plumbline.libraries.mvapich import TUNES_ITSELF, Mvapich
from plumbline_db.records import Winner
from tests.exporters.bundles import everywhere
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import ON_PATH, ROOT, write
from tests.tuner.families.recorded.mvapich import FILES

FAMILY = Mvapich()


class TestMvapich(Conformance):
    family = FAMILY
    explained = False
    real = (ON_PATH,)
    same = (("February 16", "February 17"),)
    different = (
        ("MVAPICH 4.0", "MVAPICH 4.1"),
        ("ch4:ucx\n\nComp", "ch4:ofi\n\nComp"),
        ("--prefix=/opt/mvapich ", "--enable-debug "),
    )
    own = (TUNES_ITSELF,)
    winners = (everywhere("MPI_Barrier", MPIR_CVAR_BARRIER_INTRA_ALGORITHM="osu_pairwise"),)
    complaints = (
        "User set collective algorithm is not usable for the provided arguments\nuse --\n",
    )

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        return environment["MPIR_CVAR_BARRIER_INTRA_ALGORITHM"] == "osu_pairwise"


def test_it_is_measured_without_its_own_tuner(tmp_path: Path) -> None:
    _, found = libraries.find(write(tmp_path, FILES))
    assert FAMILY.environment(found)[TUNES_ITSELF] == "0"
    assert "never run" in FAMILY.untried


@pytest.mark.parametrize("name", ["MVP_BCAST_INTRA_ALGORITHM", "MPICH_BCAST_INTRA_ALGORITHM"])
def test_other_names_of_its_variables_are_known(name: str) -> None:
    assert FAMILY.settings_in({name: "nb", "HOME": "/"}) == [name]


@pytest.mark.parametrize("beginning", ["MPIR_CVAR", "MPICH", "MVP"])
def test_what_a_site_needs_to_send_messages_is_left_alone(beginning: str) -> None:
    site = [f"{beginning}_{one}" for one in ("CH4_NETMOD", "OFI_USE_PROVIDER")]
    assert FAMILY.settings_in(dict.fromkeys(site, "x")) == []


def test_to_tune_itself_is_no_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = write(tmp_path, FILES)
    (prefix / "share" / "plumbline" / "search-spaces").mkdir(parents=True)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
    barrier = FAMILY.knobs(libraries.find(prefix)[1])["MPIR_CVAR_BARRIER_INTRA_ALGORITHM"]
    assert set(barrier.choices) == {"nb", "osu_pairwise"}


def test_its_space_has_the_algorithms_of_mpich_and_its_own() -> None:
    folder = ROOT / "search-spaces"
    (mpich, _), (_, ours) = (space_file.load(folder / f"{x}.toml") for x in ("mpich", "mvapich"))
    assert [entry.name for entry in ours.function] == [entry.name for entry in mpich.function]
    for entry, theirs in zip(ours.function, mpich.function, strict=True):
        assert (entry.knob, entry.needs, entry.sizes) == (theirs.knob, theirs.needs, "one")
        names = [one.name for one in theirs.algorithms]
        own = entry.algorithms[len(names) :]
        assert [one.name for one in entry.algorithms[: len(names)]] == names
        assert all(one.name.startswith("osu_") for one in own)
        assert {one.id for one in entry.algorithms} == {0}
        assert {one.scope for one in entry.parameters} <= {"process"}
        assert ours.ours(entry.knob)
        assert all(ours.ours(one.knob) for one in entry.parameters)
    assert sum(one.name.startswith("osu_") for f in ours.function for one in f.algorithms) == 14


def test_a_variable_is_the_canary_of_its_own_function() -> None:
    sourced = {
        "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM": "pairwise",
        "MPIR_CVAR_ALLTOALL_THROTTLE": "4",
        "MPIR_CVAR_CH4_IPC_RNDV_PROTOCOL": "read",
        TUNES_ITSELF: "0",
    }
    found = {one.name: one.functions for one in FAMILY.canaries(sourced, Path("/none"))}
    assert found == {
        "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM": ("MPI_Reduce_scatter_block",),
        "MPIR_CVAR_ALLTOALL_THROTTLE": ("MPI_Alltoall",),
        "MPIR_CVAR_CH4_IPC_RNDV_PROTOCOL": (),
    }
