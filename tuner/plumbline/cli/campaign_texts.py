"""A campaign in sentences and names, without what draws tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import IN_BLOCKS
from plumbline.results.report import Report
from plumbline.results.saving import Saving
from plumbline.system.words import counted
from plumbline.verify.grid import guideline_label
from plumbline_db.layout import fixed, layout
from plumbline_db.records import Winner


def heading(report: Report) -> str:
    campaign, machine = report.campaign, report.machine
    crowded = " (oversubscribed)" if campaign.oversubscribed else ""
    placed = layout(campaign)
    where = f", {placed}" if campaign.nodes > 1 or "," in placed else ""
    under = f"\nunder {fixed(campaign)}" if fixed(campaign) else ""
    return (
        f"{report.library.version_string} on {machine.host}, {machine.cpu_model}, "
        f"{counted(machine.processing_units, 'processing unit')}; "
        f"{campaign.nprocs} ranks{crowded}{where}\n"
        + "\n".join(
            [
                f"campaign {campaign.named}, {report.state}{under}",
                *report.placed,
                *covered(report),
            ]
        )
    )


def covered(report: Report) -> Iterator[str]:
    """Name the least and the greatest size of the table, by block where a volume is made of
    blocks."""
    sizes: dict[bool, set[int]] = {True: set(), False: set()}
    for verdict in report.before:
        blocks = verdict.function in IN_BLOCKS
        sizes[blocks] |= {
            -(-size // report.campaign.nprocs) if blocks else size
            for size in (verdict.bytes, verdict.other_bytes)
            if size and not verdict.ranks
        }
    words = [
        f"from {min(covered_sizes)} to {max(covered_sizes)} B{what}"
        for blocks, what in ((False, ""), (True, " in blocks (Gather, Alltoall …)"))
        if (covered_sizes := sizes[blocks])
    ]
    if words:
        yield f"sizes {' and '.join(words)}"


def in_order(winners: Sequence[Winner]) -> list[Winner]:
    """Return by function and size; they are stored round by round."""
    return sorted(winners, key=lambda winner: (winner.function, winner.bytes_from))


def named(guideline: str, guidelines: Guidelines, function: str = "") -> str:
    """`GL3 Gather ⪯ Allgather`, and with a function that its name lacks `GL2 A(n) ⪯ k A(n / k) of
    Gather`; the id alone where nobody knows the guideline."""
    name = " ".join(dict.fromkeys([guideline, guideline_label(guideline, guidelines)]))
    short = function.removeprefix("MPI_")
    return name if short in name else f"{name} of {short}"


def saved(saving: Saving) -> str:
    """Return what the winners save the application, in a sentence."""
    words = " ".join(saving.command)
    if saving.saving_seconds is None:
        return f"for {words}; what it saves is known at the end"
    return (
        f"expected saving a run of {words}: {in_unit(saving.saving_seconds)} "
        f"[{in_unit(saving.saving_low_seconds)}, {in_unit(saving.saving_high_seconds)}] of "
        f"{in_unit(saving.run_seconds)} ({saving.saving_seconds / (saving.run_seconds or 1):.2%}); "
        f"collectives took {in_unit(saving.collective_seconds)}, "
        f"{in_unit(saving.here_seconds)} of it on communicators of these ranks"
    )


def in_unit(value: float | None) -> str:
    """In the unit that people read."""
    if value is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if abs(value) >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value * 1e6:.3g} µs"
