"""What errors in TOML files name: the file, the line, the key and what may stand there; in one
sentence where nobody can have meant the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.core import guidelines
from plumbline.daemon import configuration
from plumbline.libraries import space_file
from plumbline.settings import campaign_file
from plumbline.suites import description
from plumbline.system import toml
from plumbline_db.errors import UsageError
from tests.probes.launch import ROOT

CAMPAIGN = """# a comment
nprocs = 4
sizes = [
    8,  # small
    64,
]
[job]
queue = "batch"
"""
SUITES = """title = "Two"
[[suite]]
name = "a"
operations = ["MPI_Bcast"]
from = 8
to = 64

[[suite]]
name = "b"
operations = ["MPI_Bcast"]
from = 8
to = 64
"""
WATCH = """[canary]
every = "1h"

[apply]
scope = "user"
"""
SPACE = (ROOT / "search-spaces" / "mpich.toml").read_text()
SETTING = f"line {SPACE[: SPACE.index('[[setting]]')].count(chr(10)) + 2}: "
GUIDELINES = guidelines.DEFAULT_PATH.read_text()
GL4 = f"line {GUIDELINES[: GUIDELINES.index('GL4')].count(chr(10)) + 1}: "


def _campaign(path: Path) -> object:
    return campaign_file.tasks(path, {}, None)


Case = tuple[Callable[[Path], object], str, str, str, list[str]]
CASES: list[Case] = [
    (_campaign, CAMPAIGN, "nprocs", "nprcos", ["line 2: unknown key `nprcos`", "nearest: nprocs"]),
    (_campaign, CAMPAIGN, "sizes", "sises", ["line 3: unknown key `sises`", "keys here: all, "]),
    (_campaign, CAMPAIGN, "[job]", "[jbo]", ["line 7: unknown key `jbo`; nearest: job"]),
    (_campaign, CAMPAIGN, "queue", "quuee", ["line 8: unknown key `quuee`"]),
    (_campaign, CAMPAIGN, "[job]", "[pbs]", ["line 7: [pbs]: one job now runs", "--submit pbs"]),
    (_campaign, CAMPAIGN, "64,\n", "'64',\n", ["line 5: sizes[1]: Expected `int`, got `str`"]),
    (_campaign, CAMPAIGN, "4", "1", ["line 2: nprocs must be at least 2"]),
    (_campaign, CAMPAIGN, "nprocs = 4", "nprocs = 4\nbind = 'cores'", [
        "line 3: bind: Invalid enum value 'cores'; it may be core, none, numa, plain, socket"
    ]),
    (_campaign, CAMPAIGN, "nprocs = 4", "libraries = 3", ["line 2: libraries must be a list of"]),
    (_campaign, CAMPAIGN, "8,  # small", "8,  # [small]\n'''\n[a]''',", ["line 5: sizes[1]"]),
    (_campaign, CAMPAIGN, "nprocs = 4", "nprocs == 4", ["not a TOML file", "at line 2, column 9"]),
    (description.read, SUITES, "[[suite]]\nname = \"b\"", "[[suite]]\nnmae = \"b\"", [
        "line 9: unknown key `nmae`; nearest: name; keys here: at, "
    ]),
    (description.read, SUITES, '"b"\noperations = ["MPI_Bcast"]', '"b"\noperations = []', [
        "line 10: suite 'b': operations"
    ]),
    (configuration.read, WATCH, "every", "evry", ["line 2: unknown key `evry`; nearest: e"]),
    (configuration.read, WATCH, "apply", "aplpy", ["line 4: unknown key `aplpy`; "]),
    (configuration.read, WATCH, '"user"', '"usr"', [
        "line 5: apply.scope: Invalid enum value 'usr'; it may be "
    ]),
    (configuration.read, WATCH, '"1h"', '"0s"', ["line 2: canary.every: "]),
    (space_file.load, SPACE, "[[setting]]\n", "[[setting]]\ncolour = 3\n", [
        f"{SETTING}unknown key `colour`", "keys here: "
    ]),
    (guidelines.load, GUIDELINES, '"GL4",', '"GL4", uses = [],', [f"{GL4}guideline 'GL4': uses"]),
    (guidelines.load, GUIDELINES, '"GL4",', '"GL4", speed = 3,', [f"{GL4}unknown key `speed`"]),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text", "good", "bad", "said"), CASES)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, read: Callable[[Path], object], text: str, good: str, bad: str, said: list[str]
) -> None:
    path = tmp_path / "a file.toml"
    path.write_text(text)
    assert good in text
    read(path)
    path.write_text(text.replace(good, bad, 1))
    with pytest.raises(UsageError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message
    for part in said:
        assert part in message, message
    if "line" not in message:
        pytest.fail(f"no line: {message}")


def test_an_option_has_no_line(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text("nprocs = 4\n")
    with pytest.raises(UsageError, match=r"campaign\.toml: nprocs must be at least 2"):
        campaign_file.tasks(path, {"nprocs": 1}, None)


def test_every_statement_has_its_first_line_and_entries_their_own(tmp_path: Path) -> None:
    text = (
        "# head\n\na = 1\nb.c = [\n  1,\n\n  2,\n]\n[t]\nx = '''\n[u]\ny = 2\n'''\n"
        "z = { k = 1, l = [ 1 ] }\n[[list]]\n[[list]]\nkey = 3\n[list.inner]\nq = 1"
    )
    path = tmp_path / "a.toml"
    path.write_text(text)
    document = toml.read(path, "a.toml")
    lines = {
        ("a",): 3, ("b",): 4, ("b", "c"): 4, ("b", "c", 1): 7, ("t",): 9, ("t", "x"): 10,
        ("t", "z"): 14, ("t", "z", "l", 0): 14, ("list",): 15, ("list", 1): 16,
        ("list", 1, "key"): 17, ("list", 1, "inner"): 18, ("list", 1, "inner", "q"): 19,
        ("u",): None, ("list", 2): None, (): None, ("a", "b"): None, ("b", "c", 2): None,
    }  # fmt: skip
    assert {place: document.line(place) for place in lines} == lines
