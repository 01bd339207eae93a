"""Which cells are watched, beside which reference cases."""

from __future__ import annotations

from plumbline.daemon import cells
from plumbline.daemon.cells import CanaryCell
from plumbline.daemon.configuration import CanaryTable
from plumbline.settings.toolchain import Variant
from plumbline_db.records import UNBOUNDED_BYTES
from tests.db import build
from tests.exporters.bundles import tuned

SIZES = {"MPI_Bcast": [64, 1024], "MPI_Reduce": [64, 1024]}
VARIANTS = [
    Variant(f"{name}_{kind}", f"MPI_{name.capitalize()}", kind, restrictions, "")
    for name in ("bcast", "reduce", "barrier", "scan")
    for kind in ("algorithm", "mockup", "naive")
    for restrictions in ([], ["commutative"])
]


def choose(most: int = 40, references: int = 10, **given: object) -> cells.CellRoles:
    known = {"winners": [], "table": [], "weights": {}, "sizes": SIZES, "variants": VARIANTS}
    asked = CanaryTable(cells=most, references=references)
    return cells.choose(**known | given, asked=asked)


def test_winners_come_first() -> None:
    winner = tuned("MPI_Bcast", "chain", 1024, UNBOUNDED_BYTES)
    verdict = build.verdict("after")
    found = choose(winners=[winner], table=[verdict], weights={("MPI_Scan", 8): 1.0})
    roles = list(found.roles.items())
    assert roles[0] == (CanaryCell("MPI_Bcast", "default", 1024), "winner")
    assert roles[1] == (CanaryCell(verdict.function, "default", verdict.bytes), "violation")
    assert roles[2] == (CanaryCell("MPI_Scan", "default", 8), "application")
    assert [role for _, role in roles].count("table") == 3
    few = choose(2, winners=[winner], table=[verdict])
    assert [role for role in few.roles.values() if role != "reference"] == ["winner", "violation"]


def test_references_are_algorithms_that_take_anything() -> None:
    found = choose().references
    assert len(found) == 6  # Bcast, Reduce, Scan at two sizes
    assert all(cell.variant.endswith("_algorithm") for cell in found)
    assert not any(cell.function == "MPI_Barrier" for cell in found)
    first = found[:3]
    assert {cell.function for cell in first} == {"MPI_Bcast", "MPI_Reduce", "MPI_Scan"}
    assert {cell.bytes for cell in first} == {64, 1024}
    assert len(choose(references=3).references) == 3
