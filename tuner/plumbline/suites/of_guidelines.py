"""The suites that a violation table is refined by: of each function the library's own call beside
what guidelines compare it with. Where these cross, a guideline begins to be violated."""

from __future__ import annotations

from plumbline.core.guidelines import Guidelines
from plumbline.measure import tables
from plumbline.settings import Settings
from plumbline.suites.description import AskedSuite

LAUNCHES = 6


def suites(guidelines: Guidelines, settings: Settings) -> tuple[AskedSuite, ...]:
    """Over the sizes that the settings ask for; `settings` say the way of use."""
    asked_suites = []
    sizes = tables.sizes_of(guidelines, settings)
    for function in dict.fromkeys([*guidelines.lhs_functions(), *settings.cases.functions]):
        beside = [
            pattern.variant
            for pattern in guidelines.patterns
            if (pattern.lhs, pattern.lhs_variant) == (function, "default")
        ]
        asked_suites.append(
            AskedSuite(
                name=function.removeprefix("MPI_").lower().replace("_", "-"),
                operations=(function, *dict.fromkeys(beside)),
                at=tuple(sizes[function]),
                refine=True,
                launches=LAUNCHES,
                use=settings.way.use,
                type=settings.cases.type,
                op=settings.cases.op,
                root=settings.cases.root,
            )
        )
    return tuple(asked_suites)
