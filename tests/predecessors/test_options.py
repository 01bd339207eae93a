"""The command line and the campaign file: options in any order, and nothing unknown is ignored."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from plumbline.cli import COMMANDS, campaign
from plumbline.cli.base import ProgramOptions
from plumbline.measure import side_by_side, tables
from plumbline.settings import GROUP_OF, identity
from plumbline.settings.campaign_file import load
from tests.predecessors.test_plans import misspelt
from tests.tuner.cli.command import plumbline, taken
from tests.tuner.simulated import SimulatedStarter, toolchain

# Option, value; options that belong together stay together.
CAMPAIGN = (
    *(("--nprocs", "4"), ("--sizes", "64,1024"), ("--type", "MPI_DOUBLE"), ("--op", "MPI_SUM")),
    *(("--root", "1"), ("--guidelines", "GL12,GL16"), ("--functions", "MPI_Alltoall")),
    *(("--launches", "9"), ("--seed", "77"), ("--new",), ("--json",), ("--db", "a.db")),
)
MEASURE = (
    *(("MPI_Allreduce",), ("--sizes", "64,1024"), ("--variants", "all"), ("--nprocs", "4")),
    *(("--knob", "coll_tuned_allreduce_algorithm=ring"), ("--launches", "3"), ("--seed", "5")),
    *(("--type", "MPI_DOUBLE"), ("--op", "MPI_SUM"), ("--root", "1"), ("--json",)),
)


class Captured(Exception):
    """Stands in place of the work that a command would begin."""


def orders(options: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Rotations, which put each option first and last, back to front too, and some shuffles."""
    chance = random.Random(1)
    turned = [[*options[i:], *options[:i]] for i in range(len(options))]
    shuffled = [chance.sample(options, len(options)) for _ in range(20)]
    every = [*turned, *(list(reversed(one)) for one in turned), *shuffled]
    return [list(itertools.chain.from_iterable(one)) for one in every]


@pytest.mark.parametrize("command", ["campaign", "verify"])
def test_the_order_of_options_means_nothing(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2c: `--runtime-type=global` counts only where it stands last; ours gives the same settings
    and the same plan for every order."""
    seen: list[tuple[str, Any]] = []

    def capture(
        program: ProgramOptions, campaign_file: Path | None, new: bool, **asked: Any
    ) -> None:
        rest = {name: asked.pop(name, None) for name in ("output", "rounds", "manner")}
        settings = load(campaign_file, asked)
        chosen = identity.chosen(toolchain(), settings)
        plan = tables.plan(settings, tables.cases(chosen, settings))
        seen.append(
            (msgspec.structs.replace(plan, name="x").text(), (settings, program, new, rest))
        )
        raise Captured

    monkeypatch.setattr(campaign, "run", capture)
    for words in orders(CAMPAIGN):
        with pytest.raises(Captured):
            plumbline(command, *words)
    assert len(seen) > 40
    assert all(one == seen[0] for one in seen)
    assert "function=MPI_Alltoall variant=default config=default bytes=1024" in seen[0][0]


def test_the_order_of_options_means_nothing_to_measure(
    starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2c: as above, for `plumbline measure`."""
    seen: list[tuple[object, ...]] = []

    def capture(_: object, *what: object, **more: object) -> None:
        seen.append((*what, more))
        raise Captured

    monkeypatch.setattr(side_by_side, "run", capture)
    for words in orders(MEASURE):
        with pytest.raises(Captured):
            plumbline("measure", *words)
    assert len(seen) > 40
    assert all(one == seen[0] for one in seen)
    assert starter.launches == []


def test_the_order_of_a_campaign_file_means_nothing(tmp_path: Path) -> None:
    """2c: as above, for a campaign file, and for a file against options."""
    lines = ("nprocs = 4", "sizes = [64, 1024]", 'op = "MPI_SUM"', 'type = "MPI_INT"', "seed = 3")
    path, found = tmp_path / "campaign.toml", []
    for order in itertools.permutations(lines):
        path.write_text("\n".join(order))
        found.append(load(path, {}))
    assert all(one == found[0] for one in found)
    assert found[0].sampling.seed == 3 and found[0].cases.op == "MPI_SUM"


def commands() -> list[tuple[list[str], click.Command, list[click.Option]]]:
    """Every command, those of groups too, with the words that call it and the options it takes."""
    found = []
    for name in COMMANDS:
        command, options = taken(name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            found.append(([name], command, options))
        if isinstance(command, click.Group):
            below = command.list_commands(click.Context(command))
            found += [([name, word], *taken(name, word)) for word in below]
    return found


def arguments(command: click.Command) -> list[str]:
    """Something for each argument, so that options are all there is to complain about."""
    needed = [one for one in command.params if isinstance(one, click.Argument) and one.required]
    return ["MPI_Bcast" for _ in needed]


@pytest.mark.parametrize(
    ("words", "command", "options"), [pytest.param(*one, id="-".join(one[0])) for one in commands()]
)
def test_every_misspelt_option_is_refused(
    words: list[str], command: click.Command, options: list[click.Option], starter: SimulatedStarter
) -> None:
    """2c [run]: `--proc-synk=window --dattype=MPI_INT` runs with defaults; each of our commands
    refuses each misspelling of each of its options, and a beginning of it."""
    known = {name for one in options for name in one.opts if name.startswith("--")}
    known |= {"--help"}
    for name in sorted(known):
        word = name.removeprefix("--")
        for wrong in sorted(misspelt(word) | {word[:3]} - {word}):
            if f"--{wrong}" in known:
                continue
            for given in ([f"--{wrong}"], [f"--{wrong}=1"], [f"--{wrong}", "1"]):
                said = plumbline(*words, *given, *arguments(command))
                assert said.status == 2, (words, given, said.err)
                assert "No such option" in said.err
                assert said.out == ""
    assert starter.launches == []


def test_every_misspelt_key_of_a_campaign_file_is_refused(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    """2c [run]: as above, for the keys of a campaign file."""
    path = tmp_path / "campaign.toml"
    for key in GROUP_OF:
        for wrong in misspelt(key):
            path.write_text(f"{wrong} = 1\n")
            said = plumbline("campaign", path, "--db", tmp_path / "plumbline.db")
            assert said.status == 2, wrong
            assert f"`{wrong}`" in said.err
    assert starter.launches == []


@pytest.mark.parametrize("words", [["--op", "MPI_SUMM"], ["--type", "MPI_DUOBLE"], ["--root", "9"]])
def test_measure_refuses_a_misspelt_value(
    words: list[str], starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2c [run]: as above, for `plumbline measure`: what the probe refuses is never launched."""
    monkeypatch.setattr(
        starter, "refusal", lambda text: "no such name" if words[1] in text else None
    )
    said = plumbline("measure", "MPI_Allreduce", "--nprocs", "4", *words)
    assert said.status == 2, said.err
    assert starter.launches == []
