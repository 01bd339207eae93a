"""Files that `plumbline apply` writes for a library: of a user, a site, or a tree of modules; and
the files of others as they are: which generation is in force in each, whether our part was
changed."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from plumbline import libraries
from plumbline.applied import files
from plumbline.applied.generations import AppliedFile, Generation, Store
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


_Action = Literal["create", "change", "remove"]


class _AppliedChange(msgspec.Struct, frozen=True):
    """A file of others. `real`: what `path` leads to, where it is a link; else empty."""

    path: str
    action: _Action
    diff: str
    real: str = ""


class AppliedOutcome(msgspec.Struct, frozen=True):
    """`generation` is in force then (0: nothing), `previous` was before; they are equal, and
    `changes` is empty, where nothing was to be done. `files` are those of the generation.
    `not_in_force`: the reasons why the library does not use what was written. `active`: how it is
    known that the library uses it. `not_checked`: why that could not be checked. `notes` are what a
    cautious person wants to know."""

    scope: str
    name: str
    generation: int
    previous: int
    dry_run: bool
    library: str = ""
    campaigns: list[str] = []
    changes: list[_AppliedChange] = []
    files: list[str] = []
    left_out: list[str] = []
    not_in_force: list[str] = []
    active: list[str] = []
    not_checked: list[str] = []
    notes: list[str] = []


class TargetState(msgspec.Struct, frozen=True):
    """`number`: the generation whose part it has (0: none)."""

    found: files.FileAsItIs
    number: int


class Edit(msgspec.Struct, frozen=True):
    """`after` None: the file goes. `made`: folders that go with it when they are empty."""

    found: files.FileAsItIs
    after: bytes | None
    made: list[Path] = []

    @property
    def change(self) -> _AppliedChange | None:
        """None where the file stays as it is."""
        before = self.found.data
        if before == self.after:
            return None
        action: _Action = (
            "create" if before is None else "remove" if self.after is None else "change"
        )
        real = str(self.found.real) if self.found.is_link else ""
        diff = files.diff(self.found.path, before, self.after)
        return _AppliedChange(str(self.found.path), action, diff, real)


def state(path: Path, name: str) -> TargetState:
    """Raises PlumblineError where our marks are damaged."""
    file = files.read(path)
    try:
        own_block = files.find_block(file.text, name)
    except PlumblineError as error:
        raise PlumblineError(f"{path}: {error}") from error
    return TargetState(file, own_block.number if own_block else 0)


def states(store: Store, scope: str) -> list[TargetState]:
    """Return those of all files that a generation of this scope was written into. Raises
    PlumblineError where our marks are damaged."""
    every = [target for generation in store.generations(scope) for target in generation.targets]
    return [
        state(Path(path), store.name) for path in dict.fromkeys(target.path for target in every)
    ]


def in_force(states: Sequence[TargetState]) -> int:
    return max((state.number for state in states), default=0)


def applied(store: Store, states: Sequence[TargetState]) -> Generation | None:
    """The generation in force; None: there is none, or it is gone."""
    number = in_force(states)
    return store.read(number) if number else None


def require_untouched(store: Store, states: Sequence[TargetState], *, force: bool) -> None:
    """Raises PlumblineError, with what was changed, where our part is not what we wrote."""
    for state in states:
        if force or not state.number:
            continue
        generation = store.read(state.number)
        target = target_of(generation, state.found.path)
        if target is None:
            raise PlumblineError(
                f"{state.found.path} names generation {state.number} in {store.folder}, which does "
                "not exist; remove its lines by hand, or use --force"
            )
        text = state.found.text
        own_block = files.find_block(text, store.name)
        own_text = own_block.text if own_block and target.kind == "lines" else text
        if own_text != target.text:
            diff = files.diff(state.found.path, target.text.encode(), files.bytes_of(own_text))
            raise PlumblineError(
                f"{state.found.path}: our lines were changed since they were written (below). Keep "
                f"what is yours elsewhere, then --force\n{diff}"
            )


def with_set(target_state: TargetState, target: AppliedFile, name: str) -> bytes:
    """The file with our part for a generation in it."""
    if target.kind == "whole":
        return files.bytes_of(target.text)
    return files.bytes_of(files.put_block(target_state.found.text, name, target.text))


def without(store: Store, target_state: TargetState) -> Edit:
    """The file without us: as it was before the first of our generations, where nobody else has
    changed it since; else with what others have written meanwhile."""
    if not target_state.number:
        return Edit(target_state.found, target_state.found.data)
    holders = [
        (store.path(generation.number), target)
        for generation in _chain(store, target_state.number)
        if (target := target_of(generation, target_state.found.path)) is not None
    ]
    foreign_text = files.without_block(target_state.found.text, store.name)
    if not holders:
        return Edit(target_state.found, files.bytes_of(foreign_text))
    folder, first = holders[-1]
    made = [Path(path) for path in first.made]
    if first.kind == "whole":
        return Edit(target_state.found, None, made)
    original = None
    if first.before is not None:
        original = files.read(folder / first.before).data
    text = files.text_of(original or b"")
    is_original_known = first.before is None or original is not None
    if is_original_known and files.find_block(text, store.name) is None:
        written = files.put_block(text, store.name, first.text)
        if foreign_text == files.without_block(written, store.name):
            return Edit(target_state.found, original, made)
    return Edit(target_state.found, files.bytes_of(foreign_text))


def _chain(store: Store, number: int) -> list[Generation]:
    """The generation and those that were in force before, as far as they are there, newest
    first."""
    generations: list[Generation] = []
    while (
        number and (generation := store.read(number)) is not None and generation.previous < number
    ):
        generations.append(generation)
        number = generation.previous
    return generations


def target_of(generation: Generation | None, path: Path) -> AppliedFile | None:
    """Return what a generation has written there."""
    targets = generation.targets if generation else []
    return next((target for target in targets if target.path == str(path)), None)


def changes(edits: Sequence[Edit]) -> list[_AppliedChange]:
    """Return those of the files that do not stay as they are. Raises PlumblineError where one of
    them cannot be written."""
    changed = []
    for edit in edits:
        if (change := edit.change) is not None:
            files.writable(edit.found)
            changed.append(change)
    return changed


def carry_out(edits: Sequence[Edit], store: Store) -> None:
    """One file after the other, each as a whole."""
    for edit in edits:
        if edit.change is None:
            continue
        mode = 0o644 if store.shared else 0o666
        files.replace(edit.found, edit.after, store.name, mode=mode)
        if edit.after is None:
            for folder in reversed(edit.made):
                try:
                    folder.rmdir()
                except OSError:
                    break
