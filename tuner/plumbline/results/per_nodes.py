"""A modulefile for each number of nodes of a site, for sites that tune their modules so. Writes
files; activates nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.libraries import gate
from plumbline.results.site import SiteCampaign, SiteCampaigns
from plumbline.system import paths
from plumbline.system.words import counted
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Export, Winner
from plumbline_exporters import modulefile, registry
from plumbline_exporters.bundle import Bundle, is_profile, load_bundle, span

MODULES = "plumbline"  # the folder of the modulefiles, and with it their name
_FILES = ".plumbline"  # the folder of the files that they name
_FORMATS = ("modulefile", "modulefile-lua")


class PerNodes(msgspec.Struct, frozen=True):
    """The files of a module for `nodes` nodes. `left_out` names campaigns whose settings cannot
    stand beside those of the others in one process, with the reason."""

    nodes: int
    bundle: Bundle
    left_out: list[str]

    @property
    def name(self) -> str:
        """Return the version of the module: `1-node`, `4-nodes`."""
        return _name(self.nodes)


def bundles(db: Database, site: SiteCampaigns, folder: Path, *, unsafe: bool) -> list[PerNodes]:
    """The winners for each number of nodes, the fewest first. Rules of the library and settings of
    a process are those of the campaigns on as many nodes, with those that a whole site has carried
    over to as many; rules of a profile, which name nodes and ranks, are those of all campaigns, as
    a job also calls on parts of its ranks, with all that were carried over. Raises PlumblineError
    where no campaign has winners."""
    won = [member for member in site.campaigns if member.winners]
    if not won:
        raise PlumblineError("no campaign of this site has winners: there is nothing to export")
    carried = [
        winner
        for winner in (site.whole.winners if site.whole else ())
        if any(word.startswith("carried=") for word in winner.restrictions)
    ]
    spans = {span(winner, "nodes") for winner in carried}
    numbers = {member.campaign.nodes for member in won}
    numbers |= {first for first, last in spans if first == last}
    return [
        _with_carried(_of_nodes(db, won, nodes, folder, unsafe=unsafe), carried)
        for nodes in sorted(numbers)
    ]


def write(modules: Sequence[PerNodes], folder: Path, *, force: bool) -> list[Export]:
    """Write the modulefiles into a folder for `module use`, and the files that they name beside
    them. Raises PlumblineError where a file is not as Plumbline wrote it, unless `force`."""
    own = [
        {
            modulefile.FILE_NAME: folder / MODULES / module.name,
            modulefile.LUA_FILE_NAME: folder / MODULES / f"{module.name}.lua",
        }
        for module in modules
    ]
    # Nothing is written where one of them cannot be.
    registry.require_room([path for paths in own for path in paths.values()], force=force)
    return [
        export
        for module, elsewhere in zip(modules, own, strict=True)
        for export in registry.write(module.bundle, _FORMATS, force=force, elsewhere=elsewhere)
    ]


def _name(nodes: int) -> str:
    return counted(nodes, "node").replace(" ", "-")


def _of_nodes(
    db: Database, won: Sequence[SiteCampaign], nodes: int, folder: Path, *, unsafe: bool
) -> PerNodes:
    """The campaign with the most ranks speaks for the files; one that cannot stand beside it is
    left out."""
    own = sorted(
        (member for member in won if member.campaign.nodes == nodes),
        key=lambda member: -member.campaign.nprocs,
    )
    whole: Bundle | None = None
    left_out = []
    for member in [*own, *(member for member in won if member not in own)]:
        bundle = load_bundle(
            db,
            member.campaign.id,
            folder / _FILES / _name(nodes),
            gate.of_library,
            created=member.campaign.finished,
        )
        if member not in own:
            variants = [w for w in bundle.winners if is_profile(w) and not w.configuration]
            if not variants:
                continue
            bundle = msgspec.structs.replace(bundle, winners=variants)
        preload = paths.layout().preload(paths.build_id(bundle.library)).absolute()
        bundle = msgspec.structs.replace(bundle, unsafe=unsafe, preload_library=preload)
        joined = bundle if whole is None else _joined(whole, bundle)
        try:
            registry.texts(joined, _FORMATS)
        except PlumblineError as error:
            left_out.append(f"{member.campaign.id}: {error}")
        else:
            whole = joined
    if whole is None:
        raise PlumblineError("; ".join(left_out))
    return PerNodes(nodes, whole, left_out)


def _with_carried(module: PerNodes, carried: Sequence[Winner]) -> PerNodes:
    own = [
        winner
        for winner in carried
        if is_profile(winner) or span(winner, "nodes") == (module.nodes, module.nodes)
    ]
    bundle = module.bundle
    return msgspec.structs.replace(
        module, bundle=msgspec.structs.replace(bundle, winners=[*bundle.winners, *own])
    )


def _joined(whole: Bundle, more: Bundle) -> Bundle:
    return msgspec.structs.replace(
        whole,
        winners=[*whole.winners, *more.winners],
        others=[*whole.others, more.campaign],
        started=list(dict.fromkeys([*whole.started, *more.started])),
    )
