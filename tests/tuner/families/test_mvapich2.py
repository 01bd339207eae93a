"""MVAPICH2 as it was recorded and written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.core.plan import Plan
from plumbline.libraries import Installation, space_file
from plumbline.libraries.mvapich2 import CVARS, FUNCTIONS, REFUSES, TWO_LEVEL_CALLS, Mvapich2, shown
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.family.mvapich2 import IN_RANGES, SWITCHES
from tests.exporters.bundles import everywhere
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import ON_PATH, ROOT, write
from tests.tuner.families.recorded.mvapich2 import FILES, REPORT

SPACES = space_file.load(ROOT / "search-spaces" / "mvapich2.toml")
FAMILY = Mvapich2()
GATHER = everywhere("MPI_Gather", MV2_INTER_GATHER_TUNING="1", MV2_USE_DIRECT_GATHER="0")
HALVING = everywhere("MPI_Reduce_scatter", MV2_INTER_RED_SCAT_TUNING="2")


class TestMvapich2(Conformance):
    family = FAMILY
    real = (ON_PATH,)
    same = (("March 02", "March 03"), ("EST 2022", "EST 2023"))
    different = (
        ("MVAPICH2 2.3.7", "MVAPICH2 2.3.6"),
        ("ch3:mrail\n\nComp", "ch3:psm\n\nComp"),
        ("--disable-mcast\n\n", "--enable-mcast\n\n"),
        ("CC: gcc    -DNDEBUG", "CC: icc    -DNDEBUG"),
    )
    whole = True
    winners = (GATHER, HALVING)
    complaints = ("[host:mpi_rank_0][rdma_open_hca] No IB device found\n[cli_0]: aborting job:\n",)
    silence = ("", REPORT)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    prefix = write(tmp_path, FILES)
    (prefix / "share" / "plumbline").mkdir(parents=True)
    (prefix / "share" / "plumbline" / "search-spaces").symlink_to(ROOT / "search-spaces")
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
    return libraries.find(prefix)[1]


def test_it_says_what_was_not_run() -> None:
    assert "on one node" in FAMILY.untried and not FAMILY.reports_all


def test_an_installation_is_described(found: Installation) -> None:
    assert found.library.id == "mvapich2-2.3.7"
    assert found.library.build == {
        "package": "MVAPICH2 2.3.7",
        "released": "Wed March 02 22:00:00 EST 2022",
        "device": "ch3:mrail",
        "compiler": "gcc    -DNDEBUG -DNVALGRIND -O2",
        "configure": "--prefix=/opt/mvapich2 --with-device=ch3:mrail --disable-mcast",
    }


def test_mpichversion_says_the_same_where_there_is_no_mpiname(found: Installation) -> None:
    (found.mpirun.parent / "mpiname").unlink()
    (one,) = FAMILY.find(found.mpirun.parent.parent)
    assert one.library.fingerprint == found.library.fingerprint
    assert one.library.build == found.library.build


def test_a_build_for_debugging_is_known(tmp_path: Path) -> None:
    (one,) = FAMILY.find(write(tmp_path, FILES, ("--disable-mcast", "--enable-g=dbg,meminit")))
    assert one.library.build["debug"] == "yes"


def test_without_hydra_it_cannot_be_started(tmp_path: Path) -> None:
    prefix = write(tmp_path, FILES)
    (prefix / "bin" / "mpiexec").unlink()
    with pytest.raises(PlumblineError, match=r"has no mpiexec \(hydra\)"):
        FAMILY.find(prefix)


def test_a_broken_mpiname_is_named(tmp_path: Path) -> None:
    prefix = write(tmp_path, FILES | {"bin/mpiname": "#!/bin/sh\necho no library >&2; exit 127\n"})
    with pytest.raises(PlumblineError, match=r"mpiname -a failed with status 127: no library"):
        FAMILY.find(prefix)


# --- what it reports ------------------------------------------------------------------------------


def test_its_report_is_read(found: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MV2_USE_SHMEM_COLL", "0")  # what the user has set is left out
    record = found.mpirun.parents[1] / "seen"
    monkeypatch.setenv("MV2_RECORD", str(record))
    knobs = FAMILY.knobs(found)
    assert knobs["MV2_USE_SHMEM_COLL"].value == "1"
    assert knobs["MV2_SHMEM_COLL_MAX_MSG_SIZE"].value == "32768"
    assert knobs["MPIR_CVAR_BCAST_COLLECTIVE_ALGORITHM"].value == "-1"
    assert "HCA" not in " ".join(knobs)
    assert sorted(record.read_text().split()) == [f"MV2_RECORD={record}", "MV2_SHOW_ENV_INFO=2"]


def test_the_other_form_of_a_report_is_read_too() -> None:
    """With performance variables of MPI_T: name, value, whether it is active."""
    text = f"{'CVAR Name':>55}|{'Value':>20}|{'Active':>10}\n"
    text += f"{'MV2_USE_SHMEM_COLL':<55}|{1:>20}|{0:>10}\n"
    text += f"{'MV2_CKPT_FILE':<55}|{'((NULL))':>20}|{0:>10}\n"
    assert {name: one.value for name, one in shown(text).items()} == {
        "MV2_USE_SHMEM_COLL": "1",
        "MV2_CKPT_FILE": "((NULL))",
    }


def test_a_launch_that_fails_is_named(found: Installation) -> None:
    probe = found.mpirun.parents[1] / "libexec" / "plumbline" / "mvapich2-2.3.7" / "probe"
    probe.write_text("#!/bin/sh\necho No IB device found >&2; exit 1\n")
    with pytest.raises(PlumblineError, match=r"cannot start .*probe \(status 1\).*No IB device"):
        FAMILY.knobs(found)
    probe.unlink()
    with pytest.raises(PlumblineError, match=r"probe is missing: build the probes for mvapich2-2"):
        FAMILY.knobs(found)


# --- the space by version -------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "real"), [("2.2", True), ("2.3", True), ("2.3.7", False)])
def test_gather_is_real_or_dead_by_version(version: str, real: bool) -> None:
    (space,) = [one for one in SPACES if one.holds(version)]
    assert (space.of("MPI_Gather") is not None) is real
    dead = {name for one in space.ignored if "dead" in one.reason for name in one.knobs}
    assert ("MV2_USE_DIRECT_GATHER" in dead) is not real
    assert "MV2_USE_DIRECT_GATHER" in space.knobs()


def test_every_function_that_has_a_variable_of_mpi_t_is_in_the_space() -> None:
    knobs = {entry.knob for space in SPACES for entry in space.function}
    assert CVARS.keys() <= knobs and SWITCHES.keys() <= knobs


def test_every_switch_that_a_choice_depends_on_is_a_knob() -> None:
    for space in SPACES:
        for setting in space.setting:
            assert setting.when.keys() <= space.knobs().keys(), setting.knob


# --- what is put in force -------------------------------------------------------------------------


def test_sizes_turn_the_indexed_mode_off() -> None:
    assert FAMILY.in_environment({"MV2_INTER_BCAST_TUNING": "2:0-8191,5:8192-+"}) == {
        "MV2_INTER_BCAST_TUNING": "2:0-8191,5:8192-+",
        "MV2_USE_INDEXED_TUNING": "0",
        "MV2_USE_INDEXED_BCAST_TUNING": "0",
    }
    alone = {"MV2_INTER_RED_SCAT_TUNING": "2:0-63,4:64-+"}
    assert FAMILY.in_environment(alone) == alone


@pytest.mark.parametrize(
    ("knobs", "what"),
    [
        ({"MV2_ALLTOALLV_TUNING": "0:0-63,1:64-+"}, "takes no sizes here"),
        ({"MV2_INTER_BCAST_TUNING": "2:0-63,5:65-+"}, "do not meet"),
        ({"MV2_INTER_REDUCE_TUNING": "1:0-63,8:64-+"}, "algorithm 8 does not exist in ranges"),
        ({"MV2_INTER_RED_SCAT_TUNING": "1"}, "crashes where MV2_INTER_REDUCE_TUNING"),
        ({"MV2_INTER_RED_SCAT_TUNING": "1:0-63,4:64-+"}, "crashes where MV2_INTER_REDUCE_TUNING"),
        (
            {"MV2_SMP_EAGERSIZE": "65536", "MV2_SMP_QUEUE_LENGTH": "131072"},
            "MV2_SMP_QUEUE_LENGTH is not more than twice",
        ),
        (
            {"MV2_INTER_BCAST_TUNING": "2", "MPIR_CVAR_BCAST_COLLECTIVE_ALGORITHM": "2"},
            "MPI_Init fails with MV2_INTER_BCAST_TUNING and MPIR_CVAR_BCAST",
        ),
    ],
)
def test_what_is_known_to_crash_is_refused(knobs: dict[str, str], what: str) -> None:
    with pytest.raises(PlumblineError, match=what):
        FAMILY.in_environment(knobs)


def test_with_a_choice_for_reduce_reduce_scatter_does_not_crash() -> None:
    both = {"MV2_INTER_RED_SCAT_TUNING": "1", "MV2_INTER_REDUCE_TUNING": "2"}
    assert FAMILY.in_environment(both) == both


def test_what_a_site_needs_to_run_at_all_is_left_alone() -> None:
    site = ["MV2_IBA_HCA", "MV2_DEFAULT_PORT", "MV2_ENABLE_AFFINITY", "MV2_CPU_MAPPING"]
    site += ["MV2_USE_RDMA_CM", "MV2_SUPPRESS_JOB_STARTUP_PERFORMANCE_WARNING"]
    assert FAMILY.settings_in(dict.fromkeys(site, "1")) == []
    aliases = [f"{one}_ALLREDUCE_COLLECTIVE_ALGORITHM" for one in ("MPICH", "MPIR_PARAM", "MV2")]
    assert FAMILY.settings_in(dict.fromkeys(aliases, "1")) == sorted(aliases)


def test_an_algorithm_that_refuses_is_the_canary_of_its_range(tmp_path: Path) -> None:
    sourced = FAMILY.in_environment({"MV2_INTER_REDUCE_TUNING": "1:0-8191,5:8192-+"})
    tree, gather, *switches = FAMILY.canaries(sourced, tmp_path)
    assert tree.environment == sourced | {REFUSES: "MPIR_Reduce_binomial_MV2"}
    assert gather.environment == sourced | {REFUSES: "MPIR_Reduce_redscat_gather_MV2"}
    assert [(one.bytes_from, one.bytes_to) for one in (tree, gather)] == [
        (0, 8191),
        (8192, UNBOUNDED_BYTES),
    ]
    for one in (tree, gather):
        assert (one.functions, one.fails, one.one_of) == (("MPI_Reduce",), "cells", True)
    assert [one.fails for one in switches] == ["nothing", "nothing"]


def test_a_canary_is_a_variable_of_mpi_t_where_the_algorithm_is_not_known(tmp_path: Path) -> None:
    (gather,) = FAMILY.canaries({"MV2_INTER_GATHER_TUNING": "1"}, tmp_path)
    assert (gather.functions, gather.fails) == (("MPI_Gather",), "launch")
    assert gather.environment["MPIR_CVAR_GATHER_COLLECTIVE_ALGORITHM"] == "0"
    (red_scat,) = FAMILY.canaries({"MV2_INTER_RED_SCAT_TUNING": "9"}, tmp_path)
    assert (red_scat.name, red_scat.fails) == ("MV2_INTER_RED_SCAT_TUNING", "nothing")


@pytest.mark.parametrize("version", ["2.2", "2.3.7"])
def test_every_number_that_is_tried_is_an_algorithm_that_can_refuse(version: str) -> None:
    (space,) = [one for one in SPACES if one.holds(version)]
    for entry in space.function:
        if entry.name == "MPI_Gather":
            continue
        functions = FUNCTIONS[entry.knob]
        assert {one.name for one in entry.algorithms} <= functions.keys(), entry.knob
        assert len(set(functions.values())) == len(functions), entry.knob
        if entry.sizes == "ranges":
            assert {str(one) for one in IN_RANGES[entry.knob]} <= functions.keys()


# --- how ranks are started ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (Placement(nodes=1, ppn=2), ["-n", "2"]),
        (Placement(nodes=1, ppn=2, bind="plain"), ["-n", "2"]),
        (
            Placement(nodes=1, ppn=4, bind="plain", oversubscribed=True),  # else none starts
            ["-n", "4", "-genv", "MV2_ENABLE_AFFINITY", "0"],
        ),
        (
            Placement(nodes=1, ppn=4, oversubscribed=True),
            ["-n", "4", "-genv", "MV2_ENABLE_AFFINITY", "0"],
        ),
        (
            Placement(nodes=1, ppn=2, bind="numa", map_by="socket"),
            [
                *("-n", "2", "-genv", "MV2_CPU_BINDING_LEVEL", "numanode"),
                *("-genv", "MV2_CPU_BINDING_POLICY", "scatter"),
            ],
        ),
    ],
)
def test_the_library_binds(placement: Placement, words: list[str]) -> None:
    assert FAMILY.words(placement) == words


def test_the_warm_up_lasts_until_communicators_have_two_levels() -> None:
    assert Plan("", 2, ()).warmup >= TWO_LEVEL_CALLS
