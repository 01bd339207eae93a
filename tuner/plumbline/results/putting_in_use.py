"""How the winners of a campaign are put in use: for whom, and what to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.libraries import families
from plumbline.system.placement import Placement
from plumbline_db.errors import typed
from plumbline_db.layout import is_simulated
from plumbline_db.records import Campaign, Export, Library
from plumbline_exporters import plumbline_sh


class UseCommand(msgspec.Struct, frozen=True):
    """`whom`: `a user`, `a site`, or `a program`."""

    whom: str
    command: str


def commands(campaign: Campaign, library: Library, exports: Sequence[Export]) -> list[UseCommand]:
    """The nearest one first. On a simulated machine nothing is applied: its shell file is
    sourced."""
    if not is_simulated(campaign):
        family = families().get(library.family)
        crowded = campaign.oversubscribed
        asked = Placement(nodes=campaign.nodes, ppn=campaign.ppn, oversubscribed=crowded).plain()
        # Some libraries start no more ranks than there are cores unless they are told to.
        words = [] if family is None or campaign.nodes > 1 else family.words(asked)
        ranks = " ".join(words) or f"-np {campaign.nprocs}"
        run = f"plumbline run -- mpirun {ranks} ./app"
        if campaign.imported_from:  # it is used where it is named, and its files are elsewhere
            run = typed("apply", "--user", "--campaign", campaign.id, "--dry-run")
        return [
            UseCommand("a user", run),
            UseCommand("a site", typed("apply", "--site", "--campaign", campaign.id, "--dry-run")),
        ]
    scripts = [each.path for each in exports if Path(each.path).name == plumbline_sh.FILE_NAME]
    return [
        UseCommand(
            "a program",
            f". {shlex.quote(script)} && smpirun $PLUMBLINE_SMPIRUN -np {campaign.nprocs} "
            "-platform FILE -hostfile FILE ./app",
        )
        for script in scripts
    ]
