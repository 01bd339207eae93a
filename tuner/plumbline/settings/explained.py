"""Explanations of the keys of a campaign file, for readers: read from where it is declared."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from plumbline.core.application import Application

from . import CHOSEN, GROUPS


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
        case msgspec.inspect.StructType(cls=cls) if cls is Application:
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
