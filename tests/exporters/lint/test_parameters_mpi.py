"""Open MPI takes parameter files as the linter says."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_exporters.families import Context
from tests.exporters.lint.conftest import OpenMpi
from tests.exporters.lint.test_traps import HAN_FILES, KNOWN
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

FILE = """\
coll_basic_priority = 010
coll_tuned_priority = 40 # more
coll_tuned_dynamic_rules_filename = /r # more
coll_tuned_reduce_algorithm = 2 # chain
coll_tuned_bcast_algorithm = binominal
coll_tuned_allreduce_algorithm = 010
coll_tuned_gather_algorithm = 02
coll_han_dynamic_rules_filename = "/q"
--mca coll_sync_priority 61
OMPI_MCA_coll_libnbc_priority = 20
coll_adapt_priority 12
coll_self_priority = 71
coll_self_priority = 72
coll_tuned_alltoall_algorithm_max_requests = 1k
coll_tuned_use_dynamic_rules = yes
btl_tcp_eager_limit = much
mpi_leave_pinned = 7
"""
TAKEN = {
    "coll_basic_priority": "8",  # octal
    "coll_tuned_priority": "40",
    "coll_tuned_dynamic_rules_filename": "/r # more",  # comment-in-value
    "coll_tuned_reduce_algorithm": "ignore",  # the same
    "coll_tuned_bcast_algorithm": "ignore",  # no-such-algorithm
    "coll_tuned_allreduce_algorithm": "ignore",  # octal: 8, which there is not
    "coll_tuned_gather_algorithm": "binomial",
    "coll_han_dynamic_rules_filename": '"/q"',  # quoted-value
    "coll_sync_priority": "61",
    "coll_libnbc_priority": "10",  # environment-name
    "coll_adapt_priority": "0",  # not-a-parameter
    "coll_self_priority": "72",
    "coll_tuned_alltoall_algorithm_max_requests": "1024",
    "coll_tuned_use_dynamic_rules": "true",
    "btl_tcp_eager_limit": "0",  # no-such-value
    "mpi_leave_pinned": "true",
}
# Lines of Windows, behind a byte-order mark: numbers are read up to the carriage return.
OF_WINDOWS = """\
coll_tuned_priority = 40
coll_basic_priority = 41
coll_tuned_use_dynamic_rules = 1
coll_tuned_bcast_algorithm = binomial
"""
TAKEN_OF_WINDOWS = {
    "coll_tuned_priority": "40",
    "coll_basic_priority": "41",
    "coll_tuned_use_dynamic_rules": "false",  # carriage-return
    "coll_tuned_bcast_algorithm": "ignore",
}


def test_a_parameter_file(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    path = tmp_path / "params.conf"
    path.write_text(FILE)
    found = open_mpi_of.parameters(OMPI_MCA_mca_base_param_files=str(path))
    assert {name: found[name] for name in TAKEN} == TAKEN


def test_a_parameter_file_of_windows(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    path = tmp_path / "params.conf"
    path.write_bytes(b"\xef\xbb\xbf" + OF_WINDOWS.replace("\n", "\r\n").encode())
    found = open_mpi_of.parameters(OMPI_MCA_mca_base_param_files=str(path))
    assert {name: found[name] for name in TAKEN_OF_WINDOWS} == TAKEN_OF_WINDOWS


BAD_BCAST = "1\n7\n1\n0\n1\n0 99 0 0\n"


@pytest.mark.parametrize("forced", ["", "6"])
def test_forced_algorithms_and_rules(open_mpi_of: OpenMpi, tmp_path: Path, forced: str) -> None:
    """forced-and-rules: 4.1 takes the file, 5.0 what is forced."""
    path = tmp_path / "rules"
    path.write_text(BAD_BCAST)
    values = {"OMPI_MCA_coll_tuned_bcast_algorithm": forced} if forced else {}
    (refused,) = open_mpi_of.refused(path, [("MPI_Bcast", 1024)], **values).values()
    assert refused is (not forced or open_mpi_of.id.startswith("openmpi-4"))


def test_nothing_counts_without_the_switch(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(BAD_BCAST)
    off = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}
    assert open_mpi_of.refused(path, [("MPI_Bcast", 1024)], **off) == {("MPI_Bcast", 1024): False}


@pytest.mark.parametrize(
    "listed", by_default(["^tuned", "basic,tuned,libnbc,self"], ["basic,libnbc,self"])
)
def test_nothing_counts_without_the_component(
    open_mpi_of: OpenMpi, tmp_path: Path, listed: str
) -> None:
    """component-left-out"""
    path = tmp_path / "rules"
    path.write_text(BAD_BCAST)
    (refused,) = open_mpi_of.refused(path, [("MPI_Bcast", 1024)], OMPI_MCA_coll=listed).values()
    assert refused is (",tuned" in listed)


def test_a_relative_path_is_looked_for_where_ranks_start(
    open_mpi_of: OpenMpi, tmp_path: Path
) -> None:
    (tmp_path / "rules").write_text(BAD_BCAST)
    assert open_mpi_of.refused(Path("rules"), [("MPI_Bcast", 64)]) == {("MPI_Bcast", 64): False}


def test_a_forced_algorithm_for_two_ranks(open_mpi_of: OpenMpi) -> None:
    values = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_alltoall_algorithm": "two_proc",
    }
    done = open_mpi_of.run(open_mpi_of.canary, "MPI_Alltoall:1024", nprocs=3, **values)
    assert "error" in done.stdout or done.status != 0


@pytest.mark.parametrize("open_mpi_of", ["openmpi-5.0"], indirect=True)
@pytest.mark.parametrize("at", [0, 2, 4, 7, 8], ids=str)
def test_rules_files_of_han(open_mpi_of: OpenMpi, tmp_path: Path, at: int) -> None:
    """What the linter says is dropped is, and nothing else."""
    text, expected = HAN_FILES[at]
    path = tmp_path / "han"
    path.write_text(text)
    values = {
        "OMPI_MCA_coll_base_verbose": "1",
        "OMPI_MCA_coll_han_use_dynamic_file_rules": "1",
        "OMPI_MCA_coll_han_dynamic_rules_filename": str(path),
    }
    done = open_mpi_of.run(open_mpi_of.canary, nprocs=1, **values)
    dropped = "could not fully read dynamic rules file" in done.stderr + done.stdout
    assert dropped is (expected is not None and expected[2] == "dropped")


def test_names_and_values_that_the_library_reports(open_mpi_of: OpenMpi) -> None:
    """The table has every name, with its values, of the parts that it covers completely."""
    (known,) = Context(open_mpi_of.id, KNOWN).target("openmpi").known
    reported = open_mpi_of.parameters()
    names = [name for name in reported if name.startswith(known.prefixes)]
    assert len(names) > 100
    assert [name for name in names if name not in known.parameters] == []
    refused = [
        (name, value)
        for name, value in reported.items()
        if name in known.parameters and not known.parameters[name].takes(value)
    ]
    assert refused == []


@pytest.mark.parametrize(
    "listed", by_default(["tuned,libnbc", "basic,libnbc"], ["tuned", "^basic", "^libnbc"])
)
def test_components_without_which_no_program_starts(open_mpi_of: OpenMpi, listed: str) -> None:
    """component-needed"""
    done = open_mpi_of.run(open_mpi_of.canary, nprocs=1, OMPI_MCA_coll=listed)
    assert (done.status == 0) is (listed == "basic,libnbc")
