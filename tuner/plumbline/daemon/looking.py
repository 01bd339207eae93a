"""A look at what is installed and in force, compared with what was there before, and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from plumbline.daemon import canary, watched
from plumbline.daemon.step import Work
from plumbline.daemon.watched import InForce
from plumbline.libraries import Knob
from plumbline.settings import site_rules
from plumbline.settings.site_rules import ActiveSiteRules
from plumbline_db import machines, watching
from plumbline_db.records import Library, Machine
from plumbline_db.watching import WatchedCampaign

# The facts that learnt times and a table rest on, in words; and those that have changed since.
# Pure.

_GIB = 2**30

# If one of these changes, new launches are not joined with the stored ones: the table describes the
# state before.
_OF_THE_TABLE = ("library", "kernel", "host", "topology")
_FILES, _SITE = "files in force", "settings of the site"


class FingerprintChange(msgspec.Struct, frozen=True):
    name: str
    before: str
    now: str

    @property
    def text(self) -> str:
        """`kernel: 6.1.0-18-amd64, now 6.1.0-19-amd64`."""
        return f"{self.name}: {self.before or 'nothing'}, now {self.now or 'nothing'}"

    @property
    def makes_stale(self) -> bool:
        return self.name in _OF_THE_TABLE


def fingerprint_facts(
    machine: Machine,
    library: Library,
    knobs: Mapping[str, Knob],
    site: ActiveSiteRules | None,
    in_force: InForce,
) -> dict[str, str]:
    """`knobs` as the library reports them, `site`: its rules file."""
    return {
        "library": f"{library.id} ({library.fingerprint})",
        "kernel": machine.kernel,
        "host": machine.host,
        "topology": f"{machine.cpu_model}, {machine.processing_units} processing units, "
        f"{machine.numa_nodes} memory domains, {round(machine.memory_bytes / _GIB)} GiB",
        _FILES: in_force.text,
        _SITE: _site(knobs, site, in_force),
    }


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[FingerprintChange]:
    """Return the changes in the order of the facts; a fact that was not known before is no
    change."""
    return [
        FingerprintChange(name, before[name], value)
        for name, value in now.items()
        if name in before and before[name] != value
    ]


def _site(knobs: Mapping[str, Knob], site: ActiveSiteRules | None, in_force: InForce) -> str:
    """Return what parameter files set beside what we have put there, and the rules file, unless
    that is ours: files in force are told of apart."""
    settings = [
        f"{name} = {knob.value}"
        for name, knob in sorted(knobs.items())
        if knob.source and name not in in_force.parameters
    ]
    if site is not None and str(site.path) not in in_force.files:
        sum_ = hashlib.sha256(site.text.encode()).hexdigest()[:12]
        settings.append(f"rules file {site.path} ({sum_})")
    return "; ".join(settings)


def facts(work: Work) -> dict[str, str]:
    tools = work.here.toolchain
    return fingerprint_facts(
        tools.machine,
        tools.installation.library,
        tools.knobs,
        site_rules.find(tools, work.settings),
        work.in_force,
    )


def look(work: Work) -> list[FingerprintChange]:
    """Return what has changed since the last look, or for the table since it was measured; told
    once. A change that is not of the table makes a canary due, and ends learning: times before it
    and after it are not learnt together. Another generation is learnt anew."""
    if _is_ours(work):
        changed_by_us(work)
    now, row = facts(work), watching.campaign(work.db, work.campaign.id)
    if row is None:
        row = canary.begin_watching(work, now | _of_the_table(work))
    changed = changes(row.fingerprint, now)
    stale = "; ".join(change.text for change in changed if change.makes_stale)
    kept = now | {name: row.fingerprint.get(name, now[name]) for name in _OF_THE_TABLE}
    new = msgspec.structs.replace(
        row,
        fingerprint=kept,
        generation=work.in_force.generation,
        stale=stale,
        stale_since=(row.stale_since or work.now()) if stale else "",
    )
    other_generation = new.generation != row.generation
    news = [change for change in changed if not change.makes_stale or stale != row.stale]
    if news and not stale:
        new = msgspec.structs.replace(new, due=work.now())
        canary.end_learning(work)
    if other_generation:
        with work.db.transaction():
            every = watching.cells(work.db, work.campaign.id)
            dropped_cells = [cell for cell in every if cell.role != "reference"]
            watching.forget_cells(work.db, work.campaign.id, dropped_cells)
    if new != row:
        watching.put_campaign(work.db, new)
    return news


def _is_ours(work: Work) -> bool:
    """Return whether what is in force is what this daemon was applying when something came
    between."""
    source = work.in_force.source(work.campaign)
    generation = work.in_force.generation
    return source is not None and any(
        source.campaign.id == retuning.search
        or (retuning.state, retuning.generation) == ("applied", generation)
        for _, retuning in watching.retunings(work.db, work.campaign.id)
        if not retuning.ended
    )


def changed_by_us(work: Work) -> None:
    """Note that what is in force is ours: it is kept, and nobody needs to be told."""
    row = watching.campaign(work.db, work.campaign.id)
    if row is None:
        return
    in_force_now = watched.files_in_force(
        work.db, work.campaign, work.here, work.configuration.apply
    )
    work_now = msgspec.structs.replace(work, in_force=in_force_now)
    new = facts(work_now)
    kept = row.fingerprint | {name: new[name] for name in (_FILES, _SITE)}
    watching.put_campaign(
        work.db, msgspec.structs.replace(row, fingerprint=kept, generation=in_force_now.generation)
    )


def stale(row: WatchedCampaign | None) -> str:
    return row.stale if row else ""


def _of_the_table(work: Work) -> dict[str, str]:
    """Return what the table rests on, as the campaign has it, and not as it is now."""
    machine = machines.machine(work.db, work.campaign.machine)
    library = machines.library(work.db, work.campaign.library_fingerprint)
    then = fingerprint_facts(machine, library, {}, None, work.in_force)
    return {name: then[name] for name in _OF_THE_TABLE}
