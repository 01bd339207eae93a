"""Which pictures of pages docs/gallery has: each at both widths, two of them dark too."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[3] / "docs" / "gallery"
WIDTHS = (1280, 390)
HEIGHT = 900
DARK = ("overview", "curves")
HEIGHTS = (1200, 1000, 850, 700, 600)  # of pictures: the first that fits
MOST_BYTES = 60_000  # of a picture
MOST_BYTES_IN_ALL = 3_000_000


def taken(name: str) -> list[tuple[int, str]]:
    """Widths and schemes."""
    light = [(width, "light") for width in WIDTHS]
    return [*light, (WIDTHS[0], "dark")] if name in DARK else light


def file(name: str, width: int, scheme: str) -> str:
    return f"{name}-{width}{'-dark' if scheme == 'dark' else ''}.webp"
