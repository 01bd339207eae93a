"""Open MPI 4.1, 5 and 6."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters.families import Family, Linting, ParameterFile, Question, RulesFiles
from plumbline_exporters.family.openmpi import (
    env,
    lint_han_rules,
    lint_mca_file,
    lint_parameters,
    lint_rules,
    lint_rules_json,
    mca_params,
)
from plumbline_exporters.family.openmpi.tuned import is_rule


def question(library: Library) -> Question:
    return Question(("ompi_info", "--version"), f"Open MPI v{library.version}")


FAMILY = Family(
    prefixes=(mca_params.PREFIX,),
    script="env",
    variables=env.variables,
    question=question,
    rules=RulesFiles(mca_params.RULES_FILE_NAMES, mca_params.decision, is_rule),
    parameter_file=ParameterFile(
        parameters=mca_params.parameters,
        line=mca_params.line,
        read=lambda text: mca_params.read(text)[0],
        prefix=mca_params.PREFIX,
        elsewhere=mca_params.ELSEWHERE,
        silences=mca_params.silences,
    ),
    lint=Linting(
        versions=((4, 1, 0), (4, 1, 7), (4, 1, 8), (5, 0, 0), (5, 0, 6), (5, 0, 11)),
        variables=mca_params.PREFIX,
        findings=lint_parameters.of_variables,
        refusal=("ignored", "is not taken: the default stays"),
        own_decision=("0", "ignore"),
        files={mca_params.PREFIX + name: what for name, what in lint_parameters.FILES.items()},
        options=dict.fromkeys(lint_parameters.OPTIONS, mca_params.PREFIX),
        formats={
            "ompi-json": lint_rules_json,
            "ompi-han-rules": lint_han_rules,
            "ompi-rules": lint_rules,
            "mca-params": lint_mca_file,
        },
    ),
)
