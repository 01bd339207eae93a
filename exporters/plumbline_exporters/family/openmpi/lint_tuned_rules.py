"""Effects of a rule of coll/tuned on calls, whatever file it stands in: wrong data, errors, and
words that nobody reads. Facts are in tuned.py."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline_exporters.family.openmpi import tuned
from plumbline_exporters.family.openmpi.tuned import Collective
from plumbline_exporters.finding import Finding, LintTarget

MOST_RANKS = 2**31 - 1
LIBRARY_DECIDES = 0
_TREES = frozenset({"chain"})  # of Bcast and Reduce: what reads a fan-out


class Choice(msgspec.Struct, frozen=True):
    """The choice that calls of `first` to `last` bytes, as the library counts them, get. `name` is
    that of the algorithm, empty where the library has none of this number."""

    line: int
    first: int
    last: int
    algorithm: int
    name: str
    fanout: int = 0
    segment_bytes: int = 0
    max_requests: int = 0


class Group(msgspec.Struct, frozen=True):
    """The choices for communicators of `least` to `most` ranks; they hold every size, or the
    library decides between them."""

    function: str
    line: int
    least: int
    most: int
    choices: tuple[Choice, ...]

    @property
    def collective(self) -> Collective:
        return tuned.COLLECTIVES[self.function]

    def ranks(self) -> str:
        if self.least == self.most:
            return f"{self.least} ranks"
        return (
            f"{self.least} ranks and more"
            if self.most >= MOST_RANKS
            else (f"{self.least} to {self.most} ranks")
        )


def check(group: Group, target: LintTarget) -> Iterator[Finding]:
    """Everything but what depends on how a file is written."""
    if group.most < 2 or group.least > group.most:
        return
    for choice in group.choices:
        yield from _of_choice(group, choice, target)
    if group.collective.rooted:
        yield from _of_rooted(group)
    elif group.collective.size == "none":
        yield from _of_sizeless(group)
    elif group.collective.in_place_differs:
        yield from _of_ignored(group)


def _of_choice(group: Group, choice: Choice, target: LintTarget) -> Iterator[Finding]:
    function, collective = group.function, group.collective
    what = f"{function} {choice.name} ({choice.algorithm})"
    if choice.algorithm == LIBRARY_DECIDES:
        if choice.fanout or choice.segment_bytes or choice.max_requests:
            yield Finding(
                choice.line, "ignored", "parameters-without-algorithm",
                f"{function}: with algorithm 0 the library decides everything, the fan-out and the "
                "segment size too", "write 0 for them, or name an algorithm",
            )  # fmt: skip
        return
    if not choice.name:
        count = len(tuned.COLLECTIVES[function].names(*target.versions))
        yield Finding(
            choice.line, "fails", "no-such-algorithm",
            f"{function} has no algorithm {choice.algorithm}: each call that gets it fails with "
            "MPI_ERR_ARG", f"write a number from 1 to {count}, or 0: the library decides",
        )  # fmt: skip
        return
    if choice.name in collective.commutative_only:
        right = [
            algorithm
            for algorithm in collective.algorithms
            if algorithm not in collective.commutative_only
        ]
        yield Finding(
            choice.line, "corrupts", "not-commutative",
            f"{what} gives wrong results, without an error, for operations that do not commute",
            f"take {_listed(collective, right)}, or 0: the library looks at the operation",
        )  # fmt: skip
    if choice.name == "two_proc" and (group.least, group.most) != (2, 2) and group.most > 2:
        yield Finding(
            choice.line, "fails", "two-processes",
            f"{what} fails with MPI_ERR_UNSUPPORTED_OPERATION where there are not 2 ranks, and "
            f"holds for {group.ranks()}",
            "let it hold for 2 ranks alone: the next communicator size must be 3",
        )  # fmt: skip
    yield from _unread(group, choice, target)


def _unread(group: Group, choice: Choice, target: LintTarget) -> Iterator[Finding]:
    """Parameters that the algorithm does not look at, and a fan-out that is not what it seems."""
    knob = tuned.parameter_prefix(group.function)
    written = (
        ("_segmentsize", "segment size", choice.segment_bytes),
        ("_max_requests", "limit of requests", choice.max_requests),
    )
    for suffix, word, value in written:
        if value and target.known and not _is_read(knob + suffix, choice.name, target):
            yield Finding(
                choice.line, "ignored", "unread-parameter",
                f"{group.function} {choice.name} ({choice.algorithm}) reads no {word}: {value} "
                "changes nothing", "write 0 there",
            )  # fmt: skip
    if choice.name in _TREES and choice.fanout == 0:
        yield Finding(
            choice.line, "misread", "no-fan-out",
            f"{group.function} {choice.name} ({choice.algorithm}) with fan-out 0 is one chain, as "
            "pipeline is; without a rules file the library takes 4",
            "write the fan-out that was measured (4 where none was set), or take pipeline (3)",
        )  # fmt: skip


def _is_read(knob: str, algorithm: str, target: LintTarget) -> bool:
    """Return whether one of the versions has an algorithm that looks at it."""
    return any(algorithm in version.readers.get(knob, ()) for version in target.known)


def _of_rooted(group: Group) -> Iterator[Finding]:
    """Scatter's size is that of arguments which count at the root alone, Gather's of arguments
    which do not count at a root with MPI_IN_PLACE: ranks choose differently."""
    kinds: dict[tuple[int, int, int], Choice] = {}
    for choice in group.choices:
        first = choice.segment_bytes if choice.name in tuned.SPLITS_FIRST else 0
        kinds.setdefault((choice.algorithm, first, 0), choice)
    if len(kinds) < 2:
        return
    names = ", ".join(_said(kind) for kind in kinds.values())
    second = list(kinds.values())[1]
    why = (
        "a root with MPI_IN_PLACE need not know the send arguments"
        if group.function == "MPI_Gather"
        else "ranks other than the root need not know the send arguments"
    )
    yield Finding(
        second.line, "corrupts", "rooted-switch",
        f"{group.function}, {group.ranks()}: the algorithm depends on the size ({names}), which "
        f"each rank computes from its own send arguments, and {why}: ranks take different "
        "algorithms, and legal programs get wrong data, an error, or hang",
        "keep one rule for all sizes, with one algorithm, or 0: the library decides",
    )  # fmt: skip


def _of_sizeless(group: Group) -> Iterator[Finding]:
    if len({_outcome(choice) for choice in group.choices}) < 2:
        return
    second = group.choices[1]
    if group.function in tuned.SIZE_OF_AN_ELEMENT:
        yield Finding(
            second.line, "misread", "size-of-an-element",
            f"{group.function}: what is compared is the size of one element times the ranks, "
            "whatever the count", "keep one rule, for size 0",
        )  # fmt: skip
    else:
        yield Finding(
            second.line, "ignored", "no-size",
            f"{group.function} is always looked up under size 0: no other rule is ever used",
            "keep one rule, for size 0",
        )  # fmt: skip


def _of_ignored(group: Group) -> Iterator[Finding]:
    """Return findings of what is ignored: in place, the send arguments do not count and need not be
    the same on all ranks; the size is theirs all the same."""
    if len({choice.algorithm for choice in group.choices}) < 2:
        return
    second = next(
        choice for choice in group.choices if choice.algorithm != group.choices[0].algorithm
    )
    yield Finding(
        second.line, "corrupts", "in-place-switch",
        f"{group.function}, {group.ranks()}: the algorithm depends on the size, which with "
        "MPI_IN_PLACE is that of send arguments that do not count: where they are 0 it is always "
        f"{_said(group.choices[0])}, and where ranks pass different ones the program hangs",
        "keep one rule for all sizes, with one algorithm, or 0: the library decides",
    )  # fmt: skip


def _outcome(choice: Choice) -> tuple[int, int, int, int]:
    return (choice.algorithm, choice.fanout, choice.segment_bytes, choice.max_requests)


def _said(choice: Choice) -> str:
    if choice.algorithm == LIBRARY_DECIDES:
        return "0: the library decides"
    segments = f" in segments of {choice.segment_bytes}" if choice.segment_bytes else ""
    return f"{choice.name or 'no algorithm'} ({choice.algorithm}){segments}"


def _listed(collective: Collective, names: list[str]) -> str:
    words = [f"{name} ({collective.algorithms.index(name) + 1})" for name in names]
    return ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
