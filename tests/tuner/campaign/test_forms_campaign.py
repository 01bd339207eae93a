"""A campaign about a non-blocking collective, on a simulated library: the knob that decides for it
is searched, confirmed, exported as a variable and proven, and dropped where it is not in force."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.core.guidelines import load as load_guidelines
from plumbline.settings.toolchain import Form, Toolchain
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import UNBOUNDED_BYTES, Failure, Run, Winner
from tests.tuner import planted, simulated, whole
from tests.tuner.simulated import PARTS, Costs, Rules, SimulatedStarter, failed

FORM = Form("MPI_Ibcast", "MPI_Bcast", "ibcast_as_bcast")
KNOB = "coll_libnbc_ibcast_algorithm"
VARIABLE = f"OMPI_MCA_{KNOB}"
# How much longer than a good MPI_Bcast it takes, by what the library was started with.
FACTORS = {"": 3.0, "knomial": 0.9, "binomial": 1.6}
COMPLAINT = "An invalid value was supplied for an enum variable."


class Library(SimulatedStarter):
    """`deaf`: what is exported does not reach it, though its knobs race."""

    def __init__(self, *, deaf: bool = False) -> None:
        super().__init__(Costs(), parts=PARTS | {FORM.blocking: [FORM.function]})
        self._deaf = deaf

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        hidden = self._deaf and suite.startswith(("confirm", "proof"))
        return {name: value for name, value in extra.items() if not (hidden and name == VARIABLE)}

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        if self.extra.get(VARIABLE) != "99":
            return run, records
        run, records = failed(run, Failure("not in force", COMPLAINT))
        return msgspec.structs.replace(run, stderr=COMPLAINT), records

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        if function != FORM.name:
            return super()._library(function, size, knobs, rules)
        factor = FACTORS.get(self.extra.get(VARIABLE, ""), 2.5)
        return factor * super()._library(FORM.function, size, {}, rules)[0], "ok"


def here() -> Toolchain:
    chosen = load_guidelines().selected(["GL10", "PL31"])
    found = simulated.toolchain(msgspec.structs.replace(chosen, split=simulated.GUIDELINES.split))
    catalogue = found.catalogue
    variants = [each for each in catalogue.variants if each.name != FORM.blocking]
    listed = msgspec.structs.replace(catalogue, variants=[*variants, FORM.variant], forms=[FORM])
    return msgspec.structs.replace(found, catalogue=listed)


def campaign(db: Database, folder: Path, library: Library) -> tuple[str, list[Winner]]:
    settings = planted.settings(functions=[FORM.name], guidelines=["PL31"], sizes=[1024, 16384])
    done = whole.campaign(db, library, settings, folder, here())
    assert done.state == "finished"
    return done.id, findings.get_winners(db, done.id)


@pytest.fixture
def db(tmp_path: Path) -> Database:
    return Database.open(tmp_path / "plumbline.db", write=True)


def test_its_knob_is_searched_exported_and_proven(db: Database, tmp_path: Path) -> None:
    id, found = campaign(db, tmp_path / "exports", Library())
    before = {
        (verdict.function, verdict.bytes): verdict.verdict
        for verdict in findings.get_verdicts(db, id, "before")
        if verdict.guideline == "PL31"
    }
    assert before == {(FORM.name, 1024): "violated", (FORM.name, 16384): "violated"}
    (winner,) = found
    assert (winner.function, winner.variant) == (FORM.name, "default")
    assert winner.configuration[KNOB] == "knomial"
    assert (winner.bytes_from, winner.bytes_to) == (0, UNBOUNDED_BYTES)
    assert set(winner.removes) == {"PL31@1024", "PL31@16384"}
    script = next(Path(one.path) for one in campaigns.exports(db, id) if one.format == "env")
    assert f"export {VARIABLE}=knomial\n" in script.read_text()
    told = [event.text for event in campaigns.events(db, id) if event.kind == "in force"]
    assert any(text.startswith(f"{VARIABLE} decides") for text in told)


def test_where_it_is_not_in_force_it_is_dropped(db: Database, tmp_path: Path) -> None:
    id, found = campaign(db, tmp_path / "exports", Library(deaf=True))
    assert found == []
    said = [event.text for event in campaigns.events(db, id) if event.kind == "not in force"]
    assert any(FORM.name in text and VARIABLE in text for text in said)


def test_the_blocking_function_never_stands_in_for_it(db: Database, tmp_path: Path) -> None:
    """It would be faster at once, and block where a program relies on its not blocking."""
    id, _ = campaign(db, tmp_path / "exports", Library())
    written = [Path(one.path) for one in campaigns.exports(db, id)]
    assert all(path.name != "plumbline.profile" for path in written)
