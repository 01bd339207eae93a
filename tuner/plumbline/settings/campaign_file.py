"""Campaign files (TOML), and options put over them.

A file that has lists asks for several campaigns: `libraries` are prefixes of MPI installations
(relative ones: to the file's folder; "" is the mpirun on PATH, "module:NAME" the one of an
environment module), or selectors where [simulate] says that the machine is simulated; `layouts` are
nodes x ranks a node, as in "32x16". Every pair of them is a campaign of its own, with all other
keys of the file; so each is continued by itself, and kept in the database like any other."""

from __future__ import annotations

import ast
import copy
import inspect
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from plumbline.core import guidelines, profile_file
from plumbline.core.application import Application
from plumbline.core.guidelines import Guidelines
from plumbline.core.reach import named
from plumbline.launch import allocation
from plumbline.launch.simulation import known
from plumbline.system import mistakes, modules, placement, toml
from plumbline.system.toml import Document
from plumbline_db.errors import command_name

from . import CHOSEN, GROUPS, Settings, of_keys
from .cases import SIMULATED
from .ranks import PLACES


class ExplainedSetting(msgspec.Struct, frozen=True):
    """A key: what it takes, what it is where it is not given (empty: nothing), and a sentence."""

    takes: str
    default: str
    sentence: str


def keys() -> dict[str, ExplainedSetting]:
    """Return the keys of every group, in their order."""
    return {key: explained for group in GROUPS.values() for key, explained in of_group(group)}


def of_group(group: type[msgspec.Struct]) -> Iterator[tuple[str, ExplainedSetting]]:
    sentences = dict(_sentences(group))
    usual = group()
    for field in msgspec.structs.fields(group):
        takes = _words(msgspec.inspect.type_info(field.type))
        default = "" if field.name in CHOSEN else _default(getattr(usual, field.name))
        yield field.name, ExplainedSetting(takes, default, sentences[field.name])


def _default(value: object) -> str:
    if isinstance(value, list) and len(value) > 3:
        return f"{len(value)} of them, {value[0]} to {value[-1]}"
    return msgspec.json.encode(value).decode() if value not in (None, "", [], {}) else ""


def _sentences(group: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """The text below each field."""
    (declared,) = ast.parse(inspect.getsource(group)).body
    for field, below in pairwise(declared.body if isinstance(declared, ast.ClassDef) else []):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())


def _words(type: msgspec.inspect.Type) -> str:
    match type:
        case msgspec.inspect.Metadata(type=inner):
            return _words(inner)
        case msgspec.inspect.UnionType(types=types):
            type_words = [
                _words(kind) for kind in types if not isinstance(kind, msgspec.inspect.NoneType)
            ]
            return " or ".join(type_words)
        case msgspec.inspect.LiteralType(values=values):
            return ", ".join(map(str, values))
        case msgspec.inspect.ListType(item_type=inner):
            return f"list of {_words(inner)}s"
        case msgspec.inspect.StructType(cls=cls) if cls in (Application, Guidelines):
            return "name of a file"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.IntType():
            return "whole number"
        case msgspec.inspect.FloatType():
            return "number"
        case msgspec.inspect.StrType():
            return "text"
        case _:
            return "table"


_LISTS = ("libraries", "layouts")
SITE = "site"  # the table of a whole site (plumbline.site), which no single campaign has
_GONE = {"slurm", "pbs", "flux", "lsf"}  # tables of earlier versions


def load(path: Path | None, overrides: Mapping[str, Any]) -> Settings:
    """The settings of a campaign file (None: defaults) for one campaign, with command-line options
    put over them. Raises UsageError naming the file and the key."""
    source = read(path)
    return of(source, source.values, overrides)


def read(path: Path | None) -> Document:
    """The file as it is, the files that it names (relative to it) by their whole paths; None: one
    without keys. Raises UsageError where it cannot be read or is no TOML."""
    if path is None:
        return Document("campaign")
    source = toml.read(path, f"campaign file {path}")
    for key in _GONE & source.values.keys():
        raise source.refused(
            f"[{key}]: one job now runs a whole campaign: rename the table to [job], and type "
            f"`{command_name()} campaign {path} --submit {key}` "
            "(keys: docs/clusters.md)"
        )
    values = copy.deepcopy(source.values)

    def whole(name: Any) -> Any:
        return str(path.absolute().parent / name) if isinstance(name, str) and name else name

    for table, key in (("hosts", "file"), ("simulate", "platform")):
        if isinstance(values.get(table), dict) and key in values[table]:
            values[table][key] = whole(values[table][key])
    if isinstance(values.get("preload"), list):
        values["preload"] = [whole(name) for name in values["preload"]]
    for key in ("profile", "guidelines_file"):
        if key in values:
            values[key] = whole(values[key])
    return msgspec.structs.replace(source, values=values)


