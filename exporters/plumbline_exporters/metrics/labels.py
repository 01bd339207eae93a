"""Labels that say where something was measured, and times as Prometheus has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from plumbline_db.coverage import Place
from plumbline_db.records import Campaign, Library, Machine

PLACE = ("machine", "host", "library", "fingerprint", "nprocs", "ppn")


def labels(place: Place) -> tuple[str, ...]:
    """The values of PLACE."""
    ranks = (str(place.nprocs), str(place.ppn))
    return (place.machine, place.host, place.library, place.fingerprint, *ranks)


def place_of(
    campaign: Campaign, machines: Mapping[str, Machine], libraries: Mapping[str, Library]
) -> Place:
    """`machines` by id, `libraries` by fingerprint."""
    library = libraries[campaign.library_fingerprint]
    return Place(
        machine=campaign.machine,
        host=machines[campaign.machine].host,
        library=library.id,
        fingerprint=library.fingerprint,
        nprocs=campaign.nprocs,
        ppn=campaign.ppn,
    )


def unix(text: str) -> float:
    """Seconds, of a time of day in ISO 8601."""
    return datetime.fromisoformat(text).timestamp()
