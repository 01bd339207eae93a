"""Canaries: exported settings with an error in each of our choices. What works under them was never
reached by the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from plumbline_db import user_files
from plumbline_db.records import UNBOUNDED_BYTES, Winner


class DeliberateError(msgspec.Struct, frozen=True):
    """`environment` has the error in it, in what `name` says (a file, a variable). It concerns the
    `functions` (none: all that have a winner of the library's own parameters), and winners for some
    sizes from `bytes_from` to `bytes_to`. It must make the calls in question fail one by one
    (`cells`), or the launch as a whole; `nothing`: the library ignores in silence what it does not
    take, so that there is none, and that is said. `one_of`: it is enough that one of the measured
    sizes fails, as the library knows better at others, or is wrong, as it may swallow the error.

    Launches fail for other reasons too. `says` is what the library writes to standard error when it
    meets the error (a regular expression; empty: nothing certain). `control` has no error in it,
    and all else that the canary adds (None: the exported settings as they are)."""

    name: str
    environment: dict[str, str]
    functions: tuple[str, ...] = ()
    bytes_from: int = 0
    bytes_to: int = UNBOUNDED_BYTES
    fails: Literal["cells", "launch", "nothing"] = "cells"
    one_of: bool = False
    says: str = ""
    control: dict[str, str] | None = None

    def concerns(self, winner: Winner) -> bool:
        if self.functions and winner.function not in self.functions:
            return False
        return self.bytes_from <= winner.bytes_to and winner.bytes_from <= self.bytes_to


def in_copy(
    environment: Mapping[str, str], original: str, corrupt: Callable[[str], str], folder: Path
) -> dict[str, str]:
    """`environment` with a corrupted copy, in `folder`, wherever it names the file `original`."""
    copy = folder / f"canary-{Path(original).name}"
    copy.write_text(corrupt(user_files.text(original)))
    return {key: value.replace(original, str(copy)) for key, value in environment.items()}
