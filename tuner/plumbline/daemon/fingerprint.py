"""The facts that learnt times and a table rest on, in words; and those that have changed since.
Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from plumbline.daemon.in_force import InForce
from plumbline.libraries import Knob
from plumbline.settings.site_rules import InForce as SiteRules
from plumbline_db.records import Library, Machine

_GIB = 2**30

# If one of these changes, new launches are not joined with the stored ones: the table describes the
# state before.
OF_THE_TABLE = ("library", "kernel", "host", "topology")
FILES, SITE = "files in force", "settings of the site"


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
        return self.name in OF_THE_TABLE


def facts(
    machine: Machine,
    library: Library,
    knobs: Mapping[str, Knob],
    site: SiteRules | None,
    in_force: InForce,
) -> dict[str, str]:
    """`knobs` as the library reports them, `site`: its rules file."""
    return {
        "library": f"{library.id} ({library.fingerprint})",
        "kernel": machine.kernel,
        "host": machine.host,
        "topology": f"{machine.cpu_model}, {machine.processing_units} processing units, "
        f"{machine.numa_nodes} memory domains, {round(machine.memory_bytes / _GIB)} GiB",
        FILES: in_force.text,
        SITE: _site(knobs, site, in_force),
    }


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[FingerprintChange]:
    """Return them in the order of the facts; what was not known before is none."""
    return [
        FingerprintChange(name, before[name], value)
        for name, value in now.items()
        if name in before and before[name] != value
    ]


def _site(knobs: Mapping[str, Knob], site: SiteRules | None, in_force: InForce) -> str:
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
