"""Plans that stand in a test: what their lines do not say is added, so that each test shows only
the keys that it is about."""

from __future__ import annotations

_USUAL = {
    "set": {
        **{"run": "unnamed", "seed": 1, "warmup": 16, "rewarm": 1, "sync": "barrier"},
        **{"clock": "monotonic_raw", "clock_sync": "hca3", "clock_fit_ms": 500},
        **{"clock_multiple": 10, "runtime": "local", "knobs": "communicator", "cache": "warm"},
        "window_us": 0,
    },
    "case": {
        **{"variant": "default", "config": "default", "type": "MPI_BYTE", "op": "MPI_BOR"},
        **{"root": 0, "counts": "equal"},
    },
    "pingpong": {"reps": 100},
    "overlap": {"kernel": "registers", "test_ns": 0, "requests": 1, "triples": 50},
}
_BOUNDS = {"nrep_min": 20, "nrep_step": 10, "nrep_max": 1000}
_REPEATING = ("sync=window", "sync=roundtime", "use=synchronised", "use=late")


def complete(text: str) -> str:
    """Return the text with all keys that a plan must have."""
    bounded = any(f" {key}=" in text for key in ("nrep", *_BOUNDS)) and " blocks=" not in text
    repeats = any(f" {token}" in text for token in _REPEATING)
    lines = text.splitlines()
    if not any(line.split()[:1] == ["set"] for line in lines):
        lines.append("set")
    return "".join(f"{_completed(line, bounded, repeats)}\n" for line in lines)


def _completed(line: str, bounded: bool, repeats: bool) -> str:
    word, *pairs = line.split() or [""]
    given = dict(pair.partition("=")[::2] for pair in pairs)
    usual: dict[str, object] = dict(_USUAL.get(word, {}))
    if word == "set":
        usual |= _BOUNDS if bounded else {"blocks": 5}
        usual |= {"budget_ms": 2000} if repeats else {}
    elif word == "case" and "calls" in given:
        usual |= dict.fromkeys(("least", "mean"), given.get("bytes"))
    elif word == "case" and not bounded:
        usual |= {"reps": 10}
    return line + "".join(f" {key}={value}" for key, value in usual.items() if key not in given)
