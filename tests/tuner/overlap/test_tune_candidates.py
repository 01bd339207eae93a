"""Which settings are tried for overlap and in which stages, and what needs a core that is not
there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.libraries import space_file
from plumbline.overlap import tune
from plumbline.search.process import Settable
from plumbline_db.errors import UsageError
from tests.tuner.simulated import ROOT, SPACE, installed_knobs

THREAD = "btl_tcp_progress_thread"


def values(*benches: str, **more: Any) -> tuple[dict[str, list[str]], list[str]]:
    here = {name: more.pop(name) for name in ("fixed", "spare_cores") if name in more}
    settable, nodes = Settable(SPACE, installed_knobs(), **here), more.pop("nodes", 1)
    found, left_out = tune.candidate_values(settable, benches or ("sender",), nodes=nodes, **more)
    return by_knob(found), left_out


def by_knob(found: list[Configuration]) -> dict[str, list[str]]:
    tried: dict[str, list[str]] = {}
    for one in found:
        for knob, text in one.values:
            tried.setdefault(knob, []).append(text)
    return tried


def test_what_is_marked_is_tried_where_it_is_of_use() -> None:
    here, _ = values()
    assert here["btl_vader_single_copy_mechanism"] == ["cma", "none"]
    assert not any(knob.startswith(("btl_tcp_", "coll_")) for knob in here)
    apart, _ = values(nodes=2)
    assert {"btl_tcp_eager_limit", THREAD} <= apart.keys()
    collective, _ = values("collective:MPI_Iallreduce")
    assert "coll_libnbc_iallreduce_algorithm" in collective


def test_a_value_brings_what_it_needs() -> None:
    found, _ = tune.candidate_values(Settable(SPACE, installed_knobs()), ["sender"], nodes=1)
    long = next(one for one in found if one.get("btl_vader_eager_limit") == "65536")
    assert long["btl_vader_max_send_size"] == "65536"
    ucx = next(one for one in found if one.get("pml") == "ucx" and len(one.values) == 3)
    assert ucx["pml_ucx_tls"] == "any"


def test_the_value_that_a_site_has_set_is_not_tried_again() -> None:
    installed = installed_knobs()
    name = "btl_vader_single_copy_mechanism"
    installed[name] = msgspec.structs.replace(installed[name], value="none", source="file")
    found, _ = tune.candidate_values(Settable(SPACE, installed), ["sender"], nodes=1)
    assert by_knob(found)[name] == ["cma"]


def test_without_a_spare_core_threads_are_left_out_and_it_is_said() -> None:
    found, left_out = values(nodes=2, spare_cores=False)
    assert THREAD not in found and left_out == [THREAD]
    found, left_out = values(nodes=2)
    assert THREAD in found and left_out == []


@pytest.mark.parametrize(
    ("named", "more", "said"),
    [
        ([THREAD], {"spare_cores": False}, "needs a core of its own"),
        (["btl_sm_no_such"], {}, "not in the search space"),
        (["pml"], {"fixed": ["pml"]}, "in force in every launch"),
    ],
)
def test_what_is_named_in_vain_is_refused(
    named: list[str], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        values(named=named, **more)


def test_what_the_library_lacks_is_refused() -> None:
    installed = installed_knobs()
    del installed["pml"]
    with pytest.raises(UsageError, match="the installed library has no pml"):
        tune.candidate_values(Settable(SPACE, installed), ["sender"], nodes=1, named=["pml"])


def test_every_library_has_something_to_try() -> None:
    """And threads of MPICH, which never sleep, need a core."""
    for path in sorted((ROOT / "search-spaces").glob("*.toml")):
        for space in space_file.load(path):
            if space.family in ("openmpi", "mpich", "intelmpi"):
                assert [one for one in space.setting if one.overlap == "messages"], path
    for mpich in space_file.load(ROOT / "search-spaces" / "mpich.toml"):
        (thread,) = [one for one in mpich.setting if one.needs_spare_core]
        assert thread.knob == "MPIR_CVAR_ASYNC_PROGRESS"
