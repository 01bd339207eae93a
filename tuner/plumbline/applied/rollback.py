"""Takes out what `apply` has put in force last: the generation before it is in force again, or
nothing. Needs neither the library nor the database."""

from __future__ import annotations

import contextlib
from pathlib import Path

from plumbline.applied import targets
from plumbline.applied.generations import Generation, Store
from plumbline.applied.places import Scope
from plumbline.applied.targets import AppliedOutcome
from plumbline_db.errors import PlumblineError


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
