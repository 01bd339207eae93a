"""Whether what was applied is in force where it should be, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline.applied import places, targets
from plumbline.applied.generations import Store
from plumbline.applied.places import Scope
from plumbline.applied.rollback import names_in
from plumbline_db.errors import PlumblineError
from plumbline_exporters.metrics.scrape import Collect, Scrape


def applied(mpi_prefix: Path | None = None) -> Collect:
    """A collector of what this user and the site have. Where that is, is asked once, as it takes
    the library's own tools."""
    user = places.root_of("user", None, None)
    roots: list[tuple[Scope, Path]] = [("site", places.site_root(mpi_prefix, None))]
    if user is not None:
        roots.insert(0, ("user", user))
    return lambda scrape: _collect(scrape, roots)


def _collect(scrape: Scrape, roots: Sequence[tuple[Scope, Path]]) -> Iterator[Metric]:
    del scrape  # what is in force, files say
    names = ("scope", "name")
    number = GaugeMetricFamily(
        "plumbline_applied_generation",
        "Generation of plumbline apply whose lines were found; 0: none are there any more.",
        labels=names,
    )
    whole = GaugeMetricFamily(
        "plumbline_applied_in_force",
        "Whether each file of that generation is there and as it was written.",
        labels=names,
    )
    for scope, root in roots:
        for name in names_in(root):
            found, as_written = _state(Store(root, name, shared=scope == "site"), scope)
            number.add_metric((scope, name), found)
            whole.add_metric((scope, name), as_written)
    yield from (number, whole)


def _state(store: Store, scope: Scope) -> tuple[int, bool]:
    """The generation in force, and whether all of it is."""
    known = store.generations(scope)
    paths = sorted({target.path for generation in known for target in generation.targets})
    try:
        states = {path: targets.state(Path(path), store.name) for path in paths}
        number = targets.in_force(list(states.values()))
        targets.require_untouched(store, list(states.values()), force=False)
    except PlumblineError:  # our marks are damaged, or our lines were changed
        return max((generation.number for generation in known), default=0), False
    applied = store.read(number) if number else None
    if applied is None:
        return number, False
    everywhere = all(states[target.path].number == number for target in applied.targets)
    return number, everywhere and store.intact(applied)
