"""A simulated library with planted faults, one of each kind that the loop has to tell apart."""

from __future__ import annotations

from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from tests.tuner.simulated import Costs

SIZES = [64, 1024, 4096, 16384, 65536]
GOOD_SEGMENTS = ("4096", "8192", "32768")
GUIDELINES = ["GL1", "GL3", "GL7", "GL10", "GL12", "GL16"]


def costs() -> Costs:
    """Allreduce is slow from 16 KiB on, and an algorithm of the library is not. Bcast is too. Its
    cure makes Scatter slower than Bcast, and Allreduce at 16 KiB slower than Reduce + Bcast though
    it has been cured before: both show in the second round only. One algorithm of Scatter is better
    at every size. No algorithm of Scan helps, but Exscan + Reduce_local does. Nothing helps Gather
    at 4 KiB. What is fastest of all would be wrong for some programs."""
    return Costs(
        default={
            "MPI_Allreduce": lambda size: 1.9 if size >= 16384 else 1.0,
            "MPI_Bcast": lambda size: 1.6 if size >= 16384 else 1.0,
            "MPI_Scan": lambda size: 2.0 if size >= 1024 else 1.0,
        },
        algorithm={
            ("MPI_Allreduce", "rabenseifner"): lambda size, _: 0.95 if size <= 16384 else 0.8,
            ("MPI_Allreduce", "ring"): lambda *_: 0.2,
            ("MPI_Bcast", "binomial"): lambda _, knobs: (
                0.5 if knobs["coll_tuned_bcast_algorithm_segmentsize"] in GOOD_SEGMENTS else 0.75
            ),
            ("MPI_Scatter", "binomial"): lambda *_: 0.5,
        },
        everything={("MPI_Gather", 4096): 4.0},
    )


def settings(**changes: object) -> Settings:
    chosen = {"nprocs": 4, "sizes": SIZES, "guidelines": GUIDELINES}
    # What is planted is violated.
    small = {"launches": 12, "blocks": 1, "reps": 2, "budget_seconds": 1000.0, "all": False}
    return load(None, chosen | small | changes)
