"""MPICH 4 and 5."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import Bundle, put
from plumbline_exporters.families import Family, Linting, Question
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mpich import coll, lint_tables, selection
from plumbline_exporters.registry import exporter


@exporter(
    "mpich-env",
    "shell file to source before MPICH's mpirun",
    needs=("mpich-json", "profile"),
    family="mpich",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "# The files named here must be on all nodes."
    return hydra.files(
        bundle, plumbline_sh.text(bundle, "MPICH", [remark], control_variables(bundle))
    )


def control_variables(bundle: Bundle) -> dict[str, str]:
    """Variables that put the tables in force, and what holds for a whole process."""
    files = selection.variables(bundle)
    values = {name: str(bundle.directory / file) for name, file in files.items()}
    for winner in bundle.winners:
        for name, value in sorted(coll.left_over(winner).items()):
            put(values, winner, name, value)
    return values


def question(library: Library) -> Question:
    return Question(("mpichversion",), library.version_string)


FAMILY = Family(
    prefixes=(coll.PREFIX, "MPICH_"),
    script="mpich-env",
    variables=control_variables,
    question=question,
    lint=Linting(
        versions=((4, 3, 2), (5, 0, 2)),
        variables=lint_tables.PATTERN,
        findings=lint_tables.variable_findings,
        refusal=("fails", "ends every program in MPI_Init"),
        own_decision=("auto",),
        aliases=lint_tables.ALIASES,
        files=lint_tables.TABLES,
        options=hydra.OPTIONS,
        formats={"mpich-json": lint_tables},
    ),
)
