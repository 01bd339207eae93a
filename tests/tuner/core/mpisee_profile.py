"""A database as mpisee writes it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE mappings (id INTEGER PRIMARY KEY AUTOINCREMENT, machine TEXT);
CREATE TABLE exectimes (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL);
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE operations (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT);
CREATE TABLE comms (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, size INTEGER);
CREATE TABLE data (id INTEGER PRIMARY KEY AUTOINCREMENT, rank INTEGER, comm_id INTEGER,
    operation_id INTEGER, buffer_size_min INTEGER, buffer_size_max INTEGER, calls INTEGER,
    time REAL, volume INTEGER);
INSERT INTO mappings VALUES (0, 'node1'), (1, 'node1');
INSERT INTO exectimes VALUES (0, 2.5), (1, 2.75);
INSERT INTO metadata VALUES ('Processes', '2'), ('Run command', './app -n 1'),
    ('mpisee version', '3.1'), ('MPI Library', 'Open MPI v4.1.4');
INSERT INTO operations VALUES (1, 'Allreduce'), (2, 'Gather'), (3, 'Send');
INSERT INTO comms VALUES (1, 'W', 2), (2, 'c1.0', 1);
INSERT INTO data (rank, comm_id, operation_id, buffer_size_min, buffer_size_max, calls, time,
                  volume)
VALUES (0, 1, 1, 0, 1024, 100, 0.004, 80000), (1, 1, 1, 0, 1024, 100, 0.002, 80000),
       (0, 1, 2, 0, 1024, 10, 0.001, 160), (1, 1, 2, 0, 1024, 10, 0.001, 160),
       (0, 2, 1, 0, 1024, 5, 0.001, 40), (0, 1, 3, 0, 1024, 5, 0.001, 40);
"""

# Another name of a function of which mpisee sums the blocks, and counts the bytes at the root.
V_FUNCTIONS = "UPDATE operations SET operation = 'Scatterv' WHERE id = 2"


def made(path: Path, *more: str) -> Path:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.executescript(TABLES)
        for sql in more:
            db.executescript(sql)
    db.close()
    return path
