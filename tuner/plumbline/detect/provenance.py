"""The provenance of the content of each message: what a rank sends it has received before, or it is
a piece of that, or several of them side by side, or it is new.

A content that a rank sends without having it from anybody is an *item*, and has that rank as its
origin. Messages carry parts of items. Contents are recognised by their hashes, parts and joins by
addresses; joins are checked by polynomials. What an origin sends again to the same rank is another
item, so repeated collectives stay apart (Calotoiu et al., section 4, merge them).

Messages are followed in tuner/detection/provenance.c; from so many origins that know nothing of
each other as PL_COMMON there a content is no news: zeros, flags.

What is known is whose contribution is where, message by message, and when it is everybody's: what
reductions and barriers are made of. It is followed in tuner/detection/phases.c."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from functools import partial

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.core import Indices, Mask, Rows, classes, ranges, rows, starts
from plumbline.detect.recording import CallSite
from plumbline.detect.traffic import (
    SMALLEST_GROUP,
    ClassSearch,
    Instance,
    Shared,
    Traffic,
    in_classes,
    in_order,
)

# A message of so few bytes, with the same content each time, is a signal.
SIGNAL = 8

_EXPLAINED = 0.5
# While a barrier lasts, at most so many times as many other messages may be sent.
_BESIDE = 4


def barriers(traffic: Traffic, messages: Indices) -> list[Instance]:
    """Barriers among messages of one size that always say the same: on a communicator as a whole,
    from a call site, with a tag."""
    small = messages[traffic.bytes[messages] <= SIGNAL]
    ways = (Shared.BYTES | Shared.TAG, Shared.BYTES | Shared.SITE, Shared.BYTES)
    return in_classes(traffic, small, ways, ClassSearch.BARRIERS, partial(_of_group, traffic))


def _of_group(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Indices
) -> list[Instance]:
    every = MessageClass(traffic, comm, group, messages).good(Way.BARRIER)
    if every is None:
        return []
    rows = every.messages
    good = rows.picked(
        np.flatnonzero(
            _once(traffic, rows, len(group)) & _at_once(traffic, rows) & _undisturbed(traffic, rows)
        )
    )
    if len(good.at) < _EXPLAINED * len(messages):
        return []
    return [Instance("barrier", comm, group, listed, 0) for listed in good.tuples()]


def _once(traffic: Traffic, every: Rows, size: int) -> Mask:
    """Return whether no rank tells another one twice, but in a ring that goes round twice from two
    call sites: else neighbours tell each other, and news only gets about in time."""
    messages, phase = every.at, every.owners
    pairs = traffic.pairs(messages)
    with_site = traffic.with_site(pairs, messages)
    twice = _repeated(phase, pairs, len(every))
    again = _repeated(phase, with_site, len(every))
    return ~twice | (~again & (every.lengths <= 2 * size))


def _repeated(owners: Indices, values: Indices, count: int) -> Mask:
    """Return by owner: whether two of its values are equal."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    same = (owners[1:] == owners[:-1]) & (values[1:] == values[:-1])
    return np.asarray(np.bincount(owners[1:][same], minlength=count) > 0)


def _at_once(traffic: Traffic, every: Rows) -> Mask:
    """Return whether ranks do little else from their first message of it to their last."""
    firsts = every.first[:-1]
    lasting = np.maximum.reduceat(traffic.received[every.at], firsts)
    lasting -= np.minimum.reduceat(traffic.sent[every.at], firsts)
    return np.asarray(lasting <= _BESIDE * 2 * every.lengths)


