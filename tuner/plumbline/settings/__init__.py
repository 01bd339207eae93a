"""The settings of a campaign: groups of keys, each with its checks.

Campaign files, options of the command line and the database have the keys side by side, whatever
group they are in; a key is in one group. How keys become settings is in campaign_file.py, which
campaign they make in identity.py, what each key says, for readers, in campaign_file.py."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from plumbline.core import application
from plumbline.core.unmeasured import Unmeasured
from plumbline.system.toml import Document
from plumbline.system.words import LARGEST, MOST

from .cases import AFTER_BARRIER, SYNCHRONISED, Cases, Claims, Keeping, Sampling, WayOfUse
from .ranks import Ranks

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The loader, Open MPI's list, hydra's file and Intel MPI's tools split paths at these characters.
_TAKEN_APART = re.compile(r"[\s;:,=$'\"\\#]")


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings that are in force in every launch, and are not searched."""

    environment: dict[str, str] = {}
    """Variables that are in force in every launch, in place of the shell's."""
    preload: list[str] = []
    """Libraries that every launch preloads, behind ours (docs/profile.md)."""

    def canonical(self) -> Fixed:
        return Fixed(
            environment=dict(sorted(self.environment.items())),
            preload=list(dict.fromkeys(self.preload)),
        )

    def problems(self, *, simulated: bool) -> Iterator[str]:
        for name in self.environment:
            if not _VARIABLE.match(name):
                yield f"environment: {name!r} is not the name of a variable"
        if "LD_PRELOAD" in self.environment:
            yield (
                "environment: LD_PRELOAD: a campaign searches with a library of its own, "
                'which comes first; name others by the key preload = ["/path/tool.so"]'
            )
        if self.preload and simulated:
            yield (
                "preload: simulated ranks are no processes to preload into; link the library into "
                "the program (docs/simulated.md)"
            )
        for name in self.preload:
            if not Path(name).is_file():
                yield f"preload: the file {name!r} does not exist; name a library"
            unfit = _TAKEN_APART.search(name)
            if unfit:
                yield (
                    f"preload: {name}: mpirun or the loader would split this path at "
                    f"{unfit[0]!r}; move it to a path without"
                )


AFRESH = "none"
# Files of some libraries limit an algorithm to a number of ranks; profiles limit a variant of
# Plumbline to a layout, that is to nodes and ranks a node.
RANKS_ALONE, LAYOUT_ALONE = "ranks", "layout"


