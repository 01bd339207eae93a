"""plumbline.sh and mca-params.conf: in a plain shell, and under the real mpirun."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family import openmpi
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.registry import write
from tests.exporters import mpi
from tests.exporters.bundles import bundle, knob, tuned, variant

ALLREDUCE = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
GATHER = variant("MPI_Gather", "gather_binomial", 0, 262144)
CHECKED = {"PATH": "/usr/bin:/bin", "PLUMBLINE_CHECKED": "1"}
SHELL_OWN = {"_", "PWD", "SHLVL", *CHECKED}
INTERNAL = "OMPI_MCA_mca_base_env_list_internal"
LIST = "OMPI_MCA_mca_base_env_list"


def sourced(
    tmp_path: Path, *winners: Winner, version: str = "4.1.4", before: str = "", times: int = 1
) -> tuple[dict[str, str], str]:
    script = tmp_path / "plumbline.sh"
    script.write_text(openmpi.files(bundle(*winners, version=version))["plumbline.sh"])
    return mpi.sourced(script, CHECKED, SHELL_OWN | OTHERS, before, times)


# For srun, and for who reads the end of a job: tests/exporters/test_by_srun.py.
OTHERS = {
    *("SLURM_EXPORT_ENV", "PLUMBLINE_EXPORT_ENV", "PLUMBLINE_SAY"),
    *("OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args"),
}
PRELOAD = "LD_PRELOAD=/opt/plumbline/libplumbline.so;PLUMBLINE_PROFILE=/out/plumbline.profile"


def test_rules_and_global_knobs(tmp_path: Path) -> None:
    found, _ = sourced(tmp_path, ALLREDUCE, knob("btl_vader_eager_limit", "16384"))
    assert found == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/out/ompi-rules.conf",
        "OMPI_MCA_btl_vader_eager_limit": "16384",
    }


@pytest.mark.parametrize("function", ["MPI_Ibcast", "MPI_Bcast_init"])
def test_a_form_gets_its_knob_for_the_process(tmp_path: Path, function: str) -> None:
    """It has no rules; the blocking function's stay in force beside it."""
    winner = knob("coll_libnbc_ibcast_algorithm", "knomial", function)
    found, _ = sourced(tmp_path, ALLREDUCE, winner)
    assert found == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/out/ompi-rules.conf",
        "OMPI_MCA_coll_libnbc_ibcast_algorithm": "knomial",
    }
    text = mca_params.files(bundle(winner))["mca-params.conf"]
    assert "\ncoll_libnbc_ibcast_algorithm = knomial\n" in text


def test_nothing_found_sets_nothing(tmp_path: Path) -> None:
    assert sourced(tmp_path) == ({}, "")


def test_values_are_quoted(tmp_path: Path) -> None:
    nasty = 'a\'b $HOME `id` "c" ; *'
    script = openmpi.files(bundle(knob("pml_ucx_tls", nasty)))["plumbline.sh"]
    (tmp_path / "x.sh").write_text(script)
    done = mpi.shell(f'. {tmp_path}/x.sh; printf %s "$OMPI_MCA_pml_ucx_tls"', CHECKED)
    assert done.stdout == nasty


@pytest.mark.parametrize(("version", "name"), [("4.1.4", INTERNAL), ("5.0.11", LIST)])
@pytest.mark.parametrize("times", [1, 2])
def test_preload_is_for_the_ranks(tmp_path: Path, version: str, name: str, times: int) -> None:
    found, errors = sourced(tmp_path, GATHER, version=version, times=times)
    assert found == {name: PRELOAD, "PLUMBLINE_ENV_LIST": PRELOAD}
    assert errors == ""


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_list_of_the_user_comes_first(tmp_path: Path, version: str, times: int) -> None:
    before = f'export {LIST}="OMP_NUM_THREADS=2;FOO"'
    found, _ = sourced(tmp_path, GATHER, version=version, before=before, times=times)
    assert found[LIST] == f"OMP_NUM_THREADS=2;FOO;{PRELOAD}"
    assert INTERNAL not in found


@pytest.mark.parametrize("times", [1, 2])
def test_a_preload_of_the_user_stays(tmp_path: Path, times: int) -> None:
    before = 'export LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libm.so.6"'
    found, _ = sourced(tmp_path, GATHER, before=before, times=times)
    assert found["LD_PRELOAD"] == "/usr/lib/x86_64-linux-gnu/libm.so.6"
    first, second = found[INTERNAL].split(";")
    assert first == f"LD_PRELOAD=/opt/plumbline/libplumbline.so:{found['LD_PRELOAD']}"
    assert second == "PLUMBLINE_PROFILE=/out/plumbline.profile"


def test_a_list_that_preloads_already_is_left_with_a_word(tmp_path: Path) -> None:
    before = f'export {LIST}="A=1;LD_PRELOAD=/their.so"'
    found, errors = sourced(tmp_path, GATHER, before=before)
    assert found == {LIST: "A=1;LD_PRELOAD=/their.so"}
    assert "variants are not in force" in errors and "LD_PRELOAD=/opt/plumbline" in errors


