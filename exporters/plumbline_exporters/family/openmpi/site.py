"""Rules that a site has in force already. A process reads one rules file, so that an exported one
takes the place of the site's: what no winner decides stays as the site has it.

What is not safe for every legal program (tuned.py) is not taken over; the library decides
there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from plumbline_db.records import Library
from plumbline_exporters.family.openmpi import rules_reader, tuned

OWN_DECISION = "ignore"  # the value of a knob with which the library decides by itself
MARK = "tuned"  # the comment behind a rule that is a winner's


class SiteRule(msgspec.Struct, frozen=True, order=True):
    """Algorithm 0 is the library's own decision. `size` in the library's own count of bytes; `ours`
    is what a winner says."""

    size: int
    algorithm: int = 0
    fanout: int = 0
    segment_bytes: int = 0
    max_requests: int = 0
    ours: bool = False


Table = Mapping[str, Mapping[int, Sequence[SiteRule]]]


def joined(
    ours: Table, text: str, library: Library, *, unsafe: bool
) -> dict[str, dict[int, list[SiteRule]]]:
    """`ours` over the rules of the file `text`. Of a file that is not whole the library takes
    nothing."""
    file = rules_reader.read(text, second=tuned.reads_version_2(library))
    if file.error:
        file.sections.clear()
    joined_table: dict[str, dict[int, list[SiteRule]]] = {}
    for function, collective in tuned.COLLECTIVES.items():
        site = _Site(file, collective, unsafe=unsafe)
        own_blocks = ours.get(function, {})
        if not own_blocks and not site.listed:
            continue
        joined_table[function] = {
            nprocs: _block(site, nprocs, own_blocks.get(nprocs, [SiteRule(0)]))
            for nprocs in sorted({0, *site.listed, *own_blocks})
        }
    return dict(sorted(joined_table.items()))


def _block(site: _Site, nprocs: int, own_rules: Sequence[SiteRule]) -> list[SiteRule]:
    """The rules of one communicator size: the winner's, else the site's."""
    block: list[SiteRule] = []
    for size in sorted({*site.sizes, *(rule.size for rule in own_rules)}):
        own = [rule for rule in own_rules if rule.size <= size][-1]
        rule = own if own.ours else site.rule(nprocs, size)
        rule = msgspec.structs.replace(rule, size=size)
        if not block or msgspec.structs.replace(block[-1], size=size) != rule:
            block.append(rule)
    return block


class _Site:
    """The site's rules for one function. `listed` are the sizes of communicators that it names,
    `sizes` those of messages."""

    def __init__(
        self, file: rules_reader.RulesFile, collective: tuned.Collective, *, unsafe: bool
    ) -> None:
        self._file = file
        self._collective = collective
        self._unsafe = unsafe
        blocks = [
            block
            for section in file.sections
            if section.collective == collective.rule_id
            for block in section.blocks
        ]
        self.listed = {block.nprocs for block in blocks}
        self.sizes = {0, *(rule.size for block in blocks for rule in block.rules)}

    def rule(self, nprocs: int, size: int) -> SiteRule:
        site_decision = self._file.decision(self._collective.rule_id, nprocs, size)
        if self._collective.one_for_all_sizes:
            every = {
                tuple(self._file.decision(self._collective.rule_id, nprocs, size))
                for size in self.sizes
            }
            if len(every) > 1:
                return SiteRule(size)
        algorithm, fanout, segment_bytes, max_requests = site_decision
        names = self._collective.names((5, 0, 0))
        has_name = 0 < algorithm <= len(names)
        if (
            has_name
            and names[algorithm - 1] in self._collective.commutative_only
            and not self._unsafe
        ):
            return SiteRule(size)
        return SiteRule(size, algorithm, fanout, segment_bytes, max_requests)
