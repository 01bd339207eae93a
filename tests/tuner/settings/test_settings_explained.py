"""What each key says: once, where it is declared; docs and help say the same."""

from __future__ import annotations

import re

import msgspec
import pytest

from plumbline.cli.options import KeyValue
from plumbline.settings import GROUP_OF, GROUPS, campaign_file
from plumbline.settings.ranks import PLACES
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import ROOT

BEGIN, END = "<!-- keys: tuner/plumbline/settings -->\n", "<!-- end of keys -->\n"
# Options of `plumbline campaign` that are not called as the key is.
NAMES = {"budget_seconds": "--budget"}
# Given by a table, or a number that nobody has had to change for one campaign alone.
NO_OPTION = {*PLACES, "environment", "preload"}
NO_OPTION |= {"blocks", "reps", "precision", "launch_timeout_seconds", "alpha", "tolerance"}
NO_OPTION |= {"nrep", "nrep_min", "nrep_step", "nrep_max"}
NO_OPTION |= {"block_sizes"}  # two lists of sizes in one line are mistaken for each other
NO_OPTION |= {"limited_to", "within"}  # a site or a job sets it
NO_OPTION |= {"keep_days", "keep_last"}  # of a database rather than of a campaign
NO_OPTION |= {"variants", "all", "settings", "use", "sync", "launches_max", "rounds"}  # rarely used
NO_OPTION |= {"counts"}


def table(group: type[msgspec.Struct]) -> str:
    """In Markdown."""
    assert group.__doc__
    lines = [group.__doc__, "", "| key | takes | default | |", "|---|---|---|---|"]
    lines += [
        f"| `{key}` | {one.takes} | {one.default} | {one.sentence} |"
        for key, one in campaign_file.of_group(group)
    ]
    return re.sub(r"docs/([a-z-]+)\.md", r"[\1](\1.md)", "\n".join(lines)) + "\n"


def test_every_key_is_explained_in_one_sentence() -> None:
    found = campaign_file.keys()
    assert found.keys() == GROUP_OF.keys()
    for key, one in found.items():
        assert re.fullmatch(r"[A-Z][^\n]*\.", one.sentence), key
        assert ". " not in one.sentence, key
        assert one.takes, key
    assert found["nprocs"].takes == "whole number" and found["nprocs"].default == ""
    assert found["settings"].takes == "true or false or list of texts"
    assert found["bind"].takes == "core, none, numa, plain, socket"


def test_the_page_has_the_table_of_keys() -> None:
    """What is to stand there is shown where it does not."""
    page = (ROOT / "docs" / "campaign.md").read_text()
    standing = page.partition(BEGIN)[2].partition(END)[0]
    assert standing == "\n".join(map(table, GROUPS.values()))


@pytest.mark.parametrize("key", sorted(GROUP_OF))
def test_every_key_can_be_set_on_the_command_line(key: str) -> None:
    """Tables as TOML has them in a line; a key that has an option names it."""
    setting = KeyValue({}, of_campaign=True)
    value = '{name = "value"}' if campaign_file.keys()[key].takes == "table" else "1"
    assert setting.convert(f"{key}={value}", None, None)[0] == key
    if key not in NO_OPTION:
        option = NAMES.get(key, "--" + key.replace("_", "-"))
        said = plumbline("campaign", "--set", f"{key}={value}")
        assert said.status == 2 and option in said.err


@pytest.mark.parametrize("key", sorted(GROUP_OF.keys() - NO_OPTION))
def test_options_are_explained_as_keys_are(key: str) -> None:
    said = " ".join(plumbline("campaign", "--help").out.split())
    assert f" {NAMES.get(key, '--' + key.replace('_', '-'))} " in said
    assert campaign_file.keys()[key].sentence.removesuffix(".") in said
