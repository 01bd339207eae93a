"""MVAPICH 3 and 4, which are made from MPICH."""

from __future__ import annotations

from plumbline_exporters.families import Family, Linting
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mpich import lint_variables as variables
from plumbline_exporters.family.mvapich import env
from plumbline_exporters.family.mvapich2 import question
from plumbline_exporters.family.mvapich2.env import variables as in_environment

FAMILY = Family(
    prefixes=("MVP_",),
    script=env.SCRIPT,
    variables=in_environment,
    question=question,
    lint=Linting(
        versions=((4, 0, 0),),
        variables=variables.PATTERN,
        findings=variables.findings,
        refusal=("fails", "ends every program in MPI_Init"),
        own_decision=("auto",),
        options=hydra.OPTIONS,
        instead_of="mpich",
    ),
)
