"""Campaigns that come from outside: whatever a file says, it does not decide what runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline_db import campaigns, findings, transfer
from plumbline_db.connection import Database
from tests.db import build, hostile_file
from tests.tuner.cli.command import Result, plumbline, printed_to_file
from tests.tuner.foreign import printed
from tests.tuner.started import environment

EVIL = "LD_PRELOAD=/tmp/evil.so"
KNOBS = ["mca_base_env_list", "orte_launch_agent", "mca_component_path"]


@pytest.fixture(scope="module")
def sent(finished: tuple[Path, Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody sends who has run a campaign of this library on this kind of machine."""
    target = tmp_path_factory.mktemp("sent") / "sent.plumbline"
    assert plumbline("db", "export", target, "--db", finished[0]).status == 0
    return target


def with_knob(sent: Path, target: Path, function: str, name: str, value: str) -> Path:
    row = "(SELECT configuration FROM winner ORDER BY position LIMIT 1)"
    return hostile_file.changed(
        sent,
        target,
        (f"UPDATE configuration SET knobs = ? WHERE number = {row}", (json.dumps({name: value}),)),
        (
            f"UPDATE winner SET function = ?, variant = 'default' WHERE configuration = {row}",
            (function,),
        ),
        ("UPDATE transfer SET host = ?", (os.uname().nodename,)),
    )


def imported(database: Path) -> str:
    with Database.open(database) as db:
        (one,) = transfer.listing(db)
    return one.campaign


@pytest.mark.parametrize(
    ("knob", "function"), [*((knob, "*") for knob in KNOBS), (KNOBS[0], "MPI_Bcast")]
)
def test_a_parameter_that_loads_code_is_never_written(
    sent: Path, home: Path, tmp_path: Path, knob: str, function: str
) -> None:
    """`transfer.host` names this host, and the hash fits."""
    hostile = with_knob(sent, tmp_path / "hostile.plumbline", function, knob, EVIL)
    there, output = tmp_path / "there.db", tmp_path / "files"
    assert plumbline("db", "import", hostile, "--db", there).status == 0
    id = imported(there)
    for database in (there, hostile):
        for words in (
            ["apply", "--user"],
            ["apply", "--user", "--dry-run"],
            ["export", "env", "json", "csh", "modulefile", "--output", output],
        ):
            for named in ([], ["--campaign", id if database == there else id.partition(":")[2]]):
                said = plumbline(*words, *named, "--db", database)
                assert said.status == 1, (words, said)
                if named:
                    assert knob in said.err and "/tmp/evil.so" in said.err
                    assert "run a campaign of your own" in said.err
    assert list(home.iterdir()) == [] and not output.exists()


def test_the_gate_holds_where_the_file_says_that_it_was_not_sent(
    sent: Path, home: Path, tmp_path: Path
) -> None:
    stripped = hostile_file.changed(
        with_knob(sent, tmp_path / "hostile.plumbline", "*", KNOBS[0], EVIL),
        tmp_path / "stripped.db",
        ("DELETE FROM transfer", ()),
        ("UPDATE campaign SET key = 'k-1'", ()),
        hashed=False,
    )
    for words in (["apply", "--user"], ["export", "env", "--output", tmp_path / "files"]):
        said = plumbline(*words, "--db", stripped)
        assert said.status == 1 and KNOBS[0] in said.err, said
    assert list(home.iterdir()) == [] and not (tmp_path / "files").exists()


def test_an_own_database_that_was_edited_is_caught(sent: Path, home: Path, tmp_path: Path) -> None:
    edited = hostile_file.changed(
        sent,
        tmp_path / "plumbline.db",
        ("DELETE FROM transfer", ()),
        ("UPDATE campaign SET key = 'k-1'", ()),
        ("UPDATE configuration SET knobs = json_set(knobs, '$.pml', 'x') WHERE knobs != '{}'", ()),
        hashed=False,
    )
    said = plumbline("apply", "--user", "--db", edited)
    assert said.status == 1 and "sets 'pml' to 'x'" in said.err and "was edited" in said.err


