"""The provenance of the content of each message: what a rank sends it has received before, or it is
a piece of that, or several of them side by side, or it is new.

A content that a rank sends without having it from anybody is an *item*, and has that rank as its
origin. Messages carry parts of items. Contents are recognised by their hashes, parts and joins by
addresses; joins are checked by polynomials. What an origin sends again to the same rank is another
item, so repeated collectives stay apart (Calotoiu et al., section 4, merge them).

Messages are followed in tuner/detection/provenance.c; from so many origins that know nothing of
each other as PL_COMMON there a content is no news: zeros, flags."""

from __future__ import annotations

import functools

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Mask, Rows, ranges, rows
from plumbline.detect.recording import CallSite
from plumbline.detect.traffic import Traffic


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
    """Return them in the order of their items' first sends."""
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
    """Return that of all messages but those `without`. Linear in messages but for looking into
    memory."""
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
