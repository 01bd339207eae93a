"""Tables of the database as files for other programs: CSV, LaTeX, and Parquet with the extra
`parquet`. A file has its name when it is whole."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters import quoting

SUFFIXES = (".csv", ".tex", ".parquet")


def require(path: Path) -> None:
    """Raises UsageError where the name of the file says no format that can be written here."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    if path.suffix == ".parquet":
        _parquet()
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: the folder {path.absolute().parent} does not exist")


def write(path: Path, columns: Mapping[str, type], parts: Iterable[Mapping[str, Any]]) -> int:
    """Write the table, and return how many rows there are."""
    with scratch.replacing(path.absolute()) as new:
        if path.suffix == ".parquet":
            return _write_parquet(new, columns, parts)
        with new.open("w", encoding="utf-8", newline="") as file:
            if path.suffix == ".tex":
                return _write_latex(file, columns, parts)
            return _write_csv(file, columns, parts)


def print_csv(columns: Mapping[str, type], parts: Iterable[Mapping[str, Any]]) -> None:
    _write_csv(sys.stdout, columns, parts)


def _write_csv(
    file: IO[str], columns: Mapping[str, type], parts: Iterable[Mapping[str, Any]]
) -> int:
    """RFC 4180 with newlines alone; what is missing is empty, true and false are 1 and 0."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    count = 0
    for part in parts:
        listed = [_values(part[name], kind) for name, kind in columns.items()]
        writer.writerows(zip(*listed, strict=True))
        count += len(listed[0])
    return count


def _write_latex(
    file: IO[str], columns: Mapping[str, type], parts: Iterable[Mapping[str, Any]]
) -> int:
    """A longtable, for a document that has that package; its head stands on every page."""
    kinds = "".join("l" if kind is str else "r" for kind in columns.values())
    file.write("% \\usepackage{longtable}\n\\begin{longtable}{" + kinds + "}\n\\hline\n")
    file.write(_latex_row(columns) + "\\hline\n\\endhead\n")
    count = 0
    for part in parts:
        listed = [_values(part[name], kind) for name, kind in columns.items()]
        for row in zip(*listed, strict=True):
            file.write(_latex_row(row))
            count += 1
    file.write("\\hline\n\\end{longtable}\n")
    return count


def _latex_row(values: Iterable[Any]) -> str:
    words = (quoting.latex("" if value is None else str(value)) for value in values)
    return " & ".join(words) + r" \\" + "\n"


def _values(values: Any, kind: type) -> list[Any]:
    plain_values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [int(value) for value in plain_values] if kind is bool else plain_values


def _write_parquet(
    path: Path, columns: Mapping[str, type], parts: Iterable[Mapping[str, Any]]
) -> int:
    """A row group a part; texts that repeat are dictionaries."""
    arrow, parquet = _parquet()
    kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string(), bool: arrow.bool_()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            arrays = [arrow.array(part[field.name], type=field.type) for field in schema]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += len(arrays[0])
    return count


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise PlumblineError(
            "Parquet needs pyarrow: pip install 'plumbline[parquet]', or name a file that ends in "
            ".csv"
        ) from error
    return pyarrow, pyarrow.parquet