def of(source: Document, values: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """`values` are keys of a campaign file, which errors name as `source` does."""
    values = {key: value for key, value in values.items() if key != SITE}
    options_given = {key: value for key, value in overrides.items() if value is not None}
    written = {key: value for key, value in source.values.items() if key not in options_given}
    source = msgspec.structs.replace(source, values=written)
    selector = options_given.pop("simulate", None)
    if selector is not None:
        table = values.get("simulate")
        options_given["simulate"] = (table if isinstance(table, dict) else {}) | {
            "library": known(selector)
        }
    job = options_given.pop("job", None)
    if job is not None:
        table = values.get("job")
        options_given["job"] = (table if isinstance(table, dict) else {}) | job
    values |= options_given
    for key in CHOSEN:
        if values.get(key) == 0:
            raise source.refused(f"{key} must not be 0: leave it out, and it is chosen")
    if "simulate" in values:
        values = SIMULATED | values
    values |= _of_allocation(values)
    if "profile" in values:
        values = {"sizes": []} | values | {"profile": _profile(source, values["profile"])}
    if "guidelines_file" in values:
        values["guidelines_file"] = _guidelines(source, values["guidelines_file"])
    try:
        settings = of_keys(values)
    except msgspec.ValidationError as error:
        raise source.mistake(error, _known()) from error
    if settings.ranks.hosts is not None:
        settings = settings.but(hosts=named(settings.ranks.hosts))
    return settings.checked(source)


def _known() -> mistakes.Fields:
    """Return what each key of a file takes."""
    fields = {
        key: type for group in GROUPS.values() for key, type in mistakes.fields_of(group).items()
    }
    return fields | dict.fromkeys(_LISTS, msgspec.inspect.type_info(list[str]))


def _of_allocation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that put ranks on the hosts of the allocation around this process; none
    outside of one, where another place is named, and where it is this host and nobody has asked for
    it."""
    places = values.keys() & set(PLACES)
    around = allocation.found() if places <= {"job"} else None
    return {} if around is None or (around.is_here and not places) else around.keys(values)


def _profile(source: Document, path: Any) -> Any:
    """Return what the file says, in place of its name: a campaign does not change with the file."""
    if not isinstance(path, str) or not path:
        raise source.refused(
            f"profile must name a file that `{command_name()} profile` has written"
        )
    return msgspec.to_builtins(profile_file.read(Path(path)))


def _guidelines(source: Document, path: Any) -> Any:
    """Return what the file says, in place of its name: a campaign does not change with the file."""
    if not isinstance(path, str | Path) or not str(path):
        raise source.refused("guidelines_file must name a file")
    return msgspec.to_builtins(guidelines.load(Path(path)))


class Task(msgspec.Struct, frozen=True):
    """One campaign. `mpi_prefix` None is the mpirun on PATH."""

    settings: Settings
    mpi_prefix: Path | None = None

    @property
    def label(self) -> str:
        simulated = self.settings.ranks.simulate
        library = simulated.library if simulated else str(self.mpi_prefix or "the mpirun on PATH")
        return f"{library}, {self.settings.ranks.node_count}x{self.settings.ranks.ppn}"


def tasks(path: Path | None, overrides: Mapping[str, Any], mpi_prefix: Path | None) -> list[Task]:
    """The campaigns that a file asks for, options put over it: --mpi over `libraries`, --nprocs
    over `layouts`. Without a file, or without lists in it, there is one. Raises UsageError."""
    source = read(path)
    values = dict(source.values)
    lists = {key: _strings(source, key, values.pop(key)) for key in _LISTS if key in values}
    simulated = "simulate" in values
    libraries = lists.get("libraries", [""])
    layouts: list[str | None] = [*lists.get("layouts", [])] or [None]
    if mpi_prefix is not None or "simulate" in overrides:
        libraries = [""]
    if overrides.keys() & {"nprocs", "nodes"}:
        layouts = [None]
    elif "layouts" in lists and values.keys() & {"nprocs", "nodes"}:
        raise source.refused("layouts set the number of ranks: leave nprocs and nodes out")
    table = values.get("simulate")
    table = table if isinstance(table, dict) else {}
    if "libraries" in lists and "library" in table:
        raise source.refused(
            "libraries are the selectors of the simulated machine; leave library out of the table "
            "simulate"
        )
    # An allocation may have more nodes than the smallest layout.
    spread = values.keys() & set(PLACES) or "job" in overrides or allocation.found() is not None
    campaign_tasks = []
    for library in libraries:
        for layout in layouts:
            own = dict(values)
            if layout is not None:
                nodes, ppn = placement.parse(layout)
                own |= {"nprocs": nodes * ppn} | ({"nodes": nodes} if spread or nodes > 1 else {})
            prefix = mpi_prefix
            if simulated and library:
                own["simulate"] = {"library": library} | table
            elif library.startswith(modules.PREFIX):
                prefix = Path(library)
            elif library and path is not None:
                prefix = Path(os.path.normpath(path.absolute().parent / library))
            campaign_tasks.append(Task(of(source, own, overrides), prefix))
    return campaign_tasks


def _strings(source: Document, key: str, value: Any) -> list[str]:
    fine = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if not fine or len(set(value)) < len(value):
        raise source.refused(f"{key} must be a list of at least one text, without repetition")
    return list(value)
