"""The start of ranks of stored launches: the words of their command lines, without the program, its
paths, and what a launch sets for its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline_db import campaigns, runs
from plumbline_db.probe_records import Header
from plumbline_db.records import Run
from plumbline_db.statements import Statements

# Simulated ranks follow from the simulated machine, not from the words of a command.
_SIMULATOR = "smpirun"


def words(argv: Sequence[str]) -> list[str]:
    """`mpirun -np 4 --oversubscribe` of a launch of the probe, as a user types it."""
    options = [place for place, word in enumerate(argv) if word in ("--plan", "--serve")]
    end = options[0] - 1 if options else len(argv)
    words_typed = [Path(word).name for word in argv[:1]]
    for word in argv[1:end]:
        if word == "env":  # srun: variables of the ranks, up to the program
            break
        option = words_typed[-1]
        if option == "-x" or (word.startswith("/") and option.startswith("-")):
            words_typed.pop()  # a variable for the ranks, a path
        elif not word.startswith("--env="):  # flux run: the same
            words_typed.append(Path(word).name if word.startswith("/") else word)
    return words_typed


def lines(db: Statements, campaign: str) -> list[str]:
    """Return how ranks were started when a campaign was measured, and in which other ways when its
    winners were confirmed, a sentence each; of a whole site, those of the campaigns of its layouts.
    None where there is no launch, or ranks were simulated."""
    of_layouts = [
        line for member in campaigns.of_site(db, campaign) for line in lines(db, member.id)
    ]
    if of_layouts:
        return list(dict.fromkeys(of_layouts))
    measured, *more = _ways(db, campaign) or [""]
    if not measured or measured.startswith(_SIMULATOR):
        return []
    return [f"measured with {measured}", *(f"confirmed also with {way}" for way in more)]


def _ways(db: Statements, campaign: str) -> list[str]:
    """Return that of the first launch, then those of the launches that confirm or accept
    winners."""
    argv_rows = db.rows(
        """WITH finished AS (
               SELECT run.number, run.argv, suite.stage IN ('confirm', 'accept')
                      AND suite.parted = 0 AS confirms
               FROM run JOIN suite ON suite.number = run.suite
               WHERE suite.campaign = :campaign AND run.failure IS NULL)
           SELECT argv FROM finished
           WHERE confirms OR number = (SELECT min(number) FROM finished) ORDER BY number""",
        {"campaign": campaign},
    )
    return list(dict.fromkeys(" ".join(_words(text)) for (text,) in argv_rows))


def first_alike(db: Statements, run: Run) -> tuple[str, Header] | None:
    """Id and header of the first finished launch of the same campaign, in whatever suite, that was
    started by the same words and with the same variables as `run`."""
    started = words(run.argv)
    # The first launch of each suite is enough, because launches of a suite are alike.
    for id, argv, _ in db.rows(
        """SELECT run.id, run.argv, min(run.number) FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.environment = :environment
             AND run.failure IS NULL AND run.header IS NOT NULL
           GROUP BY suite.number ORDER BY 3""",
        {
            "campaign": run.campaign,
            "environment": msgspec.json.encode(run.environment).decode(),
        },
    ):
        header = runs.header(db, id) if _words(argv) == started else None
        if header is not None:
            return id, header
    return None


def _words(text: str) -> list[str]:
    return words(msgspec.json.decode(text, type=list[str]))
