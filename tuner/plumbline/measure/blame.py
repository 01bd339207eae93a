"""The call that a crash is to be blamed on: that under way, or an earlier one of the same launch
that has left something behind (a message nobody has received, memory written to). Pure, but for the
launches that `fails` makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plumbline.core.plan import PlanCase

# So many different calls end launches one after the other before an earlier one is looked for.
SUSPICIOUS = 3

Fails = Callable[[Sequence[PlanCase]], bool]


def guilty(before: Sequence[PlanCase], victim: PlanCase, fails: Fails) -> PlanCase | None:
    """The one of `before`, in the order in which a launch calls them, without which `victim` does
    not end it. None where `victim` ends launches by itself, or where no single one is to blame."""
    if not before or fails([victim]):
        return None
    suspects = list(before)
    while len(suspects) > 1:
        half = len(suspects) // 2
        suspects = suspects[:half] if fails([*suspects[:half], victim]) else suspects[half:]
    return suspects[0] if fails([suspects[0], victim]) else None
