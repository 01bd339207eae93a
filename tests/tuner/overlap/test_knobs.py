"""Settings of the library under which an overlap suite is measured."""

from __future__ import annotations

import pytest

from plumbline.overlap.knobs import given
from plumbline_db.errors import UsageError
from tests.tuner import simulated

BCAST = "coll_tuned_bcast_algorithm"


def test_settings_with_what_they_want_beside_them() -> None:
    bench = simulated.bench()
    assert given(bench, []) == ()
    found = given(bench, ["btl_vader_eager_limit=8192", f"{BCAST}=chain"])
    assert found == given(bench, [f"{BCAST}=chain", "btl_vader_eager_limit=8192"])
    assert {("btl_vader_eager_limit", "8192"), (BCAST, "chain")} <= set(found)


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
        given(simulated.bench(), words)
