"""plumbline verify"""

from __future__ import annotations

from typing import Any

from . import base, campaign, common, options, running
from .base import Program


@base.command("verify", takes="mpi db json", also=campaign.command.but(*campaign.SEARCHING))
@options.all_rows
def command(program: Program, all_rows: bool, **asked: Any) -> int:
    """Measure the library as it is and print its violation table.

    A campaign that searches nothing. Exit code 3 if a guideline is violated or a result is wrong.

    \b
    Example:
      plumbline verify --guidelines GL3,GL8 --json
    """
    ran = running.run(program, rounds=0, **asked)
    found = running.show(program, ran, all_rows=all_rows)
    violated = any(verdict.verdict == "violated" for each in found for verdict in each.before)
    wrong = any(each.wrong for each in found)
    return common.VIOLATIONS_FOUND if violated or wrong else 0
