"""Search spaces: what may be tuned in a library, and its comparison with what the installed library
reports. space_file.py reads them; deciding what to try is not here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from plumbline.libraries import Knob
from plumbline.system import version


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a search space."""


class Algorithm(_Entry, frozen=True):
    """One value of a function's algorithm knob, and where it may be used. `name` is the value as
    the library takes it, `id` its number where names have numbers; `needs` are knobs that this
    value wants beside it; `calls`: functions of the library that it is made of, with whatever is in
    force for them. `left_out` says why it is never tried. `schedule`: which one it follows
    (model/schedules.py), with the numbers that it has where no knob says so
    (`knomial:radix=4`); where it has none, `sends_as` is a variant of ours with its messages.
    `looks_for`: which calls the library keeps from it itself, though not where a table names it:
    all but those whose operator commutes, is built in (with an element a rank), whose blocks are
    equal."""

    name: str
    summary: str
    id: int = 0
    schedule: str = ""
    sends_as: str = ""
    needs: dict[str, str] = {}
    calls: list[str] = []
    left_out: str = ""
    commutative_only: bool = False
    looks_for: list[Literal["commutative", "built_in", "regular"]] = []
    power_of_two: bool = False
    even_processes: bool = False
    min_processes: int = 1
    max_processes: int = 2**31 - 1

    def fits(self, nprocs: int) -> bool:
        if self.left_out:
            return False
        if self.power_of_two and nprocs & (nprocs - 1):
            return False
        if self.even_processes and nprocs % 2:
            return False
        return self.min_processes <= nprocs <= self.max_processes


class AlgorithmParameter(_Entry, frozen=True):
    """A numeric knob that only some algorithms read. `scope` is `each` where an exported file can
    hold it for each message size (from the version `each_since` on), `process` where the whole
    process has one value. Legal are `least` to `most`; `values` are worth a try. `default` is the
    library's own, where it is the same everywhere. `cold`: read when a launch starts, though the
    library's other knobs are hot."""

    knob: str
    algorithms: list[str]
    values: list[int]
    unit: str
    scope: Literal["each", "process"]
    summary: str
    cold: bool = False
    each_since: str = "0"
    least: int = 0
    most: int = 2**31 - 1
    default: str | None = None


class FunctionSpace(_Entry, frozen=True):
    """`sizes` is `each` where the choice may depend on the message size, `one` where one choice
    must hold for every size (a legal program needs it, or the library has no other way), `ranges`
    where one value must, which may name an algorithm for each range of sizes. `needs`
    are knobs that any value of `knob` wants beside it, `needs_nodes` those that it wants besides
    where the ranks are on several nodes. `cold`: its knobs are read when a launch starts, though
    those of other functions are hot. `also`: other functions that the knob decides for. `overlap`:
    it matters for what goes on beside computation, and is a setting besides, in which the library
    decides by itself with the value `own`."""

    name: str
    knob: str
    sizes: Literal["each", "one", "ranges"]
    summary: str
    algorithms: list[Algorithm]
    parameters: list[AlgorithmParameter] = []
    needs: dict[str, str] = {}
    needs_nodes: dict[str, str] = {}
    cold: bool = False
    also: list[str] = []
    overlap: Literal["", "collectives"] = ""
    own: str = ""

    def algorithm(self, name: str) -> Algorithm:
        return next(algorithm for algorithm in self.algorithms if algorithm.name == name)

    def as_settings(self) -> list[Setting]:
        """The same knobs as settings of the process."""
        if not self.overlap:
            return []
        tried = [algorithm.name for algorithm in self.algorithms if not algorithm.left_out]
        return [
            Setting(
                knob=self.knob,
                unit="choice",
                values=[self.own, *tried],
                default=self.own,
                hot=not self.cold,
                functions=[self.name],
                overlap=self.overlap,
                summary=f"how {self.name} is done",
            ),
            *(
                Setting(
                    knob=parameter.knob,
                    unit=parameter.unit,
                    values=list(parameter.values),
                    default=parameter.default,
                    least=parameter.least,
                    most=parameter.most,
                    hot=not (self.cold or parameter.cold),
                    functions=[self.name],
                    overlap=self.overlap,
                    when={self.knob: parameter.algorithms[0]},
                    summary=parameter.summary,
                )
                for parameter in self.parameters
            ),
        ]

    def parameters_of(self, algorithm: str) -> list[AlgorithmParameter]:
        return [parameter for parameter in self.parameters if algorithm in parameter.algorithms]


