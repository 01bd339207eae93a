"""Intel MPI 2021."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters.families import Family, Linting, Question
from plumbline_exporters.family import hydra
from plumbline_exporters.family.intelmpi import env


def question(library: Library) -> Question | None:
    build = library.build
    if "revision" not in build:
        return None
    version_line = f"Version {build['released']} Build {build['built']} (id: {build['revision']})"
    return Question(("mpiexec.hydra", "-V"), version_line)


FAMILY = Family(
    prefixes=("I_MPI_",),
    script="impi-env",
    variables=env.variables,
    question=question,
    lint=Linting(
        versions=((2021, 17, 2),),
        variables="I_MPI_",
        findings=env.findings,
        refusal=("ignored", "makes it drop the whole variable"),
        own_decision=("-1", "0"),
        files={env.TUNING_FILE: env.TUNING},
        options=hydra.OPTIONS,
    ),
)
