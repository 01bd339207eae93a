"""A call, and what an exported file decides for it."""

from __future__ import annotations

import msgspec


class MpiCall(msgspec.Struct, frozen=True):
    """A call of `function` with a volume of `bytes` (docs/plan-and-records.md) on a communicator of
    `nprocs` ranks on `nodes` nodes, at most `ppn` of them on each."""

    function: str
    bytes: int
    nprocs: int
    nodes: int
    ppn: int


class FileDecision(msgspec.Struct, frozen=True):
    """`file` is the name of the file. `variant` is `default` where the library's own function is
    called, with the parameters in `configuration`. The decision is only for calls that meet the
    `conditions` (`type=floating`)."""

    file: str
    variant: str = "default"
    configuration: dict[str, str] = {}
    conditions: list[str] = []