def _undisturbed(traffic: Traffic, every: Rows) -> Mask:
    """Return whether most ranks do nothing else between what they send: what comes beside each
    message has been announced by it."""
    messages, phase, ranks = every.at, every.owners, traffic.nprocs
    senders = phase * ranks + traffic.source[messages]
    order = np.lexsort((traffic.sent_as[messages], senders))
    senders, places = senders[order], traffic.sent_as[messages][order]
    heads = np.flatnonzero(np.append(True, senders[1:] != senders[:-1])[: len(senders)])
    tails = np.append(heads[1:], len(senders))[: len(heads)] - 1
    own = np.bincount(senders, minlength=len(every) * ranks)
    own += np.bincount(phase * ranks + traffic.target[messages], minlength=len(own))
    beside = places[tails] - places[heads] + 1 > own[senders[heads]]
    of_phase = senders[heads] // ranks
    disturbed = np.bincount(of_phase, beside, minlength=len(every))
    return np.asarray(2 * disturbed <= np.bincount(of_phase, minlength=len(every)))


class Way(enum.IntEnum):
    """The way of a good phase. TREE: each rank but the root sends once, when it has what it waits
    for, and it is not the one side of exchanges. Else a phase ends for a rank when it knows of all
    others, and everybody does in the end; WHOLE: with a message a rank at least, and ranks that
    know of the same contributions send the same; HALVING: with ever smaller parts."""

    TREE = 0
    WHOLE = 1
    HALVING = 2
    BARRIER = 3


class Phases(msgspec.Struct, frozen=True, eq=False):
    """Times that it went round. `messages` in the order in which they came; `known`: of each of
    them who had contributed to it when it was sent, as the number of a set; `overlaps`: somebody
    was told of one contribution twice; `last`: the place in the group of the last rank that knows
    everybody's."""

    messages: Rows
    known: Indices
    overlaps: Mask
    last: Indices
    set_sizes: Indices
    set_bits: Indices

    def __len__(self) -> int:
        return len(self.messages)


class MessageClass(msgspec.Struct, frozen=True, eq=False):
    """Messages of a group that have something in common (size and call site, or tag), and may go
    round in phases."""

    traffic: Traffic
    comm: int
    group: tuple[int, ...]
    messages: Indices

    @property
    def says_one_thing(self) -> bool:
        content = self.traffic.content[self.messages]
        return bool((content == content[0]).all())

    def good(self, way: Way) -> Phases | None:
        """The good phases; None: they are too little of it, or of what it begins with.

        Linear in messages, times the group's size in machine words."""
        traffic, messages, ranks = self.traffic, self.messages, np.array(self.group, np.int64)
        places = np.concatenate([traffic.sent[messages], traffic.received[messages]])
        arguments = (messages, np.argsort(places), len(messages), ranks, len(ranks), int(way))
        columns = core.call("pl_phases", traffic.passed, *arguments)
        if not columns:
            return None
        first, messages_at, known_sets, overlaps, last, set_sizes, set_bits = columns
        return Phases(
            Rows(first, messages_at), known_sets, overlaps != 0, last, set_sizes, set_bits
        )

    def distinct(self, values: Indices, good: Phases) -> Indices:
        """Return by phase: how many different ones there are among the values of its messages."""
        order = np.lexsort((values, good.messages.owners))
        new = np.ones(len(values), np.int64)
        new[1:] = values[order[1:]] != values[order[:-1]]
        new[good.messages.first[:-1]] = 1
        return np.add.reduceat(new, good.messages.first[:-1])


