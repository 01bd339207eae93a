"""Options of the group `overlap`, on either side of the name of a command, and a campaign file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plumbline.cli import overlap_tune
from plumbline.overlap import knobs
from plumbline.settings import Settings
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter


class Captured(Exception):
    """Stands in place of the work that a command would begin."""


@pytest.mark.parametrize(
    ("words", "launches", "seed"),
    [
        (["overlap", "tune"], 12, 5),
        (["overlap", "--launches", "9", "tune", "--seed", "7"], 9, 7),
        (["overlap", "--launches", "8", "tune", "--launches", "9", "--seed", "1"], 9, 1),
    ],
)
def test_a_campaign_file_gives_way_to_what_is_typed_alone(
    words: list[str], launches: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defaults of options do not stand over it."""
    file = tmp_path / "campaign.toml"
    file.write_text("launches = 12\nseed = 5\nnprocs = 2\n")
    seen: list[Settings] = []

    def capture(_: object, settings: Settings, *more: object, **others: object) -> None:
        seen.append(settings)
        raise Captured

    monkeypatch.setattr(overlap_tune, "_run", capture)
    with pytest.raises(Captured):
        plumbline(*words, "--campaign-file", file)
    assert (seen[0].sampling.launches, seen[0].sampling.seed) == (launches, seed)
    assert seen[0].search.budget_seconds == overlap_tune.BUDGET_SECONDS


def test_what_can_be_repeated_adds_up(
    starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []

    def capture(_: object, words: tuple[str, ...], *more: Any) -> None:
        seen.append(words)
        raise Captured

    monkeypatch.setattr(knobs, "given", capture)
    with pytest.raises(Captured):
        plumbline("overlap", "--knob", "a=1", "--knob", "b=2", "thresholds", "--knob", "c=3")
    assert seen == [("a=1", "b=2", "c=3")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["thresholds", "--triples", "3"], "--triples 3: fewer than 4"),
        (["tune", "--triples", "2"], "--triples 2: 3 at least"),
        (["timeline", "--sizes", "8,16"], "a timeline is of one cell: name one of --sizes"),
        (["timeline", "--work", "0"], "--work 0: it takes 1 to 1000000"),
    ],
)
def test_what_a_command_cannot_do_with_an_option(words: list[str], said: str) -> None:
    done = plumbline("overlap", *words)
    assert done.status == 2 and said in " ".join(done.err.split())
