"""Files that `plumbline apply` writes for a library: of a user, a site, or a tree of modules."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from plumbline import libraries
from plumbline.libraries import Family, Installation, ReadsParameterFiles
from plumbline.system import process
from plumbline_db.errors import PlumblineError

Scope = Literal["user", "site", "modules"]
Form = Literal["parameters", "sh", "csh", "fish", "modulefile", "modulefile-lua"]

PROFILES = Path("/etc/profile.d")  # what login shells read for everybody
SITE = Path("/etc/plumbline")
IN_MODULES = ".plumbline"  # module commands pass over what starts with a dot


class Where(msgspec.Struct, frozen=True):
    """`kind` as in generations.Target."""

    path: Path
    kind: Literal["lines", "whole"]
    form: Form


class Place(msgspec.Struct, frozen=True):
    """`root` holds the generations, `name` says whose they are; `shared`: other users read all of
    it. `overrides`: files that are heard before ours, `overridden` after. `notes` are worth a word
    to the person who asked."""

    scope: Scope
    root: Path
    name: str
    shared: bool
    where: list[Where]
    overrides: list[Path] = []
    overridden: list[Path] = []
    notes: list[str] = []


def data_folder(environment: Mapping[str, str]) -> Path:
    named = environment.get("XDG_DATA_HOME")
    return Path(named) if named else Path.home() / ".local" / "share"


def root_of(scope: Scope, modules: Path | None, store: Path | None) -> Path | None:
    """Return where generations are; None where the library has to be asked (of a site)."""
    if store is not None:
        return store.absolute()
    if scope == "user":
        return data_folder(os.environ).absolute() / "plumbline" / "applied"
    if scope == "modules" and modules is not None:
        return modules.absolute() / IN_MODULES
    return None


def place(
    scope: Scope,
    family: Family,
    installation: Installation,
    modules: Path | None = None,
    store: Path | None = None,
) -> Place:
    """Raises PlumblineError where there is no such place for this library."""
    library = installation.library
    if family.simulates:
        raise PlumblineError(
            f"{library.id} is simulated: nothing is applied; source the exported plumbline.sh"
        )
    root = root_of(scope, modules, store)
    if modules is not None and root is not None:
        folder = modules.absolute() / "plumbline"
        return Place(
            scope=scope,
            root=root,
            name=library.id,
            shared=True,
            where=[
                Where(folder / library.id, "whole", "modulefile"),
                Where(folder / f"{library.id}.lua", "whole", "modulefile-lua"),
            ],
            notes=[f"module use {modules.absolute()} && module load plumbline/{library.id}"],
        )
    if isinstance(family, ReadsParameterFiles):
        files = family.parameter_files(installation, of_user=scope == "user")
        return Place(
            scope=scope,
            root=root or files.wanted.parent / "plumbline",
            name=library.family,
            shared=scope == "site",
            where=[Where(files.wanted, "lines", "parameters")],
            overrides=files.overrides,
            overridden=files.overridden,
            notes=files.notes,
        )
    if scope == "user" and root is not None:
        file, form = _login_file(os.environ)
        notes = [f"login shells read {file}: shells that are already open are not affected"]
        where = [Where(file, "lines", form)]
        return Place(scope, root, library.family, False, where, notes=notes)
    names = f"plumbline-{library.family}"
    return Place(
        scope=scope,
        root=root or SITE,
        name=library.family,
        shared=True,
        where=[
            Where(PROFILES / f"{names}.sh", "whole", "sh"),
            Where(PROFILES / f"{names}.csh", "whole", "csh"),
        ],
        notes=[f"{PROFILES} is read by login shells of this node alone: do the same on the others"],
    )


def _login_file(environment: Mapping[str, str]) -> tuple[Path, Form]:
    """Return what the user's login shell reads."""
    home = Path.home()
    shell = environment.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell
    match Path(shell).name:
        case "csh" | "tcsh":
            return home / ".login", "csh"
        case "zsh":
            return Path(environment.get("ZDOTDIR", home)) / ".zprofile", "sh"
        case "bash":
            for name in (".bash_profile", ".bash_login"):
                if (home / name).exists():
                    return home / name, "sh"
            return home / ".profile", "sh"
        case "sh" | "dash" | "ksh" | "mksh":
            return home / ".profile", "sh"
        case "fish":
            named = environment.get("XDG_CONFIG_HOME")
            return (Path(named) if named else home / ".config") / "fish" / "config.fish", "fish"
    raise PlumblineError(
        f"Plumbline does not know which file {shell} reads at login: source plumbline.sh of an "
        "export yourself, or use --modules"
    )


def login_environment(environment: Mapping[str, str], *, of_site: bool) -> dict[str, str]:
    """Return the variables of a new login shell that starts in `environment`: the user's own, or
    the sh of any user. Raises PlumblineError where its shell cannot be asked."""
    shell = "/bin/sh" if of_site else environment.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell
    if Path(shell).name in ("csh", "tcsh"):
        raise PlumblineError(f"{shell} cannot run a command as a login shell")
    done = process.run(
        [shell, "-l", "-c", "exec env -0"], timeout_seconds=20, environment=environment
    )
    if done.status != 0:
        raise PlumblineError(
            f"a new login shell ({shell}) ends with status {done.status}: {done.stderr.strip()}"
        )
    return dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)


def site_root(mpi_prefix: Path | None, name: str | None) -> Path:
    """Return where generations of a site are: beside the file that the library reads, else in
    SITE."""
    if name is not None and not isinstance(libraries.families().get(name), ReadsParameterFiles):
        return SITE
    try:
        return place("site", *libraries.find(mpi_prefix)).root
    except PlumblineError:
        return SITE
