"""Numbers of things, as people write them."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """`1 launch`, `2 launches`; the last word of `thing` is the one that changes."""
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith('ch') else 's'}"
