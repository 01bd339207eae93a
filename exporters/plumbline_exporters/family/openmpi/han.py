"""coll/han's dynamic rules file (Open MPI 5.0): whose a collective is, by communicator and message
size.

On several nodes coll/han answers before coll/tuned, whose rules are then not looked at. A search
measures past it, with coll_han_priority=0 on a communicator of its own; for a whole process that
would take coll/han from every function and size. This file takes from it exactly the calls that
have a rule of coll/tuned.
"""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters.bundle import Bundle, groups_by_ranks, heading, sizes
from plumbline_exporters.family.openmpi import tuned
from plumbline_exporters.family.openmpi.tuned import PAST_HAN, is_rule
from plumbline_exporters.registry import exporter

FILE_NAME = "ompi-han-rules.conf"
HAN, TUNED = "han", "tuned"
WHOLE_COMMUNICATOR = 2  # the level; 0 and 1 are those inside and between nodes
# The functions that coll/han implements; its rules name them in lower case without MPI_.
FUNCTIONS = (
    "MPI_Allgather",
    "MPI_Allreduce",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Reduce",
    "MPI_Scatter",
)

# Message size -> component, ascending from 0.
Owners = dict[int, str]


def is_past_han(winner: Winner) -> bool:
    """A rule of coll/tuned that was measured without coll/han."""
    name, value = PAST_HAN
    return is_rule(winner) and winner.configuration.get(name) == value


def owners(bundle: Bundle) -> dict[str, dict[int, Owners]]:
    """Function -> communicator size -> owners. Empty when nobody has to make way."""
    table: dict[str, dict[int, Owners]] = {}
    chosen = [winner for winner in bundle.winners if is_past_han(winner)]
    after: dict[str, set[int]] = {}
    for (function, nprocs, last), group in groups_by_ranks(chosen).items():
        if function not in FUNCTIONS or tuned.version(bundle.library) < (5, 0, 0):
            raise PlumblineError(
                f"{function}, {nprocs} ranks, {sizes(group[0])}: coll/han of {bundle.library.id} "
                f"has no rules for it; leave {'='.join(PAST_HAN)} out"
            )
        table.setdefault(function, {})[nprocs] = _block(function, (nprocs, last), group)
        after.setdefault(function, set()).add(last + 1)
    for function, blocks in table.items():
        for nprocs in {1, *after[function]}:
            blocks.setdefault(nprocs, {0: HAN})
    return {function: dict(sorted(table[function].items())) for function in sorted(table)}


def _block(function: str, ranks: tuple[int, int], group: list[Winner]) -> Owners:
    """Return the block in coll/han's count of bytes: those of one rank's block where there are
    blocks. `ranks`: the smallest and the largest number of them."""
    size = tuned.COLLECTIVES[function].size
    if size == "none":
        return {0: TUNED}
    least, most = ranks if size == "blocks" else (1, 1)
    block = {0: HAN}
    for winner in group:
        first = -(-winner.bytes_from // least)
        block = {at: owner for at, owner in block.items() if at <= first} | {first: TUNED}
        if winner.bytes_to < UNBOUNDED_BYTES:
            block[-(-winner.bytes_to // most) + 1] = HAN
    return block


@exporter(
    "ompi-han-rules",
    "Open MPI rules file of coll/han: who answers, by communicator and message size",
    family="openmpi",
)
def files(bundle: Bundle) -> dict[str, str]:
    table = owners(bundle)
    if not table:
        return {}
    lines = heading(bundle, "Dynamic rules for coll/han of Open MPI, written by Plumbline.")
    lines += [
        "# In force with coll_han_use_dynamic_file_rules=1 and coll_han_dynamic_rules_filename.",
        f"# A rule: message size, component ({TUNED}: coll/tuned by its own rules).",
        f"{len(table)} # collectives",
    ]
    for function, blocks in table.items():
        lines.append(f"{function.removeprefix('MPI_').lower()} # {function}")
        lines += ["1 # level", f"{WHOLE_COMMUNICATOR} # the communicator as a whole"]
        lines.append(f"{len(blocks)} # communicator sizes")
        for nprocs, block in blocks.items():
            lines += [f"{nprocs} # ranks and more", f"{len(block)} # rules"]
            lines += [f"{size} {component}" for size, component in sorted(block.items())]
    return {FILE_NAME: "\n".join(lines) + "\n"}
