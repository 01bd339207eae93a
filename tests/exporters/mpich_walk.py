"""MPICH's tables of algorithms, walked as the library walks them."""

from __future__ import annotations

from typing import Any


def met(tree: Any, collective: str, **call: Any) -> tuple[str, Any]:
    """The name at the end of the branch that a call takes, and what stands under it: the first test
    that holds, and never back."""
    tree = tree[f"collective={collective}"]
    while True:
        for key, below in tree.items():
            if key.startswith(("algorithm=", "composition=")):
                return str(key), below
            if _holds(key, call):
                tree = below
                break
        else:
            raise AssertionError(f"no branch of {list(tree)} for {call}")


def _holds(key: str, call: dict[str, Any]) -> bool:
    if key.endswith("=any"):
        return True
    for name in ("comm_size", "avg_msg_size", "total_msg_size"):
        if key.startswith(f"{name}<="):
            return bool(call[name] <= int(key.removeprefix(f"{name}<=")))
        if key.startswith(f"{name}<"):
            return bool(call[name] < int(key.removeprefix(f"{name}<")))
    if key == "count<pow2":
        return bool(call["count"] < call["comm_size"])
    name, value = key.split("=")
    return bool(call.get(name, "intra") == value)
