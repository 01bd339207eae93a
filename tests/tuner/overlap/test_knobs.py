"""Settings of the library under which an overlap suite is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.overlap.benches import given, require_in_force
from plumbline.settings import Settings
from plumbline.settings.ranks import Ranks
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner import fake_mpi, simulated

WHERE = Settings(ranks=Ranks(nprocs=2))
BCAST = "coll_tuned_bcast_algorithm"


def test_settings_with_what_they_want_beside_them() -> None:
    bench = simulated.toolchain()
    assert given(bench, [], WHERE) == AS_IT_IS
    found = given(bench, ["btl_vader_eager_limit=8192", f"{BCAST}=chain"], WHERE)
    assert found == given(bench, [f"{BCAST}=chain", "btl_vader_eager_limit=8192"], WHERE)
    assert {("btl_vader_eager_limit", "8192"), (BCAST, "chain")} <= set(found.values)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "NAME=VALUE"),
        (["=4"], "NAME=VALUE"),
        (["btl_vader_eager_limit="], "NAME=VALUE"),
        (["btl_vader_eager_limits=4"], "reports no parameter btl_vader_eager_limits"),
        (["btl_vader_eager_limit=4", "btl_vader_eager_limit=8"], "cannot be 4 and 8"),
    ],
)
def test_what_is_no_setting(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        given(simulated.toolchain(), words, WHERE)


def test_a_setting_under_which_nothing_starts(tmp_path: Path) -> None:
    starter = fake_mpi.starter(tmp_path, "echo out of cells >&2; exit 1")
    require_in_force(starter, AS_IT_IS)
    with pytest.raises(PlumblineError, match=r"launch with cells=0 fails; (.|\n)*out of cells"):
        require_in_force(starter, Configuration.of({"cells": "0"}))
