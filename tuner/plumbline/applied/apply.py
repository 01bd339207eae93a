"""Puts the winners of a campaign in force: one more generation, then our lines in the files of
others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.applied import conflicts, targets, texts
from plumbline.applied.generations import FORMAT, AppliedFile, Generation, Source, Store, sha256
from plumbline.applied.outcome import AppliedOutcome
from plumbline.applied.places import Place
from plumbline.libraries import Family, Installation
from plumbline.system import paths
from plumbline_db import regular
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.layout import fixed
from plumbline_db.records import EVERY_FUNCTION, Machine
from plumbline_exporters import families
from plumbline_exporters.bundle import Bundle, choice


class Wish(msgspec.Struct, frozen=True):
    """A request. `environment` is that of the person who asks; `instead`: the command that
    starts a program with these winners where no file can apply them."""

    source: Source
    machine: Machine
    family: Family
    installation: Installation
    environment: Mapping[str, str]
    unsafe: bool = False
    force: bool = False
    instead: str = ""


def apply(place: Place, wish: Wish, *, now: str, dry_run: bool = False) -> AppliedOutcome:
    """Raises PlumblineError, with the reason, before anything is changed."""
    store = Store(place.root, place.name, shared=place.shared)
    # Refuses what can be known without a lock, so that not even a folder is made for it.
    looked = _apply(place, store, wish, now, dry_run=True)
    if dry_run:
        return looked
    with store.locked():
        return _apply(place, store, wish, now, dry_run=False)


def _apply(place: Place, store: Store, wish: Wish, now: str, *, dry_run: bool) -> AppliedOutcome:
    states = [targets.state(where.path, place.name) for where in place.where]
    number = targets.in_force(states)
    targets.require_untouched(store, states, force=wish.force)
    known = store.read(number) if number else None
    sources, notes = _together(wish, known)
    preload = paths.layout().preload(paths.build_id(wish.installation.library))

    def made(at: int) -> Bundle:
        return texts.bundle(
            sources, wish.installation.library, wish.machine, store.path(at), unsafe=wish.unsafe
        )

    latest = max([number, *store.numbers()], default=0)
    chosen = latest + 1
    for before in sorted({number, latest} - {0}):
        one = store.read(before)
        if (
            one is not None
            and _is(one, sources, number)
            and _says(store, one, place, made(before), preload)
        ):
            chosen = before
    bundle = made(chosen)
    contents = texts.contents(bundle, preload)
    wanted = _wanted(place, states, chosen, bundle, wish.instead)
    edits = [
        targets.Edit(state.found, targets.with_set(state, target, place.name))
        for state, target in zip(states, wanted, strict=True)
    ]
    changes = targets.changes(edits)
    folders = [place.root, *(state.found.real.parent for state in states)]
    closed = _closed(folders) if place.shared else None
    if closed and place.scope == "site":
        raise PlumblineError(
            f"{closed} is closed to other users, who could not read what lies in it: open it, or "
            "name another place with --store"
        )
    if not dry_run and chosen not in store.numbers():
        copies = {
            target.before: state.found.data
            for state, target in zip(states, wanted, strict=True)
            if target.before is not None and state.found.data is not None
        }
        one = Generation(
            format=FORMAT,
            version=1,
            name=place.name,
            number=chosen,
            previous=number,
            applied=now,
            machine=wish.machine,
            library=wish.installation.library,
            unsafe=wish.unsafe,
            sources=sources,
            files={name: sha256(data) for name, data in contents.items()},
            targets=wanted,
            scope=place.scope,
        )
        store.write(one, contents | copies)
    if not dry_run:
        store.mark_rolled_back(place.scope, False)
        targets.carry_out(edits, store)
    return AppliedOutcome(
        scope=place.scope,
        name=place.name,
        generation=chosen,
        previous=number,
        dry_run=dry_run,
        library=wish.installation.library.id,
        campaigns=[source.campaign.id for source in sources],
        changes=changes,
        files=[str(store.path(chosen) / name) for name in sorted(contents)],
        left_out=texts.left_out(place.where, bundle),
        notes=[*place.notes, *notes, *_notes(place, wish, bundle), *_own(place, closed)],
    )


def _wanted(
    place: Place,
    states: Sequence[targets.TargetState],
    chosen: int,
    bundle: Bundle,
    instead: str,
) -> list[AppliedFile]:
    """Raises PlumblineError where a file cannot have it."""
    for where, state in zip(place.where, states, strict=True):
        if where.form == "parameters" and not texts.wanted(where, bundle):
            raise PlumblineError(
                f"nothing was applied: all winners are variants of ours, which {where.path} cannot "
                f"start. Nothing is wrong with them; a program gets them by `{instead}`, all "
                "programs by --modules DIR"
            )
        texts.require_free(place, where, state.found.text, bundle)
    return [
        AppliedFile(
            path=str(where.path),
            kind=where.kind,
            text=texts.of_target(place, where, chosen, bundle),
            before=None if state.found.data is None else f"before-{index}-{where.path.name}",
            made=[str(folder) for folder in _missing(state.found.real)],
        )
        for index, (where, state) in enumerate(zip(place.where, states, strict=True))
    ]


def _together(wish: Wish, known: Generation | None) -> tuple[list[Source], list[str]]:
    """The campaigns that are in force then: another one of the same ranks and nodes gives way, and
    all of those that were measured with another build do."""
    if known is None:
        return [wish.source], []
    library, theirs = wish.installation.library, known.library
    if theirs.fingerprint != library.fingerprint:
        if theirs.prefix != library.prefix:
            raise PlumblineError(
                f"generation {known.number} is in force there, for {theirs.id} in {theirs.prefix}: "
                f"one place holds one library; `{command_name()} rollback` first"
            )
        ids = ", ".join(source.campaign.id for source in known.sources)
        return [wish.source], [
            f"{theirs.id} in {theirs.prefix} was updated since generation {known.number} "
            f"(fingerprint {theirs.fingerprint}, now {library.fingerprint}): taken out: {ids}"
        ]
    if known.machine.id != wish.machine.id:
        raise PlumblineError(
            f"generation {known.number} is in force there, measured on {known.machine.host} "
            f"({known.machine.id}), and this campaign on {wish.machine.host} ({wish.machine.id}): "
            f"what one machine likes may harm the other; `{command_name()} rollback` first"
        )
    kept = [source for source in known.sources if source.layout != wish.source.layout]
    gone = [source.campaign.id for source in known.sources if source.layout == wish.source.layout]
    notes = [
        f"{path} gives way: it was for the same ranks"
        for path in gone
        if path != wish.source.campaign.id
    ]
    notes += [
        f"{source.campaign.id} was measured over another rules file of the site than "
        f"{wish.source.campaign.id}: the latter's holds"
        for source in kept
        if source.site_rules not in ("", wish.source.site_rules)
    ]
    return [*kept, wish.source], notes


def _is(one: Generation, sources: Sequence[Source], number: int) -> bool:
    """That generation is in force, or was about to be when something came between."""
    return one.sources == list(sources) and number in (one.number, one.previous)


def _says(store: Store, one: Generation, place: Place, bundle: Bundle, preload: Path) -> bool:
    """It would be written the same way today, into the same files of others."""
    contents = texts.contents(bundle, preload)
    same = one.files == {name: sha256(data) for name, data in contents.items()}
    lines = [
        (str(where.path), where.kind, texts.of_target(place, where, one.number, bundle))
        for where in place.where
    ]
    there = [(target.path, target.kind, target.text) for target in one.targets]
    return same and lines == there and store.intact(one)


def _missing(real: Path) -> list[Path]:
    return [folder for folder in reversed(real.parents) if not folder.exists()]


def _closed(folders: Sequence[Path]) -> Path | None:
    """Return a folder that keeps other users out of one of these, if there is one. What users
    cannot read the library passes over without a word."""
    every = (path for folder in folders for path in [folder, *folder.parents])
    return next((path for path in every if path.is_dir() and path.stat().st_mode & 1 == 0), None)


def _own(place: Place, closed: Path | None) -> list[str]:
    """Return the note that a tree of modulefiles is for its owner alone."""
    if place.scope != "modules" or closed is None:
        return []
    return [f"{closed} is closed to other users: nobody else can load this module"]


def _notes(place: Place, wish: Wish, bundle: Bundle) -> list[str]:
    found = []
    for where in place.where:
        ours = texts.wanted(where, bundle)
        if where.form == "parameters":
            file = families.parameter_file(bundle.library)
            names = {file.prefix + name: value for name, value in ours.items()}
            for path in place.overridden:
                if path.is_file():
                    text = regular.text(path, "replace")
                    said = conflicts.in_parameters(text, ours, file, None)
                    found += [f"{path}: {conflict}; ours is heard first" for conflict in said]
            if file.elsewhere in wish.environment:
                found.append(f"{file.elsewhere} is set in this shell: other files are read")
        else:
            names = ours
        found += conflicts.in_environment(wish.environment, names)
    found += [
        f"{campaign.id} was imported from {campaign.imported_from}: nothing of it was measured here"
        for campaign in [*bundle.others, bundle.campaign]
        if campaign.imported_from
    ]
    found += [
        f"{campaign.id} was measured with more ranks than processing units: it holds for that"
        for campaign in [*bundle.others, bundle.campaign]
        if campaign.oversubscribed
    ]
    found += [
        f"{choice(winner)} holds for any number of ranks; it was measured with {winner.nprocs}"
        for winner in bundle.winners
        if winner.function == EVERY_FUNCTION
    ]
    found += [
        f"{campaign.id} was measured under {fixed(campaign)}: set that too"
        for campaign in [*bundle.others, bundle.campaign]
        if fixed(campaign)
    ]
    return list(dict.fromkeys(found))
