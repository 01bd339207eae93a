"""Consoles of rich whose texts are clean before they get colours."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from . import streams


class CleanConsole(Console):
    """Prints to standard output, or standard error. Codes that reach the terminal are rich's own:
    what a text contains of that kind is taken out where the text is rendered."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        stream = streams.styled(sys.stderr if stderr else sys.stdout)
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        super().__init__(file=stream, width=width, soft_wrap=False, **plain)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(streams.clean(text), style)
