"""The winners with everything that is known about them, for programs (docs/export.md)."""

from __future__ import annotations

import msgspec

from plumbline_exporters.bundle import NO_SUM, SUM, Bundle
from plumbline_exporters.registry import exporter

FILE_NAME = "plumbline.json"


@exporter("json", "the winners and their provenance, for programs")
def files(bundle: Bundle) -> dict[str, str]:
    document = {
        "format": "plumbline-winners",
        "version": 1,
        "created": bundle.created,
        SUM: NO_SUM,
        "machine": bundle.machine,
        "library": bundle.library,
        "campaign": bundle.campaign,
        "preload_library": None if bundle.preload_library is None else str(bundle.preload_library),
        "unsafe": bundle.unsafe,
        "started": bundle.started,
        "winners": bundle.winners,
    }
    return {FILE_NAME: msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"}
