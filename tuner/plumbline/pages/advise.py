"""The call to choose at a size: the library's own collective, the tuned one, or one that is made by
hand; as `plumbline advise` says it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Annotated

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core import guidelines, plan
from plumbline.pages.visit import Bytes, Visit, Word
from plumbline.results import advice, advice_stored
from plumbline_db import campaigns, coverage, verdicts
from plumbline_db.records import Verdict

_EXAMPLES = 4

Ranks = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class AdviseQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All three or none. `run`: this one alone; empty: the newest of each library and machine."""

    function: Word = ""
    bytes: Bytes | None = None
    nprocs: Ranks | None = None
    run: Word = ""


def page(visit: Visit) -> Response:
    asked = visit.asked(AdviseQuery)
    places = coverage.of_campaigns(visit.db)
    every_campaign = campaigns.all_campaigns(visit.db)
    newest = [] if not every_campaign else verdicts.get(visit.db, every_campaign[-1].id, "before")
    measurable = guidelines.load().lhs_functions()
    advised = None
    if asked.function and asked.bytes is not None and asked.nprocs is not None:
        run = visit.campaign(asked.run).id if asked.run else ""
        function = plan.name_of(asked.function)
        question = advice_stored.AdviceQuestion(function, asked.bytes, asked.nprocs)
        advised = advice_stored.read(visit.db, question, run)
    elif asked != AdviseQuery():
        raise HTTPException(400, "function, bytes and nprocs: all three")
    return visit.page(
        "advise.html",
        asked=asked,
        advised=advised,
        take=advice.TAKE,
        now=datetime.datetime.now(datetime.UTC),
        ranks=sorted({covered.place.nprocs for covered in places}),
        functions=sorted({verdict.function for verdict in newest}),
        can_be_measured=advised is not None and advised.question.function in measurable,
        examples=_examples(newest),
        empty=not every_campaign,
    )


def _examples(table: Sequence[Verdict]) -> list[tuple[str, int, int]]:
    """Function, bytes and ranks of the worst violations."""
    worst = [verdict for verdict in table if verdict.verdict == "violated"]
    worst.sort(key=lambda verdict: verdict.ratio or 0.0, reverse=True)
    examples = ((verdict.function, verdict.bytes, verdict.nprocs) for verdict in worst or table)
    return list(dict.fromkeys(examples))[:_EXAMPLES]
