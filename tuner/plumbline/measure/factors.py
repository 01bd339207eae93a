"""The factors of launches, compared before launches become one sample: what must be equal is equal,
or it is an error with its remedy (Hunold and Carpen-Amarie, TPDS 2016, section 4: factors of a run
time are controlled, or results do not belong together). Pure; factors.toml says what is asked of
each factor."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from plumbline_db.errors import NotJoinedError
from plumbline_db.probe_records import Header
from plumbline_db.runs import Surroundings

ENVIRONMENT = "environment"
NOT_KNOWN = "not known"
NOT_SET = "not set"

# What launches of different suites may be asked for differently; so may variables be set.
ASKED_FOR = frozenset(
    {"nprocs", "nodes", "ppn", "hosts", "host_order", "oversubscribed", "binding"}
    | {"sync", "clock", "runtime", "cache"}
)

# Of these, what follows from how ranks are started.
_PLACE = frozenset({"binding"})

# Variables that launchers make anew for each launch, and our own that only name places.
_OF_THE_LAUNCHER = re.compile(
    r"OMPI_MCA_(orte_|ess|pmix$|initial_wdir$|num_procs$|cpu_type$|PREFIXES$|rmaps_base_|"
    r"mpi_oversubscribe$|plm_slurm_args$|shmem_RUNTIME_QUERY_hint$)|"
    r"OPAL_(USER_PARAMS_GIVEN|PREFIX)$|"
    r"PMIX_MCA_(psec|mca_base_component_show_load_errors)$|PRTE_MCA_plm_slurm_args$|"
    r"PLUMBLINE_(DB|EXPORT_ENV|PREFIX|PYTHON|REPORT|SAY)$|"
    r"HYDRA_BSTRAP_|I_MPI_(HYDRA_UUID|INFO_\w+|PIN_INFO|PIN_MAPPING)$|FI_PSM3_UUID$"
)


class FactorRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule for a factor. `remedy`: how it is put back."""

    join: Literal["equal", "noted", "free"]
    remedy: str = ""


class Difference(msgspec.Struct, frozen=True):
    """A factor that is not the same in all launches: each value with the launches that had it, in
    order of first appearance."""

    factor: str
    rule: FactorRule
    values: list[tuple[str, list[str]]]

    def text(self) -> str:
        """`governor: powersave (c/before-000 and 4 more), performance (c/before-005)`."""
        return f"{self.factor}: " + ", ".join(
            f"{value} ({names[0]}{f' and {len(names) - 1} more' if names[1:] else ''})"
            for value, names in self.values
        )


@cache
def rules() -> Mapping[str, FactorRule]:
    text = resources.files("plumbline.measure").joinpath("factors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, FactorRule])


def rule_of(factor: str) -> FactorRule:
    """Return what is asked of it; a factor that the table does not know must be equal."""
    rule_by_factor = rules()
    if factor in rule_by_factor:
        return rule_by_factor[factor]
    if factor.startswith(ENVIRONMENT + " "):
        return rule_by_factor[ENVIRONMENT]
    return FactorRule("equal", "make it what it was")


def facts(header: Header) -> dict[str, str]:
    """Every factor of a launch as text. A factor without a value is "not known": reasons are not
    compared. Variables of the launcher's own are left out."""
    cache_state = header.cache
    texts = {
        "library": header.library,
        "probe": header.probe,
        "nprocs": str(header.nprocs),
        "nodes": str(header.nodes),
        "ppn": str(header.ppn),
        "hosts": ", ".join(sorted(header.hosts)),
        "host_order": ", ".join(header.hosts),
        "processing_units": str(header.processing_units),
        "oversubscribed": "yes" if header.oversubscribed else "no",
        "binding": "; ".join(header.binding),
        "sync": header.sync,
        "clock": header.clock.name,
        "runtime": header.runtime,
        "cache": f"{cache_state.mode}, {cache_state.bytes} B"
        if cache_state.bytes
        else cache_state.mode,
    }
    texts |= {factor.name: " | ".join(factor.values) or NOT_KNOWN for factor in header.factors}
    return texts | {
        f"{ENVIRONMENT} {name}": value
        for name, value in header.environment.items()
        if not _OF_THE_LAUNCHER.match(name)
    }


def differences(
    launches: Sequence[tuple[str, Header]],
    *,
    across_suites: bool = False,
    started_alike: bool = False,
) -> list[Difference]:
    """Return what is not the same in all launches (a name and a header each), in the order of the
    factors. A variable that is not there is not set. Any other factor is compared among the
    launches that have it: earlier versions of the probe recorded less. `across_suites`: only what
    no launch of a campaign is asked for differently; `started_alike`: and what follows from the
    words that start the ranks, which these launches have in common."""
    asked_for = ASKED_FOR - _PLACE if started_alike else ASKED_FOR
    every = [(name, facts(header)) for name, header in launches]
    different = []
    for factor in dict.fromkeys(factor for _, texts in every for factor in texts):
        variable = factor.startswith(ENVIRONMENT + " ")
        if across_suites and (variable or factor in asked_for):
            continue
        values: dict[str, list[str]] = {}
        for name, texts in every:
            if variable or factor in texts:
                values.setdefault(texts.get(factor, NOT_SET), []).append(name)
        rule = rule_of(factor)
        if len(values) > 1 and rule.join != "free":
            different.append(Difference(factor, rule, list(values.items())))
    return different


AFRESH = "Put it back and run the same command again, or start afresh with --new"


def require_joinable(
    launches: Sequence[tuple[str, Header]],
    *,
    across_suites: bool = False,
    started_alike: bool = False,
    otherwise: str = AFRESH,
    may_differ: Collection[str] = (),
) -> list[Difference]:
    """The differences that are only noted. Raises NotJoinedError, naming every factor that must be
    equal and is not, its values, the launches and the remedy; `otherwise`: what else to do.
    `may_differ`: factors that are only noted here."""
    different = differences(launches, across_suites=across_suites, started_alike=started_alike)
    broken = [
        difference
        for difference in different
        if difference.rule.join == "equal" and difference.factor not in may_differ
    ]
    if broken:
        what = "; ".join(f"{difference.text()}: {difference.rule.remedy}" for difference in broken)
        raise NotJoinedError(
            f"launches that differ in what run times depend on are not joined. {what}. {otherwise}"
        )
    return different


def named(launches: Sequence[Surroundings]) -> list[tuple[str, Header]]:
    """Launches from the database, in the form that is compared here."""
    return [(launch.run, launch.header) for launch in launches]
