"""The page that explains a run's cells: run times of the default, the winners and all other
candidates by size, with the lower bound below them; as `plumbline results --explain --picture`."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.explain import explain
from plumbline.explain import picture as explained_picture
from plumbline.explain.explain import Explained, Explanation
from plumbline.libraries import space_file
from plumbline.pages.visit import Nothing, Visit, Word, ending, picture_response
from plumbline.results import report
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign


class PictureQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`function`: of which alone; empty: of all."""

    function: Word = ""


class ExplainedFunction(msgspec.Struct, frozen=True):
    """The cells of a function, that with the most to gain first; `won`: so many have a winner."""

    function: str
    cells: list[Explained]
    won: int


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    campaign = visit.campaign()
    explanation = _read(visit, campaign)
    return visit.page(
        "explained.html",
        campaign=campaign,
        has_bounds=explanation.basis is not None,
        functions=_by_function(explanation),
    )


def _by_function(explanation: Explanation) -> list[ExplainedFunction]:
    """Return the functions, that with the most to gain first."""
    cells: dict[str, list[Explained]] = {}
    for cell in sorted(explanation.cells, key=_still_to_gain, reverse=True):
        cells.setdefault(cell.function, []).append(cell)
    return [
        ExplainedFunction(function, own, sum(cell.winner is not None for cell in own))
        for function, own in cells.items()
    ]


def picture(visit: Visit) -> Response:
    function = visit.asked(PictureQuery).function
    suffix = ending(visit, ".json")
    campaign = visit.campaign()
    explanation = _read(visit, campaign)
    if function:
        explanation = msgspec.structs.replace(
            explanation,
            cells=[cell for cell in explanation.cells if cell.function == function],
            curves=[point for point in explanation.curves if point.function == function],
        )
    if not explanation.curves:
        raise HTTPException(404, "this run has nothing to explain")
    spec = explained_picture.specification(explanation, [campaign.id])
    return picture_response(visit, f"explained{function and '-'}{function}", suffix, spec)


def _read(visit: Visit, campaign: Campaign) -> Explanation:
    """Read without the models of variants, which only a probe knows: no program is started for a
    page."""
    try:
        run_report = report.read(visit.db, campaign.id)
        space = space_file.for_library(paths.layout().search_spaces, run_report.library)
    except PlumblineError as error:
        raise HTTPException(404, "this run has nothing to explain") from error
    if run_report.of_benchmarks():
        raise HTTPException(404, "benchmarks of overlap have no cost models")
    return explain.explain(visit.db, run_report, space, {})


def _still_to_gain(cell: Explained) -> float:
    """Return how many times the lower bound a call takes with the winner, or as it is."""
    return cell.winner_over_floor or cell.default_over_floor or 0.0
