"""What explains a run's cells: run times of the default, the winners and all other candidates by
size, with the lower bound below them; as `plumbline results --explain --picture`."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.explain import explain
from plumbline.explain import picture as explained_picture
from plumbline.explain.explain import Explained, Explanation
from plumbline.libraries import space_file
from plumbline.pages import drawn
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import report
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    campaign = visit.campaign()
    found = _read(visit, campaign)
    return visit.page(
        "explained.html",
        campaign=campaign,
        found=found,
        cells=sorted(found.cells, key=_still_to_gain, reverse=True),
    )


def picture(visit: Visit) -> Response:
    visit.asked(Nothing)
    suffix = drawn.ending(visit, ".json")
    campaign = visit.campaign()
    found = _read(visit, campaign)
    if not found.curves:
        raise HTTPException(404, "this run has nothing to explain")
    spec = explained_picture.specification(found, [campaign.id])
    return drawn.picture(visit, "explained", suffix, spec)


def _read(visit: Visit, campaign: Campaign) -> Explanation:
    """Without the models of variants, which only a probe knows: no program is started for a
    page."""
    try:
        known = report.read(visit.db, campaign.id)
        space = space_file.for_library(paths.layout().search_spaces, known.library)
    except PlumblineError as error:
        raise HTTPException(404, "this run has nothing to explain") from error
    if known.of_benchmarks():
        raise HTTPException(404, "benchmarks of overlap have no cost models")
    return explain.explain(visit.db, known, space, {})


def _still_to_gain(cell: Explained) -> float:
    """How many times the lower bound a call takes with the winner, or as it is."""
    return cell.winner_over_floor or cell.default_over_floor or 0.0
