"""The linter has nothing to say of what Plumbline exports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.libraries import space_file
from plumbline_db.errors import UsageError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters import registry
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.families import Context
from plumbline_exporters.family.mpich import selection as mpich_selection
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.lint import formats
from tests.exporters.bundles import bundle, everywhere, library, safe, tuned, variant, winner
from tests.exporters.test_mpich_selection import winner as mpich_winner
from tests.exporters.test_ompi_rules import tables
from tests.tuner.families.installations import prefix_of

SPACES = Path(__file__).parents[3] / "search-spaces"
CONTEXT = Context(known=space_file.known_parameters(SPACES))
SETTING = {
    *("plumbline", "plumbline.sh", "plumbline.csh", "plumbline.fish", "plumbline.lua"),
    *("plumbline-run", "mca-params.conf", "mpich-selection.json", "mpich-compositions.json"),
}
OURS = variant("MPI_Gatherv", "gatherv_linear", 0, UNBOUNDED_BYTES)


def of_open_mpi(nprocs: int) -> list[Winner]:
    return safe(nprocs=nprocs, chain_fanout=4)


BCAST_PAST_HAN = {"coll_tuned_bcast_algorithm": "6", "coll_han_priority": "0"}


BUNDLES: dict[str, tuple[str, list[Winner]]] = {
    "openmpi-4.1.4": ("openmpi", [*of_open_mpi(4), *of_open_mpi(8), OURS]),
    "openmpi-5.0.11": (
        "openmpi",
        [
            *of_open_mpi(4),
            winner("MPI_Bcast", BCAST_PAST_HAN, 512, 1 << 20, nprocs=8),
            tuned("MPI_Alltoall", "linear_sync", 1024, nprocs=16, max_requests=8),
            tuned("MPI_Alltoall", "two_proc", nprocs=2),
            everywhere("MPI_Scan", coll_tuned_priority="40"),
            OURS,
        ],
    ),
    "openmpi-6.0.0": ("openmpi", [*of_open_mpi(4), *of_open_mpi(8)]),
    "intelmpi-2021.17.2": (
        "intelmpi",
        [
            winner("MPI_Bcast", {"I_MPI_ADJUST_BCAST": "2"}, 4096, 8192),
            everywhere("MPI_Gather", I_MPI_ADJUST_GATHER="1"),
            everywhere("MPI_Alltoallv", I_MPI_ADJUST_ALLTOALLV="1"),
            OURS,
        ],
    ),
    "mvapich2-2.3.7": (
        "mvapich2",
        [
            everywhere("MPI_Bcast", MV2_INTER_BCAST_TUNING="2:0-8191,5:8192-+"),
            everywhere("MPI_Allgather", MV2_INTER_ALLGATHER_TUNING="3"),
            OURS,
        ],
    ),
    "mvapich-4.0": (
        "mvapich",
        [everywhere("MPI_Allreduce", MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM="ring"), OURS],
    ),
}


def bundle_of(id: str, family: str, winners: list[Winner], folder: Path) -> Bundle:
    return bundle(*winners, directory=folder, version=id.partition("-")[2], family=family)


def is_linted(file: Path) -> bool:
    """Whether the linter knows its format, as it does of all that set an environment or a table."""
    try:
        formats.choose(file.name, file.read_text())
    except UsageError:
        assert not file.name.startswith("ompi-") and file.name not in SETTING
        return False
    return True


def said(folder: Path, names: list[str]) -> list[object]:
    """Findings of all files that are of a format of the linter."""
    return [
        finding
        for name in names
        if is_linted(folder / name)
        for file in formats.lint(folder / name, CONTEXT)
        for finding in file.findings
    ]


@pytest.mark.parametrize("id", BUNDLES)
def test_nothing_to_say_of_exported_files(id: str, tmp_path: Path) -> None:
    family, winners = BUNDLES[id]
    given = bundle_of(id, family, winners, tmp_path)
    written = registry.write(given, list(registry.exporters(family)))
    assert len(written) > 2
    assert said(tmp_path, [Path(one.path).name for one in written]) == []


@pytest.mark.parametrize("name", ["mpich-4.3", "mpich-5.0"])
def test_nothing_to_say_of_tables_of_mpich(name: str, tmp_path: Path) -> None:
    """The library's own, and those with winners in them."""
    winners = [
        mpich_winner("MPI_Allreduce", "ring", 8192, 65536),
        mpich_winner("MPI_Allreduce", "reduce_scatter_allgather", 65537, 1 << 20),
        mpich_winner("MPI_Alltoall", "pairwise", 64, 128),
        mpich_winner("MPI_Gather", "binomial", 0, UNBOUNDED_BYTES),
        everywhere("MPI_Ibcast", MPIR_CVAR_IBCAST_INTRA_ALGORITHM="tsp_tree"),
    ]
    mpich = library(name.partition("-")[2], "mpich", prefix=str(prefix_of(name)))
    given = bundle(*winners, directory=tmp_path, library=mpich)
    for table in mpich_selection.tables(given.library):
        text = json.dumps(table, indent=1)
        assert formats.check(text, formats.choose("table", text), CONTEXT) == []
    registry.write(given, ["mpich-env"])
    assert said(tmp_path, ["plumbline.sh"]) == []
    assert len(formats.lint(tmp_path / "plumbline.sh", CONTEXT)) == 3