class Atoms(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A number an atom: bytes [low, high) of an item on one communicator. `messages` carried it, in
    causal order; `origin` had it first there; `group` numbers the origin and all ranks that they
    reached, which are `groups`; `keepers`: how many did not hand it on, and which one if it is
    one."""

    item: Indices
    origin: Indices
    low: Indices
    high: Indices
    address: Indices  # in the memory of the item's origin
    group: Indices
    keepers: Indices
    keeper: Indices
    messages: Rows
    groups: Rows

    def __len__(self) -> int:
        return len(self.item)

    @functools.cached_property
    def first_message(self) -> Indices:
        return self.messages.at[self.messages.first[:-1]]

    @functools.cached_property
    def sizes(self) -> Indices:
        """Return by group: its ranks."""
        return self.groups.lengths

    @functools.cached_property
    def members(self) -> list[tuple[int, ...]]:
        """Return by group."""
        return [tuple(self.groups[group].tolist()) for group in range(len(self.groups))]

    @functools.cached_property
    def passed(self) -> core.Passed:
        """`struct pl_atoms`."""
        return core.Passed(
            **{name: getattr(self, name) for name in _COLUMNS.split()},
            messages=self.messages.passed,
            groups=self.groups.passed,
        )

    def in_order(self, traffic: Traffic, which: Indices) -> Indices:
        """Return by their first sends, and by address of those that set out together."""
        first = traffic.sent[self.first_message[which]]
        return which[np.lexsort((self.low[which], first))]


_COLUMNS = "item origin low high address group keepers keeper"


def atoms(traffic: Traffic, provenance: Provenance) -> Atoms:
    """Return the atoms in the order of their items' first sends."""
    items = provenance.items
    *columns, first, at, group_first, group_at = core.call(
        "pl_cut", traffic.passed, provenance.parts.passed, len(items), items.address
    )
    named = dict(zip(_COLUMNS.split(), columns, strict=True))
    return Atoms(**named, messages=Rows(first, at), groups=Rows(group_first, group_at))


class Items(msgspec.Struct, frozen=True, eq=False):
    """`first`: the message that it set out with. `again_of`: the item of the same content that
    its origin had already; -1: none. `common`: 1 of contents that many ranks have by themselves."""

    origin: Indices
    bytes: Indices
    address: Indices
    first: Indices
    again_of: Indices
    common: Indices

    def __len__(self) -> int:
        return len(self.origin)


class Parts(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The parts that messages carry, in order: message m the parts from first[m] on, count[m] of
    them; each is an item, its first byte and its end. Messages may share theirs; without bytes they
    have none."""

    first: Indices
    count: Indices
    at: Indices  # shape (parts, 3)

    @functools.cached_property
    def passed(self) -> core.Passed:
        """`struct pl_parts`."""
        return core.Passed(first=self.first, count=self.count, at=self.at)


class Provenance(msgspec.Struct, frozen=True, eq=False):
    """`meets`: pairs of items of different origins and the same content, of which a rank had
    both."""

    items: Items
    parts: Parts
    meets: list[tuple[int, int]]

    def all_own(self, traffic: Traffic) -> Mask:
        """Return by message: whether all that it carries is its sender's."""
        return np.asarray((self.parts.count > 0) & (self._foreign(traffic) == 0))

    def is_mixed(self, traffic: Traffic) -> Mask:
        """Return by message: whether beside what is not its sender's there is something of its own
        that goes nowhere else."""
        owners, items = self._carried(traffic)
        alone = np.bincount(items, minlength=len(self.items))[items] == 1
        own = np.bincount(owners[alone], minlength=len(traffic)) > 0
        return np.asarray(own & (self._foreign(traffic) > 0))

    def _foreign(self, traffic: Traffic) -> Indices:
        """Return by message: how many of its parts are not its sender's."""
        owners, items = self._carried(traffic)
        foreign = self.items.origin[items] != traffic.source[owners]
        return np.bincount(owners[foreign], minlength=len(traffic))

    def _carried(self, traffic: Traffic) -> tuple[Indices, Indices]:
        """Messages, and the item of each of their parts."""
        owners = np.repeat(np.arange(len(traffic)), self.parts.count)
        return owners, self.parts.at[ranges(self.parts.first, self.parts.count), 0]


def provenance(traffic: Traffic, without: Mask) -> Provenance:
    """Return the provenance of all messages except `without`. Linear in messages but for looking
    into memory."""
    sites = _passed_sites(traffic.recording.call_sites)
    *items, first, count, parts, meets = core.call("pl_provenance", traffic.passed, sites, without)
    pairs = meets.reshape(-1, 2).tolist()
    return Provenance(
        Items(*items),
        Parts(first, count, parts.reshape(-1, 3)),
        [(earlier, right) for earlier, right in pairs],
    )


def _passed_sites(call_sites: tuple[CallSite, ...]) -> core.Passed:
    """`struct pl_sites`: names of the functions on each call site, but the outermost, where they
    are known; of the two innermost ones; and its outermost frame, where that is not the only
    one."""
    names: dict[str, int] = {}
    frames: dict[tuple[str, int], int] = {}
    functions: list[list[int]] = []
    nearest: list[list[int]] = []
    outermost: list[int] = []
    for site in call_sites:
        inner = site.frames[:-1] or site.frames
        own = [names.setdefault(frame.function, len(names)) for frame in inner if frame.function]
        functions.append(sorted(set(own)))
        nearest.append(sorted(set(own[:2])))
        last = (site.frames[-1].module, site.frames[-1].address) if len(site.frames) > 1 else None
        outermost.append(-1 if last is None else frames.setdefault(last, len(frames)))
    return core.Passed(
        functions=rows(functions).passed,
        nearest=rows(nearest).passed,
        outermost=np.array(outermost, np.int64),
    )


# Contents that one rank had and at last all of a group have: broadcasts, whatever way they took,
# and allgathers, which are a broadcast by each rank at once. Loops are tuner/detection/spreads.c,
# allgathers.c and broadcasts.c.

# If more ranks may have been the root, ranks only exchange equal contents.
_MOST_ROOTS = 2


class Spreads(msgspec.Struct, frozen=True, eq=False):
    """A row each: neighbouring atoms of one origin that all reached the same ranks, which is a
    broadcast's data, and their messages. In the order of their sends."""

    all_atoms: Atoms
    atoms: Rows
    messages: Rows

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def first_atom(self) -> Indices:
        return self.atoms.at[self.atoms.first[:-1]]

    @property
    def origin(self) -> Indices:
        return self.all_atoms.origin[self.first_atom]

    @property
    def group(self) -> Indices:
        return self.all_atoms.group[self.first_atom]

    @property
    def is_one(self) -> Mask:
        return np.asarray(self.atoms.lengths == 1)

    @property
    def bytes(self) -> Indices:
        atoms = self.all_atoms
        sizes = (atoms.high - atoms.low)[self.atoms.at]
        return np.asarray(np.add.reduceat(sizes, self.atoms.first[:-1]) if len(self) else sizes)

    def picked(self, which: Indices) -> Spreads:
        return Spreads(self.all_atoms, self.atoms.picked(which), self.messages.picked(which))

    def apart(self, which: Indices) -> Spreads:
        """The atoms of these, each by itself."""
        atoms = self.atoms.picked(which).at
        return self._of(Rows(np.arange(len(atoms) + 1), atoms))

    def only(self, which: Indices, kept: Mask) -> Spreads:
        """Return the spreads `which` with only the atoms that are `kept`, of all behind each other;
        a spread without atoms is gone."""
        atoms = self.atoms.picked(which)
        lengths = np.diff(starts(kept.astype(np.int64))[atoms.first])
        return self._of(Rows(starts(lengths[lengths > 0]), atoms.at[kept]))

    def _of(self, atoms: Rows) -> Spreads:
        messages = self.all_atoms.messages
        own = [np.unique(messages.picked(atoms[row]).at) for row in range(len(atoms))]
        return Spreads(self.all_atoms, atoms, rows(own))


def spreads(traffic: Traffic, provenance: Provenance, atoms: Atoms, which: Indices) -> Spreads:
    """Return the spreads of atoms that reached the same group each. Atoms that lie side by side, at
    their origin or where they arrive, are one, where they took different ways (scatter and
    allgather) or set out from one call site (segments); an origin's memory that is sent again
    begins another one."""
    which = atoms.in_order(traffic, which)
    comms = traffic.comm[atoms.first_message[which]]
    ranks = traffic.nprocs
    alike = classes(comms * ranks + atoms.origin[which], atoms.group[which])
    first, at, message_first, messages = core.call(
        "pl_spreads",
        traffic.passed,
        provenance.parts.passed,
        atoms.passed,
        Rows(alike.first, which[alike.at]).passed,
    )
    spread_table = Spreads(atoms, Rows(first, at), Rows(message_first, messages))
    firsts = messages[message_first[:-1]]
    return spread_table.picked(np.argsort(traffic.sent[firsts], kind="stable"))


def passing(provenance: Provenance, candidates: Spreads) -> Indices:
    """Atoms that may only have passed by most of those that they reached: one part of longer
    messages, that went from rank to rank (the last block of a gather along a chain)."""
    atom, atoms = candidates.first_atom, candidates.all_atoms
    bundled = candidates.messages.with_any(provenance.parts.count > 1)
    along = candidates.messages.lengths == atoms.sizes[candidates.group] - 1
    return np.asarray(atom[candidates.is_one & (atoms.keepers[atom] == 1) & along & bundled])


def broadcasts(
    traffic: Traffic, candidates: Spreads, more: Mapping[int, list[int]], *, patient: bool = False
) -> list[Instance | None]:
    """The broadcast that each spread is. `more`: messages that carried the same content besides,
    because of which other ranks may have been the root; `patient`: several atoms together may take
    long. None: a token that went round, or a content that all have anyhow."""
    messages = candidates.messages
    if more:
        listed = [messages[at] for at in range(len(candidates))]
        for spread, others in more.items():
            listed[spread] = np.union1d(listed[spread], np.array(others, np.int64))
        messages = rows(listed)
    sizes = candidates.bytes
    own = np.where(candidates.is_one, candidates.messages.lengths, 0)
    first, at = core.call(
        "pl_roots",
        traffic.passed,
        candidates.all_atoms.groups.passed,
        candidates.origin,
        candidates.group,
        sizes,
        Rows(
            starts(own), candidates.messages.at[ranges(candidates.messages.first[:-1], own)]
        ).passed,
        messages.passed,
        int(patient),
    )
    comms = traffic.comm[candidates.messages.at[candidates.messages.first[:-1]]].tolist()
    columns = (messages.tuples(), comms, candidates.group.tolist(), sizes.tolist())
    roots = Rows(first, at).tuples()
    origins = candidates.origin.tolist()
    return [
        Instance(
            "bcast",
            comm,
            candidates.all_atoms.members[group],
            own_messages,
            nbytes,
            (origin, *(root for root in own_roots if root != origin))
            if origin in own_roots
            else own_roots,
        )
        if 1 <= len(own_roots) <= _MOST_ROOTS
        else None
        for own_messages, comm, group, nbytes, own_roots, origin in zip(
            *columns, roots, origins, strict=True
        )
    ]


def allgathers(traffic: Traffic, candidates: Spreads) -> tuple[list[Instance], Spreads, Spreads]:
    """Allgathers; spreads that belong to none; and those of a rotation, whose receivers did not
    keep what they had: that is no collective."""
    first, members, unused, turned = core.call(
        "pl_allgathers",
        traffic.passed,
        candidates.all_atoms.passed,
        candidates.atoms.passed,
        candidates.messages.passed,
    )
    gathered = Rows(first, members)
    instances = [_allgather(traffic, candidates, gathered[at]) for at in range(len(gathered))]
    return instances, candidates.picked(unused), candidates.picked(turned)


def _allgather(traffic: Traffic, candidates: Spreads, members: Indices) -> Instance:
    own = candidates.picked(members)
    sizes = own.bytes
    irregular = bool((sizes != sizes[0]).any())
    return Instance(
        "allgather",
        int(traffic.comm[own.messages.at[0]]),
        candidates.all_atoms.members[int(own.group[0])],
        in_order(own.messages.at.tolist()),
        int(sizes.sum() if irregular else sizes[0]),
        irregular=irregular,
    )


def complete(traffic: Traffic, atoms: Atoms, which: Indices) -> tuple[Indices, Indices]:
    """Atoms that reached all ranks of their communicator, and the others."""
    groups = {group: number for number, group in enumerate(atoms.members)}
    whole = np.array(
        [
            groups.get(tuple(sorted(comm.ranks)), -1) if comm.size >= SMALLEST_GROUP else -1
            for comm in traffic.recording.communicators
        ],
        np.int64,
    )
    full = atoms.group[which] == whole[traffic.comm[atoms.first_message[which]]]
    return which[full], which[~full]
