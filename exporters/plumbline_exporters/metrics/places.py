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
    for machine_stored in scrape.machines.values():
        machine.add_metric(
            (machine_stored.id, machine_stored.host), {"cpu_model": machine_stored.cpu_model}
        )
    for library_stored in scrape.libraries.values():
        if library_stored.fingerprint in scrape.left_out:
            continue
        words = {"family": library_stored.family, "version": library_stored.version}
        library.add_metric((library_stored.id, library_stored.fingerprint), words)
    yield from (machine, library)