class Setting(_Entry, frozen=True):
    """A knob of the process as a whole: transport, eager limits, ranks of components. Numbers are
    legal from `least` to `most` (in `unit`); a `choice` takes one of `values`. `values` are worth a
    try, the library's own `default` among them or not. `when` names knobs with the values under
    which the library reads it. `functions` are those it can change; none: all. `switch`: messages
    go another way if they are longer than its value (`above`), or as long (`from`).
    `needs`: by value, knobs that it wants beside it. `overlap`: it matters for messages, or for
    collectives alone, that go on beside computation. `between_nodes`: it is about messages between
    nodes. `needs_spare_core`: with another value than its own a thread of each rank wants a core
    that no rank has. `usual`: those of `values` that every campaign tries where it finds a
    violation, because guidelines of many functions break where messages go another way."""

    knob: str
    unit: str
    summary: str
    values: list[str | int]
    usual: list[str | int] = []
    default: str | None = None
    least: int = 0
    most: int = 2**63 - 1
    when: dict[str, str] = {}
    hot: bool = False
    functions: list[str] = []
    switch: Literal["", "above", "from"] = ""
    needs: dict[str, dict[str, str]] = {}
    overlap: Literal["", "messages", "collectives"] = ""
    between_nodes: bool = False
    needs_spare_core: bool = False

    def at(self, value: str) -> dict[str, str]:
        """The value, what it needs, and what the library reads it under."""
        return self.when | self.needs.get(value, {}) | {self.knob: value}


class Ignored(_Entry, frozen=True):
    """`dead`: the library takes these and does nothing with them."""

    reason: str
    knobs: list[str]
    dead: bool = False


class Hot(_Entry, frozen=True):
    """The way in which the knobs of functions are switched inside a launch: `communicator` where a
    communicator keeps the values it was made under, `call` where each call reads them.
    `environment` is what a launch needs for that. `slows`: knobs of one function make calls of
    others slower."""

    switch: Literal["communicator", "call"]
    environment: dict[str, str] = {}
    slows: bool = False


class SiteRules(_Entry, frozen=True):
    """The place where a site puts rules of its own in force: `knob` names a file of them, `needs`
    are knobs without which it is not read. `own_decision` is the value of a function's knob with
    which the library decides by itself."""

    knob: str
    own_decision: str
    needs: dict[str, str] = {}

    def knobs(self) -> dict[str, str]:
        return {self.knob: ""} | self.needs


class ProgressThread(_Entry, frozen=True):
    """The thread by which the library itself moves messages on: `knobs` start one in each rank. It
    moves those alone for which knobs have one of the values in `where`. `spins`: it never sleeps,
    and wants a processing unit for itself. `none`: why the library has no such thread."""

    knobs: dict[str, str] = {}
    where: dict[str, list[str]] = {}
    spins: bool = True
    none: str = ""


class Space(_Entry, frozen=True):
    """The parameters that may be tuned in a family, in its versions from `min_version` to below
    `below_version`. Every knob whose name starts with one of `prefixes` stands here once, or is one
    of the `registered`, which parameters/FAMILY.tsv lists and no search tries. Those of the
    `optional` prefixes belong to parts that a build may lack, all of one at a time; those of the
    `untouched` ones (none: all of `prefixes`) must not be set by the site while a campaign runs.
    Without `hot` all knobs are cold: they are put in force when a launch starts."""

    family: str
    min_version: str
    below_version: str
    prefixes: list[str]
    function: list[FunctionSpace]
    optional: list[str] = []
    untouched: list[str] = []
    hot: Hot | None = None
    site_rules: SiteRules | None = None
    setting: list[Setting] = []
    ignored: list[Ignored] = []
    registered: frozenset[str] = frozenset()
    progress: ProgressThread = ProgressThread(none="its search space names none")

    @property
    def hot_environment(self) -> dict[str, str]:
        return self.hot.environment if self.hot else {}

    @property
    def switch(self) -> str:
        """Return when the probe writes hot knobs, in the words of a plan."""
        return self.hot.switch if self.hot else "communicator"

    def with_needs(self, knob: str, value: str) -> dict[str, str]:
        """A value of a knob, and the knobs that it wants beside it, or that it is read under."""
        for entry in self.function:
            if entry.knob == knob:
                own = [algorithm.needs for algorithm in entry.algorithms if algorithm.name == value]
                return {knob: value} | entry.needs | (own[0] if own else {})
        setting = self.setting_of(knob)
        return {knob: value} if setting is None else setting.at(value)

    def of(self, function: str) -> FunctionSpace | None:
        return next((space for space in self.function if space.name == function), None)

    def knobs(self) -> dict[str, str]:
        """Every knob the file speaks of, with the function or the reason it stands under."""
        reasons: dict[str, str] = {}
        for entry in self.function:
            reasons.update(dict.fromkeys(_needed(entry), entry.name))
        for entry in self.function:
            reasons[entry.knob] = entry.name
            reasons.update({parameter.knob: entry.name for parameter in entry.parameters})
        for setting in self.setting:
            reasons[setting.knob] = setting.summary
        for ignored in self.ignored:
            reasons.update(dict.fromkeys(ignored.knobs, ignored.reason))
        return reasons

    def ours(self, knob: str) -> bool:
        return knob.startswith(tuple(self.prefixes))

    def setting_of(self, knob: str) -> Setting | None:
        return next((setting for setting in self.setting if setting.knob == knob), None)

    def is_hot(self, knob: str) -> bool:
        """Return whether it can be switched inside a launch, where the library lets it be
        written."""
        if self.hot is None:
            return False
        setting = self.setting_of(knob)
        if setting is not None:
            return setting.hot
        kept = {entry.knob for entry in self.function if not entry.cold}
        for entry in self.function:
            for parameter in entry.parameters:
                shared = self.hot.switch == "communicator" and parameter.scope == "process"
                if not (entry.cold or parameter.cold or shared):
                    kept.add(parameter.knob)
        return knob in kept

    def must_be_untouched(self, knob: str) -> bool:
        return knob.startswith(tuple(self.untouched or self.prefixes))

    def lacking(self, installed: Iterable[str]) -> tuple[str, ...]:
        """The `optional` prefixes under which the library reports nothing."""
        names = list(installed)
        return tuple(
            prefix for prefix in self.optional if not any(name.startswith(prefix) for name in names)
        )

    def holds(self, library: str) -> bool:
        """Return whether it is for this version."""
        return version.at_least(library, self.min_version) and not version.at_least(
            library, self.below_version
        )

    def whole(self) -> Space:
        """Return the space with what stands once in the file and is read in two places: functions
        that share a knob, and functions whose knobs are settings too."""
        functions = [
            msgspec.structs.replace(entry, name=name, also=[], overlap="")
            for entry in self.function
            for name in entry.also
        ]
        settings = [setting for entry in self.function for setting in entry.as_settings()]
        return msgspec.structs.replace(
            self, function=[*self.function, *functions], setting=[*self.setting, *settings]
        )

    def on(self, nodes: int) -> Space:
        """Return the space with what functions need where the ranks are on so many nodes."""
        if nodes < 2:
            return self
        function = [
            msgspec.structs.replace(entry, needs=entry.needs | entry.needs_nodes)
            for entry in self.function
        ]
        return msgspec.structs.replace(self, function=function)


