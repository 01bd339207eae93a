"""MPICH is found, described and understood: as it was recorded, and the installed ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries.mpich import Mpich
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import facts
from plumbline_exporters.family.mpich import coll
from plumbline_exporters.family.mpich import selection as mpich_selection
from tests.db import build
from tests.exporters import bundles
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import script, write
from tests.tuner.families.recorded.mpich import ALLREDUCE, FALLBACK, FILES, SYSTEM

IBCAST = "MPIR_CVAR_IBCAST_INTRA_ALGORITHM"
DEVICE = "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE"


def winner(low: int = 8, high: int = 64, algorithm: str = "recursive_doubling") -> Winner:
    return bundles.winner("MPI_Allreduce", {ALLREDUCE: algorithm, DEVICE: "0"}, low, high, 2)


def test_what_a_table_says_of_an_algorithm_is_of_one_that_there_is() -> None:
    named = {(function, name) for function, names in coll._ALLCOMM.items() for name in names}
    for function, name in named | coll._TOLD.keys():
        assert name in {one.name for one in facts.function("mpich", function).algorithms}


class TestMpich(Conformance):
    family = Mpich()
    real = ("mpich-5.0", "mpich-4.3")
    same = (("Fri Sep 25 20:45:26 UTC 2026", "Sat Sep 26 09:00:00 UTC 2026"),)
    different = (
        ("5.0.2", "5.0.1"),
        ("ch4:ucx ofi", "ch4:ofi"),
        ("--with-device", "--enable-debug --with-device"),
    )
    winners = (
        winner(),
        winner(0, UNBOUNDED_BYTES, "ring"),
        build.winner(function="MPI_Scan", configuration={"MPIR_CVAR_POLLS_BEFORE_YIELD": "7"}),
        bundles.winner("MPI_Ibcast", {IBCAST: "tsp_tree", "MPIR_CVAR_IBCAST_TREE_KVAL": "4"}),
    )
    forms = r"MPIR_CVAR_I(?!NEIGHBOR|ALLTOALLW)[A-Z_]+_INTRA_ALGORITHM(?<!POSIX_INTRA_ALGORITHM)\Z"
    complaints = (
        "Invalid character a in MPIR_CVAR_BCAST_TREE_KVAL\n",
        "User set collective algorithm is not usable for the provided arguments\n"
        "Allreduce smp cannot be applied.\n",
        "MPII_Coll_init(203)............: \n"
        "MPIR_Csel_create_from_file(578):  Unable to open collective tuning file /nonexistent.\n",
        "unrecognized key algorithm=nonsense\n"
        "Assertion failed in file src/mpi/coll/src/csel_container.c at line 846: 0\n",
    )
    site = frozenset({"MPIR_CVAR_CH4_NETMOD"})
    silence = ("", "===\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n")

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        table = environment.get(mpich_selection.VARIABLE)
        name = winner.configuration.get(ALLREDUCE)
        if name is None:
            wanted = winner.configuration
            return {knob: environment.get(knob) for knob in wanted} == wanted
        assert table is not None and mpich_selection.COMPOSITIONS_VARIABLE in environment
        assert FALLBACK not in environment and DEVICE not in environment
        return f"MPIR_Allreduce_intra_{name}" in Path(table).read_text()

    def bad_value(self) -> dict[str, str]:
        return {"MPIR_CVAR_BCAST_TREE_KVAL": "many"}


def test_what_a_site_needs_to_send_messages_is_left_alone() -> None:
    site = ["MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_OFI_USE_PROVIDER", "MPIR_CVAR_CH4_OFI_PREF_NIC"]
    site += ["MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"]
    site += ["MPICH_INTERFACE_HOSTNAME", "MPICH_PORT_RANGE", "FI_PROVIDER", "UCX_NET_DEVICES"]
    assert Mpich().settings_in(dict.fromkeys(site, "x")) == []
    how = ["MPICH_ALLREDUCE_INTRA_ALGORITHM", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD"]
    how += ["MPIR_CVAR_CH4_NETMOD_OF_SOMETHING", "MPIR_PARAM_BCAST_SHORT_MSG_SIZE"]
    assert Mpich().settings_in(dict.fromkeys(how, "x")) == sorted(how)


def test_an_installation_is_described(tmp_path: Path) -> None:
    family, found = libraries.find(write(tmp_path, FILES))
    assert family.name == "mpich"
    assert (found.library.id, found.library.version) == ("mpich-5.0.2", "5.0.2")
    assert found.library.version_string == "MPICH Version:      5.0.2"
    assert found.library.prefix == str(tmp_path)
    assert found.library.build["device"] == "ch4:ucx ofi"


def test_several_on_path_are_found_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = write(tmp_path / "one", FILES)
    two = write(tmp_path / "two", FILES, ("5.0.2", "4.3.2"))
    (tmp_path / "three").symlink_to(one)
    bins = [tmp_path / name / "bin" for name in ("one", "two", "three", "none")]
    monkeypatch.setenv("PATH", ":".join(map(str, [*bins, "/usr/bin", "/bin"])))
    found = [one.library.version for one in Mpich().find(None)]
    assert found[:2] == ["5.0.2", "4.3.2"] and found.count("5.0.2") == 1
    assert Mpich().find(two)[0].library.version == "4.3.2"


def test_another_library_s_mpirun_is_passed_by(tmp_path: Path) -> None:
    """As on Debian with two libraries: `mpirun` may be Open MPI's, `mpirun.mpich` is not."""
    prefix = write(tmp_path, FILES)
    script(prefix / "bin" / "mpirun", 'echo "mpirun (Open MPI) 4.1.4"')
    script(prefix / "bin" / "mpirun.mpich", 'echo "HYDRA build details:"')
    (prefix / "bin" / "mpirun").chmod(0o755)
    (prefix / "bin" / "mpirun.mpich").chmod(0o755)
    assert Mpich().find(prefix)[0].mpirun.name == "mpirun.mpich"
    (prefix / "bin" / "mpirun.mpich").unlink()
    assert Mpich().find(prefix) == []


