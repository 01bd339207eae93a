"""The units of plumbline watch, as systemd reads them."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from plumbline.cli import watch
from plumbline.results import doctor
from plumbline.results.doctor import DoctorFinding
from plumbline_db.connection import Database

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "packaging" / "systemd"
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """As they are installed here: with a program and a user that are there."""
    program = tmp_path / "bin" / "plumbline"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "watch.toml").write_text("")
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/usr/bin/plumbline", str(program))
        text = text.replace("/etc/plumbline/watch.toml", str(tmp_path / "watch.toml"))
        text = re.sub("^(User|Group)=plumbline$", r"\1=root", text, flags=re.MULTILINE)
        (tmp_path / unit.name).write_text(text)
    return tmp_path


def test_all_are_there() -> None:
    assert sorted(unit.name for unit in UNITS.iterdir()) == sorted(doctor.UNITS)


@pytest.mark.parametrize("name", doctor.UNITS)
def test_systemd_finds_nothing_wrong(units: Path, name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(units / name)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["plumbline-watch.service", "plumbline-watch-once.service"])
def test_it_has_few_rights(units: Path, name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(units / name)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_commands_of_the_units_are_those_of_the_program() -> None:
    for name in ("plumbline-watch.service", "plumbline-watch-once.service"):
        (line,) = re.findall(r"^ExecStart=(.*)$", (UNITS / name).read_text(), re.MULTILINE)
        _, command, *words = line.split()
        assert command == "watch"
        context = watch.command.make_context("watch", [w for w in words if w != words[-1]])
        assert context.params["once"] is ("once" in name)


def _findings(folder: Path) -> list[DoctorFinding]:
    database = folder / "plumbline.db"
    Database.open(database, write=True).close()
    return list(doctor.examine_daemon(database, lambda: NOW, [str(folder)]))


def test_the_doctor_finds_them_fine(units: Path) -> None:
    found = _findings(units)
    assert {finding.state for finding in found} == {"fine", "notes"}
    assert {finding.subject for finding in found} >= {*doctor.UNITS, "configuration"}
    assert "nobody has ever watched" in found[-1].text


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("User=root", "User=nobody-here", "the user nobody-here does not exist"),
        ("UMask=", "Nice=10\nUMask=", "Nice=10: run times depend on it"),
        ("Type=notify", "Type=notfy", "systemd-analyze verify"),
        ("watch.toml", "gone.toml", "cannot read configuration"),
    ],
)
def test_the_doctor_says_what_is_wrong(units: Path, changed: str, to: str, said: str) -> None:
    if said.startswith("systemd") and shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = units / "plumbline-watch.service"
    unit.write_text(unit.read_text().replace(changed, to))
    found = [one for one in _findings(units) if one.state in ("warns", "fails")]
    assert any(said in one.text for one in found), found


def test_without_units_it_says_where_they_are(tmp_path: Path) -> None:
    (first, *_) = _findings(tmp_path)
    assert first.state == "notes" and "packaging/systemd" in first.text