def _needed(entry: FunctionSpace) -> Iterable[str]:
    yield from entry.needs
    yield from entry.needs_nodes
    for algorithm in entry.algorithms:
        yield from algorithm.needs


def differences(
    space: Space, installed: Mapping[str, Knob], *, reports_all: bool = True
) -> list[str]:
    """Return what the space and the installed library do not have in common, as sentences. Where
    the library does not report all it has, nothing is said of knobs that it does not report."""
    space_knobs = space.knobs()
    reported = {name for name in installed if space.ours(name)}
    sentences = [
        f"{name} is reported by the library but missing in the search space"
        for name in sorted(reported - space_knobs.keys() - space.registered)
    ]
    sentences += [
        f"{name} ({space_knobs[name]}) is in the search space but the library does not report it"
        for name in sorted(space_knobs.keys() - installed.keys())
        if reports_all and not name.startswith(space.lacking(installed))
    ]
    for entry in space.function:
        if entry.knob in installed and installed[entry.knob].choices:
            sentences += _enumerator_differences(entry, installed[entry.knob])
    for setting in space.setting:
        if setting.knob in installed:
            sentences += _choice_differences(setting, installed[setting.knob])
    numbers: list[AlgorithmParameter | Setting] = [*space.setting]
    numbers += [parameter for entry in space.function for parameter in entry.parameters]
    for number in numbers:
        knob = installed.get(number.knob)
        if knob and number.default not in (None, knob.value) and not knob.source:
            sentences.append(
                f"{number.knob}: the default is {number.default!r} in the search space and "
                f"{knob.value!r} in the library"
            )
    return sentences


def _enumerator_differences(entry: FunctionSpace, knob: Knob) -> Iterable[str]:
    space_ids = {algorithm.name: algorithm.id for algorithm in entry.algorithms}
    numbered = any(space_ids.values())
    library_ids = {name: id for name, id in knob.choices.items() if id != 0 or not numbered}
    for name in sorted(space_ids.keys() | library_ids.keys()):
        if space_ids.get(name) != library_ids.get(name):
            here, there = (side.get(name, "missing") for side in (space_ids, library_ids))
            if not numbered:
                here, there = ("there" if side == 0 else side for side in (here, there))
            yield (
                f"{entry.knob}: algorithm {name} is {here} in the search space and {there} in the "
                "library"
            )


def _choice_differences(setting: Setting, knob: Knob) -> Iterable[str]:
    for value in setting.values:
        if setting.unit == "choice" and knob.choices and str(value) not in knob.choices:
            yield f"{setting.knob}: the library has no value {value}"