class Searching(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The search: what is searched, and how long."""

    rounds: int | None = None
    """Number of search rounds (0: verify only; default: until nothing is left to search)."""
    budget_seconds: Unmeasured[float | None] = None
    """Seconds in launches for the whole campaign; default: twelve times the first table, at
    least 150."""
    variants: list[str] | None = None
    """Variants of Plumbline that may be tried; default: all."""
    all: bool = True
    """Also search cells without a violated guideline, after the others, while time is left."""
    settings: bool | list[str] | None = None
    """Names of settings of the whole process that are searched; default: an eager limit."""
    unsafe: bool = False
    """Also use algorithms that give wrong results for some correct programs."""
    limited_to: str | None = None
    """Only what files can limit to these `ranks`, or to this `layout`, is tried (`--site`)."""
    earlier: Unmeasured[str | None] = None
    """Campaign whose winners are confirmed before the search, or `none`; default: with `--new`
    the last finished one."""

    @property
    def verifies_only(self) -> bool:
        return self.rounds == 0

    def goes_on(self, searched: int) -> bool:
        """Return whether another search may begin after so many."""
        return self.rounds is None or searched < self.rounds

    @property
    def tries_usual_settings(self) -> bool:
        return self.settings is None and not self.verifies_only

    @property
    def named_settings(self) -> list[str] | None:
        """Return the settings of the whole process that are searched; None: all, or none."""
        return self.settings if isinstance(self.settings, list) else None

    def tried(self, variants: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Return the variants of ours that may be tried, by function."""
        allowed = self.variants
        return {
            function: [name for name in names if allowed is None or name in allowed]
            for function, names in variants.items()
        }

    def canonical(self) -> Searching:
        names = self.settings
        return msgspec.structs.replace(
            self,
            variants=None if self.variants is None else sorted(set(self.variants)),
            settings=(sorted(set(names)) or False) if isinstance(names, list) else names,
        )

    def problems(self) -> Iterator[str]:
        if (self.rounds or 0) < 0:
            yield "rounds must not be negative"
        if (self.rounds or 0) > MOST:
            yield f"rounds must be at most {MOST}"
        if self.limited_to not in (None, RANKS_ALONE, LAYOUT_ALONE):
            yield f"limited_to must be {RANKS_ALONE} or {LAYOUT_ALONE}"
        if not 0 <= (self.budget_seconds or 0) < math.inf:
            yield "budget_seconds must be a number of seconds, not negative"


# The minimum of the default budget.
BUDGET_SECONDS, SIMULATED_BUDGET_SECONDS = 150.0, 900.0

# The default limit of the bytes of a volume in all ranks of a node, or in all simulated ranks.
NODE_BYTES, SIMULATED_BYTES = 2**30, 2**28

# Keys that are 0 if they are not given, and are then chosen; files must not contain 0.
CHOSEN = ("nprocs", "launches_max")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, in this order in docs/campaign.md."""

    ranks: Ranks = Ranks()
    cases: Cases = Cases()
    sampling: Sampling = Sampling()
    search: Searching = Searching()
    claims: Claims = Claims()
    way: WayOfUse = WayOfUse()
    fixed: Fixed = Fixed()
    keeping: Keeping = Keeping()

    # --- keys -----------------------------------------------------------------------------------

    def keys(self) -> dict[str, Any]:
        """The value of each key."""
        return {key: getattr(getattr(self, group), key) for key, group in GROUP_OF.items()}

    def but(self, **values: Any) -> Settings:
        """Return the settings with other values of some keys, which are not checked."""
        groups = {GROUP_OF[key] for key in values}
        return msgspec.structs.replace(
            self,
            **{
                group: msgspec.structs.replace(getattr(self, group), **_of(group, values))
                for group in groups
            },
        )

    def checked(self, source: Document) -> Settings:
        """Return the settings in one form: equal settings are equal, however they were said. Raises
        UsageError that names the file, and the line where the key stands there."""
        ranks = self.ranks.canonical()
        for problem in self._problems(ranks.nprocs):
            raise source.refused(problem)
        if self.cases.profile is not None:
            application.require(self.cases.profile, ranks.nprocs, ranks.node_count)
        return Settings(
            ranks=ranks,
            cases=self.cases.canonical(),
            sampling=self.sampling.canonical(),
            search=self.search.canonical(),
            claims=self.claims,
            way=self.way.canonical(),
            fixed=self.fixed.canonical(),
            keeping=self.keeping,
        )

    def _problems(self, nprocs: int) -> Iterator[str]:
        """The first one is told; what follows it may rest on it."""
        simulated = self.ranks.simulate is not None
        yield from self.ranks.problems()
        numbers = (*chain.from_iterable(self.cases.every_size()), *self.keys().values())
        if any(isinstance(number, int) and number > LARGEST for number in numbers):
            yield f"numbers must be at most {LARGEST}"
        yield from self.fixed.problems(simulated=simulated)
        yield from self.cases.problems(nprocs)
        yield from self.way.problems(simulated=simulated)
        yield from self.sampling.problems(simulated=simulated)
        yield from self.search.problems()
        yield from self.claims.problems()
        yield from self.keeping.problems()

    # --- what several groups say together ---------------------------------------------------------

    @property
    def budget(self) -> float:
        """The budget that is asked for; else what the usual one is at least."""
        if self.search.budget_seconds is not None:
            return self.search.budget_seconds
        return BUDGET_SECONDS if self.ranks.simulate is None else SIMULATED_BUDGET_SECONDS

    @property
    def start_scheme(self) -> str:
        return self.way.start_scheme(simulated=self.ranks.simulate is not None)

    def on(self, processing_units: int | None) -> Settings:
        """Return the settings with the way of use that they stand for on nodes of so many
        processing units (None: nobody knows). A simulated machine has one."""
        if self.way.is_named or self.ranks.simulate is not None:
            return self
        crowded = processing_units is not None and self.ranks.ppn > processing_units
        return self.but(use=AFTER_BARRIER if crowded else SYNCHRONISED)

    @property
    def called(self) -> list[str]:
        """The functions that the application calls on communicators of these ranks."""
        profile = self.cases.profile
        ranks = self.ranks
        return [] if profile is None else profile.functions(ranks.nprocs, ranks.node_count)

    def sizes_of(self, function: str) -> list[int]:
        """Sizes at which a function is measured."""
        profile, ranks = self.cases.profile, self.ranks
        own = [] if profile is None else profile.sizes(function, ranks.nprocs, ranks.node_count)
        together, room = ranks.ppn, NODE_BYTES
        if ranks.simulate is not None:
            together, room = ranks.nprocs, SIMULATED_BYTES
        volumes = self.cases.volumes(function, ranks.nprocs, room // max(1, together))
        return sorted({*volumes, *own})

    def weights(self, sizes: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], float] | None:
        """The share of each measured cell in the application's work; None without a profile."""
        profile, ranks = self.cases.profile, self.ranks
        if profile is None:
            return None
        return application.weights(profile, ranks.nprocs, ranks.node_count, sizes)


GROUPS: dict[str, type[msgspec.Struct]] = {
    field.name: field.type for field in msgspec.structs.fields(Settings)
}
GROUP_OF = {key: group for group, table in GROUPS.items() for key in table.__struct_fields__}


def of_keys(values: Mapping[str, Any]) -> Settings:
    """Not checked but for their types. Raises msgspec.ValidationError."""
    unknown = values.keys() - GROUP_OF
    if unknown:
        raise msgspec.ValidationError(f"Object contains unknown field `{min(unknown)}`")
    groups: dict[str, Any] = {
        name: msgspec.convert(_of(name, values), group) for name, group in GROUPS.items()
    }
    return Settings(**groups)


def _of(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `values` whose keys are in a group."""
    return {key: value for key, value in values.items() if GROUP_OF[key] == group}