def test_its_descendants_are_others(tmp_path: Path) -> None:
    assert Mpich().find(write(tmp_path / "1", FILES, ("MPICH Version", "MVAPICH Version"))) == []
    theirs = write(tmp_path / "2", FILES)
    script(theirs / "bin" / "mpiname", "echo MVAPICH2 2.3.7")
    (theirs / "bin" / "mpiname").chmod(0o755)
    assert Mpich().find(theirs) == []


def test_values_are_named_as_the_library_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = write(tmp_path, FILES)
    (prefix / "share" / "plumbline" / "search-spaces").mkdir(parents=True)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
    knobs = Mpich().knobs(Mpich().find(prefix)[0])
    assert knobs[ALLREDUCE].value == "auto" and knobs[ALLREDUCE].writable
    assert knobs[ALLREDUCE].choices["recursive_doubling"] == 3
    assert knobs["MPIR_CVAR_ALLREDUCE_TREE_KVAL"].value == "2"


def test_who_has_no_probe_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = write(tmp_path, FILES, (json.dumps(SYSTEM), "{}"))
    (prefix / "share" / "plumbline" / "search-spaces").mkdir(parents=True)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
    found = Mpich().find(prefix)[0]
    with pytest.raises(PlumblineError, match="does not say what"):
        Mpich().knobs(found)
    (prefix / "libexec" / "plumbline" / "mpich-5.0.2" / "probe").unlink()
    with pytest.raises(PlumblineError, match=r"build the probes for mpich-5\.0\.2"):
        Mpich().knobs(found)


def test_a_canary_of_a_form_is_about_the_persistent_one_too(tmp_path: Path) -> None:
    of = {
        canary.name: canary.functions
        for canary in Mpich().canaries(
            {
                IBCAST: "tsp_tree",
                "MPIR_CVAR_IREDUCE_SCATTER_BLOCK_RECEXCH_KVAL": "4",
                "MPIR_CVAR_POLLS_BEFORE_YIELD": "0",
            },
            tmp_path,
        )
    }
    assert list(of.values()) == [
        ("MPI_Ibcast", "MPI_Bcast_init"),
        ("MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block_init"),
        (),
    ]
