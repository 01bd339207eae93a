"""Where the content of each message comes from: what a rank sends it has received before, or it
is a piece of that, or several of them side by side, or it is new.

A content that a rank sends without having it from anybody is an *item*, and has that rank as its
origin. Messages carry parts of items. Contents are recognised by their hashes, parts and joins by
addresses; joins are checked by polynomials. What an origin sends again to the same rank is another
item, so repeated collectives stay apart (Calotoiu et al., section 4, merge them)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container

import msgspec

from plumbline.detect import hashes
from plumbline.detect.memory import Memory
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import Traffic

# From so many origins that know nothing of each other a content is no news: zeros, flags. Then
# only an address says that it was handed on.
COMMON = 3
# A whole and its pieces are sent by one rank, with no more than this between them.
RECENT = 32

Part = tuple[int, int, int]  # item, first byte, end
Known = tuple[int, int, int, int]  # of Memory.read: start, end, message, offset in it


class Item(msgspec.Struct):
    """`first`: the message that it set out with. `again_of`: the item of the same content that
    its origin had already; -1: none."""

    origin: int
    bytes: int
    address: int
    first: int
    again_of: int = -1


class Provenance(msgspec.Struct, frozen=True, eq=False):
    """`parts[m]`: what message m carries, in order; empty where it has no bytes. `meets`: pairs
    of items of different origins and the same content, of which a rank had both."""

    items: list[Item]
    parts: list[tuple[Part, ...]]
    meets: list[tuple[int, int]]
    common: set[int]  # items of contents that many ranks have by themselves

    def whole(self, message: int) -> int:
        """The item that a message carries as a whole and alone; -1: there is none."""
        parts = self.parts[message]
        if len(parts) != 1:
            return -1
        item, low, high = parts[0]
        return item if low == 0 and high == self.items[item].bytes else -1


def provenance(traffic: Traffic, without: Container[int] = ()) -> Provenance:
    """Of all messages but those `without`. O(n log n) in messages."""
    tracing = _Tracing(traffic)
    sizes = traffic.bytes
    for point in traffic.points:
        message = point >> 1
        if not sizes[message] or message in without:
            continue
        if point & 1:
            tracing.receive(message)
        else:
            tracing.send(message)
    tracing.settle()
    return Provenance(tracing.items, tracing.parts, tracing.meets, tracing.common())


class _Held(msgspec.Struct):
    """A content that a rank has: the message by which it came or went, where it lies, whether it
    set out here, and of what it was put together here."""

    message: int
    address: int
    own: bool = False
    joined: tuple[Known, ...] = ()


class _Tracing:
    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.items: list[Item] = []
        self.parts: list[tuple[Part, ...]] = [()] * len(traffic)
        self.meets: list[tuple[int, int]] = []
        ranks = traffic.recording.nprocs
        self._held: list[dict[int, _Held]] = [{} for _ in range(ranks)]
        self._memory = [Memory() for _ in range(ranks)]
        self._owners: list[set[int]] = []  # by item: ranks that have all of it
        self._got: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        self._direct: list[set[int]] = []  # by item: ranks that its origin has sent it to
        self._origins: dict[int, set[int]] = defaultdict(set)  # by content: independent ones
        self._recent: list[deque[int]] = [deque(maxlen=RECENT) for _ in range(ranks)]
        self._names: dict[int, frozenset[str]] = {}  # by call site
        self._made_of: dict[int, tuple[Part, ...]] = {}  # by item: the items that it is
        self._poly = traffic.recording.events["poly"][traffic.send_event].tolist()

    def send(self, message: int) -> None:
        traffic = self.traffic
        rank, content = traffic.source[message], traffic.content[message]
        held = self._held[rank].get(content)
        if held is None or held.joined:
            self._join(message, held)
            return
        parts = self.parts[held.message]
        if self._sets_out(message, held, parts):
            self._begin(message, parts[0][0])
            return
        if held.own:
            self._direct[parts[0][0]].add(traffic.target[message])
        self._carry(message, parts)
        self._write(rank, traffic.from_address[message], message, traffic.from_gaps[message])

    def receive(self, message: int) -> None:
        traffic, parts = self.traffic, self.parts[message]
        rank, content = traffic.target[message], traffic.content[message]
        held = self._held[rank].get(content)
        self._write(rank, traffic.to_address[message], message, traffic.to_gaps[message])
        if held is not None and len(parts) == 1:
            known = self.parts[held.message]
            item = self.items[parts[0][0]]
            if item.origin == rank and held.own:
                return
            if len(known) == 1 and self.items[known[0][0]].origin != item.origin:
                self.meets.append((known[0][0], parts[0][0]))
        self._held[rank][content] = _Held(message, traffic.to_address[message])

    def _sets_out(self, message: int, held: _Held, parts: tuple[Part, ...]) -> bool:
        """Whether what a rank has sets out from it anew. An origin's own does where it goes to
        the same rank again, or lies elsewhere and means little; what was received does where it
        lies elsewhere, and says nothing to its receiver or to anybody."""
        if len(parts) != 1:
            return False
        traffic, item = self.traffic, parts[0][0]
        target = traffic.target[message]
        elsewhere = held.address != traffic.from_address[message]
        if held.own:
            return (elsewhere and self._cheap(message)) or target in self._direct[item]
        if not elsewhere and self._related(message, held):
            return False
        if elsewhere and not self._related(message, held):
            return True
        common = len(self._origins[traffic.content[message]]) >= COMMON
        return not elsewhere or common or target in self._owners[item]

    def _cheap(self, message: int) -> bool:
        """Whether a content is met anywhere: a short one, or zeros."""
        return self.traffic.bytes[message] <= PAYLOAD or self._poly[message] == 0

    def _related(self, message: int, held: _Held) -> bool:
        """Whether a short content, as it is met anywhere, comes and goes in one part of the
        program: in one function, or, without names, in one that the outermost calls."""
        traffic = self.traffic
        if not self._cheap(message):
            return True
        came, goes = traffic.receive_site[held.message], traffic.send_site[message]
        if came < 0 or goes < 0 or came == goes:
            return True
        left, right = self._functions(came), self._functions(goes)
        if left and right:
            return bool(left & right)
        return self._outermost(came) == self._outermost(goes)

    def _functions(self, site: int) -> frozenset[str]:
        """Names of the functions on a call site, but the outermost; empty where they are not
        known."""
        if site not in self._names:
            frames = self.traffic.recording.call_sites[site].frames
            inner = frames[:-1] or frames
            self._names[site] = frozenset(each.function for each in inner if each.function)
        return self._names[site]

    def _outermost(self, site: int) -> tuple[str, int] | None:
        """None: it is called by the outermost function itself."""
        frames = self.traffic.recording.call_sites[site].frames
        return (frames[-1].module, frames[-1].address) if len(frames) > 1 else None

    def common(self) -> set[int]:
        """Items of contents with many origins."""
        contents = self.traffic.content
        return {
            number
            for number, item in enumerate(self.items)
            if len(self._origins.get(contents[item.first], ())) >= COMMON
            and self.traffic.bytes[item.first] == item.bytes
        }

    def _begin(self, message: int, again_of: int) -> None:
        traffic = self.traffic
        rank, content = traffic.source[message], traffic.content[message]
        item = self._item(rank, traffic.bytes[message], traffic.from_address[message], message)
        self.items[item].again_of = again_of
        if again_of < 0 or self.items[again_of].origin != rank:
            self._origins[content].add(rank)
        self._direct[item].add(traffic.target[message])
        self._held[rank][content] = _Held(message, traffic.from_address[message], True)
        self._carry(message, ((item, 0, traffic.bytes[message]),))
        if traffic.bytes[message] > PAYLOAD:
            self._split(rank, item)
        self._write(rank, traffic.from_address[message], message, traffic.from_gaps[message])

    def _split(self, rank: int, item: int) -> None:
        """Looks whether a rank has sent a whole, and now all pieces of it: to one as it is, to
        others by scatter and allgather, as HPL's blonM does."""
        recent = self._recent[rank]
        recent.append(item)
        pieces: list[int] = []
        total = 0
        for other in reversed(recent):
            fits = self.items[other].bytes == total and len(pieces) > 1
            if fits and self._is_made_of(other, pieces):
                return
            pieces.append(other)
            total += self.items[other].bytes

    def _is_made_of(self, whole: int, pieces: list[int]) -> bool:
        ordered = sorted(pieces, key=lambda piece: self.items[piece].address)
        total, values = 0, 0
        element = self.traffic.element[self.items[whole].first]
        for piece in ordered:
            first = self.items[piece].first
            if self.traffic.element[first] != element:
                return False
            total = hashes.joined(total, values, self._poly[first])
            values += hashes.values(self.items[piece].bytes, element)
        if total != self._poly[self.items[whole].first]:
            return False
        self._made_of[whole] = tuple((piece, 0, self.items[piece].bytes) for piece in ordered)
        for piece in ordered:
            self._owners[piece] |= self._owners[whole]
        return True

    def settle(self) -> None:
        """Puts pieces in the place of wholes."""
        if not self._made_of:
            return
        for message, parts in enumerate(self.parts):
            if any(item in self._made_of for item, _, _ in parts):
                self.parts[message] = tuple(
                    piece for part in parts for piece in self._taken_apart(part)
                )

    def _taken_apart(self, part: Part) -> list[Part]:
        item, low, high = part
        if item not in self._made_of:
            return [part]
        found: list[Part] = []
        at = 0
        for piece, _, size in self._made_of[item]:
            begin, stop = max(low, at), min(high, at + size)
            if begin < stop:
                found += self._taken_apart((piece, begin - at, stop - at))
            at += size
        return found

    def _item(self, rank: int, nbytes: int, address: int, message: int) -> int:
        self.items.append(Item(rank, nbytes, address, message))
        self._owners.append({rank})
        self._direct.append(set())
        return len(self.items) - 1

    def _carry(self, message: int, parts: tuple[Part, ...]) -> None:
        self.parts[message] = parts
        target = self.traffic.target[message]
        for item, low, high in parts:
            if low == 0 and high == self.items[item].bytes:
                self._owners[item].add(target)
            else:
                got = self._got[item, target]
                got.add((low, high))
                if sum(end - first for first, end in got) >= self.items[item].bytes:
                    self._owners[item].add(target)

    def _write(self, rank: int, address: int, message: int, gaps: bool) -> None:
        if address and not gaps:
            end = address + self.traffic.bytes[message]
            self._memory[rank].write(address, end, message)

    def _join(self, message: int, held: _Held | None) -> None:
        """A message that is made of what lies at its address: a piece of what was received, or
        several things side by side, among which may be some of the rank's own. Else it is new."""
        traffic = self.traffic
        rank, start = traffic.source[message], traffic.from_address[message]
        known = self._pieces(message)
        if not known:
            self._begin(message, -1)
        elif held is not None and held.joined == known:
            self._carry(message, self.parts[held.message])
        else:
            self._held[rank][traffic.content[message]] = _Held(message, start, False, known)
            self._carry(message, self._filled(message, known))

    def _pieces(self, message: int) -> tuple[Known, ...]:
        """What is known to lie where a message is sent from; empty: nothing that it can be made
        of, or its receiver has all of it."""
        traffic = self.traffic
        if traffic.from_gaps[message]:
            return ()
        rank, start = traffic.source[message], traffic.from_address[message]
        end, target = start + traffic.bytes[message], traffic.target[message]
        known = self._memory[rank].read(start, end)
        if not known or not self._plausible(message, start, end, known):
            return ()
        pieces = [part for each in known for part in self._cut(each)]
        if all(target in self._owners[item] for item, _, _ in pieces):
            return ()  # the place is used again
        if not traffic.payload(message):
            gaps = sum(high - low for low, high, _, _ in known) < end - start
            cut = any(high - low < traffic.bytes[source] for low, high, source, _ in known)
            if (gaps and cut) or any(self._stale(rank, part) for part in pieces):
                return ()
        return tuple(known)

    def _stale(self, rank: int, part: Part) -> bool:
        """A piece of a rank's own from where it has sent more: rather other things in its place."""
        item, low, high = part
        return self.items[item].origin == rank and high - low < self.items[item].bytes

    def _filled(self, message: int, known: tuple[Known, ...]) -> tuple[Part, ...]:
        """Its parts; gaps are things of the rank's own."""
        start = self.traffic.from_address[message]
        end = start + self.traffic.bytes[message]
        parts: list[Part] = []
        at = start
        for each in (*known, (end, end, -1, 0)):
            if each[0] > at:
                rank = self.traffic.source[message]
                parts.append((self._item(rank, each[0] - at, at, message), 0, each[0] - at))
            if each[2] >= 0:
                parts += self._cut(each)
            at = each[1]
        return tuple(_merged(parts))

    def _cut(self, known: Known) -> list[Part]:
        """The parts of what lies in an interval."""
        low, high, source, offset = known
        found, at = [], 0
        for item, first, end in self.parts[source]:
            begin, stop = max(offset, at), min(offset + high - low, at + end - first)
            if begin < stop:
                found.append((item, first + begin - at, first + stop - at))
            at += end - first
        return found

    def _plausible(self, message: int, start: int, end: int, known: list[Known]) -> bool:
        """Whether the contents that are known to lie there are still there. A piece of a longer
        message can be looked at only where bytes are kept."""
        traffic = self.traffic
        low, high, source, offset = known[0]
        same_place = len(known) == 1 and (low, high, offset) == (start, end, 0)
        if same_place and traffic.bytes[source] == end - start:
            return False  # another content, as long, was there
        payload = traffic.payload(message)
        for low, high, source, offset in known:
            older = traffic.payload(source) if payload else b""
            if older and payload[low - start : high - start] != older[offset : offset + high - low]:
                return False
        return bool(payload) or self._joins(message, end - start, known)

    def _joins(self, message: int, nbytes: int, known: list[Known]) -> bool:
        """Whether polynomials of messages that lie behind each other give that of the message.
        True also where they cannot say."""
        traffic, element = self.traffic, self.traffic.element[message]
        total, values, covered = 0, 0, 0
        for low, high, source, offset in known:
            if offset or traffic.bytes[source] != high - low or traffic.element[source] != element:
                return True
            total = hashes.joined(total, values, self._poly[source])
            values += hashes.values(high - low, element)
            covered += high - low
        return covered < nbytes or total == self._poly[message]


def _merged(parts: list[Part]) -> list[Part]:
    """Neighbouring bytes of an item as one part."""
    found: list[Part] = []
    for item, low, high in parts:
        if found and found[-1][0] == item and found[-1][2] == low:
            found[-1] = (item, found[-1][1], high)
        else:
            found.append((item, low, high))
    return found
