"""Messages call this program by its name, or by the path by which it was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db import errors


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program in .venv/bin, in which the user is."""
    program = tmp_path / ".venv" / "bin" / "plumbline"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    return tmp_path


def test_a_program_of_a_checkout_is_called_by_its_path(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/plumbline", "campaign"])
    assert errors.typed("results", "--campaign", "a b") == (
        ".venv/bin/plumbline results --campaign 'a b'"
    )
    monkeypatch.setenv("PATH", str(checkout / ".venv" / "bin"))
    assert errors.typed("results") == "plumbline results"


def test_another_installation_on_the_path_is_not_this_program(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = checkout / "elsewhere" / "plumbline"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setattr("sys.argv", [".venv/bin/plumbline"])
    assert errors.command_name() == ".venv/bin/plumbline"
    other.unlink()
    other.symlink_to(checkout / ".venv" / "bin" / "plumbline")
    assert errors.command_name() == "plumbline"


def test_a_path_with_a_blank_can_be_typed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = checkout / "my programs"
    folder.mkdir()
    (folder / "plumbline").write_text("#!/bin/sh\n")
    monkeypatch.setattr("sys.argv", ["my programs/plumbline"])
    assert errors.command_name() == "'my programs/plumbline'"


@pytest.mark.parametrize("started", ["plumbline", "-c", "/x/plumbline/__main__.py"])
def test_a_program_that_was_started_by_no_path_has_its_name(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    monkeypatch.setattr("sys.argv", [started])
    assert errors.command_name() == "plumbline"
