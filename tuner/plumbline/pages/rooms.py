"""The pages of all rooms, as `plumbline serve` answers them."""

from __future__ import annotations

from pathlib import Path

from plumbline.detect import pages as detect
from plumbline.overlap import pages as overlap
from plumbline.pages import routes
from plumbline_exporters.frame import Pages


def every(db_path: Path) -> list[Pages]:
    return [routes.pages(db_path), overlap.pages(db_path), detect.pages(db_path)]
