"""The facts that run times depended on in a run, and those that two runs do not share."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from plumbline.measure import factors
from plumbline.pages.visit import Visit, Word
from plumbline_db import campaigns, machines, runs

_OFFERED = 100


class EnvironmentQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`a`, `b`: ids of runs."""

    a: Word = ""
    b: Word = ""


class FactorLine(msgspec.Struct, frozen=True):
    """A factor with its value in each run. `join`: whether launches may be joined that differ in
    it."""

    factor: str
    values: list[str]
    join: str

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def page(visit: Visit) -> Response:
    asked = visit.asked(EnvironmentQuery)
    chosen = [visit.campaign(id) for id in (asked.a, asked.b) if id]
    newest = [campaign.id for campaign in campaigns.all_campaigns(visit.db)[::-1][:_OFFERED]]
    offered = list(dict.fromkeys([*newest, *(campaign.id for campaign in chosen)]))
    every = [_facts(visit, campaign.id) for campaign in chosen]
    lines = [
        FactorLine(
            name,
            [values.get(name, factors.NOT_SET if _variable(name) else "") for values in every],
            factors.rule_of(name).join,
        )
        for name in dict.fromkeys(name for values in every for name in values)
    ]
    return visit.page(
        "environment.html",
        asked=asked,
        chosen=chosen,
        offered=offered,
        differing=[line for line in lines if line.differs],
        equal=[line for line in lines if not line.differs],
    )


def _variable(name: str) -> bool:
    return name.startswith(factors.ENVIRONMENT + " ")


def _facts(visit: Visit, id: str) -> dict[str, str]:
    """Return those of the first finished launch, and of what they were measured with."""
    campaign = visit.campaign(id)
    machine = machines.machine(visit.db, campaign.machine)
    library = machines.library(visit.db, campaign.library_fingerprint)
    first = runs.first_header(visit.db, id)
    launch = {} if first is None else factors.facts(first[1])
    about: dict[str, object] = msgspec.to_builtins(machine)
    return (
        {f"machine {name}": str(value) for name, value in about.items()}
        | {"library prefix": library.prefix, "library fingerprint": library.fingerprint}
        | {f"library build {name}": value for name, value in library.build.items()}
        | launch
    )
