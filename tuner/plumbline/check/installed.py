"""Common benchmark programs that are there."""

from __future__ import annotations

from pathlib import Path

from plumbline.campaign.in_force import ActiveFiles

from . import imb, osu
from .programs import Program

NONE = Path("none")  # in place of a folder or a program: without them


def programs(
    found: ActiveFiles, osu_folder: Path | None, imb_program: Path | None, iterations: int
) -> list[Program]:
    """Return those that are named, or else found. Raises UsageError where what is named is none."""
    nprocs = found.settings.ranks.nprocs
    made: list[Program] = []
    if osu_folder != NONE:
        by_function = osu.find(osu_folder)
        if by_function:
            made.append(osu.Osu(by_function, nprocs, iterations))
    if imb_program != NONE:
        program = imb.find(imb_program, found.toolchain.installation.mpirun)
        if program is not None:
            made.append(imb.Imb(program, nprocs, iterations))
    return made
