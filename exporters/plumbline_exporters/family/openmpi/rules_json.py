"""Open MPI 6's dynamic rules file (coll/tuned, JSON).

A block names the communicators and sizes that it is for, ends included, and the first that fits is
taken; what fits none is the library's own decision, so that no guards are needed. What the reader
does not know it does not look at: there the head stands. A value that it cannot read makes it drop
the whole file without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.family.openmpi.site import SiteRule

FILE_NAME = "ompi-rules.json"
VERSION = 3


def text(bundle: Bundle, table: Mapping[str, Mapping[int, Sequence[SiteRule]]]) -> str:
    """`table`: function -> communicator size -> rules, from 0 and ascending."""
    what = "Dynamic rules for coll/tuned of Open MPI, written by Plumbline."
    document = {
        "rule_file_version": VERSION,
        "module": "tuned",
        "plumbline": [line.removeprefix("# ") for line in heading(bundle, what)],
        "collectives": {
            function.removeprefix("MPI_").lower(): [
                {
                    "comm_size_min": nprocs,
                    "comm_size_max": nprocs,
                    "comm_rank_distribution": "any",
                    "rules": _ranges(block),
                }
                for nprocs, block in blocks.items()
                if any(rule.algorithm for rule in block)
            ]
            for function, blocks in table.items()
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _ranges(block: Sequence[SiteRule]) -> list[dict[str, int | str]]:
    """Algorithms by number: a name may change from one version to the next."""
    last = SiteRule(UNBOUNDED_BYTES)
    return [
        {
            "msg_size_min": rule.size,
            "msg_size_max": "inf" if following is last else following.size - 1,
            "alg": rule.algorithm,
            "faninout": rule.fanout,
            "seg_size": rule.segment_bytes,
            "reqs": rule.max_requests,
        }
        for rule, following in pairwise([*block, last])
        if rule.algorithm
    ]