def test_an_imported_campaign_is_named_as_such_and_never_a_default(
    sent: Path, home: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there.db"
    assert plumbline("db", "import", sent, "--db", there).status == 0
    id = imported(there)
    host = os.uname().nodename
    assert id.startswith(f"{host}:")
    for words in (["apply", "--user"], ["export", "env"], ["run", "--", "true"], ["check"]):
        said = plumbline(words[0], "--db", there, *words[1:])
        assert said.status == 1 and f"(imported from {host}): name one with --ca" in said.err, said
    configuration = tmp_path / "watch.toml"
    configuration.write_text(plumbline("watch", "--example").out)
    said = plumbline("watch", "--once", "--db", there, configuration)
    assert said.status != 0 and "imported from" in said.err, said
    for words in (["results"], ["results", "--all"], ["results", "--report", tmp_path / "page"]):
        said = plumbline(*words, "--db", there)
        assert said.status in (0, 3), said
    assert f"campaign {id} (imported from {host})" in plumbline("results", "--db", there).out
    assert plumbline("results", "--json", "--db", there).json["imported_from"] == host
    assert id in plumbline("results", "--list", "--db", there).out
    # Some winners are variants: `apply --user` would leave them out.
    assert f"plumbline export env --campaign {id}" in plumbline("results", "--db", there).out
    said = plumbline("apply", "--user", "--campaign", id, "--db", there)
    assert said.status == 0, said.err
    assert f"{id} was imported from {host}: nothing of it was measured here" in said.err
    assert f"campaign {id} (imported from {host})" in said.out


def test_tables_of_an_imported_campaign_are_named_with_its_host(sent: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    assert plumbline("db", "import", sent, "--db", there).status == 0
    id = imported(there)
    for a, b in ((id, f"{id}:after"), (f"{id}:before", f"{id}:after")):
        said = plumbline("compare", a, b, "--db", there)
        assert said.status in (0, 3), said
    assert "contains no run" in plumbline("compare", f"{id}x", id, "--db", there).err


def test_one_s_own_campaign_is_there_already(
    finished: tuple[Path, Result], sent: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.db"
    own.write_bytes(finished[0].read_bytes())
    said = plumbline("db", "import", sent, "--db", own)
    assert said.status == 0 and "which is there already" in said.out


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"environment": {"LD_AUDIT": "/tmp/evil.so"}}, "the variable LD_AUDIT"),
        ({"preload": ["/tmp/evil.so"]}, "the library /tmp/evil.so"),
        ({"job": {}}, "hosts or a job"),
    ],
)
def test_what_a_stranger_s_settings_ask_for_is_not_done(
    sent: Path,
    tmp_path: Path,
    settings: dict[str, object],
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hostile = hostile_file.changed(
        sent,
        tmp_path / "hostile.plumbline",
        ("UPDATE campaign SET settings = json_patch(settings, ?)", (json.dumps(settings),)),
    )
    there = tmp_path / "there.db"
    assert plumbline("db", "import", hostile, "--db", there).status == 0
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it was started"))
    said = plumbline("run", "--campaign", imported(there), "--db", there, "--", "true")
    assert said.status == 1 and asked in said.err, said


def test_a_database_names_no_script_that_is_sourced(
    sent: Path, starter: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    script = tmp_path / "plumbline.sh"
    script.write_text(f"touch {tmp_path / 'carried-out'}\n")
    checksum = hashlib.sha256(script.read_bytes()).hexdigest()
    row = "INSERT INTO export (campaign, format, path, sha256, created) "
    hostile = hostile_file.changed(
        sent,
        tmp_path / "plumbline.db",
        ("DELETE FROM transfer", ()),
        ("UPDATE campaign SET key = 'k-1'", ()),
        (row + "SELECT id, 'env', ?, ?, finished FROM campaign", (str(script), checksum)),
        hashed=False,
    )
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it was started"))
    said = plumbline("run", "--no-proof", "--db", hostile, "--", "true")
    assert said.status == 1 and "is not the file that was confirmed" in said.err, said
    assert not (tmp_path / "carried-out").exists()


def test_no_program_is_looked_for_where_a_file_says(sent: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil" / "bin"
    evil.mkdir(parents=True)
    for name in ("ompi_info", "mpirun", "mpicc", "mpichversion"):
        (evil / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'carried-out'}\n")
        (evil / name).chmod(0o755)
    hostile = hostile_file.changed(
        sent, tmp_path / "hostile.plumbline", ("UPDATE library SET prefix = ?", (str(evil.parent),))
    )
    there = tmp_path / "there.db"
    watched = tmp_path / "watch.toml"
    for words in (
        ["db", "import", str(hostile)],
        *(["apply", "--user", "--dry-run"], ["export", "env"], ["results"]),
        ["watch", "--once", str(watched)],
    ):
        if words[0] in ("apply", "export"):
            words = [*words, "--campaign", imported(there)]
        if words[0] == "watch":
            watched.write_text(f'campaign = "{imported(there)}"')
        subprocess.run(
            [sys.executable, "-m", "plumbline", *words, "--db", str(there)],
            env=environment(),
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=120,
        )
    assert not (tmp_path / "carried-out").exists()


COLUMNS = [
    *(("machine", "id"), ("machine", "host"), ("library", "id"), ("library", "family")),
    *(("campaign", "id"), ("transfer", "host"), ("suite", "name"), ("run", "id")),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_file.exported(tmp_path_factory.mktemp("exported"))


# Three of the names for each column, and each name for some columns.
@pytest.mark.parametrize(
    ("table", "column", "name"),
    [
        (*column, hostile_file.NAMES[(3 * number + place) % len(hostile_file.NAMES)])
        for number, column in enumerate(COLUMNS)
        for place in range(3)
    ],
    ids=range(3 * len(COLUMNS)),
)
def test_names_that_are_none_are_not_imported(
    exported: Path, tmp_path: Path, table: str, column: str, name: str
) -> None:
    which = "rowid = (SELECT min(rowid) FROM " + table + ")" if table in ("run", "suite") else "1"
    changes = [(f"UPDATE {table} SET {column} = ? WHERE {which}", (name,))]
    if (table, column) == ("campaign", "id"):
        tables = ("suite", "winner", "verdict", "transfer")
        changes += [(f"UPDATE {one} SET campaign = ?", (name,)) for one in tables]
    if (table, column) == ("machine", "id"):
        changes.append(("UPDATE campaign SET machine = ?", (name,)))
    hostile = hostile_file.changed(exported, tmp_path / "hostile.plumbline", *changes)
    there = tmp_path / "there.db"
    said = plumbline("db", "import", hostile, "--db", there)
    assert said.status == 1, said
    assert len(said.err) < 1000 and said.err.count("\n") == 1
    assert not set("\x1b\x07\x9b\u202e") & set(said.err)
    with Database.open(there, write=True) as db:
        assert campaigns.every(db) == []


def texts_of(hostile: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for table, column in (
        *(("machine", "cpu_model"), ("machine", "system"), ("library", "version_string")),
        *(("run", "stderr"), ("verdict", "reason"), ("event", "text"), ("verdict", "rhs")),
    ):
        yield f"UPDATE {table} SET {column} = ?", (hostile,)


def test_no_text_of_a_file_commands_a_terminal(
    sent: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = f"{hostile_file.ESCAPE} \u202eabc\u2028 \x9b31m"
    file = hostile_file.changed(sent, tmp_path / "hostile.plumbline", *texts_of(hostile))
    there = str(tmp_path / "there.db")
    monkeypatch.chdir(tmp_path)
    said = printed_to_file("db", "import", file, "--db", there)
    id = imported(Path(there))
    for words in (
        *(["results"], ["results", "--all"], ["results", "--list"], ["results", "--json"]),
        *(["db", "table", "verdicts"], ["db", "table", "winners"], ["db", "check"]),
        *(["advise", "MPI_Allreduce", "--bytes", "1024", "--nprocs", "4"], ["apply", "--user"]),
        *(
            ["export", "env", "--campaign", id],
            ["export", "env"],
            ["compare", "--history"],
            ["doctor"],
        ),
    ):
        said += printed_to_file(*words, *(["--db", there] if words[0] != "doctor" else []))
    assert not set("\x1b\x07\x9b\u202e\u2028") & set(said)
    assert "winners" in said


def test_a_name_with_a_shell_s_signs_is_quoted_where_a_command_is_printed(tmp_path: Path) -> None:
    """Of a database that is named with --db: nobody has looked at its names."""
    database = tmp_path / "plumbline.db"
    for day, name in enumerate((hostile_file.INJECTION, "$(touch carried-out)"), 1):
        with Database.open(database, write=True) as db:
            build.later(db, name, day)
            findings.put_verdicts(db, name, "before", [build.verdict("before")])
            findings.put_verdicts(db, name, "after", [build.verdict("after")])
            findings.put_winners(db, name, [build.winner()])
        said = plumbline("results", "--db", database)
        commands = [line.partition("plumbline ")[2] for line in said.out.splitlines()]
        found = [shlex.split(command) for command in commands if "--campaign" in command]
        assert found, said
        for words in found:
            assert words[words.index("--campaign") + 1] == name


@pytest.mark.parametrize("records", [b"{}\n", b"[" * 10**5, b'{"record":"footer"}\n'])
def test_records_that_nobody_writes_are_one_line(tmp_path: Path, records: bytes) -> None:
    hostile = hostile_file.changed(
        hostile_file.exported(tmp_path),
        tmp_path / "hostile.plumbline",
        ("UPDATE run SET records = ?", (zlib.compress(records),)),
    )
    said = plumbline("db", "import", hostile, "--db", tmp_path / "there.db")
    assert said.status == 1 and said.err.count("\n") == 1, said


def test_a_plan_of_a_gigabyte_is_one_line(tmp_path: Path) -> None:
    compressing = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    piece = compressing.compress(bytes(2**20)) + compressing.flush(zlib.Z_FULL_FLUSH)
    checksum = (2**30 % 65521 << 16) + 1  # Adler's of so many zeros
    bomb = b"\x78\xda" + piece * 2**10 + compressing.flush() + checksum.to_bytes(4)
    sent = hostile_file.exported(tmp_path)
    hostile = hostile_file.changed(
        sent, tmp_path / "bomb.plumbline", ("UPDATE run SET plan = ?", (bomb,))
    )
    limited = f"ulimit -v 2000000; exec {sys.executable} -m plumbline db import {hostile}"
    done = subprocess.run(
        ["sh", "-c", f"{limited} --db {tmp_path / 'there.db'}"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "too long" in done.stderr


def test_what_other_programs_have_printed_comes_too(tmp_path: Path) -> None:
    """Hosts and libraries that nobody knows have no names."""
    there, sent, further = (tmp_path / name for name in ("there.db", "sent", "further.db"))
    every = (printed.OSU, printed.IMB, printed.SKAMPI, printed.REPROMPI, printed.MADMPI)
    for number, text in enumerate(every):
        file = tmp_path / f"{number}.txt"
        file.write_text(text)
        assert plumbline("db", "import", file, "--nprocs", "4", "--db", there).status == 0
    assert plumbline("db", "export", sent, "--db", there).status == 0
    said = plumbline("db", "import", sent, "--db", further)
    assert said.status == 0 and said.out.count("sha256") == len(every), said


def test_a_spool_is_imported_file_by_file(sent: Path, tmp_path: Path) -> None:
    folder, there = tmp_path / "spool", tmp_path / "there.db"
    folder.mkdir()
    (folder / "a.plumbline").write_bytes(sent.read_bytes())
    one = plumbline("db", "import", folder, "--json", "--db", there)
    assert one.status == 0 and [run["new"] for run in one.json["runs"]] == [True], one.err
    part = folder / ".plumbline-scratch-0-1"
    part.mkdir()
    (part / "c.plumbline").write_bytes(sent.read_bytes()[:5000])
    (folder / "b.plumbline").write_bytes(sent.read_bytes()[:5000])
    two = plumbline("db", "import", folder, "--db", there)
    assert two.status == 1 and "which is there already" in two.out
    assert "b.plumbline" in two.err and "c.plumbline" not in two.err
