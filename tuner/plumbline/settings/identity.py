"""The identity of a campaign that is asked for: settings, machine, library and what of the shell
reaches it make its identity."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Sequence, Set
from typing import Any

import msgspec

from plumbline.core import unmeasured
from plumbline.core.guidelines import EVERY, LEFT_OUT, MESSAGE_PATTERNS, Guidelines
from plumbline.core.plan import WITHOUT_SIZE
from plumbline.libraries import reaching
from plumbline.settings import site_rules as rules_of_site
from plumbline.settings.toolchain import Toolchain
from plumbline.system import mistakes
from plumbline.system.placement import Placement
from plumbline_db import campaigns, machines, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Campaign, by_number

from . import GROUP_OF, GROUPS, Settings, of_keys
from .cases import OTHERS


def document(settings: Settings) -> dict[str, Any]:
    return {
        key: msgspec.to_builtins(value)
        for key, value in settings.keys().items()
        if value is not None
    }


def text_of(settings: Settings) -> str:
    return msgspec.json.encode(document(settings)).decode()


def to_start(campaign: Campaign) -> Settings:
    """Return the settings by which launches are started here. Raises PlumblineError where settings
    of an imported campaign would set variables, preload libraries or submit jobs."""
    settings = settings_of(campaign.settings)
    ranks, fixed = settings.ranks, settings.fixed
    asks_for = [
        *(f"the variable {name}" for name in fixed.environment),
        *(f"the library {name}" for name in fixed.preload),
        *([] if ranks.place in (None, ranks.simulate) else ["hosts or a job of its own"]),
    ]
    if campaign.imported_from and asks_for:
        raise PlumblineError(
            f"campaign {campaign.named} asks for {', '.join(asks_for)}: what an imported campaign "
            f"asks for is not done here; `{command_name()} export` and `{command_name()} apply` "
            "use its winners alone"
        )
    return settings


def settings_of(text: str) -> Settings:
    """Read stored settings. Keys of other commands (`plumbline overlap tune`) are ignored. Raises
    PlumblineError for a text that is no settings, as a stranger's file may have."""
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
        return of_keys({key: value for key, value in values.items() if key in GROUP_OF})
    except ValueError as error:
        raise PlumblineError(
            f"settings of a campaign cannot be read ({error!s:.200}): it was written by another "
            "version of Plumbline, or by hand"
        ) from error


def begin(
    db: Database,
    toolchain: Toolchain,
    settings: Settings,
    *,
    new: bool,
    wanted: Campaign | None = None,
) -> Campaign:
    """The last campaign of these settings on this machine and library, or another one; `wanted`,
    where that is one of these. Raises UsageError when the settings ask for what the probe or the
    guidelines do not know."""
    chosen(toolchain, settings)
    if settings.cases.op and settings.cases.op not in toolchain.catalogue.ops:
        raise UsageError(f"op must be one of {', '.join(toolchain.catalogue.ops)}")
    require_sync(toolchain, settings)
    variant_names = {variant.name for variant in toolchain.catalogue.variants}
    unknown = set(settings.search.variants or ()) - variant_names
    if unknown:
        raise UsageError(
            f"variants: unknown {', '.join(sorted(unknown))}; give names without parameters, as "
            f"`{command_name()} variants` shows them"
        )
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    site = rules_of_site.find(toolchain, settings)
    # The default types were bytes in earlier versions: such campaigns do not continue with others.
    more = [] if settings.cases.type else ["usual types"]
    more += [] if site is None else [f"{site.path}\n{site.text}"]
    more += [hashlib.sha256(user_files.read(path)).hexdigest() for path in settings.fixed.preload]
    identity = Identity(
        text_of(settings),
        placement,
        "x",
        more,
        left_out=set(settings.fixed.environment),  # they stand in the settings
        asked=msgspec.json.encode(identifying(settings)).decode(),
        site_rules=None if site is None else site.text,
    )
    return enter(db, toolchain, identity, new=new, wanted=wanted)


def identifying(settings: Settings) -> dict[str, Any]:
    """The keys that make a campaign what it is: those that change a measurement, and are not at
    their defaults."""
    groups = (getattr(settings, name) for name in GROUPS)
    return {key: value for group in groups for key, value in unmeasured.identifying(group).items()}


class Identity(msgspec.Struct, frozen=True):
    """The identity of a campaign on a machine and for a library: `text` are its settings, and
    `asked` is what of them counts, where that is not all; `more` are facts that count too, and
    `left_out` variables of this shell that do not. `mark` stands between number of ranks and hash
    in its id. `site_rules`: the text of the site's rules file that is in force."""

    text: str
    placement: Placement
    mark: str
    more: Sequence[str] = ()
    left_out: Set[str] = frozenset()
    asked: str = ""
    site_rules: str | None = None


