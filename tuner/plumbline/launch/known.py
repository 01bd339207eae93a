"""The knowledge of a simulated machine that was measured already: it repeats itself, so nothing is
measured twice under the same knobs and rules. Kept as long as the launcher is; launches keep what
they were given.

A profile matters to a case where it has rules of functions that the case calls: a mock-up calls
those that its guideline names (guidelines.toml)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plumbline.core.guidelines import calls

from .parts import Record, case_lines, words_of

Key = tuple[str, ...]


class Known:
    def __init__(self) -> None:
        self._records: dict[Key, list[Record]] = {}

    def look_up(self, keys: dict[int, Key]) -> dict[int, list[Record]]:
        """The records of the cases that are known, with the ids that they have now."""
        return {
            number: [record | {"case": number} for record in self._records[key]]
            for number, key in keys.items()
            if key in self._records
        }

    def learn(self, keys: dict[int, Key], records: Iterable[Record]) -> None:
        """Learn from a launch that has come to its end."""
        records_by_case: dict[int, list[Record]] = {}
        for record in records:
            if record["record"] in ("case", "begin", "check", "samples", "refused"):
                records_by_case.setdefault(record["case"], []).append(record)
        for number, key in keys.items():
            if number in records_by_case:
                self._records.setdefault(key, records_by_case[number])


def keys(plan: str, command: Sequence[str], profile: str) -> dict[int, Key]:
    """Return what the times of each case of a plan depend on. `command`: how ranks are started,
    without names of files; `profile`: the text of the one in force."""
    head = tuple(
        " ".join(word for word in line.split() if not word.startswith(("run=", "seed=")))
        for line in plan.splitlines()
        if not line.startswith("case ")
    )
    key_by_case = {}
    for number, line in case_lines(plan).items():
        case = words_of(line)
        rules = rules_of(profile, case["function"], case.get("variant", "default"))
        key_by_case[number] = (*command, *head, line, *rules)
    return key_by_case


def rules_of(profile: str, function: str, variant: str) -> list[str]:
    """The rules that calls of a variant may meet; all of them where nobody says what it calls."""
    rules = [line for line in profile.splitlines() if line.startswith("rule ")]
    reached = calls(function, variant)
    if reached is None:
        return rules
    while True:
        met = [line for line in rules if words_of(line)["function"] in reached]
        more = [calls(words_of(line)["function"], words_of(line)["variant"]) for line in met]
        further = {call for calls_ in more for call in calls_ or ()} - set(reached)
        if any(cases is None for cases in more):
            return rules
        if not further:
            return met
        reached = {*reached, *further}
