"""Factors and their levels: words that name them, what each changes, the state of the machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from plumbline.results import factor_effects
from plumbline.results.compared_now import NamedSide, StartableSide
from plumbline.results.factor_levels import Base, Level, parse
from plumbline.settings import Settings, building
from plumbline.system import paths, sessions
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner import simulated


@pytest.fixture
def base(tmp_path: Path) -> Base:
    """A machine whose kernel lets this user choose between two governors."""
    for number in (0, 1):
        policy = tmp_path / f"policy{number}"
        policy.mkdir()
        (policy / "scaling_governor").write_text("powersave\n")
        (policy / "scaling_available_governors").write_text("performance powersave\n")
    toolchain = simulated.toolchain()
    catalogue = msgspec.structs.replace(toolchain.catalogue, clocks=["monotonic_raw", "wtime"])
    toolchain = msgspec.structs.replace(toolchain, catalogue=catalogue)
    return Base(Settings().but(nprocs=2, use="synchronised"), toolchain, tmp_path)


def texts(levels: list[Level]) -> list[str]:
    return [level.text for level in levels]


def test_without_words_all_usual_factors_have_the_levels_that_the_base_has_not(base: Base) -> None:
    assert texts(parse([], base)) == [
        *("pinning=core", "pinning=none", "cache=overwrite", "start=barrier", "clock=wtime"),
        *("neighbour=1", "frequency=performance"),
    ]
    bound = msgspec.structs.replace(base, settings=base.settings.but(bind="core", use="", sync=""))
    levels = texts(parse([], bound))
    assert "pinning=core" not in levels and "start=window" in levels


def test_a_factor_that_cannot_be_set_is_left_out_unless_it_is_named(
    base: Base, tmp_path: Path
) -> None:
    bare = msgspec.structs.replace(base, governors=tmp_path / "none")
    assert not any(level.factor == "frequency" for level in parse([], bare))
    with pytest.raises(UsageError, match="kernel lets nobody set governors"):
        parse(["frequency"], bare)
    with pytest.raises(UsageError, match=r"frequency=ondemand: choose from performance"):
        parse(["frequency=ondemand"], base)
    with pytest.raises(UsageError, match="library=PREFIX"):
        parse(["library"], base)


def test_what_levels_change(base: Base) -> None:
    words = ["start=barrier", "cache", "UCX_TLS=tcp", "btl=self,vader", "flags=-O3", "neighbour=2"]
    levels = parse([*words, "cache=overwrite", "start=roundtime"], base)
    assert [level.plan for level in levels[:2]] == [
        {"sync": "barrier", "runtime": "local"},
        {"cache": "overwrite"},
    ]
    assert [level.variables for level in levels[2:4]] == [
        {"UCX_TLS": "tcp"},
        {"btl": "self,vader"},
    ]
    assert levels[4].flags == "-O3" and levels[5].neighbours == 2
    assert levels[6].plan == {"sync": "roundtime", "runtime": "global"}
    assert len(levels) == 7


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("pining", r"did you mean pinning"),
        ("pining=core", r"did you mean pinning"),
        ("cache=", "names no level"),
        ("cache=warm", "the base has this level already"),
        ("pinning=plain", "the base has this level already"),
        ("pinning=thread", "name one of core"),
        ("neighbour=none", "busy processes"),
        ("UCX_TLS", "is no factor; a factor is FACTOR"),
        ("2X=1", "is no factor"),
    ],
)
def test_words_that_name_no_level(base: Base, word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse([word], base)


def test_a_governor_is_put_back_also_after_an_error(base: Base) -> None:
    (level,) = parse(["frequency"], base)
    files = sorted(base.governors.glob("policy*/scaling_governor"))
    with pytest.raises(RuntimeError), level.beside(base.governors):
        assert [file.read_text() for file in files] == ["performance"] * 2
        raise RuntimeError
    assert [file.read_text() for file in files] == ["powersave\n"] * 2
    files[0].unlink()
    files[0].mkdir()
    with pytest.raises((PlumblineError, OSError)), level.beside(base.governors):
        pass


def test_a_probe_with_other_flags_is_built_once(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[Path, dict[str, str]]] = []

    def build(layout: paths.Layout, mpicc: Path, environment: dict[str, str]) -> None:
        probe = layout.own / paths.build_id(base.toolchain.installation.library) / "probe"
        probe.parent.mkdir(parents=True)
        probe.touch()
        built.append((probe, environment))

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(building, "build", build)
    (tmp_path / "probe").write_bytes(b"the usual one")
    installation = msgspec.structs.replace(base.toolchain.installation, mpicc=Path("mpicc"))
    toolchain = msgspec.structs.replace(
        base.toolchain, probe=tmp_path / "probe", installation=installation
    )
    plain = StartableSide(NamedSide("base", None, {}), base.settings, tmp_path, toolchain)
    for _ in range(2):
        side = factor_effects.startable(Level("flags", "-O3", flags="-O3"), plain, tmp_path)
        assert side.toolchain.probe == built[0][0]
    assert [environment for _, environment in built] == [{"CFLAGS": "-O3"}]
    without = msgspec.structs.replace(installation, mpicc=None)
    plain.toolchain = msgspec.structs.replace(toolchain, installation=without)
    with pytest.raises(PlumblineError, match="no mpicc"):
        factor_effects.startable(Level("flags", "-O3", flags="-O3"), plain, tmp_path)


def test_a_neighbour_is_busy_and_ends_with_the_launch() -> None:
    def busy() -> list[int]:
        return [
            pid
            for pid in sessions.descendants(os.getpid())
            if b"while True: pass" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    before = busy()
    with Level("neighbour", "2", neighbours=2).beside():
        limit = time.monotonic() + 30  # until both are the program that they were started as
        while len(busy()) < len(before) + 2 and time.monotonic() < limit:
            time.sleep(0.02)
        assert len(busy()) == len(before) + 2
    assert busy() == before
