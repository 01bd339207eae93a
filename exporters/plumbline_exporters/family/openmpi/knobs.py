"""Divides the winners: what a rules file can say, what a profile can say, and what holds for a
whole process."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.bundle import Bundle, put
from plumbline_exporters.family.openmpi import tuned

# On several nodes coll/han answers before coll/tuned; a search takes it off its communicators.
PAST_HAN = ("coll_han_priority", "0")
RULE_SUFFIXES = ("", "_segmentsize", "_chain_fanout", "_tree_fanout", "_max_requests")


def rule_knobs(winner: Winner) -> dict[str, str]:
    """The part of a configuration that a rules file can express, by suffix: "" is the algorithm."""
    prefix = tuned.prefix(winner.function)
    return {
        suffix: winner.configuration[prefix + suffix]
        for suffix in RULE_SUFFIXES
        if prefix + suffix in winner.configuration
    }


def is_rule(winner: Winner) -> bool:
    """The library's own function with algorithm knobs: belongs to the rules file."""
    return winner.variant == "default" and bool(rule_knobs(winner))


def global_knobs(bundle: Bundle) -> dict[str, str]:
    """Knobs that hold for a whole process, whatever the function and size.

    Two winners that want different values are an error, and so is the algorithm knob of another
    function, which would change that function everywhere."""
    values: dict[str, str] = {}
    for winner in bundle.winners:
        prefix = tuned.prefix(winner.function)
        own = {prefix + suffix for suffix in RULE_SUFFIXES}
        for name, value in sorted(winner.configuration.items()):
            if winner.variant == "default" and name in own:
                continue
            if is_rule(winner) and (name, value) == PAST_HAN:
                continue  # han.py says so for these calls alone
            if name.startswith("coll_tuned_") and name.endswith(
                tuple(f"_algorithm{suffix}" for suffix in RULE_SUFFIXES)
            ):
                raise PlumblineError(
                    f"{winner.function}, {winner.nprocs} ranks: {name} belongs to another function "
                    "or to a variant's parts; no file can set it for these calls alone"
                )
            put(values, winner, name, value)
    return values
