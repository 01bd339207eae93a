"""Files in TOML that nobody can have meant: one sentence names the file and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.core import guidelines
from plumbline.libraries import space_file
from plumbline.settings import campaign_file
from plumbline_db.errors import UsageError

READERS: list[Callable[[Path], object]] = [
    lambda path: campaign_file.tasks(path, {}, None),
    space_file.load,
    guidelines.load,
]


@pytest.mark.parametrize("read", READERS, ids=["campaign", "space", "guidelines"])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a." * 5000 + "a = 1", "nested too deeply"),
        ("seed = " + "9" * 5000, "not a TOML file"),
        ("seed = 9223372036854775808", "larger than"),
        ("seed = -9223372036854775809", "larger than"),
        ('op = "a\\u0000b"', "NUL"),
        ('"a\\u0000b" = 1', "NUL"),
        ("budget_seconds = inf", "is not a valid number"),
        ("budget_seconds = nan", "is not a valid number"),
        ('op = "\xff"', "not a TOML file"),
        ("op = '\0'", "not a TOML file"),
    ],
)
def test_what_no_file_has(
    tmp_path: Path, read: Callable[[Path], object], text: str, what: str
) -> None:
    path = tmp_path / "a file.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=what) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("read", READERS, ids=["campaign", "space", "guidelines"])
def test_what_has_no_end(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "a file.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="it is a device, not a regular file"):
        read(path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UsageError, match="longer than"):
        read(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget_seconds", float("inf")),
        ("budget_seconds", float("nan")),
        ("launch_timeout_seconds", float("inf")),
        ("nprocs", 2**40),
        ("seed", 2**64),
        ("sizes", [8, 2**64]),
    ],
)
def test_options_that_nobody_can_mean(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{key}|at most"):
        campaign_file.load(None, {key: value})
