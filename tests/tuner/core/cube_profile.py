"""Profiles as Score-P writes them, made of nothing: calls of a program on two nodes."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zlib
from collections.abc import Mapping

# By the number of the node of the tree below. main (0) calls solve (1), MPI_Bcast (2), and a region
# without MPI (5); solve calls MPI_Allreduce (3) and MPI_Gather (4).
TREE = (
    '<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"><cnode id="3" calleeId="3"/>'
    '<cnode id="4" calleeId="4"/></cnode><cnode id="2" calleeId="2"/>'
    '<cnode id="5" calleeId="1"/></cnode>'
)
REGIONS = ("main", "solve", "MPI_Bcast", "MPI_Allreduce", "MPI_Gather")
DEEP, WIDE = (0, 1, 3, 4, 2, 5), (0, 1, 2, 5, 3, 4)
METRICS = {
    "visits": ("EXCLUSIVE", "UINT64"),
    "time": ("INCLUSIVE", "DOUBLE"),
    "min_time": ("EXCLUSIVE", "MINDOUBLE"),
    "bytes_sent": ("EXCLUSIVE", "UINT64"),
    "bytes_received": ("EXCLUSIVE", "UINT64"),
}
# By metric, then by node of the tree: of four ranks.
VALUES: dict[str, dict[int, tuple[float, ...]]] = {
    "visits": {0: (1, 1, 1, 1), 1: (9, 9, 9, 9), 2: (2, 2, 2, 2), 3: (100, 100, 100, 100),
               4: (10, 10, 10, 10)},
    "time": {0: (5.0, 5.5, 5.0, 5.0), 1: (4.0,) * 4, 2: (0.2,) * 4, 3: (1.0, 2.0, 2.0, 3.0),
             4: (0.4, 0.1, 0.1, 0.1)},
    "min_time": {2: (0.01, 1e-5, 1e-5, 1e-5), 3: (1e-5, 2e-5, 1e-5, 1e-5),
                 4: (4e-5, 1e-6, 1e-6, 1e-6)},
    # Vectors of 800 bytes are reduced, blocks of 64 gathered, 1000 bytes broadcast.
    "bytes_sent": {2: (8000, 0, 0, 0), 3: (320000,) * 4, 4: (640,) * 4},
    "bytes_received": {2: (2000,) * 4, 3: (320000,) * 4, 4: (2560, 0, 0, 0)},
}  # fmt: skip


def anchor(tree: str = TREE) -> str:
    metrics = "".join(
        f'<metric id="{number}" type="{kind}"><uniq_name>{name}</uniq_name><dtype>{type}</dtype>'
        "</metric>"
        for number, (name, (kind, type)) in enumerate(METRICS.items())
    )
    regions = "".join(
        f'<region id="{number}"><name>{name}</name></region>' for number, name in enumerate(REGIONS)
    )
    places = "".join(
        f'<systemtreenode Id="{node + 1}"><name>node{node}</name><class>node</class>'
        + "".join(
            f'<locationgroup Id="{rank}"><rank>{rank}</rank><type>process</type>'
            f'<location Id="{rank}"><rank>0</rank><type>thread</type></location></locationgroup>'
            for rank in (2 * node, 2 * node + 1)
        )
        + "</systemtreenode>"
        for node in (0, 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><cube version="4.4">'
        f'<attr key="Creator" value="Score-P 8.4"/><metrics>{metrics}</metrics>'
        f"<program>{regions}{tree}</program><system>"
        f'<systemtreenode Id="0"><name>machine</name>{places}</systemtreenode></system></cube>'
    )


def made(
    *,
    values: Mapping[str, Mapping[int, tuple[float, ...]]] = VALUES,
    xml: str = "",
    order: str = "<",
    packed: bool = False,
    zipped: bool = False,
) -> bytes:
    """`order`: of bytes; `packed`: values are compressed; `zipped`: anchor and archive are."""
    text = (xml or anchor()).encode()
    files = {"anchor.xml": gzip.compress(text) if zipped else text}
    for number, (name, (kind, type)) in enumerate(METRICS.items()):
        nodes = DEEP if kind == "EXCLUSIVE" else WIDE
        rows = {
            place: values[name][node] for place, node in enumerate(nodes) if node in values[name]
        }
        form = f"{order}4{'Q' if type == 'UINT64' else 'd'}"
        data = [struct.pack(form, *row) for row in rows.values()]
        head = struct.pack(f"{order}IHBI", 1, 0, 1, len(rows))
        files[f"{number}.index"] = (
            b"CUBEX.INDEX" + head + struct.pack(f"{order}{len(rows)}I", *rows)
        )
        files[f"{number}.data"] = _packed(data, order) if packed else b"CUBEX.DATA" + b"".join(data)
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(found.getvalue()) if zipped else found.getvalue()


def _packed(rows: list[bytes], order: str) -> bytes:
    parts = [zlib.compress(row) for row in rows]
    heads = [number for part in parts for number in (0, 0, len(part))]
    head = struct.pack(f"{order}Q{len(heads)}Q", len(rows), *heads)
    return b"ZCUBEX.DATA" + head + b"".join(parts)
