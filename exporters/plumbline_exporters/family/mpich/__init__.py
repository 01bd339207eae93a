"""MPICH 4 and 5."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters.families import Family, Linting
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mpich import coll, env
from plumbline_exporters.family.mpich import lint_tables as tables
from plumbline_exporters.family.mpich import lint_variables as variables
from plumbline_exporters.installed import Question


def question(library: Library) -> Question:
    return Question(("mpichversion",), library.version_string)


FAMILY = Family(
    prefixes=(coll.PREFIX, "MPICH_"),
    script="mpich-env",
    variables=env.variables,
    question=question,
    lint=Linting(
        versions=((4, 3, 2), (5, 0, 2)),
        variables=variables.PATTERN,
        findings=variables.findings,
        refusal=("fails", "ends every program in MPI_Init"),
        own_decision=("auto",),
        files=variables.TABLES,
        options=hydra.OPTIONS,
        formats={"mpich-json": tables},
    ),
)
