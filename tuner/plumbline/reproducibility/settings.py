"""Settings of `plumbline reproducibility`. Part of an experiment's identity, as a campaign's
settings are: the same settings are the same experiment, which is continued."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from plumbline.core.plan import Data, measurable
from plumbline.settings.cases import SIZES
from plumbline_db.errors import UsageError

COMMAND = "reproducibility"
SPREAD_FUNCTIONS = ("MPI_Bcast", "MPI_Allreduce")
SPREAD_SIZES = (8, 64, 512, 4096, 16384, 65536)
# These functions do not measure communication, or have a single size.
_NO_EFFECTS = frozenset({"MPI_Barrier", "MPI_Reduce_local"})

Cell = tuple[str, int]  # function, bytes


def _list(*values: Any) -> Any:
    return msgspec.field(default_factory=lambda: list(values))


class ReproducibilitySettings(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True
):
    """Spread: `trials` experiments of `launches` launches each. Effects: `effect_launches` launches
    in which every cell stands twice and once with each of `effects` per cent planted. `blocks`,
    `reps`, `warmup`, `rewarm` as in a plan, for our own launches. `budget_seconds` inside launches
    after which no further trial begins (0: none)."""

    nprocs: list[int] = _list(2, 4)
    functions: list[str] = _list(*SPREAD_FUNCTIONS)
    sizes: list[int] = _list(*SPREAD_SIZES)
    trials: int = 10
    launches: int = 30
    effect_functions: list[str] = _list(*SPREAD_FUNCTIONS)
    effect_sizes: list[int] = _list(*SPREAD_SIZES)
    effect_launches: int = 15
    effects: list[float] = _list(2.0, 5.0, 10.0, 20.0)
    blocks: int = 24
    reps: int = 4
    warmup: int = 16
    rewarm: int = 2
    seed: int = 1
    budget_seconds: float = 0.0
    launch_timeout_seconds: float = 300.0

    def text(self, nprocs: int) -> str:
        """The settings of the database row for this number of ranks."""
        return msgspec.json.encode(
            {"command": COMMAND, "ranks": nprocs, "settings": msgspec.to_builtins(self)}
        ).decode()

    def spread_cells(self, nprocs: int) -> list[Cell]:
        return _cells(self.functions, self.sizes, nprocs)

    def effect_cells(self, nprocs: int) -> list[Cell]:
        return _cells(self.effect_functions, self.effect_sizes, nprocs)


def _cells(functions: Sequence[str], sizes: Sequence[int], nprocs: int) -> list[Cell]:
    return [(name, size) for name in functions for size in measurable(name, sizes, nprocs, Data())]


def effect_functions(functions: Sequence[str]) -> list[str]:
    """The functions of the full experiment, of those that the probe knows."""
    return [name for name in functions if name not in _NO_EFFECTS]


def checked(
    settings: ReproducibilitySettings, probe_functions: Collection[str]
) -> ReproducibilitySettings:
    """Return the settings. Raises UsageError for settings that cannot be measured."""
    functions = set(settings.functions) | set(settings.effect_functions)
    unknown = ", ".join(sorted(functions - set(probe_functions)))
    problems = {
        f"the probe knows no function {unknown}; it knows {', '.join(probe_functions)}": bool(
            unknown
        ),
        "--functions: name at least one function": not settings.functions,
        "--sizes must be whole numbers above 0": not settings.sizes or min(settings.sizes) < 1,
        "--nprocs must be numbers of ranks, 2 or more": not settings.nprocs
        or min(settings.nprocs) < 2,
        "--trials must be at least 2 (one has no spread)": settings.trials < 2,
        "--launches must be at least 1": settings.launches < 1,
        "effect_launches must be at least 6 (fewer cannot show anything), or 0": 0
        < settings.effect_launches
        < 6
        or settings.effect_launches < 0,
        "effects must be per cents above 0 and at most 1000": not settings.effects
        or not all(0 < effect <= 1000 for effect in settings.effects),
        "--blocks and --reps must be at least 1": min(settings.blocks, settings.reps) < 1,
        "--seed must not be negative": settings.seed < 0,
    }
    for problem, broken in problems.items():
        if broken:
            raise UsageError(problem)
    return msgspec.structs.replace(
        settings,
        nprocs=sorted(set(settings.nprocs)),
        sizes=sorted(set(settings.sizes)),
        effect_sizes=sorted(set(settings.effect_sizes)),
        effects=sorted(set(settings.effects)),
    )


def full(functions: Sequence[str]) -> ReproducibilitySettings:
    """Every function and all sizes of a campaign for the effects: more than 500 A/A comparisons."""
    return ReproducibilitySettings(
        effect_functions=effect_functions(functions),
        effect_sizes=list(SIZES),
    )


def quick() -> ReproducibilitySettings:
    """Three minutes at most on two cores."""
    return ReproducibilitySettings(trials=7, launches=14, effects=[5, 10], budget_seconds=150.0)
