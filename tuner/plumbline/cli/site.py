"""The output about several campaigns of a library and machine: of `plumbline results FUNCTION`,
`plumbline results --map` and `plumbline export --per-nodes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from plumbline.system.words import counted, with_interval
from plumbline_db.errors import PlumblineError, UsageError

from . import common
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.results.site import CellEvidence, SiteAnswer, SiteCampaigns
    from plumbline.results.site_map import MapCell, SiteMap
    from plumbline_db.connection import Database

_DIFFERS = {
    "ranks": "another number of ranks",
    "placement": "another placement",
    "bytes": "another size",
}


class AskedCall(NamedTuple):
    """The call that a question is about, as far as it is named; or `as_map` the map of all."""

    bytes: int | None = None
    nprocs: int | None = None
    as_map: bool = False


def is_function(word: str) -> bool:
    """Return whether a word of the command line names a function, not a campaign file."""
    return word[:4].upper() == "MPI_" and not Path(word).exists()


def answer(program: ProgramOptions, word: str, asked: AskedCall, campaign: str | None) -> None:
    """Print what is done for a call of a function. Raises UsageError for a function that no
    campaign can tune."""
    from plumbline.core import guidelines, plan
    from plumbline.results import site
    from plumbline.system import mistakes

    function = plan.name_of(word)
    if function not in (functions := guidelines.load().lhs_functions()):
        raise UsageError(f"no campaign tunes {function}{mistakes.instead([function], functions)}")
    with program.open() as db:
        place = _site(db, campaign)
    sizes = [asked.bytes] if asked.bytes is not None else place.sizes(function)
    calls = site.calls(place, function, sizes, asked.nprocs)
    answers = [site.answer(place, call) for call in calls]
    if not answers:
        raise UsageError(
            f"no campaign of this site has measured {function}: name a size with --bytes"
        )
    common.answer(program, site.document(answers), _answers(place, answers))


def show_map(
    program: ProgramOptions, word: str, picture: Path | None, campaign: str | None
) -> None:
    """Print the map of a site, or draw it into a file. `word`: only of this function (empty: of
    all)."""
    from plumbline.core import plan
    from plumbline.results import site_map, site_picture
    from plumbline.settings import default_campaign

    with program.open() as db, db.snapshot():
        chosen = default_campaign.choose(db, campaign).campaign
        shown = site_map.of(db, chosen.machine, chosen.library_fingerprint)
    if shown is None:
        raise UsageError("nothing was verified yet: `plumbline campaign` measures and tunes")
    if word:
        shown = site_map.of_functions(shown, [plan.name_of(word)])
    if picture is not None:
        common.write(picture, site_picture.drawn(shown, picture))
        click.echo(str(picture))
        return
    common.answer(program, site_map.document(shown), _map(shown))


def _site(db: Database, campaign: str | None) -> SiteCampaigns:
    from plumbline.results import site
    from plumbline.settings import default_campaign

    with db.snapshot():
        chosen = default_campaign.choose(db, campaign).campaign
        return site.read(db, chosen, alone=campaign is not None)


def _answers(place: SiteCampaigns, answers: Sequence[SiteAnswer]) -> Iterator[RenderableType]:
    from rich.text import Text

    number = counted(len(place.campaigns), "campaign")
    if place.whole is not None:
        number = f"the site {place.whole.campaign.id} ({number})"
    where = f"applied: {place.applied}" if place.applied else "which are not applied"
    yield Text(f"{place.library.id}, files of {number}, {where}")
    for answered in answers:
        yield ""
        yield from _answer(answered)


def _answer(answered: SiteAnswer) -> Iterator[RenderableType]:
    from rich.text import Text

    call, evidence = answered.call, answered.evidence
    only = f", only {' '.join(answered.conditions)}" if answered.conditions else ""
    layout = f"{call.nodes} x {call.ppn}"
    yield Text(
        f"{call.function}, {call.bytes} B, {counted(call.nprocs, 'rank')} ({layout}): "
        f"{answered.configuration}{only}",
        style="bold",
    )
    if answered.file:
        yield f"  by {answered.file}"
    if answered.state == "the library decides":
        yield "  the library decides: no exported file has a rule for this call"
    elif answered.differs:
        differs = ", ".join(_DIFFERS[each] for each in answered.differs)
        yield f"  carried over: measured with {differs}"
    else:
        yield f"  {answered.state}"
    if evidence is None:
        yield "  no campaign has measured such a call"
    else:
        yield from (f"  {line}" for line in _evidence(evidence))


def _evidence(evidence: CellEvidence) -> Iterator[str]:
    speedup = with_interval(evidence.speedup, evidence.speedup_low, evidence.speedup_high)
    if speedup:
        removes = ", ".join(evidence.removes) or "no violation for certain"
        yield f"{speedup} times as fast as the default; removes {removes}"
    before, after = (
        ", ".join(named) or "none" for named in (evidence.violated_before, evidence.violated_after)
    )
    yield (
        f"campaign {evidence.campaign}, {evidence.nodes} x {evidence.ppn}, {evidence.bytes} B: "
        f"{counted(evidence.launches, 'launch')}; violated before: {before}; after: {after}"
    )
    if evidence.carried_from:
        yield f"the rule was carried over from {' and '.join(evidence.carried_from)}"
    if evidence.checked_on:
        yield f"checked, with that speed-up, on {evidence.checked_on}"
    if evidence.candidates:
        ended = f"; {evidence.why}" if evidence.why else ""
        yield f"{counted(evidence.candidates, 'candidate')} tried there{ended}"


def _map(shown: SiteMap) -> Iterator[RenderableType]:
    from rich.text import Text

    from plumbline.results import site_picture

    yield Text(site_picture.summary(shown))
    yield ""
    yield common.table(
        "function",
        "nodes x ppn",
        *(site_picture.short(size) for size in shown.sizes),
        left=("function",),
        wrap=False,
        rows=[
            (row.function, f"{row.nodes} x {row.ppn}", *(_cell(cell) for cell in row.cells))
            for row in shown.rows
        ],
    )
    yield (
        "bytes; • violated, ○ violated before and removed, ? undecided, · holds, blank not tested; "
        "a number is the speed-up of the winner in use"
    )


def _cell(cell: MapCell | None) -> str:
    from plumbline.results import site_picture

    if cell is None:
        return ""
    mark = site_picture.MARKS[site_picture.mark(cell)] or "·"
    return f"{mark} {cell.winner.speedup:.2f}" if cell.winner else mark


def per_nodes(
    program: ProgramOptions, output: Path, campaign: str | None, *, unsafe: bool, force: bool
) -> None:
    """Write a modulefile for each number of nodes into a folder. Raises PlumblineError where the
    library is another one."""
    from plumbline.libraries import gate
    from plumbline.results import per_nodes, site
    from plumbline.settings import default_campaign

    folder = output.absolute()
    with program.open() as db, db.snapshot():
        chosen = default_campaign.choose(db, campaign).campaign
        of_site = site.read(db, chosen, alone=False)
        if (other_library := gate.other(of_site.library)) is not None:
            raise PlumblineError(f"nothing is exported: {other_library}")
        modules = per_nodes.bundles(db, of_site, folder, unsafe=unsafe)
    written = per_nodes.write(modules, folder, force=force)
    for module in modules:
        common.remark(*(f"{module.name}: left out {reason}" for reason in module.left_out))
    if program.json:
        common.print_json(written)
        return
    for file in written:
        click.echo(file.path)
    common.remark(
        *(
            f"module use {folder} && module load {per_nodes.MODULES}/{module.name}"
            for module in modules
        )
    )
