"""The configuration: strict, and its example is what holds."""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from plumbline.daemon import configuration
from plumbline.daemon.configuration import DaemonConfiguration
from plumbline_db.errors import UsageError


def read(tmp_path: Path, text: str) -> DaemonConfiguration:
    path = tmp_path / "watch.toml"
    path.write_text(text)
    return configuration.read(path)


def test_the_example_is_what_holds_without_it(tmp_path: Path) -> None:
    assert (
        read(tmp_path, configuration.example()) == DaemonConfiguration() == configuration.read(None)
    )


def test_the_example_has_every_key() -> None:
    text = configuration.example()
    written = tomllib.loads(re.sub(r"^# (campaign\w*) =", r"\1 =", text, flags=re.MULTILINE))
    for name in DaemonConfiguration.__struct_fields__:
        assert name in written, name
        table = getattr(DaemonConfiguration(), name)
        if hasattr(table, "__struct_fields__"):
            assert list(table.__struct_fields__) == list(written[name]), name


def test_a_campaign_file_is_relative_to_the_configuration(tmp_path: Path) -> None:
    assert read(tmp_path, 'campaign_file = "c.toml"').campaign_file == str(tmp_path / "c.toml")


def test_lengths_of_time(tmp_path: Path) -> None:
    found = read(tmp_path, '[canary]\nevery = "30min"\n[keep]\nlaunches = "7d"')
    assert found.canary.interval == timedelta(minutes=30)
    assert found.keep.ages[0] == timedelta(days=7)
    assert found.design.canaries == 30 * 48


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cannary = 1", "unknown key `cannary`"),
        ("[canary]\nevery = '1 hour'", "canary.every: '1 hour' is not a duration"),
        ("[canary]\nlaunches = 0", "`int` >= 1"),
        ("[canary]\nlearning = 5", ">= 20"),
        ("[notify]\ntemplate = '$what $nothing'", "$nothing is none of $what, $table"),
        ("[notify]\ntemplate = 'costs 5 $'", "a $ names none of $what"),
        ("[canary]\nlaunches = 1.5", "Expected `int`"),
        ("[neighbour]\nload = nan", "nan is not a valid number"),
        ("[schedule]\ntime_zone = 'Vienna'", "time_zone"),
        ("[schedule]\nwindows = ['at noon']", "'at noon' is not a window"),
        ("[schedule]\nwindows = ['Mon']\nblackouts = ['Mon']", "nothing would ever be measured"),
        ("[apply]\nauto = true", "needs a scope"),
        ("[apply]\nscope = 'modules'", "scope modules needs modules = DIR"),
        ("[apply]\nscope = 'all'", "Invalid enum value"),
        ("[notify]\ncommand = ['no-such-program']", "the program 'no-such-program' does not exist"),
        ("[notify]\ncommand = ['true', '$nothing']", "notify.command: $nothing is none of $what"),
        ("[notify]\nwebhook = 'file:///etc/passwd'", "http or https"),
        ("[backup]\nkeep = -1", ">= 0"),
        ("[serve]\nlisten = '9464'", "neither HOST:PORT"),
        ("[serve]\nallow_hosts = ['mpi.example']", "needs listen"),
        ("[serve]\nmax_series = 1", ">= 100"),
        ("campaign = 'a'\ncampaign_file = 'b'", "name one of them"),
        ("[keep]\nlaunches = '500d'", "longer than keep.rows"),
        ("[", "not a TOML file"),
    ],
)
def test_what_is_wrong_is_refused_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "watch.toml") in str(caught.value)


def test_a_webhook_is_not_told(tmp_path: Path) -> None:
    found = read(tmp_path, "[notify]\nwebhook = 'https://u:p@chat.example.org/hook?token=s3cret'")
    assert "s3cret" not in found.told and "u:p" not in found.told
    assert "https://chat.example.org/" in found.told
