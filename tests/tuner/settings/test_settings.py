"""Campaign files and options: what they mean, and what is said when they are wrong; files that ask
for several campaigns."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from plumbline.launch.local import Local
from plumbline.measure import tables
from plumbline.settings import Settings, identity, ranks, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.cases import SIZES
from plumbline.settings.toolchain import Toolchain
from plumbline_db.errors import UsageError
from tests.tuner.settings.test_campaign_file import written


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "processing_units", lambda: 2)
    found = load(None, {})
    assert found.ranks.nprocs == 2
    assert found.cases.sizes == sorted(SIZES)
    assert found.cases.guidelines == []
    monkeypatch.setattr(ranks, "processing_units", lambda: 1)
    assert load(None, {}).ranks.nprocs == 2
    monkeypatch.setattr(ranks, "processing_units", lambda: 16)
    assert load(None, {}).ranks.nprocs == 16


def test_ids_of_guidelines_in_small_letters_are_the_same() -> None:
    small, large = (load(None, {"guidelines": ids}) for ids in (["gl3", "Pl2"], ["GL3", "PL2"]))
    assert small == large
    assert load(None, {"guidelines": ["all"]}).cases.guidelines == ["all"]


def test_options_win_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'nprocs = 8\nop = "MPI_SUM"\nsizes = [64, 4, 4]\nroot = 7\n')
    found = load(path, {"nprocs": None, "seed": 5, "launches": 6})
    assert (found.ranks.nprocs, found.cases.op, found.sampling.seed, found.sampling.launches) == (
        8,
        "MPI_SUM",
        5,
        6,
    )
    assert found.cases.sizes == [4, 64]
    assert load(path, {"nprocs": 9}).ranks.nprocs == 9


def test_looks_end_at_thirty_launches_or_twice_the_first() -> None:
    assert (load(None, {}).sampling.launches, load(None, {}).sampling.launches_max) == (6, 30)
    assert load(None, {"launches": 20}).sampling.launches_max == 40
    assert load(None, {"launches": 15, "launches_max": 15}).sampling.launches_max == 15


def test_equal_settings_are_equal_however_they_were_said(tmp_path: Path) -> None:
    path = written(tmp_path, "nprocs = 4\nsizes = [16, 4]\n")
    assert load(path, {}) == load(None, {"nprocs": 4, "sizes": [4, 16, 16]})


def test_a_start_scheme_names_the_way_of_use(tmp_path: Path) -> None:
    window = load(written(tmp_path, 'sync = "window"'), {})
    assert (window.way.use, window.start_scheme) == ("synchronised", "window")
    assert window == load(None, {"use": "synchronised"})
    assert load(None, {"sync": "barrier"}) == load(None, {"use": "after_barrier"})
    rounds = load(None, {"sync": "roundtime"})
    assert (rounds.way.use, rounds.start_scheme) == ("synchronised", "roundtime")
    odd = load(None, {"sync": "dissemination"})
    assert (odd.way.use, odd.start_scheme) == ("", "dissemination")
    with pytest.raises(
        UsageError, match="sync = barrier is not a start scheme of use = synchronised"
    ):
        load(None, {"use": "synchronised", "sync": "barrier"})


def test_the_way_of_use_is_chosen_by_the_cores(tmp_path: Path) -> None:
    """Ranks that share a core cannot start at the same time."""
    plain = load(None, {"nprocs": 4})
    assert plain.on(4).way.use == plain.on(None).way.use == "synchronised"
    assert plain.on(2).way.use == "after_barrier"
    for named in ({"use": "loop"}, {"sync": "dissemination"}):
        settings = load(None, {"nprocs": 4} | named)
        assert settings.on(2) == settings.on(8) == settings
    simulated = load(written(tmp_path, '[simulate]\nlibrary = "ompi"\n'), {})
    assert simulated.on(2) == simulated


def test_plans_start_as_the_way_of_use_says() -> None:
    def first(settings: Settings) -> str:
        plan = msgspec.structs.replace(tables.plan(settings, []), name="a")
        return plan.text().splitlines()[1]

    synchronised = first(load(None, {"use": "synchronised"}))
    assert " sync=window" in synchronised and " runtime=global" in synchronised
    assert " sync=barrier" in first(load(None, {"use": "loop"}))
    assert first(load(None, {"use": "loop"})).endswith(" use=loop")
    assert first(load(None, {"use": "after_barrier"})) == first(load(None, {}))
    usual = first(load(None, {}))
    assert " sync=barrier" in usual and " runtime=local" in usual


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nprocs = 1", "nprocs must be at least 2"),
        ("nprocs = 0", "line 1: nprocs must not be 0: leave it out"),
        ("launches_max = 0", "line 1: launches_max must not be 0: leave it out"),
        ("launches = 1000000000", "launches_max, blocks and reps must be at most 1000000"),
        ("rounds = 1000000000", "rounds must be at most 1000000"),
        ("nprocs = -3", "nprocs must be at least 2"),
        ('nprocs = "four"', r": line 1: nprocs: Expected `int`, got `str`$"),
        ("nprosc = 4", "unknown key `nprosc`"),
        ("sizes = []", "sizes: name a size or more"),
        ("sizes = [0, 4]", "sizes: name a size or more"),
        ('type = "MPI_SHORTISH"', "type must be one of MPI_BYTE"),
        ("nprocs = 4\nroot = 4", "root must be a rank"),
        ("root = -1", "root must be a rank"),
        ("launches = 5", "launches must be at least 6"),
        ("launches = 15\nlaunches_max = 14", "launches_max must be at least launches"),
        ("launches_max = -1", "launches_max must be at least launches"),
        ("blocks = 0", "blocks and reps must be at least 1"),
        ("rounds = -1", "rounds must not be negative"),
        ("seed = -1", "seed must not be negative"),
        ("budget_seconds = -1.0", "budget_seconds must be a number"),
        ("budget_seconds = nan", "is not a valid number"),
        ("launch_timeout_seconds = 0.0", "launch_timeout_seconds must be a number"),
        ("alpha = 1.0", "alpha must lie between 0 and 1"),
        ("tolerance = -0.1", "tolerance must lie between 0 and 1"),
        ("tolerance = 1.0", "tolerance must lie between 0 and 1"),
        ("nprocs = ", "Invalid value"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=message) as error:
        load(path, {})
    assert f"campaign file {path}" in str(error.value)
    assert error.value.exit_code == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read campaign file .*none\.toml: No such file"):
        load(tmp_path / "none.toml", {})
    path = tmp_path / "latin.toml"
    path.write_bytes(b'op = "\xff"')
    with pytest.raises(UsageError, match=r"campaign file .*latin\.toml"):
        load(path, {})


def test_without_a_file_the_message_names_none() -> None:
    with pytest.raises(UsageError, match=r"^campaign: root must be a rank$"):
        load(None, {"nprocs": 4, "root": 9})


def test_more_ranks_than_a_machine_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Local()
    monkeypatch.setattr(there, "processing_units", lambda: 2)
    toolchain = SimpleNamespace(launcher=there)
    asked = load(None, {"nprocs": 65})
    with pytest.raises(UsageError, match="65 ranks on 2 processing units: at most 64"):
        starting.starter(cast(Toolchain, toolchain), asked)


def test_settings_of_the_process_are_searched_when_they_are_asked_for(tmp_path: Path) -> None:
    plain, named = load(None, {}), load(written(tmp_path, 'settings = ["b", "a", "b"]'), {})
    assert named.search.settings == ["a", "b"]
    assert load(None, {"settings": True}).search.settings is True
    assert load(written(tmp_path, "settings = false"), {}) != plain != named
    assert plain.search.tries_usual_settings
    assert not load(None, {"rounds": 0}).search.tries_usual_settings


def test_what_makes_a_campaign_is_what_was_asked_for(tmp_path: Path) -> None:
    """Nothing of what is as it is by default, or changes no measurement."""
    said = written(tmp_path, "nprocs = 4\nall = true\nvariants = []\nbudget_seconds = 7.0\n")
    assert identity.identifying(load(said, {"launches_max": 20})) == {
        "nprocs": 4,
        "launches_max": 20,
        "variants": [],
    }


def test_what_is_not_a_violation_is_searched_unless_it_is_refused() -> None:
    plain, few = load(None, {"nprocs": 4}), load(None, {"nprocs": 4, "all": False})
    assert plain.search.all and not few.search.all
    assert load(None, {"nprocs": 4, "all": True}) == plain
