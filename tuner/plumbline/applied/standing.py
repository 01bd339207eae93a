"""Which generations are in force here, and whether they still fit the libraries they were made
for."""

from __future__ import annotations

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
    """Those of this user and of the site. Raises PlumblineError where our marks are damaged."""
    user = places.root_of("user", None, None)
    roots: list[tuple[Scope, Path]] = [("site", places.site_root(mpi_prefix, None))]
    if user is not None:
        roots.insert(0, ("user", user))
    found = []
    for scope, root in roots:
        for name in names_in(root):
            one = _in_force(Store(root, name, shared=scope == "site"), scope)
            if one is not None:
                found.append(AppliedState(scope, root, one, fits.other(one.library)))
    return found


def _in_force(store: Store, scope: Scope) -> Generation | None:
    paths = {
        Path(target.path)
        for generation in store.generations(scope)
        for target in generation.targets
    }
    number = targets.in_force([targets.state(path, store.name) for path in sorted(paths)])
    return store.read(number) if number else None
