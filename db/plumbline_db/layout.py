"""The settings of a campaign, as far as they say where its ranks were and what was in force in all
launches."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db.records import Campaign

# Values of the settings' key `command`. A run of this kind has verdicts and winners like a
# campaign, but for benchmarks in place of functions.
OVERLAP_TUNE = "overlap tune"
# Results that another program measured and printed: summaries without samples, which cannot be
# compared.
FOREIGN = "foreign"
# A run of `plumbline suite`: it has no verdicts, but curves like a campaign.
SUITES = "suite"
# The base or a level of `plumbline reproducibility factors`: its findings are events of the base.
FACTORS = "factors"
# The rules that a job of `plumbline run --tune` switched off, in its settings; nothing else.
JOB = "run"

# The merged winners of a whole site, and the launches on one layout that prove them.
SITE = "site"
SITE_CHECK = "site check"

_BOUND = {"none": "not bound", "plain": "bound as mpirun binds by itself"}


class Asked(msgspec.Struct, frozen=True):
    """Empty where the library decided. `command`: none of a campaign. `program`, `file`: of what
    another program has printed."""

    command: str = ""
    bind: str = ""
    map_by: str = ""
    environment: dict[str, str] = {}
    preload: list[str] = []
    use: str = ""
    sync: str = ""
    rounds: int = 1
    program: str = ""
    file: str = ""
    simulate: dict[str, Any] | str | None = None  # of a suite the library alone


def asked(campaign: Campaign) -> Asked:
    return msgspec.json.decode(campaign.settings, type=Asked)


def is_simulated(campaign: Campaign) -> bool:
    """Return whether its ranks ran on a machine that is not there."""
    return asked(campaign).simulate is not None


def layout(campaign: Campaign) -> str:
    """`2 x 16`, nodes and ranks a node, and what the ranks' placement was asked to be."""
    settings_asked = asked(campaign)
    words = [f"{campaign.nodes} x {campaign.ppn}"]
    if settings_asked.bind:
        words.append(_BOUND.get(settings_asked.bind, f"bound to a {settings_asked.bind} each"))
    if settings_asked.map_by:
        words.append(f"in turn over each {settings_asked.map_by}")
    return ", ".join(words)


def use(campaign: Campaign) -> str:
    """The way of use that the campaign is about; where it has no name, how ranks started."""
    return use_of(campaign.settings)


def use_of(settings: str) -> str:
    """The same by the text of its settings."""
    settings_asked = msgspec.json.decode(settings, type=Asked)
    return settings_asked.use or (
        f"start by {settings_asked.sync}" if settings_asked.sync else "after_barrier"
    )


def fixed(campaign: Campaign) -> str:
    """`NAME=value …`, the variables that were in force in every launch; empty without any."""
    settings_asked = asked(campaign)
    variables = settings_asked.environment | (
        {"LD_PRELOAD": ":".join(settings_asked.preload)} if settings_asked.preload else {}
    )
    return " ".join(f"{name}={value}" for name, value in sorted(variables.items()))


def verifies_only(settings: str) -> bool:
    """Return whether it was asked to search nothing (`plumbline verify`): its last table is its
    first."""
    return msgspec.json.decode(settings, type=Asked).rounds == 0
