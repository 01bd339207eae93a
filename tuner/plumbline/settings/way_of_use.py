"""Ways of use: what stands around a call when it is timed, and how ranks start it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

# The default start scheme, and the start scheme on a simulated machine and in searches among cold
# knobs elsewhere: there the library's barriers are changed for a whole launch.
BARRIER, OWN_BARRIER = "barrier", "dissemination"

# The ways of use that a campaign can measure, and the start schemes of each, the default first.
# docs/design/plan-and-records.md describes how `loop` and `stream` start.
SYNCHRONISED = "synchronised"
AFTER_BARRIER = "after_barrier"
AT_ROOT = "at_root"  # of suites and single measurements: no campaign is about it
USES: dict[str, tuple[str, ...]] = {
    SYNCHRONISED: ("window", "roundtime"),
    AFTER_BARRIER: (BARRIER,),
    "loop": (),
    "stream": (),
}


class WayOfUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way in which calls are used (docs/uses.md); a simulated machine has one way."""

    use: str = ""
    """Way of use: synchronised, after_barrier (usual with more ranks than cores), loop, stream."""
    sync: str = ""
    """How ranks start: barrier, dissemination, window, roundtime, none; not given: as in `use`."""

    @property
    def is_named(self) -> bool:
        return bool(self.use or self.sync)

    def start_scheme(self, *, simulated: bool) -> str:
        usual = OWN_BARRIER if simulated else BARRIER
        return self.sync or next(iter(USES.get(self.use, ())), usual)

    def canonical(self) -> WayOfUse:
        """A start scheme says the way of use, where one has it, and the usual one is not named."""
        ways = (use for use, schemes in USES.items() if self.sync in schemes)
        use = self.use or next(ways, "")
        return WayOfUse(use=use, sync="" if self.sync in USES.get(use, ())[:1] else self.sync)

    def problems(self, *, simulated: bool) -> Iterator[str]:
        if self.use not in ("", *USES):
            yield f"use must be one of {', '.join(USES)}"
        if self.use and self.sync and self.sync not in USES[self.use]:
            yield f"sync = {self.sync} is not a start scheme of use = {self.use}"
        if simulated and self.use:
            yield "a simulated machine has one way of use"
