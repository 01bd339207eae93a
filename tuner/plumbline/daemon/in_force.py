"""The files in force for users where a campaign is watched: a generation of `plumbline apply`, else
the files that the campaign has exported, else nothing. Canaries start with it as users do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from plumbline.applied import places, standing, targets
from plumbline.applied.generations import Generation, Source, Store, sha256
from plumbline.applied.places import Place
from plumbline.campaign import proof
from plumbline.daemon.configuration import Applying
from plumbline.daemon.watched import Here
from plumbline.launch.starter import Starter
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns, user_files
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements
from plumbline_exporters import families, plumbline_sh


class InForce(msgspec.Struct, frozen=True):
    """`generation` of `plumbline apply` (0: none), whose files are in `folder`. `files`: checksums
    by path; `changed`: those that are not what was written. `parameters` are read by the library
    itself, whatever a launch is started with; `environment` is what else launches need to be as
    those of users are."""

    what: str
    generation: int = 0
    folder: str = ""
    files: dict[str, str] = {}
    changed: list[str] = []
    parameters: dict[str, str] = {}
    environment: dict[str, str] = {}
    sources: list[Source] = []

    def source(self, campaign: Campaign) -> Source | None:
        """Return what a generation has for the ranks of a campaign."""
        layout = campaign.nprocs, campaign.nodes, campaign.ppn
        return next((source for source in self.sources if source.layout == layout), None)

    @property
    def text(self) -> str:
        """Return what is in force as a text for the fingerprint."""
        if not self.files:
            return self.what
        sums = "".join(f"{name} {value}\n" for name, value in sorted(self.files.items()))
        changed = f", of which {', '.join(self.changed)} changed since" if self.changed else ""
        return f"{self.what}{changed} ({sha256(sums.encode())[:12]})"


def place_of(applying: Applying, toolchain: Toolchain) -> Place | None:
    """Return where the daemon applies; None: nowhere. Raises PlumblineError."""
    if not applying.scope:
        return None
    modules = Path(applying.modules) if applying.modules else None
    store = Path(applying.store) if applying.store else None
    return places.place(applying.scope, toolchain.family, toolchain.installation, modules, store)


def applied(applying: Applying, toolchain: Toolchain) -> tuple[Store, Generation] | None:
    """The generation in force where the daemon applies; where it does not, one of this user or of
    the site for this library. Raises PlumblineError where our marks are damaged."""
    place = place_of(applying, toolchain)
    if place is not None:
        store = Store(place.root, place.name, shared=place.shared)
        states = [targets.state(where.path, place.name) for where in place.where]
        in_force = targets.applied(store, states)
        return None if in_force is None else (store, in_force)
    if toolchain.family.simulates:
        return None
    fingerprint = toolchain.installation.library.fingerprint
    for state in standing.standing(Path(toolchain.installation.library.prefix)):
        if state.applied.library.fingerprint == fingerprint:
            generation = state.applied
            return Store(state.root, generation.name, shared=state.scope != "user"), generation
    return None


def find(db: Statements, campaign: Campaign, here: Here, applying: Applying) -> InForce:
    """Raises PlumblineError where it cannot be read."""
    in_force_now = applied(applying, here.toolchain)
    if in_force_now is not None:
        return _of_generation(*in_force_now, here)
    return _exported(db, campaign, here.starter)


def _of_generation(store: Store, generation: Generation, here: Here) -> InForce:
    folder = store.path(generation.number)
    files, changed = _sums({folder / name: checksum for name, checksum in generation.files.items()})
    parameters = dict(_parameters(generation))
    environment = _environment(folder / plumbline_sh.FILE_NAME, here.starter)
    for name in here.toolchain.family.in_environment(dict.fromkeys(parameters, "")):
        environment.pop(name, None)
    what = f"generation {generation.number} of {generation.name}"
    return InForce(
        what,
        generation.number,
        str(folder),
        files,
        changed,
        parameters,
        environment,
        generation.sources,
    )


def _parameters(generation: Generation) -> Iterator[tuple[str, str]]:
    """Return what the library reads by itself, of our own."""
    parameter_file = families.of(generation.library).parameter_file
    for target in generation.targets if parameter_file is not None else []:
        if parameter_file is not None and target.kind == "lines":
            for line in parameter_file.read(target.text):
                yield line.name, line.value or ""


def _exported(db: Statements, campaign: Campaign, starter: Starter) -> InForce:
    checksums = {Path(export.path): export.sha256 for export in campaigns.exports(db, campaign.id)}
    script = next((path for path in checksums if path.name == plumbline_sh.FILE_NAME), None)
    if script is None:
        return InForce("the library as it is: nothing is exported or applied")
    files, changed = _sums(checksums)
    what = f"the exported files of {campaign.id}"
    environment = _environment(script, starter)
    return InForce(what, 0, str(script.parent), files, changed, {}, environment)


def _environment(script: Path, starter: Starter) -> dict[str, str]:
    """Return what a launch gets by sourcing it; nothing where it cannot be read."""
    if not os.access(script, os.R_OK):
        return {}
    return proof.environment_of(script, starter.clean_environment())


def _sums(checksums: dict[Path, str]) -> tuple[dict[str, str], list[str]]:
    """Checksums of what is there, and names of what is not as it was written."""
    checksums_now: dict[str, str] = {}
    changed: list[str] = []
    for path, checksum in checksums.items():
        try:
            now = sha256(user_files.read(path))
        except OSError:
            now = "gone"
        checksums_now[str(path)] = now
        if now != checksum:
            changed.append(path.name)
    return checksums_now, sorted(changed)