@given(table=tables(), nprocs=st.integers(2, 9))
def test_nothing_to_say_of_any_rules(table: tuple[str, list[Winner]], nprocs: int) -> None:
    """Winners of tests/exporters/test_ompi_rules.py, whatever their sizes."""
    del nprocs
    _, winners = table
    chains = [one for one in winners if "chain" in one.configuration.values()]
    for text in ompi_rules.rules_files(bundle(*winners)).values():
        found = formats.check(text, formats.choose("rules", text), Context())
        assert {one.trap for one in found} <= ({"no-fan-out"} if chains else set())


def test_the_head_says_whom_a_file_is_for(tmp_path: Path) -> None:
    """A header of version 2 is fine for 5.0.11, and not for all."""
    given = bundle(tuned("MPI_Alltoall", "linear_sync", 1024, max_requests=8), version="5.0.11")
    (text,) = ompi_rules.rules_files(given).values()
    format = formats.choose("rules", text)
    assert formats.check(text, format, Context()) == []
    found = formats.check(text, format, Context("openmpi-4.1.4"))
    assert "header-too-new" in {one.trap for one in found}


def test_rules_that_a_parameter_file_names_are_looked_at(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("1\n9\n1\n4\n2\n0 2 0 0\n4096 1 0 0\n")
    parameters = tmp_path / "openmpi-mca-params.conf"
    parameters.write_text(
        "coll_tuned_use_dynamic_rules = 1\n"
        f"coll_tuned_dynamic_rules_filename = {rules}\n"
        f"coll_han_use_dynamic_file_rules = 1\n"
        f"coll_han_dynamic_rules_filename = {tmp_path}/none\n"
    )
    own, other = formats.lint(parameters, CONTEXT)
    assert [(one.line, one.trap) for one in own.findings] == [(4, "no-such-file")]
    assert other.named_in == f"{parameters}:2"
    assert "rooted-switch" in {one.trap for one in other.findings}


def test_named_files_that_are_nothing(tmp_path: Path) -> None:
    """The findings of the file that names them are told all the same."""
    rules, parameters = tmp_path / "rules", tmp_path / "mca-params.conf"
    rules.write_text("")
    parameters.write_text(f"coll_tuned_dynamic_rules_filename = {rules}\n")
    own, empty = formats.lint(parameters, CONTEXT)
    assert {one.trap for one in own.findings} == {"no-switch"}
    assert [one.trap for one in empty.findings] == ["dropped"]
    os.truncate(rules, 1 << 25)  # more than such a file has
    (own,) = formats.lint(parameters, CONTEXT)
    assert {one.trap for one in own.findings} == {"no-switch", "unknown-file"}
    parameters.write_text("coll_tuned_dynamic_rules_filename = ~nobody-of-that-name/rules\n")
    (own,) = formats.lint(parameters, CONTEXT)
    assert "no-switch" in {one.trap for one in own.findings}


def test_unsafe_exports_are_not_clean() -> None:
    asked = bundle(tuned("MPI_Reduce", "binomial", 512, 1 << 20), unsafe=True)
    (text,) = ompi_rules.rules_files(asked).values()
    found = formats.check(text, formats.choose("rules", text), Context())
    assert [one.trap for one in found] == ["not-commutative"]
