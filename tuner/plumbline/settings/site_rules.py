"""A rules file that the site has in force: part of the library as it is, and the first thing that a
campaign has to put in question.

A process reads one such file, and some versions prefer it to what a search tries. So each candidate
is tried without it, in launches of its own, in turn with launches of the library as it is; the
library's own decision is a candidate like any other; and an exported file takes the site's place,
with the site's rules for whatever no winner decides."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.libraries.space import Algorithm, Space
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline_db import user_files
from plumbline_db.errors import UsageError


class ActiveSiteRules(msgspec.Struct, frozen=True):
    """`where` says by what it is in force."""

    path: Path
    text: str
    where: str


def variables(toolchain: Toolchain) -> set[str]:
    """The names of variables by which a site has its rules in force: a campaign may find them set,
    though it sets them itself."""
    rules = toolchain.space.site_rules
    return set(toolchain.family.in_environment(rules.knobs())) if rules else set()


def find(toolchain: Toolchain, settings: Settings) -> ActiveSiteRules | None:
    """The file that the settings name (table `environment`), or a parameter file of the library.
    UsageError where it cannot be read, or is named and not in force."""
    rules = toolchain.space.site_rules
    if rules is None:
        return None
    fixed = settings.fixed.environment
    values = {
        knob: fixed.get(variable, _of_site(toolchain, knob))
        for knob in (rules.knob, *rules.needs)
        for variable in toolchain.family.in_environment({knob: ""})
    }
    name = values[rules.knob]
    if not name:
        return None
    by_settings = set(fixed) & set(toolchain.family.in_environment({rules.knob: ""}))
    where = "the settings" if by_settings else toolchain.knobs[rules.knob].source
    missing = [knob for knob, value in rules.needs.items() if not _same(values[knob], value)]
    if missing:
        missing_settings = " and ".join(f"{knob} = {rules.needs[knob]}" for knob in missing)
        raise UsageError(
            f"{where} names the rules file {name}, which is not in force without "
            f"{missing_settings}: set "
            "that too, or take the name out"
        )
    path = Path(name)
    if not path.is_absolute():
        raise UsageError(f"{where}: the rules file {name} must be named by its whole path")
    try:
        return ActiveSiteRules(path, user_files.text(path), where)
    except (OSError, ValueError) as error:
        raise UsageError(f"{where}: the rules file {name} cannot be read: {error}") from error


def _of_site(toolchain: Toolchain, knob: str) -> str:
    installed_knob = toolchain.knobs.get(knob)
    return installed_knob.value if installed_knob and installed_knob.source else ""


def _same(value: str, text: str) -> bool:
    words = ("1", "true", "yes", "enabled")
    return value == text or (text in words and value.lower() in words)


def over(space: Space) -> Space:
    """Return what may be tried where a site has rules in force: all of it cold, and the library's
    own decision besides."""
    rules = space.site_rules
    if rules is None:
        return space
    own = Algorithm(name=rules.own_decision, summary="the library decides")
    function = [
        msgspec.structs.replace(entry, algorithms=[own, *entry.algorithms])
        for entry in space.function
    ]
    return msgspec.structs.replace(space, hot=None, function=function)