def enter(
    db: Database,
    toolchain: Toolchain,
    identity: Identity,
    *,
    new: bool,
    wanted: Campaign | None = None,
) -> Campaign:
    """Return the last row of this identity, here and for this library, or another one; or `wanted`.
    Raises UsageError where `wanted` is none of these."""
    library, placement = toolchain.installation.library, identity.placement
    circumstances = _circumstances(toolchain, identity.left_out)
    facts = [identity.asked or identity.text, *circumstances, *identity.more]
    facts = [toolchain.machine.id, library.fingerprint, *facts]
    hashed = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    if wanted is not None and wanted.key.partition("-")[0] != hashed:
        raise UsageError(
            f"campaign {wanted.id} cannot be continued here: the library, the machine or the "
            "environment of this shell is not the one that it was begun with"
        )
    same = [
        campaign
        for campaign in campaigns.every(db)
        if not campaign.imported_from and campaign.key.partition("-")[0] == hashed
    ]
    if same and not new:
        newest = max(same, key=lambda campaign: int(campaign.key.partition("-")[2] or 1))
        db.measures((wanted or newest).id)
        return wanted or newest
    key = f"{hashed}-{len(same) + 1}"
    machines.put_machine(db, toolchain.machine)
    machines.put_library(db, library)
    campaign = Campaign(
        id=f"{library.id}-{placement.nprocs}{identity.mark}{hashed[:6]}"
        + (f"-{len(same) + 1}" if same else ""),
        key=key,
        machine=toolchain.machine.id,
        library_fingerprint=library.fingerprint,
        nprocs=placement.nprocs,
        nodes=placement.nodes,
        ppn=placement.ppn,
        oversubscribed=placement.oversubscribed,
        settings=identity.text,
        state="running",
        started=now(),
        finished="",
        site_rules=identity.site_rules,
    )
    campaigns.put(db, campaign)
    db.measures(campaign.id)
    return campaign


def _circumstances(toolchain: Toolchain, own: Set[str]) -> list[str]:
    """Variables that reach the library as they are: with other values it is another campaign."""
    environment = os.environ | toolchain.installation.environment
    left_out = own | set(toolchain.family.settings_in(environment))
    return [
        f"{name}={value}"
        for name, value in sorted(reaching(environment).items())
        if name not in left_out
    ]


def require_sync(toolchain: Toolchain, settings: Settings) -> None:
    if settings.start_scheme not in toolchain.catalogue.syncs:
        raise UsageError(
            f"sync = {settings.start_scheme}: the probe has no such start scheme; it has "
            f"{', '.join(toolchain.catalogue.syncs)}"
        )


def finish(db: Database, campaign: Campaign) -> None:
    """Store that it has ended, now."""
    campaigns.put(db, msgspec.structs.replace(campaign, state="finished", finished=now()))


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def beside(toolchain: Toolchain, settings: Settings) -> dict[str, list[str]]:
    """Functions that are measured though others are named: for these guidelines, which are named
    too. Empty where `functions` or `guidelines` are not given."""
    named, guidelines_asked = settings.cases.functions, settings.cases.guidelines
    ids_by_function: dict[str, list[str]] = {}
    for pattern in toolchain.guidelines.patterns:
        if named and pattern.id.upper() in guidelines_asked and pattern.lhs not in named:
            ids_by_function.setdefault(pattern.lhs, []).append(pattern.id)
    return ids_by_function


def chosen(toolchain: Toolchain, settings: Settings) -> Guidelines:
    """The guidelines that the settings name; the default ones when they name none. Monotony and
    split-robustness belong to every function that is measured, with a pattern or without, unless
    the settings leave them out by name."""
    names = [name for name in toolchain.catalogue.names if name not in WITHOUT_SIZE]
    names += MESSAGE_PATTERNS
    sizes = settings.cases.sizes if isinstance(settings.cases.sizes, dict) else {}
    strange = [name for name in sizes if name not in (OTHERS, *names)]
    if strange:
        raise UsageError(
            f"sizes: nothing of {', '.join(strange)} is measured by size; "
            f"functions are {', '.join(names)}, and `{OTHERS}`"
        )
    strangers = [name for name in settings.cases.functions if name not in names]
    if strangers:
        raise UsageError(
            f"functions: there are no sizes of {', '.join(strangers)} to compare"
            + mistakes.instead(strangers, names)
        )
    guidelines_asked = settings.cases.guidelines
    _require_known(toolchain.guidelines, guidelines_asked)
    guidelines_chosen = toolchain.guidelines.selected(guidelines_asked, settings.cases.functions)
    if all(id.startswith(LEFT_OUT) for id in guidelines_asked):
        if settings.cases.profile is None:
            return guidelines_chosen
        # A function that the application does not call has no share in its time.
        called = [
            pattern for pattern in guidelines_chosen.patterns if pattern.lhs in settings.called
        ]
        return msgspec.structs.replace(guidelines_chosen, patterns=called)
    if not guidelines_chosen.patterns and not settings.cases.functions:
        raise UsageError(
            "guidelines: name at least one pattern guideline, whose left side is measured, or name "
            "functions to measure"
        )
    return guidelines_chosen


def _require_known(guidelines: Guidelines, asked: Sequence[str]) -> None:
    """Raise UsageError where an id that is asked for, or left out, is not of a collective."""
    ids = {id.removeprefix(LEFT_OUT) for id in asked} - {EVERY}
    known_ids = {entry.id.upper() for entry in guidelines.entries()}
    others = sorted({benchmark.id.upper() for benchmark in guidelines.of_benchmarks()} & ids)
    if others:
        raise UsageError(
            f"guidelines: {', '.join(others)}: of benchmarks of overlap, not of collectives; "
            f"`{command_name()} overlap tune` verifies and tunes them"
        )
    unknown = sorted(ids - known_ids, key=by_number)
    if unknown:
        raise UsageError(
            f"no guideline is called {', '.join(unknown)}"
            + mistakes.instead(unknown, sorted(known_ids, key=by_number))
        )
