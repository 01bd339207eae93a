"""The record of the control group of a job, and the rules that it switched off: later jobs of the
application do not use them, until a newer campaign has measured their sizes again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.campaign.place_knowledge import SlowRule
from plumbline.core import control_record
from plumbline_db import scratch, user_files
from plumbline_db.errors import PlumblineError

_MOST_BYTES = 1 << 20
_MOST_RULES = 1000
_ANY_BYTES = 2**63 - 1  # the end of a rule for all larger sizes
_ANY_RANKS = 2**31 - 1


def slow_rules(file: Path) -> list[SlowRule]:
    """Return the rules that jobs switched off; none where the file does not exist. Raises
    PlumblineError for a file that cannot be read."""
    try:
        return msgspec.json.decode(user_files.read(file, _MOST_BYTES), type=list[SlowRule])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise PlumblineError(f"{file}: {error}: remove it") from error


def take(record: Path, kept: Path, slower: Path, time: str) -> list[SlowRule]:
    """Move a job's record, if it wrote one, to `kept`, and add the rules that it switched off to
    the file `slower`; return these rules. `time` is now (ISO 8601, UTC). Raises PlumblineError for
    a record that is not as the preload library writes it."""
    decoded = control_record.read(record)
    if decoded is None:
        return []
    try:
        record.replace(kept)
        switched_off = [
            SlowRule(
                rule.function,
                rule.bytes_from,
                _ANY_BYTES if rule.bytes_to is None else rule.bytes_to,
                time,
                rule.nprocs_from,
                _ANY_RANKS if rule.nprocs_to is None else rule.nprocs_to,
            )
            for rule in decoded.rules
            if rule.switched_off_at is not None
        ]
        if switched_off:
            every = [*slow_rules(slower), *switched_off][-_MOST_RULES:]
            with scratch.replacing(slower) as part:
                part.write_bytes(msgspec.json.encode(every))
    except OSError as error:
        raise PlumblineError(f"the record of the control group is not kept: {error}") from error
    return switched_off
