"""Metrics about applied files: whether they are as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline.applied import standing, targets
from plumbline.applied.generations import Store
from plumbline.applied.places import Scope
from plumbline_db.errors import PlumblineError
from plumbline_exporters.metrics.scrape import Collect, Scrape


def applied(mpi_prefix: Path | None = None) -> Collect:
    """A collector of what this user and the site have. Where that is, is asked once, as it takes
    the library's own tools."""
    roots = standing.roots(mpi_prefix)
    return lambda scrape: _collect(scrape, roots)


def _collect(scrape: Scrape, roots: Sequence[tuple[Scope, Path]]) -> Iterator[Metric]:
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
    for scope, store in standing.stores(roots):
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
