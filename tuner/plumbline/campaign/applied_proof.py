"""Tamper checks of applied winners: short launches in the environment of a plain mpirun, with a
deliberately wrong setting in place of each of ours. A setting that the library never reads is not
missed either, whatever silences it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.applied import apply, standing, targets
from plumbline.applied.generations import Generation, Source, Store
from plumbline.campaign import in_force, proof
from plumbline.campaign.in_force import ActiveFiles
from plumbline.core.plan import PlanCase
from plumbline.libraries import ReadsParameterFiles
from plumbline.libraries.into_ranks import rank_lists
from plumbline.settings import Fixed
from plumbline.settings import toolchain as installed
from plumbline.settings.identity import settings_of
from plumbline.settings.toolchain import Toolchain
from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.records import EVERY_FUNCTION
from plumbline_exporters import families, plumbline_sh

NOT_ASKED = "--no-proof was given"


class TamperCheck(msgspec.Struct, frozen=True):
    """Sentences about the winners that the library uses, about those that it ignores, and about
    those that could not be checked."""

    active: list[str] = []
    not_active: list[str] = []
    not_checked: list[str] = []


class _Place(msgspec.Struct, frozen=True):
    """A generation and its folder; `environment` is that of a plain mpirun with the applied values
    in it, `silencers` names what others have set."""

    one: Generation
    folder: Path
    environment: Mapping[str, str]
    silencers: str = ""
    variants: bool = True


def check(one: Generation, folder: Path, prefix: Path | None, database: Path) -> TamperCheck:
    """Check with the library under `prefix`, or with the one that the generation was made for where
    that is another. Raises no PlumblineError: what stops a check is part of the answer."""
    if one.scope == "modules":
        load = f"plumbline/{one.library.id}"
        return TamperCheck(not_checked=[f"nothing has loaded the module {load} here"])
    if not Store(folder.parent.parent, one.name, shared=False).intact(one):
        again = f"`{command_name()} apply` writes them again"
        return TamperCheck(not_active=[f"files in {folder} are gone or were changed: {again}"])
    try:
        if libraries.find(prefix)[1].library.fingerprint != one.library.fingerprint:
            prefix = Path(one.library.prefix)
        place = _place(one, folder, installed.find_toolchain(prefix))
        if isinstance(place, TamperCheck):
            return place
        return _together([_of_source(source, place, prefix, database) for source in one.sources])
    except (OSError, PlumblineError) as error:
        return TamperCheck(not_checked=[str(error)])


def _together(checks: Sequence[TamperCheck]) -> TamperCheck:
    return TamperCheck(
        [text for check in checks for text in check.active],
        [text for check in checks for text in check.not_active],
        [text for check in checks for text in check.not_checked],
    )


def _place(one: Generation, folder: Path, found: Toolchain) -> _Place | TamperCheck:
    """Return the environment to start in, or the answer where nothing has to be started."""
    family, installation = found.family, found.installation
    plain = standing.plain_environment(family, installation)
    applied = standing.parameters_of(one)
    if not applied or not isinstance(family, ReadsParameterFiles):
        return _of_shells(one, folder, found)
    reported = family.reported_in(installation, plain)
    wrong = standing.differing(applied, reported, family, installation.library.id)
    if wrong:
        return TamperCheck(not_active=wrong)
    prefix = families.parameter_file(one.library).prefix
    values = {prefix + name: value for name, value in applied.items()}
    silencers = standing.silencers(applied, reported, family)
    return _Place(one, folder, plain | values, silencers, variants=False)


def _of_shells(one: Generation, folder: Path, found: Toolchain) -> _Place | TamperCheck:
    """Login shells set variables: a new one is asked for them. What this shell has set besides is
    in the environment of a plain mpirun, too."""
    family = found.family
    bare = standing.plain_environment(family, found.installation)
    # A shell that is open may still have the values of an earlier generation.
    earlier = f"{folder.parent}/"
    typed = {name: bare.pop(name) for name in family.settings_in(bare)}
    typed = {name: value for name, value in typed.items() if earlier not in value}
    passed_on = (*proof.PRELOADING, *rank_lists())  # what others preload is part of their values

    def of_library(environment: Mapping[str, str]) -> dict[str, str]:
        names = [name for name in environment if name.startswith(families.prefixes())]
        return {name: environment[name] for name in names if not name.startswith(passed_on)}

    applied = of_library(proof.environment_of(folder / plumbline_sh.FILE_NAME, bare))
    here = apply.conflicts_in_environment(typed, applied)
    if here:
        return TamperCheck(not_active=[f"{text}: unset it, or log in anew" for text in here])
    login = targets.login_environment(bare, of_site=one.scope == "site")
    wrong = [
        f"{name} is {login.get(name, 'not set')} in a new login shell, not {value}: look at what "
        "its files set after our lines"
        for name, value in sorted(applied.items())
        if login.get(name) != value
    ]
    if wrong:
        return TamperCheck(not_active=wrong)
    environment = login | of_library(typed)
    others = {name: environment[name] for name in family.settings_in(environment)}
    named = [f"{name}={value}" for name, value in of_library(others).items() if name not in applied]
    silencers = f"; these may be the reason: {', '.join(named)}" if named else ""
    return _Place(one, folder, environment, silencers)


def _of_source(source: Source, place: _Place, prefix: Path | None, database: Path) -> TamperCheck:
    campaign = source.campaign
    winners = [
        winner
        for winner in source.winners
        if winner.function != EVERY_FUNCTION and (place.variants or winner.variant == "default")
    ]
    if not winners:
        return TamperCheck()
    who = f"{campaign.id} ({counted(campaign.nprocs, 'rank')})"
    try:
        # A plain mpirun has nothing of the environment that the campaign was given.
        settings = msgspec.structs.replace(settings_of(campaign.settings), fixed=Fixed())
        toolchain = installed.find_toolchain(prefix, settings=settings, beside=database.parent)
        script = place.folder / plumbline_sh.FILE_NAME
        files = ActiveFiles(campaign, settings, winners, script, toolchain)
        evidence = in_force.evidence(files, place.environment)
    except (OSError, PlumblineError) as error:
        return TamperCheck(not_checked=[f"{who}: {error}"])
    missed = dict.fromkeys(evidence.missed)
    problems = evidence.problems
    if missed:
        problems = [f"the library ignores a deliberately wrong setting for {_named(missed)}"]
    active = [cell for cell in dict.fromkeys(evidence.tried) if cell not in missed]
    rejected = f"{who}: {_named(active)}; the library rejects a deliberately wrong setting"
    return TamperCheck(
        active=[rejected] if active else [],
        not_active=[f"{who}: {problem}{place.silencers}" for problem in problems],
        not_checked=[f"{who}: {unproven.text}" for unproven in evidence.unproven],
    )


def _named(cells: Mapping[PlanCase, None] | Sequence[PlanCase]) -> str:
    sizes: dict[str, list[int]] = {}
    for cell in cells:
        sizes.setdefault(cell.function, []).append(cell.bytes)
    return "; ".join(
        f"{function} at {', '.join(map(str, sorted(each)))} B"
        for function, each in sorted(sizes.items())
    )
