"""Calls that end launches: put aside for the rest of a campaign, with all that makes the same call.

Where it is the library's own call, nothing else of its function can be checked at that size either,
for it is compared with this call; and a mock-up that is made of the function passes its message on
to it. Winners in force that answer the call lift that: then it is another one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from plumbline.core.configuration import Configuration, variant_name
from plumbline.core.plan import PlanCase, named

PUT_ASIDE = "put aside"
MEMBERS_DIFFER = "ranks differ"
LIMIT, NO_TIME = "time limit", "budget used up"
HINTS = "earlier campaign"
SLOW_MESSAGES = "slow messages"
NOT_ASKED = "not searched"  # cells without a violation, which --all searches


LIBRARY = ("default", "library")  # variants that are the library's own call

# Whether winners in force answer the library's call of a function at a volume.
Answers = Callable[[str, int], bool]
Environment = Mapping[str, str]


class _Call(msgspec.Struct, frozen=True):
    function: str
    bytes: int
    ranks: int
    variant: str = LIBRARY[0]
    configuration: Configuration = Configuration()


class Aside:
    """The cases of one campaign that are put aside. `made_of`: the functions that a mock-up
    calls."""

    def __init__(self) -> None:
        self.made_of: Mapping[str, Collection[str]] = {}
        self._how: dict[_Call, str] = {}
        self._answered: dict[frozenset[tuple[str, str]], Answers] = {}

    def put(self, case: PlanCase, how: str) -> None:
        """`how` launches have ended with `case` under way."""
        self._how.setdefault(_call(case), how)

    def take_back(self, case: PlanCase) -> None:
        """Another one was to blame."""
        self._how.pop(_call(case), None)

    def in_force(self, environment: Environment, answers: Answers) -> None:
        """Return what exported files do, where `environment` puts them in force."""
        self._answered[frozenset(environment.items())] = answers

    def also_in_force(self, environment: Environment, within: Environment) -> None:
        """`within` has in force what `environment` has, and more."""
        answers = self._answered.get(frozenset(environment.items()))
        if answers is not None:
            self.in_force(within, answers)

    def is_as_it_is(self, environment: Environment) -> bool:
        """Return whether no exported files are in force."""
        return frozenset(environment.items()) not in self._answered

    def why(self, case: PlanCase, environment: Environment | None = None) -> str:
        """Return why a case is not measured in such a launch; '' where it is."""
        call = _call(case)
        for inner in (call, *self._inside(call)):
            if inner in self._how and not self._answers(environment or {}, inner):
                what = "it ends" if inner == call else f"{_name(inner)} ends"
                return f"{what} launches ({self._how[inner]})"
        return ""

    def how(self, function: str, bytes_: int) -> str:
        """Return how launches end with the library's own call under way; '' where they do not."""
        return self._how.get(_Call(function, bytes_, 0), "")

    def calls(self) -> list[tuple[str, int]]:
        """The library's own calls on all ranks that end launches: function and volume."""
        return [
            (call.function, call.bytes)
            for call in self._how
            if call == _Call(call.function, call.bytes, 0)
        ]

    def _inside(self, call: _Call) -> list[_Call]:
        """The library's own calls that are made when this one is measured."""
        parts = self.made_of.get(variant_name(call.variant), ())
        return [_Call(name, call.bytes, call.ranks) for name in (call.function, *parts)]

    def _answers(self, environment: Environment, call: _Call) -> bool:
        answers = self._answered.get(frozenset(environment.items()))
        own = call.variant == LIBRARY[0] and not call.configuration
        return own and answers is not None and answers(call.function, call.bytes)


def _call(case: PlanCase) -> _Call:
    own = case.variant in LIBRARY
    variant = LIBRARY[0] if own else case.variant
    return _Call(case.function, case.bytes, case.ranks, variant, case.configuration)


def _name(call: _Call) -> str:
    return named(call.function, call.variant, call.configuration.as_dict(), call.bytes, call.ranks)
