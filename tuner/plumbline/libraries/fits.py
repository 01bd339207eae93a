"""A look at whether the library that a campaign was made for is the one that is installed here."""

from __future__ import annotations

from pathlib import Path

from plumbline import libraries
from plumbline.libraries import Family, Installation
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library


def installed(library: Library, mpi_prefix: Path | None = None) -> tuple[Family, Installation]:
    """The installation of this very build: under `mpi_prefix` (or `module:NAME`), else where it
    was, else on PATH. Raises PlumblineError where another build, or nothing, is there."""
    if mpi_prefix is not None:
        family, installation = libraries.find(mpi_prefix)
        candidates = [installation]
    else:
        family = _family(library)
        candidates = _candidates(family, library)
    for installation in candidates:
        if installation.library.fingerprint == library.fingerprint:
            return family, installation
    if not candidates:
        raise PlumblineError(
            f"{library.id} is installed neither under {library.prefix} nor on PATH: name its "
            "prefix with --mpi"
        )
    found_library = candidates[0].library
    raise PlumblineError(
        f"made for {library.id} (fingerprint {library.fingerprint}), and {found_library.prefix} "
        "has "
        f"{found_library.id} ({found_library.fingerprint}): the library was updated or is another "
        "one; run a "
        "campaign for it"
    )


def other(library: Library) -> str | None:
    """Return why files for `library` do not fit what is installed; None where they do, or where
    nothing is there to compare with."""
    candidates = _candidates(_family(library), library)
    if not candidates:
        return None
    try:
        installed(library)
    except PlumblineError as error:
        return str(error)
    return None


def _family(library: Library) -> Family:
    family = libraries.of_name(library.family)
    if family is None:
        raise PlumblineError(f"{library.id} belongs to an unknown family: {library.family}")
    return family


def _candidates(family: Family, library: Library) -> list[Installation]:
    """Return the installations under the library's prefix or, if there are none, those on PATH."""
    prefix = Path(library.prefix)  # of an imported one: no folder of this machine
    is_there = prefix.is_absolute() and prefix.is_dir()
    return (family.find(prefix) if is_there else []) or family.find(None)
