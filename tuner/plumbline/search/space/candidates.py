"""Candidates for a cell: the library's algorithms and our own variants, with their parameters; and
the index of measured cells.

What is not safe for every legal program is left out here (unless asked for), so that no later step
has to think of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration, VariantSpec, variant_name
from plumbline.core.plan import PlanCase, is_form
from plumbline.model.names import names
from plumbline.system import version
from plumbline_db.probe_records import Check
from plumbline_db.records import Medians, Winner
from plumbline_exporters import by_size
from plumbline_exporters.bundle import Refusal

if TYPE_CHECKING:
    from plumbline.libraries.space import Algorithm, AlgorithmParameter, FunctionSpace
    from plumbline.settings.toolchain import Toolchain, Variant


class Flaw(msgspec.Struct, frozen=True):
    """The reason why a candidate has no place in a cell."""

    state: Literal["wrong", "failed", "not_in_force", "unsupported", "slower"]
    detail: str

    @classmethod
    def of(cls, check: Check) -> Flaw:
        """Return the flaw of a check that is not ok."""
        if check.outcome == "ok":
            raise ValueError("nothing is wrong")
        return cls("failed" if check.outcome == "error" else check.outcome, check.detail)


def index(medians: Iterable[Medians]) -> dict[tuple[Target, Candidate], dict[int, float]]:
    """Seconds by launch, by cell and candidate; the default is MPI_COMM_WORLD's, untouched."""
    seconds_by_case: dict[tuple[Target, Candidate], dict[int, float]] = {}
    for median in medians:
        case = median.case
        if case.config == "plain" or case.variant == "library" or case.ranks:
            continue
        candidate = Candidate(case.variant, Configuration.of(case.knobs))
        times = seconds_by_case.setdefault((Target(case.function, case.bytes), candidate), {})
        times.update(zip(median.runs, median.seconds, strict=True))
    return seconds_by_case


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A configuration that may replace the default of one function. `variant` with its parameters,
    as plans and profiles have it: `name:parameter=value`; those left out have standard values."""

    variant: str = "default"
    configuration: Configuration = Configuration()

    @classmethod
    def of_winner(cls, winner: Winner) -> Candidate:
        return cls(winner.variant, Configuration.of(winner.configuration))

    def case(self, function: str, size: int) -> PlanCase:
        return PlanCase(
            function=function, bytes=size, variant=self.variant, configuration=self.configuration
        )

    @property
    def is_knobs(self) -> bool:
        return self.variant == "default" and bool(self.configuration)


DEFAULT = Candidate()


_ONE_NODE = "one_node"  # a restriction, as the probe's catalogue names it


# The candidates of each cell.
Entries = Mapping[Target, Sequence[Candidate]]


class CandidateSpace:
    """The candidates that may be tried for each function on this library at this number of
    ranks."""

    def __init__(
        self,
        toolchain: Toolchain,
        nprocs: int,
        *,
        tried: Iterable[Variant] | None = None,
        unsafe: bool = False,
    ) -> None:
        """`tried` are the variants that may be (None: all); all stand beside cold candidates."""
        self._toolchain = toolchain
        self._references = toolchain.catalogue.variants
        self._space = toolchain.space
        self._library = toolchain.installation.library
        self._installed = toolchain.knobs
        # Naive variants serve for comparison only and are never chosen. On fewer ranks than
        # `least_ranks` a simpler variant sends the same messages.
        self._variants = {
            variant.name: variant
            for variant in (self._references if tried is None else tried)
            if variant.kind != "naive" and variant.deployable and variant.least_ranks <= nprocs
        }
        self._nprocs = nprocs
        # The environment with which knobs can be switched inside a launch.
        self.hot_environment = toolchain.space.hot_environment
        self._unsafe = unsafe

    @property
    def refusal(self) -> Refusal:
        """The gate of this space, which says why a winner may not be used."""
        from plumbline.libraries import gate

        return gate.of_space(self._space)

    def refusal_here(self, sizes: Mapping[str, Sequence[int]]) -> Refusal:
        """Return the same gate; it also refuses winners that this number of ranks offers at none of
        the measured `sizes`, as those of another number may be."""
        of_space = self.refusal

        def refusal(winner: Winner) -> str:
            function, candidate = winner.function, Candidate.of_winner(winner)
            inside = [
                size
                for size in sizes.get(function, ())
                if winner.bytes_from <= size <= winner.bytes_to
            ]
            is_whole = candidate.is_knobs and self.one_for_all_sizes(function)
            is_offered = any(self.offers(function, candidate, size) for size in inside)
            if is_whole or is_offered or not inside:
                return of_space(winner)
            return f"is not offered to {self._nprocs} ranks"

        return refusal

    def without_knobs(self, functions: Iterable[str] | None = None) -> CandidateSpace:
        """Return our variants alone, of all functions or of these."""
        left_out = None if functions is None else set(functions)
        kept = (
            []
            if left_out is None
            else [entry for entry in self._space.function if entry.name not in left_out]
        )
        toolchain = msgspec.structs.replace(
            self._toolchain, space=msgspec.structs.replace(self._space, function=kept)
        )
        tried = self._variants.values()
        return CandidateSpace(toolchain, self._nprocs, tried=tried, unsafe=self._unsafe)

    def mockups(self, function: str) -> set[str]:
        """Names of the variants that are made of other functions."""
        own_variants = self._variants.values()
        return {
            variant.name
            for variant in own_variants
            if (variant.function, variant.kind) == (function, "mockup")
        }

    def of_a_node(self, function: str) -> list[Candidate]:
        """Return our variants that share memory: they need all ranks on one node."""
        return [
            candidate
            for candidate in self._ours(function)
            if _ONE_NODE in self._variants[candidate.variant].restrictions
        ]

    def reference_variants(self, function: str) -> list[str]:
        """Variants of ours that send messages and are made of no other collective: a cold candidate
        of the library changes none of them. Those that take any arguments come first. What decides
        for a form leaves its blocking function alone."""
        own_variants = [variant for variant in self._references if variant.function == function]
        plain = [
            variant for variant in own_variants if variant.kind != "mockup" or is_form(function)
        ]
        ranked = sorted(
            plain, key=lambda variant: (bool(variant.restrictions), variant.kind == "naive")
        )
        return [variant.name for variant in ranked]

    def equivalents(self, function: str, candidate: Candidate) -> set[str]:
        """Variants of ours that send the messages of an algorithm of the library."""
        entry = self._space.of(function)
        if entry is None or not candidate.is_knobs:
            return set()
        value = candidate.configuration[entry.knob]
        algorithms = [algorithm for algorithm in entry.algorithms if algorithm.name == value]
        return {name for algorithm in algorithms for name in names().ours_like(function, algorithm)}

    def calls(self, function: str, candidate: Candidate) -> list[str]:
        """Functions that an algorithm of the library is made of. Of the default where its name is
        known: a selector's."""
        entry = self._space.of(function)
        if entry is None or candidate.variant != DEFAULT.variant:
            return []
        if entry.knob not in candidate.configuration:
            name = self._library.build.get("selector")
            return next(
                (algorithm.calls for algorithm in entry.algorithms if algorithm.name == name), []
            )
        return [name for algorithm in _algorithms(entry, candidate) for name in algorithm.calls]

    def called(self, functions: Iterable[str], chosen: Mapping[str, Candidate]) -> set[str]:
        """Return the functions, and all that they call directly or indirectly with `chosen` in
        force."""
        called_functions: set[str] = set()
        to_visit = list(functions)
        while to_visit:
            name = to_visit.pop()
            if name not in called_functions:
                called_functions.add(name)
                to_visit += self.calls(name, chosen.get(name, DEFAULT))
        return called_functions

    def is_cold(self, function: str, candidate: Candidate) -> bool:
        """Return whether it can be put in force only for a launch as a whole."""
        entry = self._space.of(function)
        if entry is None or not candidate.is_knobs:
            return False
        cold = {parameter.knob for parameter in entry.parameters if parameter.cold}
        return (
            self._space.hot is None
            or entry.cold
            or not cold.isdisjoint(candidate.configuration.as_dict())
        )

    @property
    def knobs_slow_others(self) -> bool:
        """Return whether a knob in force has a price in calls that it is not for."""
        return self._space.hot is not None and self._space.hot.slows

    @property
    def is_all_cold(self) -> bool:
        return self._space.hot is None

    def algorithm(self, function: str, variant: str, knobs: Mapping[str, str]) -> str:
        """Return what a configuration is, whatever its parameters are."""
        entry = self._space.of(function)
        if variant != DEFAULT.variant or entry is None:
            return variant_name(variant)
        return f"{entry.knob}={knobs.get(entry.knob, '')}"

    def one_for_all_sizes(self, function: str) -> bool:
        """True where the library's own choice must not depend on the message size."""
        entry = self._space.of(function)
        return entry is not None and entry.sizes != "each"

    def ranged(self, function: str) -> str:
        """The knob of the library whose one value may name an algorithm for each range of sizes;
        '': there is none."""
        entry = self._space.of(function)
        return entry.knob if entry is not None and entry.sizes == "ranges" else ""

    def first(self, function: str) -> list[Candidate]:
        """One candidate per algorithm, parameters at the library's defaults, then our variants with
        the standard values of theirs. Where one choice holds for all sizes there is no search per
        size: all values stand here."""
        entry = self._space.of(function)
        candidates: list[Candidate] = []
        if entry is None:
            return self._ours(function)
        for name in self._names(entry):
            plain = self._algorithm(entry, name)
            candidates.append(plain)
            if entry.sizes != "each":
                parameters = self._parameters(entry, name)
                for values in itertools.product(*(parameter.values for parameter in parameters)):
                    chosen = zip((parameter.knob for parameter in parameters), values, strict=True)
                    candidate = self.with_parameters(plain, dict(chosen))
                    if candidate != plain:
                        candidates.append(candidate)
        return candidates + self._ours(function)

    def _ours(self, function: str) -> list[Candidate]:
        return [
            Candidate(name)
            for name, variant in self._variants.items()
            if variant.function == function
        ]

    def choices(self, function: str, candidate: Candidate, size: int) -> dict[str, list[int]]:
        """Values of the parameters that `candidate`'s algorithm reads, by name; for one message
        size (segments longer than the message are no choice)."""
        if candidate.variant != DEFAULT.variant:
            return self._choices_of_ours(self._ours_of(candidate), size)
        entry = self._space.of(function)
        if entry is None or entry.sizes != "each" or not candidate.is_knobs:
            return {}
        algorithm = candidate.configuration[entry.knob]
        values_by_knob = {}
        for parameter in self._parameters(entry, algorithm):
            values = [
                value for value in parameter.values if parameter.unit != "bytes" or value < size
            ]
            if len(values) > 1:
                values_by_knob[parameter.knob] = values
        return values_by_knob

    def _choices_of_ours(self, variant: Variant | None, size: int) -> dict[str, list[int]]:
        values_by_name = {}
        for parameter in variant.parameters if variant else []:
            values = parameter.choices(size, self._nprocs)
            if set(values) - {parameter.standard}:
                values_by_name[parameter.name] = values
        return values_by_name

    def _ours_of(self, candidate: Candidate) -> Variant | None:
        return self._variants.get(variant_name(candidate.variant))

    def settings(self, candidate: Candidate) -> dict[str, str]:
        """Everything that makes the candidate what it is: its knobs, or the name of the variant and
        all its parameters, also those that the candidate leaves at their standard values."""
        variant = self._ours_of(candidate)
        if variant is None:
            return candidate.configuration.as_dict()
        given = VariantSpec.parse(candidate.variant).parameters
        standard = {parameter.name: str(parameter.standard) for parameter in variant.parameters}
        return {"variant": variant.name} | standard | given

    def with_parameters(self, candidate: Candidate, values: Mapping[str, int]) -> Candidate:
        variant = self._ours_of(candidate)
        if variant is not None:
            standard = {parameter.name: str(parameter.standard) for parameter in variant.parameters}
            all_settings = self.settings(candidate) | {
                name: str(value) for name, value in values.items()
            }
            given = {
                name: all_settings[name]
                for name in standard
                if all_settings[name] != standard[name]
            }
            return Candidate(str(VariantSpec(variant.name, given)))
        chosen = {knob: str(value) for knob, value in values.items()}
        return Candidate(configuration=candidate.configuration.with_(chosen))

    def centre(self, function: str, candidate: Candidate, size: int) -> Candidate:
        """Return the candidate with every parameter in the middle of what may be chosen: an
        algorithm that sends in pieces is judged by more than the value that it has when nobody
        chooses one."""
        choices = self.choices(function, candidate, size)
        middle = {name: choice[len(choice) // 2] for name, choice in choices.items()}
        return self.with_parameters(candidate, middle) if middle else candidate

    def every(self, function: str, candidate: Candidate, size: int, most: int) -> list[Candidate]:
        """Return the candidate with all values of its parameters, if there are `most` at most;
        otherwise the centre."""
        choices = self.choices(function, candidate, size)
        if math.prod(map(len, choices.values())) > most:
            return [self.centre(function, candidate, size)]
        return [
            self.with_parameters(candidate, dict(zip(choices, values, strict=True)))
            for values in itertools.product(*choices.values())
        ]

    def base(self, function: str, candidate: Candidate) -> Candidate:
        """The one of the first that it is, with other parameters."""
        if candidate.variant != DEFAULT.variant:
            return Candidate(variant_name(candidate.variant))
        entry = self._space.of(function)
        if entry is None:
            return candidate
        algorithm = candidate.configuration.get(entry.knob)
        same = (
            candidate
            for candidate in self.first(function)
            if candidate.configuration.get(entry.knob) == algorithm
        )
        return next(same, candidate)

    def offers(self, function: str, candidate: Candidate, size: int) -> bool:
        """Return whether `candidate` is one of the first, or one of these with other parameters."""
        for offered in self.first(function):
            if offered == candidate:
                return True
            choices, candidate_settings = (
                self.choices(function, offered, size),
                self.settings(candidate),
            )
            values = {
                name: value
                for name, choice in choices.items()
                for value in choice
                if candidate_settings.get(name) == str(value)
            }
            if (
                values.keys() == choices.keys()
                and self.with_parameters(offered, values) == candidate
            ):
                return True
        return False

    def restrictions(self, function: str, candidate: Candidate) -> list[str]:
        """Words for what `candidate` is not fit for."""
        entry = self._space.of(function)
        if entry is None or not candidate.is_knobs:
            return []
        own = _algorithms(entry, candidate)
        return ["commutative"] if any(algorithm.commutative_only for algorithm in own) else []

    def _names(self, entry: FunctionSpace) -> list[str]:
        # A selector that is active anyway is the default under another name.
        own = self._library.build.get("selector")
        return [
            algorithm.name
            for algorithm in entry.algorithms
            if algorithm.fits(self._nprocs) and (self._unsafe or not algorithm.commutative_only)
            if algorithm.name != own
        ]

    def _algorithm(self, entry: FunctionSpace, name: str) -> Candidate:
        # All parameters are written: in a rules file a missing one does not mean the default.
        values = {entry.knob: name} | entry.needs | entry.algorithm(name).needs
        for parameter in self._parameters(entry, name):
            value = self._installed[parameter.knob].value or parameter.default
            if value:
                values[parameter.knob] = value
        return Candidate(configuration=Configuration.of(values))

    def _parameters(self, entry: FunctionSpace, algorithm: str) -> list[AlgorithmParameter]:
        """Return the parameters that this library has, and that an exported file for it can hold
        for each size, or for all where there is one choice for all sizes."""
        return [
            parameter
            for parameter in entry.parameters_of(algorithm)
            if (parameter.scope == "each" or entry.sizes != "each")
            and version.at_least(self._library.version, parameter.each_since)
            and parameter.knob in self._installed
        ]


def _algorithms(entry: FunctionSpace, candidate: Candidate) -> list[Algorithm]:
    """All that its value names: one, or one for each range of sizes."""
    value = candidate.configuration[entry.knob]
    names = by_size.algorithms(value) if entry.sizes == "ranges" else [value]
    return [entry.algorithm(name) for name in names]
