"""The settings of a campaign: groups of keys, each with its checks.

Campaign files, options of the command line and the database have the keys side by side, whatever
group they are in; a key is in one group. How keys become settings is in campaign_file.py, which
campaign they make in identity.py, what each key says, for readers, in explained.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from plumbline.core import application
from plumbline.system import limits
from plumbline.system.toml import Document

from .cases import Cases, Claims
from .fixed import Fixed
from .ranks import Ranks
from .sampling import Keeping, Sampling
from .search import Searching
from .way_of_use import AFTER_BARRIER, SYNCHRONISED, WayOfUse

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
        if any(isinstance(number, int) and number > limits.LARGEST for number in numbers):
            yield f"numbers must be at most {limits.LARGEST}"
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
    """Return those of `values` whose keys are in a group."""
    return {key: value for key, value in values.items() if GROUP_OF[key] == group}
