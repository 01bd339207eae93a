"""Everything a command needs to measure here: the library, its probe, what both know, and the
guidelines and search space that fit them. Asks; assumes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.core import guidelines as guideline_file
from plumbline.core.guidelines import Guidelines
from plumbline.launch import Launcher, launcher_for
from plumbline.libraries import Family, Installation, Knob, space_file
from plumbline.libraries.space import Space
from plumbline.settings import Settings
from plumbline.settings.cases import BARRIER
from plumbline.system import answers, paths, process
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.records import Machine


class _Named(msgspec.Struct, frozen=True):
    name: str


class UseDescription(msgspec.Struct, frozen=True):
    """A way in which a case may be measured: `use=` of a plan."""

    name: str
    summary: str


class Operation(msgspec.Struct, frozen=True):
    """An operation that a pattern can measure; `data`: it sends messages, of some length."""

    name: str
    summary: str
    data: bool


class MeasurementPattern(msgspec.Struct, frozen=True):
    """A way to measure operations that are no single collective call: what a plan names in place of
    a function, with operations in place of variants, the first of which is its default."""

    name: str
    summary: str
    least_ranks: int
    operations: list[Operation]

    def operation(self, name: str) -> Operation | None:
        operation_name = self.operations[0].name if name == "default" else name
        return next(
            (operation for operation in self.operations if operation.name == operation_name), None
        )


# Names of parameters that count ranks.
OF_RANKS = ("radix", "fan_out", "leaders", "direct_parts", "blocks")
_WINDOW = "window"  # messages that are open at a time


class VariantParameter(msgspec.Struct, frozen=True):
    """A number that a variant reads; `tries` are the values that may be worth a search."""

    name: str
    least: int
    most: int
    standard: int
    tries: list[int]
    summary: str

    def choices(self, size: int, nprocs: int) -> list[int]:
        """The standard value and those of `tries`, without what makes no difference for `size`
        bytes on `nprocs` ranks: a segment as long as the message, more of OF_RANKS than ranks. The
        first window that lets all messages be open at once is kept: libraries have that too."""
        values = sorted({self.standard, *self.tries})
        most = self.most
        if self.name.endswith("_bytes"):
            most = size - 1
        elif self.name in OF_RANKS:
            most = nprocs
        elif self.name == _WINDOW:
            most = next((value for value in values if value >= nprocs - 1), most)
        return [value for value in values if value <= most]


class Variant(msgspec.Struct, frozen=True):
    """One way to compute `function`; `kind` is mockup, algorithm or naive. It keeps at most
    `scratch_volumes` volumes of scratch memory; a number below 0 means a volume for each rank and
    one more. It is `deployable` if a profile may name it. On fewer than `least_ranks` ranks it
    passes the messages of a simpler variant."""

    name: str
    function: str
    kind: str
    restrictions: list[str]
    summary: str
    parameters: list[VariantParameter] = []
    scratch_volumes: int = 0
    deployable: bool = True
    least_ranks: int = 0

    def specs(self, size: int, nprocs: int) -> list[str]:
        """Return the variant as plans and profiles write it: with the standard values, then with
        one parameter at a time at each other value that is worth a try."""
        tried = [
            f"{self.name}:{parameter.name}={value}"
            for parameter in self.parameters
            for value in parameter.choices(size, nprocs)
            if value != parameter.standard
        ]
        return [self.name, *tried]


class Form(msgspec.Struct, frozen=True):
    """A non-blocking or persistent form of `function`; its variant `blocking` is that one."""

    name: str
    function: str
    blocking: str

    @property
    def variant(self) -> Variant:
        """The variant; it blocks, so that no profile can name it."""
        summary = f"{self.function} in its place"
        return Variant(self.blocking, self.name, "mockup", [], summary, deployable=False)


class Catalogue(msgspec.Struct, frozen=True):
    """The catalogue that `probe --list` prints."""

    probe: str
    functions: list[_Named]
    variants: list[Variant]
    types: list[str]
    ops: list[str]
    syncs: list[str]
    clocks: list[str]
    clock_syncs: list[str] = []
    uses: list[UseDescription] = []
    patterns: list[MeasurementPattern] = []
    forms: list[Form] = []

    @property
    def names(self) -> list[str]:
        """Return the names of all functions that a case may name, forms too."""
        return [function.name for function in self.functions] + [form.name for form in self.forms]

    @property
    def sides(self) -> set[str]:
        """Return the names of all variants and operations."""
        operations = {name.name for pattern in self.patterns for name in pattern.operations}
        return operations | {variant.name for variant in self.variants}

    def variants_of(self) -> dict[str, list[str]]:
        variants_by_function: dict[str, list[str]] = {}
        for variant in self.variants:
            variants_by_function.setdefault(variant.function, []).append(variant.name)
        return variants_by_function

    def choices(self, function: str) -> list[str]:
        """Beside its default: the variants of a function, or the operations of a pattern."""
        pattern = self.pattern(function)
        if pattern is not None:
            return [operation.name for operation in pattern.operations]
        return self.variants_of().get(function, [])

    def pattern(self, name: str) -> MeasurementPattern | None:
        return next((pattern for pattern in self.patterns if pattern.name == name), None)


class Toolchain(msgspec.Struct, frozen=True):
    machine: Machine
    family: Family
    installation: Installation
    probe: Path
    preload: Path
    catalogue: Catalogue
    guidelines: Guidelines
    space: Space
    knobs: Mapping[str, Knob]
    launcher: Launcher = msgspec.field(default_factory=lambda: launcher_for(None))


def find_toolchain(
    mpi_prefix: Path | None = None,
    settings: Settings | None = None,
    beside: Path | None = None,
) -> Toolchain:
    """Finds all of it; every part that is missing is an error with its remedy. `settings` may ask
    for a simulated machine, or for several; `beside`: the folder of the database."""
    simulation = settings.ranks.simulate if settings else None
    if simulation is None:
        family, installation = libraries.find(mpi_prefix)
    else:
        family, installation = libraries.find_simulated(simulation.library, mpi_prefix)
    launcher = launcher_for(settings.ranks.place if settings else None, beside)
    placement = settings.ranks.placement(None) if settings else Placement(nodes=1, ppn=1)
    layout, build_id = paths.layout(), paths.build_id(installation.library)
    probe = layout.probe(build_id, installation.mpicc)
    catalogue = list_of(probe, partial(launcher.alone, installation))
    own_rules = settings.cases.guidelines_file if settings else None
    rules = (own_rules or guideline_file.load()).known_to(catalogue.names)
    guideline_file.check_against(rules, catalogue.sides)
    return Toolchain(
        machine=launcher.machine(placement),
        family=family,
        installation=installation,
        probe=probe,
        preload=layout.preload(build_id),
        catalogue=catalogue,
        guidelines=rules,
        space=space_file.for_library(layout.search_spaces, installation.library).on(
            placement.nodes
        ),
        knobs=family.knobs(installation),
        launcher=launcher,
    )


def variants_tried(
    toolchain: Toolchain, settings: Settings, *, oversubscribed: bool
) -> list[Variant]:
    """Return the variants of ours that a search may try. With more ranks than cores and barrier
    starts no messages in pieces: the next barrier pays most of their gain
    (docs/design/campaign.md)."""
    tried = settings.search.tried(toolchain.catalogue.variants_of())
    paid_later = oversubscribed and settings.start_scheme == BARRIER
    left_out = set(toolchain.guidelines.split.names()) if paid_later else set()
    return [
        variant
        for variant in toolchain.catalogue.variants
        if variant.name in tried[variant.function] and variant.name not in left_out
    ]


# The remedy for knobs that something outside of the campaign sets.
OUT = (
    f"take it out while a campaign runs (what {command_name()} apply put there: "
    f"{command_name()} apply --undo)"
)


def set_by_site(toolchain: Toolchain) -> list[str]:
    """Parameters of the search space that a parameter file of the installation or the user sets:
    with them the library is not as it is, and what they set cannot be searched. Rules of the site
    are another thing (site_rules.py)."""
    rules = toolchain.space.site_rules
    replaced = rules.knobs() if rules else {}
    return [
        f"{knob.name} = {knob.value} is set by {knob.source}"
        for name, knob in sorted(toolchain.knobs.items())
        if toolchain.space.must_be_untouched(name) and knob.source and name not in replaced
    ]


def _itself(program: list[str], timeout_seconds: float) -> process.Finished:
    return process.run(program, timeout_seconds=timeout_seconds)


_MOST_SAID = 1500  # characters


def list_of(
    probe: Path, start: Callable[[list[str], float], process.Finished] = _itself
) -> Catalogue:
    words = [str(probe), "--list"]

    def printed() -> str:
        done = start(words, 30)
        if done.status != 0:
            output = f"{done.stdout}\n{done.stderr}".strip()[-_MOST_SAID:]
            raise PlumblineError(
                f"{probe} --list ended with status {done.status} and said: {output or 'nothing'}\n"
                f"If it was built for something else than what is installed here: "
                f"`{command_name()} build` (`make build`)"
            )
        return done.stdout

    text = answers.ask([*words, *answers.deciding(os.environ)], printed, lambda _: [probe])
    try:
        catalogue = msgspec.json.decode(text, type=Catalogue)
    except (ValueError, msgspec.ValidationError) as error:
        raise PlumblineError(
            f"{probe} --list does not answer as this version expects ({error}); "
            f"run `{command_name()} build` (`make build`) again"
        ) from error
    forms = [form.variant for form in catalogue.forms]
    return msgspec.structs.replace(catalogue, variants=[*catalogue.variants, *forms])
