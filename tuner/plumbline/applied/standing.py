"""Generations that are in force here, whether they still fit the libraries they were made for, and
what the library itself reports about the parameters that were applied; and the way back: what
`apply` has put in force last is taken out, and the generation before it is in force again, or
nothing. That needs neither the library nor the database."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline.applied import files, targets
from plumbline.applied.files import find_block
from plumbline.applied.generations import Generation, Store
from plumbline.applied.targets import AppliedOutcome, Place, Scope
from plumbline.libraries import Family, Installation, Knob, ReadsParameterFiles, gate
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters import families
from plumbline_exporters.finding import Assignment
from plumbline_exporters.metrics.scrape import Collect, Scrape


def names_in(root: Path) -> list[str]:
    """Whose generations there are."""
    if not root.is_dir():
        return []
    return sorted(
        path.name for path in root.iterdir() if Store(root, path.name, shared=False).numbers()
    )


def rollback(
    scope: Scope,
    root: Path,
    name: str,
    *,
    everything: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> AppliedOutcome:
    """Raises PlumblineError where our lines were changed since, or the generation before is
    gone."""
    store = Store(root, name, shared=scope != "user")
    with contextlib.nullcontext() if dry_run else store.locked():
        return _rollback(scope, store, everything, force, dry_run=dry_run)


def _rollback(
    scope: Scope, store: Store, everything: bool, force: bool, *, dry_run: bool
) -> AppliedOutcome:
    states = targets.states(store, scope)
    number = targets.in_force(states)
    if number == 0:
        if not dry_run and store.numbers():
            store.mark_rolled_back(scope, True)
        return AppliedOutcome(
            scope=scope, name=store.name, generation=0, previous=0, dry_run=dry_run
        )
    targets.require_untouched(store, states, force=force)
    now = store.read(number)
    before, notes = _before(store, now, everything)
    edits = []
    for state in states:
        target = targets.target_of(before, state.found.path)
        if target is None:
            edits.append(targets.without(store, state))
        elif target.kind == "whole" and state.found.data and not state.number:
            raise PlumblineError(
                f"{state.found.path} was replaced by another file: move it away, or remove "
                "everything (--undo all)"
            )
        else:
            after = targets.with_set(state, target, store.name)
            edits.append(targets.Edit(state.found, after))
    changes = targets.changes(edits)
    if not dry_run:
        targets.carry_out(edits, store)
        store.mark_rolled_back(scope, before is None)
    return AppliedOutcome(
        scope=scope,
        name=store.name,
        generation=before.number if before else 0,
        previous=number,
        dry_run=dry_run,
        library=before.library.id if before else now.library.id if now else "",
        campaigns=[source.campaign.id for source in before.sources] if before else [],
        changes=changes,
        files=[str(store.path(before.number) / file) for file in sorted(before.files)]
        if before
        else [],
        notes=notes,
    )


def _before(
    store: Store, now: Generation | None, everything: bool
) -> tuple[Generation | None, list[str]]:
    """The generation to go back to, if any. One for another build of the library is none."""
    if everything or now is None or now.previous == 0:
        return None, []
    generation = store.read(now.previous)
    if generation is None or not store.intact(generation):
        raise PlumblineError(
            f"generation {now.previous} in {store.folder} is gone or was changed, so that it "
            "cannot be in force again; --undo all takes everything out"
        )
    if generation.library.fingerprint != now.library.fingerprint:
        return None, [
            f"generation {generation.number} was for another build of the library "
            f"({generation.library.fingerprint}): it is not put in force again"
        ]
    return generation, []


def is_in_force(scope: Scope, root: Path, name: str) -> bool:
    done = rollback(scope, root, name, everything=True, force=True, dry_run=True)
    return done.previous > 0


def applied_metrics(mpi_prefix: Path | None = None) -> Collect:
    """A collector of what this user and the site have. Where that is, is asked once, as it takes
    the library's own tools."""
    scoped_roots = roots(mpi_prefix)
    return lambda scrape: _collect(scrape, scoped_roots)


def _collect(scrape: Scrape, scoped_roots: Sequence[tuple[Scope, Path]]) -> Iterator[Metric]:
    del scrape  # what is in force, files say
    names = ("scope", "name")
    number = GaugeMetricFamily(
        "plumbline_applied_generation",
        "Generation of plumbline apply whose lines were found; 0: somebody "
        "else removed them. Absent after plumbline apply --undo.",
        labels=names,
    )
    whole = GaugeMetricFamily(
        "plumbline_applied_in_force",
        "Whether each file of that generation is there and as it was written. Whether the library "
        "uses it, plumbline doctor checks.",
        labels=names,
    )
    for scope, store in stores(scoped_roots):
        state = _state(store, scope)
        if state is not None:
            number.add_metric((scope, store.name), state[0])
            whole.add_metric((scope, store.name), state[1])
    yield from (number, whole)


def _state(store: Store, scope: Scope) -> tuple[int, bool] | None:
    """Return the generation in force and whether all of it is; None after a rollback."""
    try:
        states = targets.states(store, scope)
        number = targets.in_force(states)
        if number == 0 and store.is_rolled_back(scope):
            return None
        targets.require_untouched(store, states, force=False)
    except PlumblineError:  # our marks are damaged, or our lines were changed
        generations = store.generations(scope)
        return max((generation.number for generation in generations), default=0), False
    applied = targets.applied(store, states)
    if applied is None:
        return number, False
    there = {str(state.found.path): state.number for state in states}
    everywhere = all(there[target.path] == number for target in applied.targets)
    return number, everywhere and store.intact(applied)


