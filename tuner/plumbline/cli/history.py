"""plumbline history"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plumbline_db.errors import PlumblineError, command_name

from . import base, common
from .base import Program

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.results.compared_now import MeasuredComparison


@base.command("history", takes="db json")
def command(program: Program) -> int:
    """What `compare --measure` has found from release to release, oldest first.

    A line a comparison: when, of which sides, in how many cells B was slower, faster or equal, and
    the worst cell. Nothing is measured. Exit code 3 if the last comparison has found B slower.

    \b
    Example:
      plumbline compare --measure /opt/openmpi-5.0.10 /opt/openmpi-5.0.11
      plumbline history
    """
    from plumbline.results import compared_now, regressions
    from plumbline.results.comparison_files import document
    from plumbline_db.connection import Database

    with Database.open(program.database) as db:
        comparisons = compared_now.stored(db)
    if program.json:
        common.print_json([document(comparison) for comparison in comparisons])
    elif not comparisons:
        raise PlumblineError(
            f"{program.database} contains no comparison: "
            f"make one with `{command_name()} compare --measure A B`"
        )
    else:
        common.show(_table(comparisons))
    worse = bool(comparisons) and regressions.is_worse(comparisons[-1].cells)
    return common.VIOLATIONS_FOUND if worse else 0


def _table(comparisons: list[MeasuredComparison]) -> Table:
    from rich.text import Text

    from plumbline.results.comparison_files import summary, words_of

    words = ("when", "A", "B", "ranks", "slower", "faster", "equal", "not shown", "worst cell")
    table = common.table(*words, left=("when", "A", "B", "worst cell"), wrap=False)
    for comparison in comparisons:
        counts = summary(comparison.cells)
        worst = comparison.cells[0]
        table.add_row(
            comparison.a.launches[0].started[:16].replace("T", " "),
            *(
                Text(f"{side.name.text} ({side.library.version_string})")
                for side in (comparison.a, comparison.b)
            ),
            str(comparison.a.campaign.nprocs),
            str(counts["slower"] + counts["lost"]),
            str(counts["faster"]),
            str(counts["equal"]),
            str(counts["not_shown"]),
            Text(f"{worst.cell.function} {worst.cell.bytes} B: {words_of(worst)}"),
        )
    return table
