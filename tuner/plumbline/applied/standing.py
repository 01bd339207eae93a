"""Generations that are in force here, and whether they still fit the libraries they were made
for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline.applied import places, targets
from plumbline.applied.generations import Generation, Store
from plumbline.applied.places import Scope
from plumbline.applied.rollback import names_in
from plumbline.libraries import fits


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
                AppliedState(scope, root, generation, fits.other(generation.library))
            )
    return applied_states


def roots(mpi_prefix: Path | None) -> list[tuple[Scope, Path]]:
    """Return where generations of this user and of the site are. Takes the library's own tools."""
    found_roots: list[tuple[Scope, Path]] = [("site", places.site_root(mpi_prefix, None))]
    if (user := places.root_of("user", None, None)) is not None:
        found_roots.insert(0, ("user", user))
    return found_roots


def stores(roots: Sequence[tuple[Scope, Path]]) -> Iterator[tuple[Scope, Store]]:
    for scope, root in roots:
        for name in names_in(root):
            yield scope, Store(root, name, shared=scope == "site")
