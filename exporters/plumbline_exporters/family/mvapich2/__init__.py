"""MVAPICH2 2.x."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters.families import Family, Linting, Question
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mvapich2 import env


def question(library: Library) -> Question | None:
    build = library.build
    return Question(("mpiname", "-a"), build["package"]) if "package" in build else None


FAMILY = Family(
    prefixes=("MV2_",),
    script="mvapich2-env",
    variables=env.variables,
    question=question,
    in_ranges=env.IN_RANGES,
    lint=Linting(
        versions=((2, 3, 7),),
        variables=env.PATTERN,
        findings=env.findings,
        refusal=("misread", "is taken, without a word, for another one that exists"),
        options=hydra.OPTIONS,
    ),
)
