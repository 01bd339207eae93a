"""Tests of the series about applied files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from plumbline.applied import standing
from plumbline_exporters.metrics.scrape import Scrape
from tests.tuner.applied.people import EIGHT, FOUR, User

pytestmark = pytest.mark.usefixtures("preload")


def _samples(user: User) -> dict[str, float]:
    found = standing._collect(cast(Scrape, None), [("user", user.place.root)])
    return {sample.name: sample.value for metric in found for sample in metric.samples}


def _as(generation: float, in_force: float) -> dict[str, float]:
    return {"plumbline_applied_generation": generation, "plumbline_applied_in_force": in_force}


def test_series_are_absent_after_a_rollback(user: User) -> None:
    user.apply(FOUR)
    assert _samples(user) == _as(1, 1)
    user.rollback()
    assert _samples(user) == {}


def test_a_rollback_to_the_generation_before_has_series(user: User) -> None:
    user.apply(FOUR)
    user.apply(EIGHT)
    user.rollback()
    assert _samples(user) == _as(1, 1)


def test_files_that_others_removed_are_not_in_force(user: User) -> None:
    user.apply(FOUR)
    user.file.unlink()
    assert _samples(user) == _as(0, 0)
    user.rollback()  # the administrator agrees that nothing is in force
    assert _samples(user) == {}


def test_what_is_applied_again_after_a_rollback_is_watched_again(user: User) -> None:
    user.apply(FOUR)
    user.rollback()
    user.apply(FOUR)
    assert _samples(user) == _as(1, 1)
    user.file.unlink()
    assert _samples(user) == _as(0, 0)


def test_a_dry_rollback_changes_nothing(user: User) -> None:
    user.apply(FOUR)
    user.file.unlink()
    user.rollback(dry_run=True)
    assert _samples(user) == _as(0, 0)


def test_a_mark_that_cannot_be_written_is_named(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plumbline.applied import files
    from plumbline_db.errors import PlumblineError

    def full(path: Path, *_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    user.apply(FOUR)
    monkeypatch.setattr(files, "write_new", full)
    with pytest.raises(PlumblineError, match=r"cannot write .*rolled-back-user: No space"):
        user.rollback()
