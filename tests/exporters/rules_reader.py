"""A rules file as the linter finds it (tests/exporters/lint/test_reader_mpi.py holds that to
the real library), which must have nothing crooked in it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from plumbline_exporters.family.openmpi import rules_reader as ompi_rules_reader

Blocks = dict[int, list[list[int]]]


@dataclass(frozen=True)
class RulesFile:
    version: int
    collectives: dict[int, Blocks]
    _read: ompi_rules_reader.RulesFile

    def decision(self, collective: int, nprocs: int, size: int) -> list[int]:
        """[algorithm, fan-out, segment size, requests]; zeros where the library decides."""
        return self._read.decision(collective, nprocs, size)


@functools.lru_cache(maxsize=64)
def read(text: str) -> RulesFile:
    file = ompi_rules_reader.read(text)
    assert not file.error and file.rest is None and not file.strange, file.error
    assert all(number.text == str(number.value) for number in file.numbers)
    collectives: dict[int, Blocks] = {}
    for section in file.sections:
        assert section.collective not in collectives
        blocks = collectives[section.collective] = {}
        for block in section.blocks:
            assert not blocks or block.nprocs > max(blocks), "communicator sizes must ascend"
            sizes = [rule.size for rule in block.rules]
            assert sizes == sorted(set(sizes)), "message sizes must ascend"
            for rule in block.rules:
                assert (rule.max_requests is None) == (file.version == 1)
            blocks[block.nprocs] = [
                [
                    *(rule.size, rule.algorithm, rule.fanout, rule.segment_bytes),
                    rule.max_requests or 0,
                ]
                for rule in block.rules
            ]
    return RulesFile(file.version, collectives, file)
