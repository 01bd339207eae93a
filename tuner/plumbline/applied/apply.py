"""Put the winners of a campaign in force: one more generation with its files, then our lines in the
files of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.applied import targets
from plumbline.applied.files import block_of, find_block, without_block
from plumbline.applied.generations import (
    FORMAT,
    PRELOAD,
    AppliedFile,
    Generation,
    Source,
    Store,
    sha256,
)
from plumbline.applied.targets import AppliedOutcome, Place, Where
from plumbline.libraries import Family, Installation, gate
from plumbline.system import paths
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.layout import fixed
from plumbline_db.records import EVERY_FUNCTION, Library, Machine
from plumbline_exporters import families, modulefile, plumbline_sh, quoting, registry, shells
from plumbline_exporters.bundle import Bundle, choice
from plumbline_exporters.families import ParameterFile


def conflicts_in_parameters(
    text: str, own_parameters: Mapping[str, str], file: ParameterFile, library: Library | None
) -> list[str]:
    """`text`: a file of parameters without our lines. `library` is None for any of its family."""
    conflicts = []
    for line in file.read(text):
        if line.name in own_parameters and line.value != own_parameters[line.name]:
            conflicts.append(
                f"line {line.line} sets {line.name} = {line.value}, wanted is "
                f"{own_parameters[line.name]}"
            )
        elif silenced := file.silences(line, own_parameters, library):
            conflicts.append(silenced)
    return conflicts


def conflicts_in_shell(text: str, own_variables: Mapping[str, str]) -> list[str]:
    """`text`: a file that a shell reads, without our lines."""
    conflicts = []
    for number, line in enumerate(text.split("\n"), 1):
        for name in own_variables:
            if re.search(
                rf"(?:\b{name}=|\bsetenv\s+{name}\b|\bset\s+-\S+\s+{name}\b)",
                line.partition("#")[0],
            ):
                conflicts.append(
                    f"line {number} sets {name}, which is to be set to {own_variables[name]}"
                )
    return conflicts


def conflicts_in_environment(
    environment: Mapping[str, str], own_variables: Mapping[str, str]
) -> list[str]:
    """Variables of this shell that the library hears before what is written into files."""
    return [
        f"{name} is set in this shell to {environment[name]}, which is heard first"
        for name in sorted(own_variables)
        if name in environment and environment[name] != own_variables[name]
    ]


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
    # Refuse invalid requests before the lock, so that no folder is created for them.
    looked = _apply(place, store, wish, now, dry_run=True)
    if dry_run:
        return looked
    with store.locked():
        return _apply(place, store, wish, now, dry_run=False)


def _apply(place: Place, store: Store, wish: Wish, now: str, *, dry_run: bool) -> AppliedOutcome:
    states = [targets.state(where.path, place.name) for where in place.where]
    number = targets.in_force(states)
    targets.require_untouched(store, states, force=wish.force)
    sources, notes = _together(wish, store.read(number) if number else None)
    library = wish.installation.library
    preload = paths.layout().preload(paths.build_id(library))

    def made(at: int) -> Bundle:
        return _bundle_of(sources, library, wish.machine, store.path(at), unsafe=wish.unsafe)

    latest = max([number, *store.numbers()], default=0)
    chosen = latest + 1
    for before in sorted({number, latest} - {0}):
        earlier = store.read(before)
        if earlier and _is(earlier, sources, number):
            chosen = before if _says(store, earlier, place, made(before), preload) else chosen
    bundle = made(chosen)
    contents = _contents_of(bundle, preload)
    wanted_targets = _wanted(place, states, chosen, bundle, wish.instead)
    edits = [
        targets.Edit(state.found, targets.with_set(state, target, place.name))
        for state, target in zip(states, wanted_targets, strict=True)
    ]
    changes = targets.changes(edits)
    closed = _closed_folder(place, states)
    if not dry_run and chosen not in store.numbers():
        earlier = Generation(
            format=FORMAT,
            version=1,
            name=place.name,
            number=chosen,
            previous=number,
            applied=now,
            machine=wish.machine,
            library=library,
            unsafe=wish.unsafe,
            sources=sources,
            files={name: sha256(data) for name, data in contents.items()},
            targets=wanted_targets,
            scope=place.scope,
        )
        store.write(earlier, contents | _copies(states, wanted_targets))
    if not dry_run:
        store.mark_rolled_back(place.scope, False)
        targets.carry_out(edits, store)
    return AppliedOutcome(
        scope=place.scope,
        name=place.name,
        generation=chosen,
        previous=number,
        dry_run=dry_run,
        library=library.id,
        campaigns=[source.campaign.id for source in sources],
        changes=changes,
        files=[str(store.path(chosen) / name) for name in sorted(contents)],
        left_out=_left_out_of(place.where, bundle),
        notes=[*place.notes, *notes, *_notes(place, wish, bundle), *_own(place, closed)],
    )


def _copies(
    states: Sequence[targets.TargetState], applied_files: Sequence[AppliedFile]
) -> dict[str, bytes]:
    """Return what was in the files before, by the names under which it is kept."""
    return {
        applied_file.before: state.found.data
        for state, applied_file in zip(states, applied_files, strict=True)
        if applied_file.before is not None and state.found.data is not None
    }


def _closed_folder(place: Place, states: Sequence[targets.TargetState]) -> Path | None:
    """Return a folder of a shared place that other users cannot read. Raises PlumblineError where a
    whole site is meant."""
    folders = [place.root, *(state.found.real.parent for state in states)]
    closed = _closed(folders) if place.shared else None
    if closed and place.scope == "site":
        raise PlumblineError(
            f"other users cannot read {closed}: change its permissions, or name another place with "
            "--store"
        )
    return closed


def _wanted(
    place: Place, states: Sequence[targets.TargetState], chosen: int, bundle: Bundle, instead: str
) -> list[AppliedFile]:
    """Raises PlumblineError where a file cannot have it."""
    for where, state in zip(place.where, states, strict=True):
        if where.form == "parameters" and not _wanted_parameters(where, bundle):
            raise PlumblineError(
                f"nothing was applied: all winners are variants of ours, which {where.path} cannot "
                f"start. Nothing is wrong with them; a program gets them by `{instead}`, all "
                "programs by --modules DIR"
            )
        _require_free(place, where, state.found.text, bundle)
    return [
        AppliedFile(
            path=str(where.path),
            kind=where.kind,
            text=_text_of(place, where, chosen, bundle),
            before=None if state.found.data is None else f"before-{index}-{where.path.name}",
            made=[str(folder) for folder in _missing(state.found.real)],
        )
        for index, (where, state) in enumerate(zip(place.where, states, strict=True))
    ]


def _together(wish: Wish, generation_before: Generation | None) -> tuple[list[Source], list[str]]:
    """The campaigns that are in force then: another one of the same ranks and nodes gives way, and
    all of those that were measured with another build do."""
    if generation_before is None:
        return [wish.source], []
    library, library_before = wish.installation.library, generation_before.library
    if library_before.fingerprint != library.fingerprint:
        if library_before.prefix != library.prefix:
            raise PlumblineError(
                f"generation {generation_before.number} is in force there, for "
                f"{library_before.id} in {library_before.prefix}: "
                f"one place has one library; run `{command_name()} apply --undo` first"
            )
        ids = ", ".join(source.campaign.id for source in generation_before.sources)
        return [wish.source], [
            f"{library_before.id} in {library_before.prefix} was updated since generation "
            f"{generation_before.number} "
            f"(fingerprint {library_before.fingerprint}, now {library.fingerprint}): taken out: "
            f"{ids}"
        ]
    if generation_before.machine.id != wish.machine.id:
        raise PlumblineError(
            f"generation {generation_before.number} is in force there, measured on "
            f"{generation_before.machine.host} "
            f"({generation_before.machine.id}), and this campaign on {wish.machine.host} "
            f"({wish.machine.id}): "
            f"what is fast on one machine may be slow on another; "
            f"run `{command_name()} apply --undo` first"
        )
    sources = generation_before.sources
    kept = [source for source in sources if not source.gives_way(wish.source)]
    dropped = [source.campaign.id for source in sources if source not in kept]
    notes = [
        f"{path} is replaced: it was for the same ranks"
        for path in dropped
        if path != wish.source.campaign.id
    ]
    notes += [
        f"{source.campaign.id} was measured over another rules file of the site than "
        f"{wish.source.campaign.id}: the latter's holds"
        for source in kept
        if source.site_rules not in ("", wish.source.site_rules)
    ]
    return [*kept, wish.source], notes


def _is(generation: Generation, sources: Sequence[Source], number: int) -> bool:
    """Return whether that generation is in force, or was about to be when something came
    between."""
    return generation.sources == list(sources) and number in (
        generation.number,
        generation.previous,
    )


def _says(
    store: Store, generation: Generation, place: Place, bundle: Bundle, preload: Path
) -> bool:
    """Return whether it would be written the same way today, into the same files of others."""
    contents = _contents_of(bundle, preload)
    same = generation.files == {name: sha256(data) for name, data in contents.items()}
    lines = [
        (str(where.path), where.kind, _text_of(place, where, generation.number, bundle))
        for where in place.where
    ]
    there = [(target.path, target.kind, target.text) for target in generation.targets]
    return same and lines == there and store.intact(generation)


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
    return [f"other users cannot read {closed}, so they cannot load this module"]


def _notes(place: Place, wish: Wish, bundle: Bundle) -> list[str]:
    notes = []
    for where in place.where:
        own_parameters = _wanted_parameters(where, bundle)
        if where.form == "parameters":
            file = families.parameter_file(bundle.library)
            names = {file.prefix + name: value for name, value in own_parameters.items()}
            for path in place.overridden:
                if path.is_file():
                    text = user_files.text(path, "replace")
                    conflicts_found = conflicts_in_parameters(text, own_parameters, file, None)
                    notes += [
                        f"{path}: {conflict}; ours is heard first" for conflict in conflicts_found
                    ]
            if file.elsewhere in wish.environment:
                notes.append(f"{file.elsewhere} is set in this shell: other files are read")
        else:
            names = own_parameters
        notes += conflicts_in_environment(wish.environment, names)
    notes += [
        f"{campaign.id} was imported from {campaign.imported_from}: nothing of it was measured here"
        for campaign in [*bundle.others, bundle.campaign]
        if campaign.imported_from
    ]
    notes += [
        f"{campaign.id} was measured with more ranks than processing units: it holds for that"
        for campaign in [*bundle.others, bundle.campaign]
        if campaign.oversubscribed
    ]
    notes += [
        f"{choice(winner)} holds for any number of ranks; it was measured with {winner.nprocs}"
        for winner in bundle.winners
        if winner.function == EVERY_FUNCTION
    ]
    notes += [
        f"{campaign.id} was measured under {fixed(campaign)}: set that too"
        for campaign in [*bundle.others, bundle.campaign]
        if fixed(campaign)
    ]
    return list(dict.fromkeys(notes))


def _bundle_of(
    sources: Sequence[Source], library: Library, machine: Machine, directory: Path, *, unsafe: bool
) -> Bundle:
    """All winners of these campaigns; the last one speaks for them, also of the rules that the site
    has had beneath them."""
    newest = sources[-1].campaign
    return Bundle(
        campaign=newest,
        machine=machine,
        library=library,
        winners=[winner for source in sources for winner in source.winners],
        created=newest.finished,
        directory=directory,
        refusal=gate.of_library(library),
        preload_library=directory / PRELOAD,
        unsafe=unsafe,
        others=[source.campaign for source in sources[:-1]],
        site_rules=sources[-1].site_rules,
        started=[line for source in sources for line in source.started],
    )


def _contents_of(made: Bundle, preload: Path) -> dict[str, bytes]:
    """The files of a generation, by name. Raises PlumblineError where winners cannot be had
    together, or the preload library is not built."""
    formats = list(registry.exporters(made.library.family))
    contents = {name: text.encode() for _, name, text in registry.texts(made, formats)}
    if made.variants:
        # The library is copied, so that the next build does not change running programs.
        try:
            contents[PRELOAD] = preload.read_bytes()
        except OSError as error:
            raise PlumblineError(
                f"winners are variants, which need {preload}, and it cannot be read "
                f"({error.strerror}): build it for this MPI library (plumbline build, make build)"
            ) from error
    return contents


def _text_of(place: Place, where: Where, number: int, made: Bundle) -> str:
    """Return what our part of a file is to be: lines with their marks, or the whole of it."""
    folder = made.directory
    about = [
        quoting.comment(f"{made.library.id}, fingerprint {made.library.fingerprint}"),
        *(
            quoting.comment(f"campaign {campaign.named}, {campaign.nprocs} ranks")
            for campaign in [*made.others, made.campaign]
        ),
    ]
    match where.form:
        case "parameters":
            line = families.parameter_file(made.library).line
            lines = [line(name, value) for name, value in _wanted_parameters(where, made).items()]
        case "sh":
            script = quoting.sh(str(folder / plumbline_sh.FILE_NAME))
            lines = [f"if [ -r {script} ]; then . {script}; fi"]
        case "csh":
            script = quoting.csh(str(folder / shells.CSH_FILE_NAME))
            lines = [f"if ( -r {script} ) source {script}"]
        case "fish":
            script = quoting.fish(str(folder / shells.FISH_FILE_NAME))
            lines = [f"test -r {script}; and source {script}"]
        case "modulefile":
            first, *rest = modulefile.files(made)[modulefile.FILE_NAME].rstrip("\n").split("\n")
            return f"{first}\n" + block_of(place.name, number, rest)
        case "modulefile-lua":
            text = modulefile.lua_files(made)[modulefile.LUA_FILE_NAME]
            lines = text.rstrip("\n").split("\n")
            return block_of(place.name, number, lines, "--")
    return block_of(place.name, number, [*about, *lines])


def _wanted_parameters(where: Where, made: Bundle) -> dict[str, str]:
    """Names and values that a file puts in force, as those who read it call them."""
    if where.form == "parameters":
        return families.parameter_file(made.library).parameters(made)
    return shells.variables(made)


def _require_free(place: Place, where: Where, text: str, made: Bundle) -> None:
    """Raises PlumblineError where the file, or one that is heard before it, contradicts."""
    own_parameters = _wanted_parameters(where, made)
    if where.kind == "whole":
        if text and find_block(text, place.name) is None:
            raise PlumblineError(
                f"{where.path} exists and was not written by Plumbline: move it away, or use "
                "another place"
            )
        return
    # Lines keep their numbers.
    foreign = "\n".join("" if is_own else line for line, is_own in _owned(text, place.name))
    if where.form == "parameters":
        file = families.parameter_file(made.library)
        conflicts_found = [
            (where.path, conflict)
            for conflict in conflicts_in_parameters(foreign, own_parameters, file, made.library)
        ]
        for path in place.overrides:
            if path.is_file():
                text = without_block(user_files.text(path, "replace"), place.name)
                of_file = conflicts_in_parameters(text, own_parameters, file, made.library)
                conflicts_found += [(path, conflict) for conflict in of_file]
    else:
        conflicts_found = [
            (where.path, conflict) for conflict in conflicts_in_shell(foreign, own_parameters)
        ]
    if conflicts_found:
        listed = "; ".join(f"{path}: {conflict}" for path, conflict in conflicts_found)
        raise PlumblineError(
            f"{listed}. Nothing was changed: remove these lines and apply again, or keep them and "
            "use --modules DIR, which changes no file of others"
        )


def _owned(text: str, name: str) -> list[tuple[str, bool]]:
    own_block = find_block(text, name)
    return [
        (line, own_block is not None and own_block.first <= number <= own_block.last)
        for number, line in enumerate(text.split("\n"))
    ]


def _left_out_of(where: Sequence[Where], made: Bundle) -> list[str]:
    """Return what files of these forms do not put in force by themselves."""
    variants = made.variants
    if not variants or any(place.form == "sh" for place in where):
        return []
    functions = ", ".join(sorted({winner.function for winner in variants}))
    return [
        f"variants ({functions}) need the preload library: in force for what is started by "
        f"{made.directory / shells.WRAPPER}"
    ]
