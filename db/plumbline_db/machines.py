"""Where was it measured, and with which MPI: machines and libraries."""

from __future__ import annotations

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Machine
from plumbline_db.statements import Statements


def put_machine(db: Statements, machine: Machine) -> None:
    """Store or refresh: facts outside the identity (the kernel, the host's name) may change."""
    with db.transaction():
        db.rows(
            """INSERT INTO machine VALUES (:id, :host, :cpu_model, :processing_units, :numa_nodes,
                                           :memory_bytes, :kernel, :system)
               ON CONFLICT (id) DO UPDATE SET host = :host, cpu_model = :cpu_model,
                   processing_units = :processing_units, numa_nodes = :numa_nodes,
                   memory_bytes = :memory_bytes, kernel = :kernel, system = :system""",
            msgspec.structs.asdict(machine),
        )


def add_machine(db: Statements, machine: Machine) -> None:
    """Store one that others have seen; what is known of it here stays."""
    if db.row("SELECT 1 FROM machine WHERE id = :id", {"id": machine.id}) is None:
        put_machine(db, machine)


def machine(db: Statements, id: str) -> Machine:
    row = db.row(
        """SELECT id, host, cpu_model, processing_units, numa_nodes, memory_bytes, kernel, system
           FROM machine WHERE id = :id""",
        {"id": id},
    )
    if row is None:
        raise PlumblineError(f"{db.path} knows no machine {id}")
    return Machine(*row)


def all_machines(db: Statements) -> list[Machine]:
    """By id."""
    found = db.rows(
        """SELECT id, host, cpu_model, processing_units, numa_nodes, memory_bytes, kernel, system
           FROM machine ORDER BY id"""
    )
    return [Machine(*row) for row in found]


def put_library(db: Statements, library: Library) -> None:
    """Store or refresh: the same build may be found under another prefix."""
    with db.transaction():
        db.rows(
            """INSERT INTO library VALUES (:fingerprint, :id, :family, :version, :version_string,
                                           :prefix, :build)
               ON CONFLICT (fingerprint) DO UPDATE SET id = :id, family = :family,
                   version = :version, version_string = :version_string, prefix = :prefix,
                   build = :build""",
            msgspec.structs.asdict(library)
            | {"build": msgspec.json.encode(library.build, order="sorted").decode()},
        )


def add_library(db: Statements, library: Library) -> None:
    """Store one that others have seen; what is known of it here stays."""
    key = {"fingerprint": library.fingerprint}
    if db.row("SELECT 1 FROM library WHERE fingerprint = :fingerprint", key) is None:
        put_library(db, library)


def library(db: Statements, fingerprint: str) -> Library:
    row = db.row(
        """SELECT id, family, version, version_string, prefix, fingerprint, build
           FROM library WHERE fingerprint = :fingerprint""",
        {"fingerprint": fingerprint},
    )
    if row is None:
        raise PlumblineError(f"{db.path} knows no library with fingerprint {fingerprint}")
    return _library(*row)


def all_libraries(db: Statements) -> list[Library]:
    """By fingerprint."""
    found = db.rows(
        """SELECT id, family, version, version_string, prefix, fingerprint, build
           FROM library ORDER BY fingerprint"""
    )
    return [_library(*row) for row in found]


def _library(
    id: str, family: str, version: str, text: str, prefix: str, fingerprint: str, build: str
) -> Library:
    made = msgspec.json.decode(build, type=dict[str, str])
    return Library(id, family, version, text, prefix, fingerprint, made)
