"""Generations that are in force here, and whether they still fit the libraries they were made
for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline.applied import places, targets
from plumbline.applied.generations import Generation, Store
from plumbline.applied.places import Scope
from plumbline.applied.rollback import names_in
from plumbline.libraries import fits
from plumbline_db.errors import PlumblineError
from plumbline_exporters.metrics.scrape import Collect, Scrape


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
