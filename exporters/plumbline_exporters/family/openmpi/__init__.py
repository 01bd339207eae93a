"""Open MPI 4.1, 5 and 6, and a POSIX shell file that a user sources; everything after it runs with
the winners in force.

The preload library must enter the ranks and nothing else of the user's shell. Open MPI 5 does that
with `mca_base_env_list`. Open MPI 4 aborts when `mpirun -x` meets that parameter, but not with
`mca_base_env_list_internal`, the one behind `-x` in a `--tune` file. What the user has set stays:
an LD_PRELOAD of the shell follows ours, an environment list precedes ours.

srun gets the same by a list of its own (plumbline_sh.py). mpirun starts its daemons on other nodes
by srun too: these must not have it, as ranks there would have it by them alone where the list of
mpirun is another one."""

from __future__ import annotations

from plumbline_db.records import Library
from plumbline_exporters import plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.families import Family, Linting, ParameterFile, Question, RulesFiles
from plumbline_exporters.family.openmpi import (
    lint_han_rules,
    lint_parameters,
    lint_rules,
    lint_rules_json,
    mca_params,
    tuned,
)
from plumbline_exporters.family.openmpi.tuned import is_rule
from plumbline_exporters.registry import exporter

_PRELOAD = """
# The preload library and its profile, for the ranks alone. Sourcing the file twice changes nothing.
plumbline_library={library}
plumbline_list="LD_PRELOAD=$plumbline_library${{LD_PRELOAD:+:$LD_PRELOAD}};"
plumbline_list=${{plumbline_list}}PLUMBLINE_PROFILE={profile}
plumbline_theirs=${{OMPI_MCA_mca_base_env_list-}}
plumbline_theirs=${{plumbline_theirs%"${{PLUMBLINE_ENV_LIST-}}"}}
plumbline_theirs=${{plumbline_theirs%;}}
case ";$plumbline_theirs" in
*";LD_PRELOAD"*)
    echo "plumbline.sh: the variants are not in force, for OMPI_MCA_mca_base_env_list sets" \\
        "LD_PRELOAD already: unset it, or add there: $plumbline_list" >&2
    ;;
*)
{export}
    export PLUMBLINE_ENV_LIST="$plumbline_list"
    ;;
esac
unset plumbline_library plumbline_list plumbline_theirs
"""

_DAEMONS = """\
case "${{{variable}-}}" in
*--export*) ;;
*) export {variable}="${{{variable}:+${variable} }}--export=ALL" ;;
esac
"""

_EXPORT_4 = """\
    if [ -n "$plumbline_theirs" ]; then
        export OMPI_MCA_mca_base_env_list="$plumbline_theirs;$plumbline_list"
    else
        unset OMPI_MCA_mca_base_env_list
        export OMPI_MCA_mca_base_env_list_internal="$plumbline_list"
    fi"""

_EXPORT_5 = """\
    export OMPI_MCA_mca_base_env_list="${plumbline_theirs:+$plumbline_theirs;}$plumbline_list\""""


@exporter(
    "env",
    "shell file to source before mpirun",
    needs=("ompi-rules", "ompi-han-rules", "profile"),
    family="openmpi",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "# mpirun carries OMPI_MCA_* to all nodes; the files named here must be there too."
    text = plumbline_sh.text(bundle, "Open MPI", [remark], variables(bundle))
    if bundle.variants:
        text += _preload(bundle)
    return {plumbline_sh.FILE_NAME: text}


def variables(bundle: Bundle) -> dict[str, str]:
    parameters = mca_params.parameters(bundle)
    return {mca_params.PREFIX + name: value for name, value in parameters.items()}


def _preload(bundle: Bundle) -> str:
    """ld.so splits at blanks and colons and expands $; Open MPI splits at semicolons."""
    library = plumbline_sh.preload_library(bundle, r"[ \t\n:;$]", "Open MPI")
    plumbline_sh.whole(bundle.directory, r"[;\n]", "Open MPI")
    five = tuned.version(bundle.library) >= (5, 0, 0)
    text = _PRELOAD.format(
        library=quoting.sh(library),
        profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        export=_EXPORT_5 if five else _EXPORT_4,
    )
    args = "PRTE_MCA_plm_slurm_args" if five else "OMPI_MCA_plm_slurm_args"
    return text + plumbline_sh.script(bundle, library) + _DAEMONS.format(variable=args)


def question(library: Library) -> Question:
    return Question(("ompi_info", "--version"), f"Open MPI v{library.version}")


FAMILY = Family(
    prefixes=(mca_params.PREFIX,),
    script="env",
    variables=variables,
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
            "mca-params": lint_parameters,
        },
    ),
)
