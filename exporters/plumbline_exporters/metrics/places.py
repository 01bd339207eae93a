"""The long names behind the labels."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import InfoMetricFamily, Metric

from plumbline_exporters.metrics.scrape import Scrape, collector


@collector("places")
def places(scrape: Scrape) -> Iterator[Metric]:
    """Return those of each machine and library that is stored."""
    machine = InfoMetricFamily(
        "plumbline_machine", "A machine; always 1.", labels=("machine", "host")
    )
    library = InfoMetricFamily(
        "plumbline_library", "An MPI library; always 1.", labels=("library", "fingerprint")
    )
    for found in scrape.machines.values():
        machine.add_metric((found.id, found.host), {"cpu_model": found.cpu_model})
    for known in scrape.libraries.values():
        if known.fingerprint in scrape.left_out:
            continue
        words = {"family": known.family, "version": known.version}
        library.add_metric((known.id, known.fingerprint), words)
    yield from (machine, library)