class AppliedState(msgspec.Struct, frozen=True):
    """`other`: why the generation no longer fits; None where it does."""

    scope: Scope
    root: Path
    applied: Generation
    other: str | None


def standing(mpi_prefix: Path | None) -> list[AppliedState]:
    """Return those of this user and of the site. Raises PlumblineError where our marks are
    damaged."""
    applied_states = []
    for scope, store in stores(roots(mpi_prefix)):
        generation = targets.applied(store, targets.states(store, scope))
        if generation is not None:
            root = store.folder.parent
            applied_states.append(
                AppliedState(scope, root, generation, gate.other(generation.library))
            )
    return applied_states


def roots(mpi_prefix: Path | None) -> list[tuple[Scope, Path]]:
    """Return where generations of this user and of the site are. Takes the library's own tools."""
    found_roots: list[tuple[Scope, Path]] = [("site", targets.site_root(mpi_prefix, None))]
    if (user := targets.root_of("user", None, None)) is not None:
        found_roots.insert(0, ("user", user))
    return found_roots


def stores(roots: Sequence[tuple[Scope, Path]]) -> Iterator[tuple[Scope, Store]]:
    for scope, root in roots:
        for name in names_in(root):
            yield scope, Store(root, name, shared=scope == "site")


def noted(
    done: AppliedOutcome, place: Place, family: Family, installation: Installation
) -> AppliedOutcome:
    """Return `done` with what the library reports. A file that only shells read has no reader that
    could be asked."""
    read = [where for where in place.where if where.form == "parameters"]
    if not read or not isinstance(family, ReadsParameterFiles):
        return done
    library = installation.library
    own_parameters: dict[str, str] = {}
    for where in read:
        block = find_block(files.read(where.path).text, place.name)
        own_parameters |= _lines(library.family, block.text if block else "")
    reported = family.reported_in(installation, plain_environment(family, installation))
    wrong = differing(own_parameters, reported, family, library.id)
    wrong += _silenced(own_parameters, reported, family, library)
    notes = list(done.notes)
    if own_parameters and not wrong:
        asked = families.of(library).question(library)
        notes.append(f"{asked.tool if asked else family.name} of {library.id} reports these values")
    return msgspec.structs.replace(done, notes=notes, not_in_force=wrong)


def _silenced(
    own_parameters: Mapping[str, str],
    reported: Mapping[str, Knob],
    family: ReadsParameterFiles,
    library: Library,
) -> list[str]:
    """Return a sentence, with the remedy, for each parameter of others beside which the library
    hears none of ours, whatever values it reports."""
    file = families.parameter_file(library)
    sentences = []
    for knob in reported.values():
        if not knob.source or knob.name in own_parameters:
            continue
        reason = file.silences(Assignment(0, knob.name, knob.value), own_parameters, library)
        if reason:
            sentences.append(f"{reason}: {family.undoing(knob)}")
    return sentences


def plain_environment(family: Family, installation: Installation) -> dict[str, str]:
    """The environment that a plain mpirun of the user has in this shell."""
    return os.environ | installation.environment | family.environment(installation)


def parameters_of(generation: Generation) -> dict[str, str]:
    """Return the lines of a generation that the library reads by itself."""
    parameters: dict[str, str] = {}
    for target in generation.targets:
        if target.kind == "lines":
            parameters |= _lines(generation.library.family, target.text)
    return parameters


def _lines(family_name: str, text: str) -> dict[str, str]:
    file = families.families()[family_name].parameter_file
    lines = file.read(text) if file is not None else []
    return {line.name: line.value or "" for line in lines}


def differing(
    own_parameters: Mapping[str, str],
    reported: Mapping[str, Knob],
    family: ReadsParameterFiles,
    library: str,
) -> list[str]:
    """Return a sentence, with the remedy, for each parameter that has another value than ours."""
    wrong = []
    for name, value in own_parameters.items():
        knob = reported.get(name)
        if knob is not None and _same(knob, value):
            continue
        value_here = f"{knob.value} ({knob.source or 'default'})" if knob else "no such parameter"
        remedy = f": {family.undoing(knob)}" if knob and knob.source else ""
        wrong.append(f"{name} = {value}: {library} says {value_here}{remedy}")
    others = silencers(own_parameters, reported, family) if wrong else ""
    return [f"{sentence}{others}" for sentence in wrong]


def silencers(
    own_parameters: Mapping[str, str], reported: Mapping[str, Knob], family: ReadsParameterFiles
) -> str:
    """Name the parameters of others that may take ours out of use, and how to undo them. Empty
    where nobody has set one."""
    suspects = [
        f"{knob.name} = {knob.value} ({family.undoing(knob)})"
        for knob in reported.values()
        if knob.source and knob.name not in own_parameters and family.silencing.match(knob.name)
    ]
    return f"; these may be the reason: {', '.join(suspects)}" if suspects else ""


def _same(knob: Knob, written: str) -> bool:
    """Numbers are reported by the names that they have."""
    reported = knob.value
    if reported in knob.choices and written == str(knob.choices[reported]):
        return True
    return reported == written or {reported, written} in ({"true", "1"}, {"false", "0"})
