"""Machines and libraries: where something was measured, and with which MPI."""

from __future__ import annotations

import msgspec

from plumbline_db import columns
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Machine
from plumbline_db.statements import Statements


def put_machine(db: Statements, machine: Machine) -> None:
    """Store or refresh: facts outside the identity (the kernel, the host's name) may change."""
    with db.transaction():
        changed = f"ON CONFLICT (id) DO UPDATE SET {columns.renewed(Machine, 'id')}"
        columns.put(db, "machine", machine, changed)


def add_machine(db: Statements, machine: Machine) -> None:
    """Store one that others have seen; what is known of it here stays."""
    if db.row("SELECT 1 FROM machine WHERE id = :id", {"id": machine.id}) is None:
        put_machine(db, machine)


def machine(db: Statements, id: str) -> Machine:
    stored_machine = columns.first_of(db, "machine", Machine, "WHERE id = :id", {"id": id})
    if stored_machine is None:
        raise PlumblineError(f"{db.path} knows no machine {id}")
    return stored_machine


def all_machines(db: Statements) -> list[Machine]:
    """Return them by id."""
    return columns.all_of(db, "machine", Machine, "ORDER BY id")


def put_library(db: Statements, library: Library) -> None:
    """Store or refresh: the same build may be found under another prefix."""
    build = msgspec.json.encode(library.build, order="sorted").decode()
    with db.transaction():
        renewed = columns.renewed(Library, "fingerprint")
        changed = f"ON CONFLICT (fingerprint) DO UPDATE SET {renewed}"
        columns.put(db, "library", library, changed, build=build)


def add_library(db: Statements, library: Library) -> None:
    """Store one that others have seen; what is known of it here stays."""
    key = {"fingerprint": library.fingerprint}
    if db.row("SELECT 1 FROM library WHERE fingerprint = :fingerprint", key) is None:
        put_library(db, library)


def library(db: Statements, fingerprint: str) -> Library:
    where = "WHERE fingerprint = :fingerprint"
    stored_library = columns.first_of(db, "library", Library, where, {"fingerprint": fingerprint})
    if stored_library is None:
        raise PlumblineError(f"{db.path} knows no library with fingerprint {fingerprint}")
    return stored_library


def all_libraries(db: Statements) -> list[Library]:
    """Return them by fingerprint."""
    return columns.all_of(db, "library", Library, "ORDER BY fingerprint")
