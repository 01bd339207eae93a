"""The shorthand of search spaces, written out: what one says once for many.

The `rows` of a table share what stands beside them. What says `alike = "radix"` has the keys of
`[alike.radix]` too, where it does not say others. A setting that stands alike for several
functions, or ignored knobs of them, name these in `each`, and have `{function}` (MPI_Bcast),
`{name}` (bcast) and `{NAME}` (BCAST) where they differ; so has the table of a function.
`presets = 3` are the algorithms 1, 2 and 3, of which no more than the number is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

_Table = dict[str, Any]


def written_out(data: _Table) -> _Table:
    """The file's tables one by one. Raises ValueError."""
    alike = msgspec.convert(data.get("alike", {}), dict[str, _Table])
    written = {key: value for key, value in data.items() if key != "alike"}
    if "function" in data:
        rows = _rows(data["function"], alike)
        written["function"] = [_function(table, alike) for table in rows]
    for key in ("setting", "ignored"):
        if key in data:
            rows = _rows(data[key], alike)
            written[key] = [table for row in rows for table in _for_each(row)]
    return written


def _rows(tables: Any, alike: Mapping[str, _Table]) -> Iterator[_Table]:
    for table in msgspec.convert(tables, list[_Table]):
        shared = {key: value for key, value in table.items() if key != "rows"}
        for row in msgspec.convert(table.get("rows", [{}]), list[_Table]):
            whole = shared | row
            name = whole.pop("alike", None)
            if name is not None and name not in alike:
                raise ValueError(f"the table [alike.{name!s:.100}] is missing")
            yield alike.get(name, {}) | whole


def _function(table: _Table, alike: Mapping[str, _Table]) -> _Table:
    filled: _Table = _filled(table, str(table.get("name")))
    if "parameters" in filled:
        filled["parameters"] = list(_rows(filled["parameters"], alike))
    if "presets" in filled:
        count = msgspec.convert(filled.pop("presets"), Annotated[int, msgspec.Meta(ge=1, le=1000)])
        filled["algorithms"] = [
            {"id": number, "name": str(number), "summary": f"preset {number} of {count}"}
            for number in range(1, count + 1)
        ]
    return filled


def _for_each(table: _Table) -> Iterator[_Table]:
    """A setting of each of the functions that it names so, or all their knobs that are ignored."""
    if "each" not in table:
        yield table
        return
    knobs = table.get("knobs", table.get("knob"))
    if "functions" in table or "{" not in str(knobs):
        raise ValueError(f"each wants a {{name}} in the knob, and no functions: {table!s:.200}")
    alike = {key: value for key, value in table.items() if key != "each"}
    ignored: list[Any] = []
    for function in msgspec.convert(table["each"], list[str]):
        if isinstance(knobs, list):
            ignored += _filled(knobs, function)
        else:
            yield _filled(alike, function) | {"functions": [function]}
    if ignored:
        yield alike | {"knobs": ignored}


def _filled(value: Any, function: str) -> Any:
    """Return it with the function's name in its forms."""
    if isinstance(value, dict):
        return {_filled(key, function): _filled(entry, function) for key, entry in value.items()}
    if isinstance(value, list):
        return [_filled(entry, function) for entry in value]
    if isinstance(value, str):
        name = function.removeprefix("MPI_")
        for hole, word in (("function", function), ("name", name.lower()), ("NAME", name.upper())):
            value = value.replace(f"{{{hole}}}", word)
    return value
