"""A look at whether ranks are where they were asked to be: what a launch was asked for, against
what its header says. Pure; `domains` (machine.domains) are the processing units of each core,
socket and NUMA node of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline_db.probe_records import Header

Domains = Mapping[str, Sequence[frozenset[int]]]


def units(text: str) -> frozenset[int]:
    """`0-1,4` -> {0, 1, 4}, as the kernel and hwloc write lists of processing units."""
    numbers: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdigit() and last.isdigit()):
            return frozenset()  # `0-` of hwloc: all there can be
        numbers.update(range(int(first), int(last) + 1))
    return frozenset(numbers)


def mismatch(header: Header, placement: Placement, domains: Domains) -> str:
    """Return what is not as it was asked for; empty where all is, as far as that can be told."""
    if (header.nodes, header.ppn) != (placement.nodes, placement.ppn):
        return (
            f"{counted(placement.nodes, 'node')} with {counted(placement.ppn, 'rank')} each were "
            f"asked for, the ranks are on {counted(header.nodes, 'node')} "
            f"({', '.join(header.hosts)}), up to {header.ppn} on one"
        )
    # Containers of one machine cannot detect that they share it.
    if placement.nodes > 1 and header.oversubscribed and not placement.oversubscribed:
        return (
            f"a node has {counted(header.processing_units, 'processing unit')}, fewer than it "
            "reported before"
        )
    return _misbound(header, placement.binding, domains)


def _misbound(header: Header, bind: str, domains: Domains) -> str:
    known_domains = domains.get(bind, ())
    for rank, text in enumerate(header.binding):
        bound = units(text)
        if not bound:
            continue  # not known
        if bind == "none" and len(bound) < header.processing_units:
            return f"rank {rank} is bound to {text}, though bind = none was asked for"
        if known_domains and not any(bound <= domain for domain in known_domains):
            return f"rank {rank} may run on {text}, though bind = {bind} was asked for"
    return ""
