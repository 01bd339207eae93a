"""Times that cannot be: no collective is over before a message has gone from rank to rank.

That is a bound for what was measured on the global clock (from the first start to the last end).
Of the largest local time after a barrier it is one where every rank waits for all others: the rank
that starts first ends after a message of the one that starts last. A barrier is not among them:
whether its ranks wait is seen in each check of it (probes/measure/early.h)."""

from __future__ import annotations

from plumbline.core.forms import blocking
from plumbline.core.plan import Plan, RoundTrips
from plumbline_db import hockney
from plumbline_db.connection import Database

# Empty messages, in the launches of the first table.
ROUND_TRIPS = (RoundTrips(0, 100),)
# Collectives need not go the way of messages; less than so much of a message's time is no way.
_SHARE = 0.5
_ALL_WAIT = frozenset(
    {
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Allreduce",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
    }
)


def latency(db: Database, campaign: str) -> float:
    """Seconds of an empty message between the ranks that are nearest to each other; 0: not
    measured."""
    trips = [
        seconds for trip in hockney.half_trips(db, campaign, ["before"]) for seconds in trip.seconds
    ]
    return min(trips, default=0.0)


def least_seconds(function: str, plan: Plan, message: float) -> float:
    """What a call takes at least in the way of use of the plan, where a message takes `message`
    seconds; 0: nothing is known."""
    if function == "MPI_Reduce_local":
        return 0.0
    after_barrier = plan.use in ("", "after_barrier") and plan.runtime == "local"
    if plan.runtime == "global" or (after_barrier and blocking(function) in _ALL_WAIT):
        return _SHARE * message
    return 0.0