@pytest.mark.parametrize(
    ("library_path", "directory"),
    [("/a b/lib.so", "/out"), ("/a:b/lib.so", "/out"), ("/$a/lib.so", "/out"), ("/lib.so", "/o;p")],
)
def test_paths_that_the_loader_or_mpirun_would_split(library_path: str, directory: str) -> None:
    given = bundle(GATHER, preload_library=Path(library_path), directory=Path(directory))
    with pytest.raises(PlumblineError, match="would split this path"):
        openmpi.files(given)


def test_variants_need_the_preload_library() -> None:
    with pytest.raises(PlumblineError, match=r"need libplumbline.so.*make build"):
        openmpi.files(bundle(GATHER, preload_library=None))


def test_winners_that_want_different_values_for_a_process() -> None:
    winners = (knob("btl_vader_eager_limit", "1"), knob("btl_vader_eager_limit", "2", "MPI_Scan"))
    with pytest.raises(PlumblineError, match="a process has one value"):
        openmpi.files(bundle(*winners))


@pytest.mark.parametrize(
    "winner",
    [
        knob("coll_tuned_bcast_algorithm", "1", function="MPI_Allreduce"),
        variant("MPI_Bcast", "bcast_x", 0, 64, coll_tuned_bcast_algorithm_segmentsize="1024"),
    ],
)
def test_algorithm_knobs_are_never_global(winner: Winner) -> None:
    with pytest.raises(PlumblineError, match="no file can set it for these calls alone"):
        openmpi.files(bundle(winner))


def test_parameters_of_an_algorithm_that_no_rule_can_say_are_global() -> None:
    winner = tuned("MPI_Bcast", "knomial", 1024, 4096, knomial_radix=8)
    assert mca_params.parameters(bundle(winner)) == {
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_dynamic_rules_filename": "/out/ompi-rules.conf",
        "coll_tuned_bcast_algorithm_knomial_radix": "8",
    }


def test_mca_params_file() -> None:
    text = mca_params.files(bundle(ALLREDUCE, GATHER))["mca-params.conf"]
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "coll_tuned_use_dynamic_rules = 1",
        "coll_tuned_dynamic_rules_filename = /out/ompi-rules.conf",
    ]
    assert "Variants need the preload library" in text
    with pytest.raises(PlumblineError, match="no file may put in force"):
        mca_params.files(bundle(knob("a", "1\nb = 2")))
    with pytest.raises(PlumblineError, match="cannot stand in an MCA file"):
        mca_params.files(bundle(knob("a", " 1")))


def test_other_libraries_are_refused() -> None:
    mpich = bundle(ALLREDUCE, version="5.0.2", family="mpich")
    for files in (openmpi.files, mca_params.files):
        with pytest.raises(PlumblineError, match=r"mpich-5\.0\.2 is not Open MPI"):
            files(mpich)


# --- under the real mpirun ---------------------------------------------------------------------


@pytest.fixture
def exported(tmp_path: Path, open_mpi: str) -> Path:
    """All files for this machine's Open MPI, in a folder whose name has a blank; the rules are
    canaries, the preload library is empty."""
    preload = mpi.empty(tmp_path / "libplumbline.so")
    folder = tmp_path / "the files"
    given = bundle(ALLREDUCE, GATHER, version=open_mpi, directory=folder, preload_library=preload)
    write(given, ["env", "mca-params"])
    rules = folder / "ompi-rules.conf"
    rules.write_text(mpi.canary(rules.read_text()))
    return folder


RANK = (
    "mpirun -n 2 --oversubscribe {options} "
    'sh -c \'printf "%s|%s|%s\\n" "$LD_PRELOAD" "$PLUMBLINE_PROFILE" "$FOO"\''
)


@pytest.mark.mpi
def test_sourced_rules_are_in_force(exported: Path, canary_program: Path) -> None:
    start = f"mpirun -n 4 --oversubscribe {canary_program} MPI_Allreduce:16384 MPI_Allreduce:4096"
    for script, expected in (
        (start, "ok"),
        (f". '{exported}/plumbline.sh'; {start}", "refused"),
        (f"export OMPI_MCA_mca_base_param_files='{exported}/mca-params.conf'; {start}", "refused"),
    ):
        done = mpi.shell(script, mpi.environment())
        assert done.stdout.splitlines() == [
            f"MPI_Allreduce 16384 {expected}",
            "MPI_Allreduce 4096 ok",
        ], done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("options", ["", "-x FOO=1", "-x FOO"])
def test_ranks_alone_preload(exported: Path, options: str) -> None:
    """Also beside `mpirun -x`, which Open MPI 4 does not let stand beside mca_base_env_list."""
    script = f". '{exported}/plumbline.sh'; echo \"shell $LD_PRELOAD\"; {RANK}"
    done = mpi.shell(script.format(options=options), mpi.environment(FOO="1"))
    rank = f"{exported.parent}/libplumbline.so|{exported}/plumbline.profile|1"
    assert done.stdout.splitlines() == ["shell ", rank, rank], done.stderr


@pytest.mark.mpi
def test_ranks_keep_what_the_user_preloads(exported: Path) -> None:
    theirs = mpi.empty(exported.parent / "theirs.so")
    script = f". '{exported}/plumbline.sh'; . '{exported}/plumbline.sh'; {RANK}"
    done = mpi.shell(script.format(options=""), mpi.environment(LD_PRELOAD=str(theirs)))
    assert f"{exported.parent}/libplumbline.so:{theirs}|" in done.stdout, done.stderr
