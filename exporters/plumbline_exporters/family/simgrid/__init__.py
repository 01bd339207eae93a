"""SimGrid: simulated ranks, which nobody sets parameters for by hand."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters.families import Family
from plumbline_exporters.family.simgrid import env


def question(library: Library) -> None:
    """Whoever calls smpirun has chosen it."""
    del library


FAMILY = Family(script="simgrid-env", variables=env.variables, question=question)
