"""Contents that one rank had and at last all of a group have: broadcasts, whatever way they took,
and allgathers, which are a broadcast by each rank at once. Loops are tuner/detection/spreads.c,
allgathers.c and broadcasts.c."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Mask, Rows, classes, ranges, rows, starts
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.provenance import Atoms, Provenance
from plumbline.detect.traffic import Traffic

# If more ranks may have been the root, ranks only exchange equal contents.
MOST_ROOTS = 2


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
        """Return that of these the atoms that are `kept`, of all behind each other; what has none
        is gone."""
        atoms = self.atoms.picked(which)
        lengths = np.diff(starts(kept.astype(np.int64))[atoms.first])
        return self._of(Rows(starts(lengths[lengths > 0]), atoms.at[kept]))

    def _of(self, atoms: Rows) -> Spreads:
        messages = self.all_atoms.messages
        own = [np.unique(messages.picked(atoms[row]).at) for row in range(len(atoms))]
        return Spreads(self.all_atoms, atoms, rows(own))


def spreads(traffic: Traffic, provenance: Provenance, atoms: Atoms, which: Indices) -> Spreads:
    """Return those of atoms that reached the same group each. Those that lie side by side, at their
    origin or where they arrive, are one, where they took different ways (scatter and allgather) or
    set out from one call site (segments); an origin's memory that is sent again begins another
    one."""
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
        if 1 <= len(own_roots) <= MOST_ROOTS
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
