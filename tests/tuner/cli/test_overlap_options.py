"""Options that stand on either side of the name of a command: of the group `overlap`, beside a
campaign file, and of where ranks go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plumbline.cli import overlap_tune
from plumbline.overlap import benches
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

    monkeypatch.setattr(benches, "given", capture)
    with pytest.raises(Captured):
        plumbline("overlap", "--knob", "a=1", "--knob", "b=2", "thresholds", "--knob", "c=3")
    assert seen == [("a=1", "b=2", "c=3")]
