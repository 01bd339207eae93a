"""What the linter says corrupts data does so on the real library; what is exported does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from plumbline_exporters.finding import Finding
from plumbline_exporters.lint import formats
from tests.exporters.bundles import bundle, safe
from tests.exporters.lint.conftest import OpenMpi, rules_in_force

pytestmark = pytest.mark.mpi

LIMIT = 2  # seconds after which calls of a kilobyte hang
ALL = (
    *("scatter", "gather", "gather_unequal", "allgather", "alltoall"),
    *("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"),
)


def rules_of(rules: Mapping[str, Sequence[str]]) -> str:
    """A classic file for 4 ranks alone."""
    lines = [str(len(rules))]
    for function, block in rules.items():
        lines += [str(COLLECTIVES[function].rule_id), "3", "0", "1", "0 0 0 0"]
        lines += ["4", str(len(block)), *block, "5", "1", "0 0 0 0"]
    return "\n".join(lines) + "\n"


def linted(text: str, library: str) -> list[Finding]:
    return formats.check(text, formats.choose("rules", text), Context(library))


def test_legal_programs_are_right_without_rules(open_mpi_of: OpenMpi) -> None:
    assert open_mpi_of.outcome(None, *ALL) == "right"


# Function and rules of each; what a legal program gets.
SWITCHES: dict[str, tuple[dict[str, tuple[str, str]], tuple[str, ...]]] = {
    "wrong": (
        {"MPI_Scatter": ("0 2 0 0", "512 1 0 0"), "MPI_Gather": ("0 2 0 0", "512 1 0 0")},
        ("wrong",),
    ),
    "wrong, with the library's choice": ({"MPI_Scatter": ("0 0 0 0", "8 1 0 0")}, ("wrong",)),
    "error in Scatter": ({"MPI_Scatter": ("0 1 0 0", "8 2 0 0")}, ("error", "hang")),
    "error in Gather": ({"MPI_Gather": ("0 1 0 0", "8 2 0 0")}, ("error", "hang")),
    "hang": ({"MPI_Gather": ("0 2 0 0", "8 3 0 0")}, ("hang",)),
    "one algorithm in two segments": ({"MPI_Gather": ("0 3 0 0", "8 3 0 256")}, ("wrong", "error")),
    "hang in Allgather": ({"MPI_Allgather": ("0 0 0 0", "1 4 0 0")}, ("hang",)),
}


@pytest.mark.parametrize("case", SWITCHES)
def test_a_switch_by_size_corrupts(open_mpi_of: OpenMpi, tmp_path: Path, case: str) -> None:
    """Which of the ranks notices, and how, depends on the algorithms."""
    rules, expected = SWITCHES[case]
    text = rules_of(rules)
    path = tmp_path / "rules"
    path.write_text(text)
    hazards = [function.removeprefix("MPI_").lower() for function in rules]
    limit = LIMIT if "hang" in expected else 30
    assert open_mpi_of.outcome(path, *hazards, limit=limit) in expected
    found = [one for one in linted(text, open_mpi_of.id) if one.effect == "corrupts"]
    assert len(found) == len(rules)
    wanted = "in-place-switch" if "MPI_Allgather" in rules else "rooted-switch"
    assert {one.trap for one in found} == {wanted}


REDUCTIONS = (
    ("MPI_Reduce",),
    ("MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),  # some call MPI_Reduce's
)


MAPS = 256  # a multiple of the ranks; 8 bytes each


@pytest.mark.parametrize("reductions", REDUCTIONS, ids=lambda names: names[0])
def test_operations_that_do_not_commute(
    open_mpi_of: OpenMpi, tmp_path: Path, reductions: tuple[str, ...]
) -> None:
    """Every algorithm of the library, each at a size of its own: wrong exactly where the linter
    says so."""
    algorithms = {
        function: dict(enumerate(COLLECTIVES[function].algorithms, 1)) for function in reductions
    }
    text = rules_of(
        {
            function: ["0 0 0 0", *(f"{8 * MAPS * number} {number} 4 1024" for number in names)]
            for function, names in algorithms.items()
        }
    )
    path = tmp_path / "rules"
    path.write_text(text)
    cases = {
        f"{function.removeprefix('MPI_').lower()}:{MAPS * number}": (function, name)
        for function, names in algorithms.items()
        for number, name in names.items()
    }
    # All ranks share a core, perhaps with others' work.
    done = open_mpi_of.run(open_mpi_of.hazards, *cases, limit=240, **rules_in_force(path))
    assert done.status == 0 and "over" in done.stdout, done.stderr
    wrong = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("wrong")}
    unsafe = {(f, name) for f in reductions for name in COLLECTIVES[f].commutative_only}
    unsafe &= set(cases.values())
    assert {cases[one] for one in wrong} == unsafe
    found = [one for one in linted(text, open_mpi_of.id) if one.trap == "not-commutative"]
    assert {tuple(one.reason.split()[:2]) for one in found} == unsafe


def test_what_is_exported_for_the_same_functions_is_right(
    open_mpi_of: OpenMpi, tmp_path: Path
) -> None:
    """A winner for each function, by size where a file can say so."""
    version = open_mpi_of.id.removeprefix("openmpi-")
    (text,) = ompi_rules.rules_files(bundle(*safe(), version=version)).values()
    path = tmp_path / "rules"
    path.write_text(text)
    assert linted(text, "") == []
    assert open_mpi_of.outcome(path, *ALL) == "right"


def test_two_processes(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    """A block for 2 ranks holds for 3 where the next is for 4."""
    lines = ("1", "0", "2", "2", "1", "0 6 0 0", "4", "1", "0 0 0 0")
    text = "\n".join(lines) + "\n"
    path = tmp_path / "rules"
    path.write_text(text)
    values = rules_in_force(path)
    done = open_mpi_of.run(open_mpi_of.canary, "MPI_Allgather:1024", nprocs=3, **values)
    assert "ok" not in done.stdout
    done = open_mpi_of.run(open_mpi_of.canary, "MPI_Allgather:1024", nprocs=4, **values)
    assert "ok" in done.stdout
    assert "two-processes" in {one.trap for one in linted(text, open_mpi_of.id)}
