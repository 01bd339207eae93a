"""A profile of Score-P in the file format of Cube 4 (`profile.cubex`), as far as calls of MPI go.

A tar archive: anchor.xml has metrics, regions, the tree of calls and the places that ran them;
N.index and N.data have the values of metric N, a row for each node of the tree that has any, a
column for each place. Rows are numbered along the tree: of exclusive metrics node by node, each
before what is below it; of inclusive ones all children of a node before any of their children."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from plumbline_db.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GZIP = b"\x1f\x8b"
TAR = b"ustar"
_MOST_BYTES = 256 * 2**20
_INDEX, _DATA, _PACKED = b"CUBEX.INDEX", b"CUBEX.DATA", b"ZCUBEX.DATA"
_KINDS = {"UINT64": "u8", "INT64": "i8", "DOUBLE": "f8", "MINDOUBLE": "f8", "MAXDOUBLE": "f8"}

Values: TypeAlias = "NDArray[np.float64]"


class CubeSite(NamedTuple):
    """A region where it is called from; `values`: of each metric, a value a location."""

    region: str
    values: Mapping[str, Values]


class CubeProfile(NamedTuple):
    """`nodes`: the host of each process; `process`: of each location, none where it is no thread of
    one; `seconds`: of the location that took longest."""

    creator: str
    nodes: list[str]
    process: list[int | None]
    seconds: float
    sites: list[CubeSite]


def read(data: bytes, metrics: Sequence[str], regions: frozenset[str]) -> CubeProfile:
    """Return what these metrics say of these regions. Raises UsageError where the file is no
    profile."""
    try:
        return _read(_unpacked(data), metrics, regions)
    except (tarfile.TarError, ElementTree.ParseError, zlib.error, struct.error) as error:
        raise UsageError(f"it cannot be read: {error}") from error
    except (ValueError, LookupError, OverflowError, EOFError) as error:
        raise UsageError(f"it is not as Cube writes it: {error}") from error


def _read(data: bytes, metrics: Sequence[str], regions: frozenset[str]) -> CubeProfile:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=_AnyChecksum) as archive:
        members = {member.name: member for member in archive if member.isreg()}

        def content(name: str) -> bytes:
            if name not in members:
                raise UsageError(f"{name} is missing: take a profile (profile.cubex)")
            file = archive.extractfile(members[name])
            assert file is not None  # noqa: S101 - it is a regular file
            return _unpacked(file.read())

        anchor = content("anchor.xml")
        if b"<!DOCTYPE" in anchor or b"<!ENTITY" in anchor:
            raise ValueError("anchor.xml declares a document type")
        root = ElementTree.fromstring(anchor)  # noqa: S314 - without declarations
        called = {_id(region): region.findtext("name", "") for region in root.iter("region")}
        roots = root.findall("program/cnode")
        callee_by_node = {
            _id(node): called[int(node.attrib["calleeId"])]
            for node in _deep(roots)
            if called[int(node.attrib["calleeId"])] in regions
        }
        nodes, process = _processes(root)
        values_by_node: dict[int, dict[str, Values]] = {node: {} for node in callee_by_node}
        seconds = 0.0
        for metric in root.iter("metric"):
            name, number = metric.findtext("uniq_name", ""), _id(metric)
            if name not in metrics or f"{number}.data" not in members:
                continue
            order = _wide(roots) if metric.get("type") == "INCLUSIVE" else _deep(roots)
            kind = _KINDS[metric.findtext("dtype", "")]
            rows = _rows(content(f"{number}.index"), content(f"{number}.data"), kind, len(process))
            if name == "time" and 0 in rows:
                seconds = float(rows[0].max())
            for place, node in enumerate(order):
                if (id := _id(node)) in values_by_node and place in rows:
                    values_by_node[id][name] = rows[place]
    creators = [each.get("value", "") for each in root.iter("attr") if each.get("key") == "Creator"]
    sites = [CubeSite(callee_by_node[node], values) for node, values in values_by_node.items()]
    return CubeProfile(creators[0] if creators else "", nodes, process, seconds, sites)


class _AnyChecksum(tarfile.TarInfo):
    """A member of an archive, whatever checksum its header has: CubeW 4.8 writes wrong ones."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        if buf[257:262] == TAR:
            total = sum(buf[:148]) + 8 * ord(" ") + sum(buf[156:])
            buf = bytes(buf[:148]) + b"%06o\0 " % total + bytes(buf[156:])
        return super().frombuf(buf, encoding, errors)


def _unpacked(data: bytes) -> bytes:
    """Return the data without gzip, where it is used."""
    if not data.startswith(GZIP):
        return data
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    unpacked = unpacking.decompress(data, _MOST_BYTES)
    if unpacking.unconsumed_tail:
        raise ValueError(f"it is larger than {_MOST_BYTES // 2**20} MiB")
    return unpacked


def _id(of: Element) -> int:
    return int(of.attrib["id"] if "id" in of.attrib else of.attrib["Id"])


def _deep(roots: Sequence[Element]) -> Iterator[Element]:
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.findall("cnode"))


def _wide(roots: Sequence[Element]) -> Iterator[Element]:
    for root in roots:
        yield root
        waiting = [root]
        while waiting:
            children = waiting.pop().findall("cnode")
            yield from children
            waiting += reversed(children)


def _processes(root: Element) -> tuple[list[str], list[int | None]]:
    nodes: list[str] = []
    process: dict[int, int | None] = {}
    for place in root.iter("systemtreenode"):
        for group in place.findall("locationgroup"):
            is_process = group.findtext("type", "process") == "process"
            for location in group.findall("location"):
                process[_id(location)] = len(nodes) if is_process else None
            if is_process:
                nodes.append(place.findtext("name", ""))
    return nodes, [process[location] for location in sorted(process)]


def _rows(index: bytes, data: bytes, kind: str, columns: int) -> dict[int, Values]:
    """Return them by the number of the row."""
    import numpy as np

    at = len(_INDEX)
    if index[:at] != _INDEX or columns < 1:
        raise ValueError("an index has a wrong header")
    order = "<" if index[at : at + 4] == b"\1\0\0\0" else ">"
    (is_sparse, count) = struct.unpack_from(f"{order}xxBI", index, at + 4)
    if is_sparse != 1:
        raise ValueError("an index is dense, but Score-P writes sparse ones")
    numbers = struct.unpack_from(f"{order}{count}I", index, at + 11)
    if data.startswith(_DATA):
        packed = data[len(_DATA) :]
    elif data.startswith(_PACKED):
        packed = _inflated(data[len(_PACKED) :], order, 8 * columns)
    else:
        raise ValueError("data have a wrong header")
    values = np.frombuffer(packed, f"{order}{kind}")
    if len(values) != count * columns:
        raise ValueError(f"{len(values)} values stand where {count} times {columns} should")
    return dict(zip(numbers, values.astype(float).reshape(count, columns), strict=True))


def _inflated(data: bytes, order: str, row: int) -> bytes:
    (count,) = struct.unpack_from(f"{order}Q", data)
    heads = struct.unpack_from(f"{order}{3 * count}Q", data, 8)
    at = 8 + 24 * count
    if count * row > _MOST_BYTES:
        raise ValueError(f"{count} rows are larger than {_MOST_BYTES // 2**20} MiB")
    inflated_rows = []
    for length in heads[2::3]:
        inflating = zlib.decompressobj()
        inflated_rows.append(inflating.decompress(data[at : at + length], row))
        at += length
    return b"".join(inflated_rows)
