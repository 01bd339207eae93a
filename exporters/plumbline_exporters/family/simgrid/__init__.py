"""SimGrid: simulated ranks, which nobody sets parameters for by hand."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters import plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.families import Family
from plumbline_exporters.registry import exporter

# A POSIX shell file for simulated programs that plumbline.o is linked into (docs/simulated.md).
# What smpirun is to be told stands in one variable, as words of its command line: a user types
# `smpirun $PLUMBLINE_SMPIRUN …`, our launcher does the same.

OPTIONS = "PLUMBLINE_SMPIRUN"


@exporter(
    "simgrid-env", "shell file to source before smpirun", needs=("profile",), family="simgrid"
)
def files(bundle: Bundle) -> dict[str, str]:
    remarks = [f"#      smpirun ${OPTIONS} -np … -platform … -hostfile … program"]
    if bundle.variants:
        linked = bundle.preload_library or "plumbline.o"
        remarks.append(quoting.comment(f"Link {linked} into the program."))
    return {
        plumbline_sh.FILE_NAME: plumbline_sh.text(bundle, "SimGrid", remarks, _variables(bundle))
    }


def _variables(bundle: Bundle) -> dict[str, str]:
    selector = bundle.library.build.get("selector", "ompi")
    settings = {"smpi/coll-selector": selector} | _options(bundle)
    words = [quoting.word(f"--cfg={name}:{value}") for name, value in settings.items()]
    variables_set = {OPTIONS: " ".join(words)}
    if bundle.variants:
        variables_set = {
            "PLUMBLINE_PROFILE": str(bundle.directory / profile.FILE_NAME)
        } | variables_set
    return variables_set


def _options(bundle: Bundle) -> dict[str, str]:
    """Options of smpirun that hold for all calls. Raises PlumblineError when two winners want
    different values of one."""
    values: dict[str, str] = {}
    for winner in bundle.winners:
        for name, value in sorted(winner.configuration.items()):
            if values.setdefault(name, value) != value:
                raise PlumblineError(
                    f"{winner.function}: wants {name}:{value}, another winner wants "
                    f"{values[name]}; a simulation has one value: drop one of them"
                )
    return values


def question(library: Library) -> None:
    """Whoever calls smpirun has chosen it."""
    del library


FAMILY = Family(script="simgrid-env", variables=_variables, question=question)
